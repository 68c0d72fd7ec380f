"""Verdicts by the rules that compare models, on made-up rows."""

import dataclasses
import math

import pandas as pd
import pytest

from experiments.report.claims.ledger import Evidence, Verdict, claims_table, families_table
from experiments.report.claims.propositions import Checks
from experiments.report.claims.rules import rests_on_one
from experiments.report.claims.statements import CLAIMS
from experiments.report.numbers import Numbers
from experiments.report.page.build import judge
from experiments.report.tables.loglik import LogLikelihoods, by_the_paper
from tests.experiments.report import fake

HOLDS, PART, FAILS, UNTESTED = (
    Verdict.HOLDS,
    Verdict.IN_PART,
    Verdict.FAILS,
    Verdict.NOT_TESTED,
)


def test_claims_are_complete_and_distinct():
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS) >= 30
    for claim in CLAIMS:
        assert all(getattr(claim, f.name) for f in dataclasses.fields(claim)[:-1])


# Read off the published numbers by hand.
BY_THE_PAPER = {
    "accuracy": PART,  # BN-Tree is better at 0.07, SPGM at 0.21
    "kl-mspn": HOLDS,
    "kl-bn-tree": HOLDS,
    "orders-faster": PART,
    "fast-bn-dag": HOLDS,
    "fast-spn-btb": HOLDS,
    "fast-bn-tree": HOLDS,
    "size-orders": HOLDS,
    "size-consistent": PART,  # at 0.21 MSPN and SPN-BTB are smaller
    "nodes-mspn": HOLDS,
    "nodes-spgm": HOLDS,
    "bn-tree-smallest": PART,  # FSPN is smaller at 0.37 and 0.95
    "train-faster": PART,  # 1.75x against MSPN at 0.21
    "prop-1": UNTESTED,
    "prop-3": UNTESTED,
    "table1-beats": HOLDS,
    "table1-best": HOLDS,
}


@pytest.mark.parametrize("claim", BY_THE_PAPER)
def test_verdicts_by_the_papers_own_numbers(entries, claim):
    assert entries([])[claim].paper.verdict is BY_THE_PAPER[claim]


def test_without_rows_nothing_is_tested(entries):
    for entry in entries([]).values():
        assert entry.fspn.verdict is entry.fspn_paper.verdict is UNTESTED


def against_mspn(ratio):
    """FSPN and MSPN on all levels, MSPN's KL `ratio` times as high at 0.95 and equal elsewhere."""
    changed = fake.row("mspn", "95", kl_mean=0.01 * ratio)
    others = [lev for lev in fake.LEVELS if lev != "95"]
    return [
        changed,
        *(fake.row("mspn", lev, kl_mean=0.01) for lev in others),
        *(fake.row("fspn", lev, kl_mean=0.01) for lev in fake.LEVELS),
    ]


@pytest.mark.parametrize(
    ("ratio", "verdict"), [(150, HOLDS), (20, PART), (10, FAILS), (0.5, FAILS)]
)
def test_a_claimed_factor_follows_the_rows(entries, ratio, verdict):
    found = entries(against_mspn(ratio))["kl-mspn"]
    assert found.fspn.verdict is verdict
    assert found.fspn_paper.verdict is UNTESTED


@pytest.mark.parametrize(("ratio", "verdict"), [(1.5, PART), (1.005, FAILS), (0.9, FAILS)])
def test_better_once_and_equal_elsewhere_is_not_consistently_better(entries, ratio, verdict):
    assert entries(against_mspn(ratio))["accuracy"].fspn.verdict is verdict


@pytest.mark.parametrize(("ratio", "verdict"), [(1.5, HOLDS), (1.005, FAILS), (0.9, FAILS)])
def test_consistently_better_follows_the_rows(entries, ratio, verdict):
    rows = [fake.row("fspn", lev, kl_mean=0.01) for lev in fake.LEVELS]
    rows += [fake.row("mspn", lev, kl_mean=0.01 * ratio) for lev in fake.LEVELS]
    assert entries(rows)["accuracy"].fspn.verdict is verdict


def with_queries(rows, models, **values):
    """The rows with per-query values: of each model a list, the same on every level."""
    parts = [
        pd.DataFrame({name: values[name][model] for name in values}).assign(
            fingerprint=fake.row(model, lev).fingerprint
        )
        for model in models
        for lev in fake.LEVELS
    ]
    return dataclasses.replace(rows, queries=pd.concat(parts, ignore_index=True))


