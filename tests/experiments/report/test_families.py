import dataclasses

import pytest

from experiments.report.names import LEVELLESS
from experiments.report.tables.families import family_tables
from tests.experiments.report import fake


def row(dataset, model, seed=0, **values):
    family = dataset.partition("_")[0]
    return dataclasses.replace(
        fake.row(model), dataset=dataset, family=family, seed=seed, model=model, **values
    )


def test_each_dataset_has_its_best_learned_model_in_bold():
    rows = [
        row("dense_2", "fspn", kl_mean=0.2, kl_se=0.03, test_ll=-8.0),
        row("dense_2", "fspn", 1, kl_mean=0.4, kl_se=0.04, test_ll=-9.0),
        row("dense_2", "bn_dag", kl_mean=0.5, kl_se=0.1, test_ll=-8.1),
        row("dense_2", "true_dag", kl_mean=0.1, kl_se=0.01, test_ll=-7.9),
        row("dense_5", "bn_dag", kl_mean=0.7, kl_se=0.1, test_ll=-9.0),
    ]
    kl, ll = family_tables(fake.frame(rows), "dense")
    assert kl.header == ("dataset", "BN-DAG", "FSPN", "True DAG, fitted")
    first, second = kl.rows
    assert [cell.bold for cell in first[1:]] == [False, True, False]
    assert first[2].value == pytest.approx(0.3)
    assert first[2].text == "0.3000 ± 0.050"
    assert [cell.text for cell in second[2:]] == ["", ""]
    assert [cell.bold for cell in ll.rows[0][1:]] == [True, False, False]


@pytest.mark.parametrize("family", sorted(LEVELLESS))
def test_a_family_has_its_tables_where_it_has_rows(rows, family):
    found = rows([row(f"{family}_4", "fspn", experiment=family, engine_ms=0.02)])
    tables = family_tables(found.main(family), family)
    assert [t.name for t in tables] == [f"{family}_{key}" for key in ("kl", "ll", "engine")]
    assert all(LEVELLESS[family] in t.caption for t in tables)
    assert family_tables(rows(fake.study()).main(family), family) == ()
