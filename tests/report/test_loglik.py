import dataclasses

import numpy as np
import pandas as pd

from experiments.report.build import judge
from experiments.report.claims import Verdict
from experiments.report.loglik import paired_mark, table1
from experiments.report.paper import TABLE1_NAMES
from tests.report import fake


def cells(table, dataset):
    row = next(row for row in table.rows if row[0].text == dataset)
    return dict(zip(table.header, row, strict=True))


def test_ours_stand_beside_the_quoted_columns(paper, tmp_path):
    rows = fake.frame(
        [
            fake.benchmark("plants", "fspn", -11.5),
            fake.benchmark("nltcs", "fspn", -6.10),
            fake.benchmark("nltcs", "bn_tree", -6.76),
        ]
    )
    table = table1(rows, paper, tmp_path)
    plants, nltcs = cells(table, "Plants"), cells(table, "NLTCS")
    assert plants["FSPN"].bold
    assert not plants["FSPN (quoted)"].bold
    assert plants["FSPN − quoted FSPN"].value == np.float64(-11.5 + 12.0)
    assert nltcs["SPGM (quoted)"].bold
    assert nltcs["BN-Tree"].value == -6.76
    assert plants["BN-Tree"].text == "–"
    assert any(note.startswith("BN-Tree: no result on MSNBC") for note in table.notes)


def test_without_rows_the_quoted_columns_stand_alone(paper, tmp_path):
    table = table1(fake.frame([]), paper, tmp_path)
    assert len(table.rows) == 20
    assert "no rows of experiment=table1" in table.notes[0]
    assert {k for k, cell in cells(table, "KDD").items() if cell.bold} == {
        f"{m} (quoted)" for m in ("SPN-BTB", "ID-SPN", "ECNet", "EM-PSDD")
    }


def test_a_paired_mark_needs_a_significant_difference():
    noise = np.random.default_rng(0).normal(size=2000)
    base = -6 + noise
    assert paired_mark(base + 0.01 + 0.001 * noise[::-1], base) == "+*"
    assert paired_mark(base - 0.01 + 0.001 * noise[::-1], base) == "−*"
    assert paired_mark(base[::-1], base) == ""
    assert paired_mark(base, base) == ""


def test_per_row_values_give_marks(paper, tmp_path):
    rows = [fake.benchmark("nltcs", "fspn", -6.0), fake.benchmark("nltcs", "bn_tree", -6.7)]
    folder = tmp_path / "runs" / "table1" / "loglik"
    folder.mkdir(parents=True)
    values = np.random.default_rng(0).normal(-6, 1, 500)
    for row, shift in zip(rows, (0.0, -0.7), strict=True):
        table = pd.DataFrame({"log_likelihood": values * (1 - shift / 10) + shift})
        table.to_parquet(folder / f"{row.fingerprint}.parquet")
    assert cells(table1(fake.frame(rows), paper, tmp_path), "NLTCS")["BN-Tree"].mark == "−*"


def as_published(paper, shift):
    quoted = paper.table1.set_index("dataset")["FSPN"]
    return [
        fake.benchmark(name, "fspn", quoted[label] + shift) for name, label in TABLE1_NAMES.items()
    ]


def test_benchmark_claims_follow_the_rows(rows, paper):
    def verdict(claim, found):
        by_id = {entry.claim.id: entry for entry in judge(rows(found), paper)}
        return by_id[claim].fspn.verdict

    same, far = as_published(paper, 0.0), as_published(paper, -20.0)
    assert verdict("table1-beats", same) is Verdict.HOLDS
    assert verdict("table1-best", same) is Verdict.HOLDS
    assert verdict("table1-beats", far) is Verdict.FAILS
    assert verdict("table1-comparable", far) is Verdict.FAILS
    assert verdict("table1-beats", same[:3]) is Verdict.NOT_TESTED


def test_a_row_of_other_code_is_marked(paper, tmp_path):
    rows = fake.frame([fake.benchmark("nltcs", "fspn", -6.0)])
    table = table1(rows.assign(other_code=True), paper, tmp_path)
    assert cells(table, "NLTCS")["FSPN"].mark == "†"
    assert dataclasses.replace(table).notes[-1].startswith("†")