def test_a_ratio_is_of_the_queries_that_both_were_timed_on(rows, paper):
    """MSPN was timed on its two fastest queries only: its row's mean is of those."""
    found = [fake.row("fspn", lev, engine_ms=5.0) for lev in fake.LEVELS]
    found += [fake.row("mspn", lev, engine_ms=3.0) for lev in fake.LEVELS]
    times = {"fspn": [1.0, 1.0, 9.0, 9.0], "mspn": [3.0, 3.0, math.nan, math.nan]}
    table = with_queries(rows(found), ("fspn", "mspn"), engine_ms=times)
    entry = next(e for e in judge(table, paper) if e.claim.id == "fast-mspn")
    assert entry.fspn.verdict is HOLDS
    assert "better in 6 of 6" in entry.fspn.numbers


@pytest.mark.parametrize(("slower", "better"), [(1.9, 0), (2.1, 6)])
def test_times_within_a_factor_two_are_equal_whatever_their_interval(rows, paper, slower, better):
    found = [fake.row(m, lev, engine_ms=1.0) for m in ("fspn", "mspn") for lev in fake.LEVELS]
    times = {"fspn": [1.0, 1.01] * 50, "mspn": [slower, 1.01 * slower] * 50}
    table = with_queries(rows(found), ("fspn", "mspn"), engine_ms=times)
    entry = next(e for e in judge(table, paper) if e.claim.id == "fast-mspn")
    assert f"better in {better} of 6 pairs" in entry.fspn.numbers


@pytest.mark.parametrize(("last", "verdict"), [(1.0, HOLDS), (0.6, PART), (0.4, PART)])
def test_behind_within_the_noise_is_not_never_worse(entries, last, verdict):
    rows = [fake.row("fspn", lev, train_seconds=1.0) for lev in fake.LEVELS]
    for lev, factor in zip(fake.LEVELS, (3.0,) * 5 + (last,), strict=True):
        rows.append(fake.row("mspn", lev, train_seconds=factor))
    assert entries(rows)["mspn-train"].fspn.verdict is verdict


def test_a_single_draw_is_named(entries):
    one, two = fake.study(("fspn", "mspn")), fake.study(("fspn", "mspn"), seeds=(0, 1))
    assert "one draw of each dataset" in entries(one)["accuracy"].fspn.gaps
    assert entries(one)["fast-mspn"].fspn.words == "holds, on one draw"
    assert "one draw of each dataset" not in entries(two)["accuracy"].fspn.gaps
    assert "one draw of each dataset" not in entries(one)["accuracy"].paper.gaps


@pytest.mark.parametrize(
    ("values", "verdict"),
    [
        ((1, 2, 4, 8, 16, 32), HOLDS),
        ((1, 2, 4, 3, 16, 32), HOLDS),
        ((1, 900, 910, 300, 8, 250), FAILS),  # less from the second level on: independence aside
        ((1, 2, 30, 3, 8, 7), PART),
        ((9, 8, 7, 6, 5, 4), FAILS),
    ],
)
def test_a_model_degrades_if_it_does_so_step_by_step(entries, values, verdict):
    rows = [
        fake.row("mspn", lev, kl_mean=float(v)) for lev, v in zip(fake.LEVELS, values, strict=True)
    ]
    assert entries(rows)["mspn-degrades"].fspn.verdict is verdict


def test_a_few_large_factors_do_not_outweigh_being_slower(entries):
    fast = [fake.row("fspn", lev, latency_single_ms=1.0) for lev in fake.LEVELS]
    times = dict(zip(fake.LEVELS, (50.0, 50.0, 0.1, 0.1, 0.1, 0.1), strict=True))
    slow = [fake.row("mspn", lev, latency_single_ms=ms) for lev, ms in times.items()]
    assert entries([*fast, *slow])["orders-faster"].fspn.verdict is FAILS


def test_one_large_ratio_of_bytes_is_not_enough(entries):
    rows = [fake.row("fspn", lev, size_bytes=100.0) for lev in fake.LEVELS]
    sizes = dict(zip(fake.LEVELS, (20_000.0, 50.0, 50.0, 50.0, 50.0, 50.0), strict=True))
    rows += [fake.row("mspn", lev, size_bytes=size) for lev, size in sizes.items()]
    assert entries(rows)["size-orders"].fspn.verdict is PART


def test_better_more_often_than_worse_holds_in_part(entries):
    rows = fake.study(("fspn", "mspn"))
    worse = fake.row("mspn", "07", kl_mean=1e-9)
    found = entries([row for row in rows if row.label != worse.label] + [worse])["accuracy"]
    assert found.fspn.verdict is PART
    assert "worse in 1" in found.fspn.numbers
    assert "RDC 0.07" in found.fspn.numbers


def test_what_was_not_measured_is_named(entries):
    found = entries(fake.study(("fspn", "bn_tree"), ("65", "95")))["accuracy"].fspn
    assert "SPGM not measured" in found.gaps
    assert "BN-Tree not measured at RDC 0.07, 0.21, 0.37, 0.83" in found.gaps
    assert found.words == "holds, as far as tested, on one draw"


