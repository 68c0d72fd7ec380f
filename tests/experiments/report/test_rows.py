import dataclasses
import json

import pandas as pd
import pytest

from experiments.records.fingerprint import code_version
from experiments.records.reference import RowsError, write_rows
from experiments.records.rows import Store, as_frame
from experiments.report.freeze import as_kept, freeze
from experiments.report.rows import load_rows, on_shared_draws
from experiments.report.tables.gaps import left_out
from tests.experiments.report import fake


def put(results, rows):
    for row in rows:
        Store.of(results, row.experiment).write(row)


def test_rows_of_runs_replace_those_of_the_reference(tmp_path):
    reference = [fake.row("fspn", kl_mean=1.0), fake.row("mspn", kl_mean=2.0)]
    write_rows(as_frame(reference), tmp_path)
    put(tmp_path, [fake.row("fspn", kl_mean=5.0, fingerprint="new")])
    table = load_rows(tmp_path).table.set_index("model")
    assert table.loc["fspn", ["kl_mean", "source"]].tolist() == [5.0, "runs"]
    assert table.loc["mspn", ["kl_mean", "source"]].tolist() == [2.0, "reference"]


def test_an_empty_folder_gives_no_rows(tmp_path):
    rows = load_rows(tmp_path)
    assert rows.table.empty
    assert rows.study == ""


def test_a_row_of_other_code_is_marked(tmp_path):
    now = code_version("baselines.independent.Independent")
    put(tmp_path, [fake.row("independent", "07", code_version=now)])
    put(tmp_path, [fake.row("independent", "95", code_version="older")])
    marks = load_rows(tmp_path).table.set_index("dataset")["other_code"]
    assert not marks["rdc_07"]
    assert marks["rdc_95"]


def test_models_of_a_study_of_its_own_are_compared_with_their_own_code(tmp_path):
    now = code_version("baselines.estimators.fspn_estimator.FSPNEstimator", "sparse")
    put(tmp_path, [fake.row("fspn", "07", experiment="tables", code_version=now)])
    put(tmp_path, [fake.row("fspn", "07", experiment="reproduce", code_version=now)])
    marks = load_rows(tmp_path).table.set_index("experiment")["other_code"]
    assert marks.to_dict() == {"tables": False, "reproduce": True}


def test_a_row_of_another_node_type_is_marked(tmp_path):
    put(tmp_path, [fake.row("fspn", x, node_type="A, 64 cores") for x in ("07", "21")])
    put(tmp_path, [fake.row("fspn", "37", node_type="B, 8 cores")])
    put(tmp_path, [fake.row("fspn", "65", machine="A, 64 cores, Linux 6.1")])
    put(tmp_path, [fake.row("fspn", "95", experiment="other", node_type="B, 8 cores")])
    marks = load_rows(tmp_path).table.set_index("dataset")["other_node"]
    assert marks[marks].index.tolist() == ["rdc_37"]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_with_few_columns_is_enough(tmp_path, ending):
    few = pd.DataFrame({"dataset": ["rdc_65"], "model": ["fspn"], "kl_mean": [0.5]})
    path = tmp_path / f"rows.{ending}"
    few.to_csv(path, index=False) if ending == "csv" else few.to_parquet(path)
    table = load_rows(tmp_path, path).table
    assert table["kl_mean"].tolist() == [0.5]
    assert table["size_bytes"].isna().all()
    assert table["label"].tolist() == ["rdc_65/fspn/0"]


def test_a_file_of_something_else_is_refused(tmp_path):
    path = tmp_path / "other.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(RowsError, match="no column 'dataset'"):
        load_rows(tmp_path, path)
    with pytest.raises(RowsError, match="no rows at"):
        load_rows(tmp_path, tmp_path / "absent.csv")


@pytest.mark.parametrize(
    ("wanted", "study"),
    [
        (None, "reproduce"),
        ("smoke", "smoke"),
        ("thresholds", "reproduce"),
        ("draws", "reproduce"),
        ("my_own", "my_own"),
    ],
)
def test_the_main_study(tmp_path, wanted, study):
    names = ("smoke", "reproduce", "thresholds", "my_own", "draws")
    put(tmp_path, [fake.row(experiment=name) for name in names])
    assert load_rows(tmp_path, study=wanted).study == study


def test_an_unknown_study_is_refused(tmp_path):
    put(tmp_path, [fake.row(experiment="smoke")])
    with pytest.raises(RowsError, match="'absent'; there are: smoke"):
        load_rows(tmp_path, study="absent")


def test_a_family_is_taken_from_its_own_study_if_the_main_one_lacks_it(rows):
    smooth = fake.row(experiment="smooth", prefix="smooth")
    found = rows([fake.row(), smooth, fake.row(experiment="thresholds", label="x")])
    assert found.main("smooth")["dataset"].tolist() == ["smooth_65"]
    assert found.main("sparse")["experiment"].tolist() == ["reproduce"]


