import dataclasses

import numpy as np
import pytest

from experiments.report.claims.ledger import Verdict, claims_table
from experiments.report.claims.statements import CLAIMS
from experiments.report.figures.scaling import fit_power, fit_rows
from experiments.report.page.build import judge
from tests.experiments.report import fake

HOLDS, PART, FAILS, UNTESTED = (
    Verdict.HOLDS,
    Verdict.IN_PART,
    Verdict.FAILS,
    Verdict.NOT_TESTED,
)


@pytest.fixture
def entries(rows, paper):
    def make(found):
        return {entry.claim.id: entry for entry in judge(rows(found), paper)}

    return make


def test_claims_are_complete_and_distinct():
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS) >= 30
    for claim in CLAIMS:
        assert all(getattr(claim, f.name) for f in dataclasses.fields(claim))


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


@pytest.mark.parametrize(("ratio", "verdict"), [(150, HOLDS), (20, PART), (0.5, FAILS)])
def test_a_claimed_factor_follows_the_rows(entries, ratio, verdict):
    found = entries(against_mspn(ratio))["kl-mspn"]
    assert found.fspn.verdict is verdict
    assert found.fspn_paper.verdict is UNTESTED


@pytest.mark.parametrize(("ratio", "verdict"), [(1.5, HOLDS), (1.005, FAILS), (0.9, FAILS)])
def test_consistently_better_follows_the_rows(entries, ratio, verdict):
    assert entries(against_mspn(ratio))["accuracy"].fspn.verdict is verdict


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
    assert found.words == "holds, as far as tested"


def test_the_two_learners_are_judged_apart(entries):
    rows = [
        *fake.study(("mspn",)),
        *(fake.row("fspn", lev, latency_single_ms=1e-3) for lev in fake.LEVELS),
        *(fake.row("fspn_paper", lev, latency_single_ms=1e3) for lev in fake.LEVELS),
    ]
    found = entries(rows)["orders-faster"]
    assert (found.fspn.verdict, found.fspn_paper.verdict) == (HOLDS, FAILS)


@pytest.mark.parametrize(("slower", "verdict"), [(3.0, HOLDS), (1.5, PART), (0.5, FAILS)])
def test_several_times_faster_to_train(entries, slower, verdict):
    rows = [fake.row("fspn", lev, train_seconds=1.0) for lev in fake.LEVELS]
    rows += [fake.row("mspn", lev, train_seconds=slower) for lev in fake.LEVELS]
    assert entries(rows)["train-faster"].fspn.verdict is verdict


@pytest.mark.parametrize(("size", "verdict"), [(1.0, HOLDS), (1e9, FAILS)])
def test_the_smallest_model_follows_the_rows(entries, size, verdict):
    rows = fake.study(("fspn", "mspn"))
    rows += [fake.row("bn_tree", lev, size_bytes=size) for lev in fake.LEVELS]
    assert entries(rows)["bn-tree-smallest"].fspn.verdict is verdict


def nodes_rows(exponent, experiment="nodes"):
    return [
        fake.row(
            "fspn",
            experiment=experiment,
            label=f"n{n}",
            n_nodes=float(n),
            latency_single_ms=0.01 * n**exponent,
        )
        for n in (10, 30, 100, 1000)
    ]


@pytest.mark.parametrize(("exponent", "verdict"), [(1.0, HOLDS), (1.3, PART), (2.0, FAILS)])
def test_near_linear_is_the_fitted_exponent(entries, rows, exponent, verdict):
    found = nodes_rows(exponent)
    assert entries(found)["prop-2"].fspn.verdict is verdict
    assert fit_rows(rows(found), "fspn").exponent == pytest.approx(exponent)


def test_rows_of_the_threshold_study_serve_where_there_are_no_others(rows):
    fit = fit_rows(rows(fake.thresholds()), "fspn_paper")
    assert fit.source == "experiment=thresholds"
    assert fit.exponent == pytest.approx(0.9)


def test_node_counts_that_hardly_vary_are_not_fitted():
    nodes = np.array([100.0, 110.0, 120.0, 130.0])
    assert fit_power(nodes, nodes, "x") is None


def proposition(model, **values):
    return fake.row(
        "fspn", experiment="propositions", label=f"asia/{model}", dataset="asia"
    ).__class__(
        **{
            **dataclasses.asdict(fake.row("fspn", experiment="propositions")),
            "label": f"asia/{model}",
            "dataset": "asia",
            "model": model,
            **values,
        }
    )


@pytest.mark.parametrize(
    ("parameters", "kl", "verdict"), [(36.0, 0.0, HOLDS), (37.0, 0.0, FAILS), (30.0, 1e-3, FAILS)]
)
def test_proposition_1_follows_the_rows(entries, parameters, kl, verdict):
    found = [
        proposition("bn", n_parameters=36.0),
        proposition("bn_as_fspn", n_parameters=parameters, kl_max=kl),
    ]
    assert entries(found)["prop-1"].fspn.verdict is verdict


@pytest.mark.parametrize(("after", "verdict"), [(-3.0, HOLDS), (-2.9, FAILS)])
def test_proposition_3_follows_the_rows(entries, after, verdict):
    found = [proposition("fspn", test_ll=-3.0), proposition("fspn_em", test_ll=after)]
    assert entries(found)["prop-3"].fspn.verdict is verdict


def test_the_ledger_as_a_table(entries):
    table = claims_table(entries([]).values())
    assert len(table.rows) == len(CLAIMS)
    assert {row[4].text for row in table.rows} <= {v.value for v in Verdict}