def test_times_of_another_node_type_are_a_gap_and_decide_nothing(entries):
    rows = fake.study(("fspn", "bn_tree"), node_type="this one")
    rows = [
        dataclasses.replace(row, node_type="another", latency_single_ms=1e-9)
        if (row.model, row.target_rdc) == ("bn_tree", 0.37)
        else row
        for row in rows
    ]
    found = entries(rows)["tree-still-slow"].fspn
    assert "BN-Tree timed on another node type at RDC 0.37" in found.gaps
    assert "2× or more in 5 of 5 pairs" in found.numbers
    assert found.words == "holds, as far as tested, on one draw"
    nodes = entries(rows)["bn-tree-smallest"].fspn
    assert "of 6 datasets" in nodes.numbers


def test_the_two_learners_are_judged_apart(entries):
    rows = [
        *fake.study(("mspn",)),
        *(fake.row("fspn", lev, latency_single_ms=1e-3) for lev in fake.LEVELS),
        *(fake.row("fspn_paper", lev, latency_single_ms=1e3) for lev in fake.LEVELS),
    ]
    found = entries(rows)["orders-faster"]
    assert (found.fspn.verdict, found.fspn_paper.verdict) == (HOLDS, FAILS)


@pytest.mark.parametrize(
    ("slower", "verdict"),
    [((3.0,) * 6, HOLDS), ((3.0,) * 4 + (1.0,) * 2, PART), ((1.5,) * 6, FAILS)],
)
def test_several_times_faster_to_train(entries, slower, verdict):
    rows = [fake.row("fspn", lev, train_seconds=1.0) for lev in fake.LEVELS]
    for lev, factor in zip(fake.LEVELS, slower, strict=True):
        rows.append(fake.row("mspn", lev, train_seconds=factor))
    assert entries(rows)["train-faster"].fspn.verdict is verdict


@pytest.mark.parametrize(("size", "verdict"), [(1.0, HOLDS), (1e9, FAILS)])
def test_the_smallest_model_follows_the_rows(entries, size, verdict):
    rows = fake.study(("fspn", "mspn"))
    rows += [fake.row("bn_tree", lev, size_bytes=size) for lev in fake.LEVELS]
    assert entries(rows)["bn-tree-smallest"].fspn.verdict is verdict


def test_the_ledger_as_a_table(entries):
    table = claims_table(entries([]).values())
    assert len(table.rows) == len(CLAIMS)
    assert {row[4].text for row in table.rows} == {claim.figure for claim in CLAIMS}
    words = {row[5].text.removesuffix(", as far as tested") for row in table.rows}
    assert words <= {v.value for v in Verdict}


def test_a_conjunction_needs_all_of_its_measures_in_the_same_pair(entries):
    """Better KL on half of the levels and better time on the other half is no lead at once."""
    rows = []
    for k, lev in enumerate(fake.LEVELS):
        rows.append(fake.row("fspn", lev, kl_mean=1.0, latency_single_ms=1.0))
        kl, ms = (2.0, 1.0) if k % 2 else (1.0, 2.0)
        rows.append(fake.row("mspn", lev, kl_mean=kl, latency_single_ms=ms))
    found = entries(rows)["superior"].fspn
    assert found.verdict is FAILS
    assert "better in 0 of 6 pairs" in found.numbers


def test_latency_is_judged_in_one_engine_where_it_was_measured(entries):
    rows = [fake.row("fspn", lev, latency_single_ms=0.01, engine_ms=0.01) for lev in fake.LEVELS]
    rows += [fake.row("bn_tree", lev, latency_single_ms=9.0, engine_ms=0.01) for lev in fake.LEVELS]
    found = entries(rows)["fast-bn-tree"].fspn
    assert found.verdict is FAILS
    assert "same engine" in found.numbers
    own = [dataclasses.replace(row, engine_ms=float("nan")) for row in rows]
    found = entries(own)["fast-bn-tree"].fspn
    assert found.verdict is HOLDS
    assert "own program" in found.numbers


def test_the_paper_timed_programs_so_they_are_judged_beside(entries):
    rows = [fake.row("fspn", lev, latency_single_ms=0.01, engine_ms=0.01) for lev in fake.LEVELS]
    rows += [fake.row("bn_dag", lev, latency_single_ms=9.0, engine_ms=0.01) for lev in fake.LEVELS]
    found = entries(rows)
    assert found["fast-bn-dag"].fspn.verdict is FAILS
    assert found["fast-bn-dag-programs"].fspn.verdict is HOLDS
    assert "own program" in found["fast-bn-dag-programs"].fspn.numbers
    assert found["fast-bn-dag-programs"].paper == found["fast-bn-dag"].paper


