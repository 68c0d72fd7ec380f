import shutil

import numpy as np
import pytest
from scipy import stats

from experiments.records.rows import Store
from experiments.report.claims.ledger import Verdict
from experiments.report.figures import benchmarks as benchmark_figure
from experiments.report.page.build import judge
from experiments.report.paper import TABLE1_NAMES
from experiments.report.tables.benchmarks import (
    BEST,
    BEST_KNOWN,
    as_good,
    counts,
    differences_table,
    goal_lines,
    training_table,
)
from experiments.report.tables.loglik import benchmark_rows, published, table1, without_slips
from experiments.report.tables.pairs import compare, pairs, write_pairs
from tests.experiments.report import fake


def cells(table, dataset):
    row = next(row for row in table.rows if row[0].text == dataset)
    return dict(zip(table.header, row, strict=True))


def test_ours_stand_beside_the_quoted_columns(paper):
    rows = fake.frame(
        [
            fake.benchmark("plants", "fspn", -11.5),
            fake.benchmark("nltcs", "fspn", -6.10),
            fake.benchmark("nltcs", "bn_tree", -6.76),
        ]
    )
    table = table1(rows, paper, [])
    plants, nltcs = cells(table, "Plants"), cells(table, "NLTCS")
    assert plants["FSPN"].bold
    assert not plants["FSPN (quoted)"].bold
    assert nltcs["SPGM (quoted)"].bold
    assert nltcs["BN-Tree"].value == -6.76
    assert plants["BN-Tree"].text == "–"
    assert any(note.startswith("BN-Tree: no result on MSNBC") for note in table.notes)


def test_without_rows_the_quoted_columns_stand_alone(paper):
    table = table1(fake.frame([]), paper, [])
    assert len(table.rows) == 20
    assert "no rows of experiment=table1" in table.notes[0]
    assert {k for k, cell in cells(table, "KDD").items() if cell.bold} == {
        f"{m} (quoted)" for m in ("SPN-BTB", "ID-SPN", "ECNet", "EM-PSDD")
    }


def mark(ours, reference):
    return compare("nltcs", "chow_liu", "a", "b", ours, reference).mark


def test_a_paired_mark_needs_a_significant_difference():
    noise = np.random.default_rng(0).normal(size=2000)
    base = -6 + noise
    assert mark(base + 0.01 + 0.001 * noise[::-1], base) == "+*"
    assert mark(base - 0.01 + 0.001 * noise[::-1], base) == "−*"
    assert mark(base[::-1], base) == ""
    assert mark(base, base) == ""


def test_per_row_values_give_marks_and_what_they_came_to_can_be_kept(paper, tmp_path):
    rows = [fake.benchmark("nltcs", "fspn", -6.0), fake.benchmark("nltcs", "bn_tree", -6.7)]
    store = Store.of(tmp_path, "table1")
    values = np.random.default_rng(0).normal(-6, 1, 500)
    for row, shift in zip(rows, (0.0, -0.7), strict=True):
        store.write_scores(row.fingerprint, values * (1 - shift / 10) + shift)
    table = fake.frame(rows)
    found = pairs(table, tmp_path)
    assert cells(table1(table, paper, found), "NLTCS")["BN-Tree"].mark == "−*"
    (tmp_path / "reference").mkdir()
    write_pairs(found, tmp_path)
    shutil.rmtree(tmp_path / "runs")
    (kept,) = pairs(table, tmp_path)
    assert (kept.mark, kept.rows) == ("−*", 500)
    assert kept.difference == pytest.approx(found[0].difference, rel=1e-5)
    again = table.assign(fingerprint=["other", "runs"])
    assert pairs(again, tmp_path) == []


def test_only_plain_rows_of_the_study_count():
    rows = [
        fake.benchmark("nltcs", "fspn", -6.0),
        fake.benchmark("plants", "fspn", -12.0, experiment="single"),
        fake.benchmark("dna", "fspn", -80.0, label="dna/fspn/0/model.alpha=1"),
    ]
    assert list(benchmark_rows(fake.frame(rows))["dataset"]) == ["nltcs"]
    assert benchmark_rows(fake.frame([])).empty


def test_counts_and_differences_are_those_of_the_published_decimals(paper):
    rows = fake.frame(
        [
            fake.benchmark("nltcs", "fspn", -6.1049),  # LearnSPN -6.11, FSPN -6.05
            fake.benchmark("plants", "fspn", -12.004),  # FSPN -12.00: equal at two decimals
            fake.benchmark("dna", "fspn", -79.0),  # best of all: SPGM -79.88
        ]
    )
    found = {c.against: c for c in counts(rows, paper)}
    assert (found["LearnSPN"].reached, found["LearnSPN"].compared) == (3, 3)
    assert found["FSPN"].reached == 2
    assert found[BEST].reached == 2
    assert found["SPN-BTB"].line == "FSPN ≥ published SPN-BTB on 2 of 20, 3 compared"
    lines = goal_lines(rows, paper)
    assert lines[0] == "FSPN ≥ published LearnSPN on 3 of 20, 3 compared (goal: 18)"
    assert lines[3] == "FSPN ensemble: no rows (goal: 15)"
    table = differences_table(rows, paper)
    dna, kdd = cells(table, "DNA"), cells(table, "KDD")
    assert dna["best quoted"].text == "SPGM −79.88"
    assert (dna["FSPN − best quoted"].text, dna["FSPN − best quoted"].bold) == ("+0.88", True)
    assert cells(table, "NLTCS")["FSPN − quoted FSPN"].text == "−0.05"
    assert not cells(table, "NLTCS")["FSPN − quoted FSPN"].bold
    assert kdd["FSPN − best quoted"].value is None
    assert as_good(-12.004, -0.004)
    assert not as_good(-12.006, -0.006)