def test_a_changed_setting_is_no_part_of_a_study_that_has_the_planned_one(rows):
    planned, again = fake.row(), fake.row(label="rdc_65/fspn/0/fit_seed=3", fingerprint="b")
    changed = fake.row(label="rdc_65/fspn/0/model.alpha=9", fingerprint="c", kl_mean=9.0)
    alone = fake.row("mspn", label="rdc_65/mspn/0/search.rows=5", fingerprint="d")
    found = rows([planned, again, changed, alone]).main("sparse")
    assert set(found["label"]) == {planned.label, again.label, alone.label}


def test_draws_of_a_family_join_its_own_study(rows):
    first = fake.row(experiment="smooth", prefix="smooth", params='{"alpha": 1}')
    same = {"experiment": "draws", "prefix": "smooth"}
    more = fake.row(seed=1, params='{"alpha": 1, "added": null}', **same)
    other = fake.row(seed=2, params='{"alpha": 2}', **same)
    searched = fake.row(experiment="smooth", prefix="smooth", seed=3, params='{"alpha": 2}')
    found = rows([fake.row(), first, searched, more, other])
    assert sorted(found.main("smooth")["seed"]) == [0, 1, 3]
    assert found.further_draws()["seed"].tolist() == [1], "the first draw's settings count"
    assert found.at_other_settings("smooth")["seed"].tolist() == [2]
    (gap,) = left_out(found.at_other_settings("smooth"))
    assert gap.what == "1 further draws of FSPN on smooth_65"


def test_means_are_of_the_draws_that_most_models_have():
    table = fake.frame(
        [fake.row(m, seed=s) for m in ("fspn", "bn_dag") for s in (0, 1)]
        + [fake.row("bn_tree", seed=0), fake.row("mspn", seed=1)]
    )
    shown = on_shared_draws(table).set_index(["model", "seed"])
    for column in ("kl_mean", "train_seconds"):
        known = set(shown[column].dropna().index)
        assert known == {(model, seed) for model in ("fspn", "bn_dag") for seed in (0, 1)}


@pytest.mark.parametrize("column", ["kl_mean", "test_ll", "test_ll_se"])
def test_a_further_draw_of_one_model_does_not_shift_its_mean(column):
    """Log-likelihoods of other draws are of other data: they do not compare."""
    shared = [fake.row(m, **{column: 1.0}) for m in ("fspn", "bn_dag", "mspn")]
    more = fake.row("fspn", seed=1, **{column: 9.0})
    means = on_shared_draws(fake.frame([*shared, more])).groupby("model")[column].mean()
    assert means.to_dict() == {"bn_dag": 1.0, "fspn": 1.0, "mspn": 1.0}


def test_a_rerun_without_queries_is_not_judged_by_those_of_the_run_before(tmp_path):
    queries = pd.DataFrame({"kl": [0.1, 0.2]})
    Store.of(tmp_path, "reproduce").write(fake.row(), queries)
    kept = as_kept(load_rows(tmp_path))
    freeze(kept, (), tmp_path)
    later = fake.row(fingerprint="new", status="timeout", started_at="2001-01-01T00:00:00")
    Store.of(tmp_path, "reproduce").write(later)
    assert load_rows(tmp_path).queries.empty


def test_rows_of_checks_are_marked_too(tmp_path):
    """Their models have no settings of their own: they are of FSPN's code."""
    now = code_version("baselines.ours.fspn_model.FSPNModel", "sparse")
    for dataset, version in (("new", now), ("old", "older")):
        row = fake.row(experiment="propositions", label=dataset, code_version=version)
        row = dataclasses.replace(row, dataset=dataset, model="bn_as_fspn")
        Store.of(tmp_path, "propositions").write(
            dataclasses.replace(row, fingerprint=f"fake-{dataset}")
        )
    marks = load_rows(tmp_path).table.set_index("dataset")["other_code"]
    assert marks.to_dict() == {"new": False, "old": True}


def test_a_run_with_laws_counts_before_the_reference(tmp_path):
    laws = json.dumps({"offsets": True})
    Store.of(tmp_path, "reproduce").write(fake.row(params=laws, kl_mean=1.0))
    kept = dataclasses.replace(fake.row(), model="fspn_laws", label="rdc_65/fspn_laws/0")
    write_rows(as_frame([kept]), tmp_path)
    (row,) = load_rows(tmp_path).table.to_dict("records")
    assert (row["model"], row["source"], row["kl_mean"]) == ("fspn_laws", "runs", 1.0)


def test_fspn_with_laws_is_a_model_of_its_own(tmp_path):
    for number, offsets in enumerate((True, False)):
        params = json.dumps({"offsets": offsets})
        row = fake.row("fspn", seed=number, params=params)
        Store.of(tmp_path, row.experiment).write(row, pd.DataFrame({"kl": [0.1 + number]}))
    kept = fake.row("fspn", experiment="nodes", params='{"offsets": true}')
    Store.of(tmp_path, "nodes").write(kept)
    rows = load_rows(tmp_path)
    models = rows.of("reproduce").set_index("seed")["model"]
    assert models.to_dict() == {0: "fspn_laws", 1: "fspn"}
    assert rows.of("reproduce").set_index("seed")["label"][0] == "rdc_65/fspn_laws/0"
    assert rows.queries.set_index("seed")["model"].to_dict() == {0: "fspn_laws", 1: "fspn"}
    assert rows.of("nodes")["model"].tolist() == ["fspn"]