def test_sizes_are_judged_by_the_form_that_answers_too(entries):
    rows = [
        fake.row("fspn", lev, size_bytes=10.0, compiled_bytes=1_000.0) for lev in fake.LEVELS
    ] + [fake.row("bn_dag", lev, size_bytes=100.0) for lev in fake.LEVELS]
    found = entries(rows)
    assert found["size-bn"].fspn.verdict is HOLDS
    assert found["size-bn-answering"].fspn.verdict is FAILS
    assert "size of the form that answers: better in 0 of 6" in (
        found["size-bn-answering"].fspn.numbers
    )


def test_the_drop_at_the_end_follows_the_rows(entries):
    before = fake.row("fspn", "83", kl_mean=2.0, latency_single_ms=2.0, size_bytes=10.0)
    after = fake.row("fspn", "95", kl_mean=1.0, latency_single_ms=1.0, size_bytes=20.0)
    assert entries([before, after])["drop-at-95"].fspn.verdict is PART
    slower = dataclasses.replace(after, latency_single_ms=3.0)
    assert entries([before, slower])["drop-at-95"].fspn.verdict is FAILS


def named(model, dataset, family, seed=0, **values):
    """A row of a family without levels of dependence."""
    row = fake.row(model, experiment=family, seed=seed, **values)
    return dataclasses.replace(
        row,
        dataset=dataset,
        family=family,
        label=f"{dataset}/{model}/{seed}",
        fingerprint=f"{dataset}-{model}-{seed}",
        target_rdc=math.nan,
    )


def test_claims_are_judged_on_further_families_where_rows_exist(entries):
    rows = [named("fspn", name, "dense", kl_mean=0.1) for name in ("dense_2", "dense_5")]
    rows += [named("bn_dag", name, "dense", kl_mean=0.3) for name in ("dense_2", "dense_5")]
    found = entries([*rows, *fake.study(experiment="smooth", prefix="smooth")])
    told = {(one.family, one.subject): one.finding for one in found["accuracy"].elsewhere}
    assert set(told) == {("dense", "fspn"), ("smooth", "fspn"), ("smooth", "fspn_paper")}
    assert told["dense", "fspn"].verdict is HOLDS
    assert "better in 2 of 2 pairs" in told["dense", "fspn"].numbers
    assert "MSPN not measured" in told["dense", "fspn"].gaps
    assert {one.family for one in found["mspn-degrades"].elsewhere} == {"smooth"}
    assert not found["prop-2"].elsewhere
    table = families_table(found.values())
    assert ["accuracy", "dense", "FSPN"] in [[r[0].text, r[2].text, r[3].text] for r in table.rows]


def test_rows_of_other_code_are_counted(rows, paper):
    found = rows(fake.study(("fspn", "mspn")))
    found.table.loc[found.table["model"] == "mspn", "other_code"] = True
    judged = {entry.claim.id: entry.fspn for entry in judge(found, paper)}
    assert "of other code: 6 rows" in judged["accuracy"].reservations
    assert judged["superior"].other_code == 6, "a row counts once for all of its measures"
    assert judged["accuracy"].words == "holds, as far as tested, on one draw"
    assert not judged["tree-still-slow"].other_code


@pytest.mark.parametrize(
    ("better", "worse", "total", "alone"),
    [(6, 0, 6, False), (5, 1, 6, True), (4, 2, 6, False), (1, 0, 1, True), (4, 0, 7, True)],
)
def test_a_verdict_that_rests_on_one_pair_says_so(better, worse, total, alone):
    assert bool(rests_on_one(better, worse, total)) is alone


def test_an_extreme_that_one_dataset_decides_says_so(entries):
    rows = fake.study(("fspn", "mspn"))
    rows += [fake.row("bn_tree", lev, size_bytes=1.0) for lev in fake.LEVELS if lev != "95"]
    rows.append(fake.row("bn_tree", "95", size_bytes=1e9))
    found = entries(rows)
    assert found["bn-tree-smallest"].fspn.numbers.endswith("rests on one dataset")
    assert "which rests on one pair" in found["size-orders"].fspn.numbers


def test_slightly_better_or_worse_is_by_little(paper):
    """A model far below all three rivals is not "slightly worse than SPN-BTB"."""
    claim = next(claim for claim in CLAIMS if claim.id == "table1-edges")
    table = by_the_paper(paper)
    far = LogLikelihoods(
        {name: 1.2 * value for name, value in table.subject.items()}, table.published
    )
    numbers = Numbers({}, {})
    near, away = (claim.test(Evidence(numbers, "fspn", t, (), Checks())) for t in (table, far))
    assert (near.verdict, away.verdict) == (HOLDS, FAILS)