def test_the_best_known_has_hidden_chow_liu_trees_and_no_slips(paper):
    rows = fake.frame(
        [
            fake.benchmark("dna", "fspn", -79.06),  # ahead of SPGM's -79.88, not of HCLT's -79.05
            fake.benchmark("bbc", "fspn", -248.0),  # SPN-BTB's -226.56 is a slip, ID-SPN -248.93
        ]
    )
    found = {c.against: c.reached for c in counts(rows, paper)}
    assert (found[BEST], found[BEST_KNOWN]) == (1, 1)
    assert without_slips(paper)["HCLT"]["DNA"] == -79.05
    assert "BBC" not in without_slips(paper)["SPN-BTB"]


def test_training_times_are_those_of_the_rows(paper):
    row = fake.benchmark("ad", "mixture_trees", -14.0, train_seconds=3.5, search_seconds=40.0)
    table = training_table(fake.frame([row]))
    assert cells(table, "AD")["MT (mixture of trees)"].value == 3.5
    assert cells(table, "AD")["MT (mixture of trees), search"].value == 40.0
    assert cells(table, "BBC")["MT (mixture of trees)"].value is None


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


def test_a_row_of_other_code_is_marked(paper):
    rows = fake.frame([fake.benchmark("nltcs", "fspn", -6.0)])
    table = table1(rows.assign(other_code=True), paper, [])
    assert cells(table, "NLTCS")["FSPN"].mark == "†"
    assert table.notes[-1].startswith("†")


def test_the_dots_are_the_percentages(paper):
    rows = fake.frame(
        [
            fake.benchmark("plants", "fspn", -11.4),  # 5% above the best, -12.00
            fake.benchmark("plants", "chow_liu", -18.0),  # beyond the left edge
            fake.benchmark("plants", "bn_tree", -16.5),  # not drawn twice
            fake.benchmark("ad", "fspn_ensemble", -12.0),
        ]
    )
    figure = benchmark_figure._figure(rows, paper, (7.4, 5.4), 4)
    axis = figure.axes[0]
    dots = {
        (line.get_marker(), round(float(line.get_xdata()[0]), 6), round(line.get_ydata()[0]))
        for line in axis.lines
        if line.get_marker() not in ("None", "")
    }
    plants = list(TABLE1_NAMES).index("plants")
    assert ("o", 5.0, plants) in dots
    assert ("<", benchmark_figure.LEFT, plants) in dots
    assert ("P", round(100 * 1.6 / 13.6, 6), list(TABLE1_NAMES).index("ad")) in dots
    assert axis.get_xlim()[1] > 100 * 1.6 / 13.6
    assert [t.get_text() for t in axis.get_yticklabels()] == list(TABLE1_NAMES.values())
    names = {t.get_text() for t in figure.legends[0].get_texts()}
    assert {"FSPN", "FSPN ensemble", "Chow-Liu tree", "FSPN (quoted)"} <= names
    assert "BN-Tree" not in names
    assert {f"{method} (quoted)" for method in published(paper)} <= names
    assert "Chow-Liu \u221250%" in [text.get_text() for text in axis.texts]


def test_one_fit_each_is_the_paired_t_test_of_the_rows():
    rng = np.random.default_rng(0)
    a, b = rng.normal(0.1, 1, 400), rng.normal(0, 1, 400)
    pair = compare("d", "m", "x", "y", a, b)
    expected = stats.ttest_rel(a, b)
    interval = expected.confidence_interval(0.95)
    assert (pair.p, pair.low, pair.high) == pytest.approx((expected.pvalue, *interval))
    assert (pair.seeds, pair.seeds_against) == (1, 1)


def test_fits_that_disagree_widen_the_interval():
    rng = np.random.default_rng(0)
    a, b = rng.normal(1, 0.1, 400), np.zeros((3, 400))
    alike = compare("d", "m", "x", "y", a, b)
    shifted = compare("d", "m", "x", "y", a, b + np.array([[-2.0], [0.0], [2.0]]))
    assert alike.mark == "+*"
    assert shifted.difference == pytest.approx(alike.difference)
    assert shifted.mark == ""
    assert shifted.low < 0 < shifted.high
    assert shifted.seeds_against == 3


def test_the_interval_holds_the_truth_as_often_as_it_says():
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(300):
        rows = rng.normal(0, 1, 200)
        a = rows + rng.normal(0, 0.2, 200) + rng.normal(0, 0.1, (4, 1))
        pair = compare("d", "m", "x", "y", a, rows)
        hits += pair.low <= 0 <= pair.high
    assert 0.9 < hits / 300 < 1
