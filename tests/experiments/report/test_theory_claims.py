"""Verdicts on what the paper proves: Propositions 1 to 3 and costs, on made-up rows."""

import dataclasses
import json

import numpy as np
import pytest

from experiments.report.bench_curves import read_bench
from experiments.report.claims.ledger import Verdict
from experiments.report.figures.scaling import fit_power, fits_rows, shown_fits
from experiments.report.page.build import judge
from tests.experiments.report import fake

HOLDS, PART, FAILS = Verdict.HOLDS, Verdict.IN_PART, Verdict.FAILS


def nodes_rows(exponent, experiment="nodes"):
    return [
        fake.row(
            "fspn",
            experiment=experiment,
            label=f"n{n}",
            n_nodes=float(n),
            latency_single_ms=0.01 * n**exponent,
        )
        for n in (2, 10, 30, 100, 1000)
    ]


@pytest.mark.parametrize(("exponent", "verdict"), [(1.0, HOLDS), (1.3, PART), (2.0, FAILS)])
def test_near_linear_is_the_fitted_exponent(entries, rows, exponent, verdict):
    found = nodes_rows(exponent)
    assert entries(found)["prop-2"].fspn.verdict is verdict
    (fit,) = fits_rows(rows(found), "fspn")
    assert fit.exponent == pytest.approx(exponent)


def test_rows_of_the_threshold_study_serve_where_there_are_no_others(rows):
    fit, *_ = shown_fits(rows(fake.thresholds()), ["fspn_paper"])["fspn_paper"]
    assert fit.source == "experiment=thresholds"
    assert fit.exponent == pytest.approx(0.9)


@pytest.mark.parametrize("family", ["csv", "table"])
@pytest.mark.parametrize("experiment", ["thresholds", "plugins", "propositions", "reproduce"])
def test_a_users_own_tables_have_no_part_in_any_verdict(entries, rows, family, experiment):
    found = [*fake.study(seeds=(0, 1)), *fake.thresholds(), *nodes_rows(1.2)]
    own = [
        dataclasses.replace(
            row,
            experiment=experiment,
            dataset=family,
            family=family,
            label=f"{family}/{row.model}/{number}",
            fingerprint=f"own-{number}",
            latency_single_ms=1e-6 * row.n_nodes**3,
            test_ll=-100.0 + number,
        )
        for number, row in enumerate([*fake.thresholds(), *nodes_rows(2.0)])
    ]
    assert entries([*found, *own]) == entries(found)
    for model in ("fspn", "fspn_paper"):
        fits = shown_fits(rows(found), [model])
        assert fits[model]
        assert shown_fits(rows([*found, *own]), [model]) == fits


def test_the_main_study_counts_where_it_is_steeper(entries):
    flat, steep = nodes_rows(0.6), nodes_rows(2.0, experiment="reproduce")
    found = entries([*flat, *steep])["prop-2"].fspn
    assert found.verdict is FAILS
    assert "experiment=nodes" in found.numbers
    assert "experiment=reproduce" in found.numbers


def sized_rows(milliseconds):
    return [
        fake.row(
            "fspn_paper",
            experiment="query_cost",
            label=f"n{n}",
            n_nodes=float(n),
            latency_single_ms=milliseconds(n),
        )
        for n in (10, 30, 100, 300, 1_000, 2_000, 4_000, 8_000)
    ]


@pytest.mark.parametrize(("steep", "verdict"), [(1.0, HOLDS), (1.4, PART), (2.0, FAILS)])
def test_large_models_are_judged_on_their_own(entries, rows, steep, verdict):
    """Small models cost the same whatever their size: all together the exponent is below 1."""
    found = sized_rows(lambda n: 0.001 if n == 10 else 0.01 * max(n / 1000, 1) ** steep)
    every, large = fits_rows(rows(found), "fspn_paper")
    assert every.exponent < 1 < large.exponent + 1e-9
    assert large.exponent == pytest.approx(steep)
    finding = entries(found)["prop-2"].fspn_paper
    assert (finding.verdict, finding.gaps) == (verdict, ())
    assert "over 7 models, 30 to 8,000 nodes" in finding.numbers
    assert "over 4 models of at least 1,000 nodes" in finding.numbers


def test_all_models_count_where_they_are_steeper_than_the_large_ones(entries):
    found = sized_rows(lambda n: 0.01 * min(n / 1000, 1) ** 3)
    finding = entries(found)["prop-2"].fspn_paper
    assert finding.verdict is FAILS
    assert "exponent 0.00" in finding.numbers


def test_large_models_without_an_exponent_are_a_gap(entries):
    finding = entries(nodes_rows(1.0))["prop-2"].fspn
    assert finding.words == "holds, as far as tested"
    (gap,) = finding.gaps
    assert gap.endswith("at least 1,000 nodes: 1 models in one study, too few or too alike")
    small = [row for row in nodes_rows(1.0) if row.n_nodes < 1000]
    small += [dataclasses.replace(small[-1], label="n", n_nodes=300.0, latency_single_ms=3.0)]
    assert entries(small)["prop-2"].fspn.gaps[0].endswith("nodes: none")


def test_models_that_ended_at_their_limit_are_a_gap(entries):
    found = sized_rows(lambda n: 1e-3 * n)
    found[-1] = dataclasses.replace(
        found[-1], status="timeout", n_nodes=float("nan"), latency_single_ms=float("nan")
    )
    finding = entries(found)["prop-2"].fspn_paper
    assert "1 models of experiment=query_cost ended at their time limit" in finding.gaps


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


def test_two_exponents_are_both_shown_and_the_weaker_verdict_counts(entries):
    steep = [
        dataclasses.replace(row, n_nodes=row.n_nodes, latency_single_ms=row.n_nodes**2)
        for row in fake.thresholds()
    ]
    flat = [dataclasses.replace(row, model="fspn_paper") for row in nodes_rows(1.0)]
    found = entries([*flat, *steep])["prop-2"].fspn_paper
    assert found.verdict is FAILS
    assert "exponent 1.00" in found.numbers
    assert "exponent 2.00" in found.numbers


@pytest.mark.parametrize(("few", "verdict"), [(6, HOLDS), (4, PART), (1, FAILS), (0, FAILS)])
def test_few_factorize_nodes_follow_the_rows(entries, few, verdict):
    counts = (2.0,) * few + (9.0,) * (6 - few)
    rows = [
        fake.row("fspn", lev, n_factorize=f) for lev, f in zip(fake.LEVELS, counts, strict=True)
    ]
    assert entries(rows)["few-factorize"].fspn.verdict is verdict


@pytest.mark.parametrize(("power", "verdict"), [(0.4, HOLDS), (0.9, FAILS)])
def test_growth_of_f_and_l_follows_the_rows(entries, power, verdict):
    rows = [
        fake.row("fspn", lev, n_nodes=n, n_factorize=n**power, n_multi_leaves=n**power)
        for lev, n in zip(fake.LEVELS, (10.0, 20.0, 40.0, 80.0, 160.0, 320.0), strict=True)
    ]
    assert entries(rows)["f-l-growth"].fspn.verdict is verdict


def cost(model, dataset, experiment="costs", **values):
    return dataclasses.replace(
        fake.row("fspn", experiment=experiment),
        model=model,
        dataset=dataset,
        label=f"{dataset}/{model}",
        fingerprint=f"{dataset}-{model}",
        **values,
    )


@pytest.mark.parametrize(("power", "quadratic", "constant"), [(2, HOLDS, FAILS), (1, FAILS, FAILS)])
def test_costs_in_the_domain_follow_the_rows(entries, power, quadratic, constant):
    rows = [
        cost(model, f"values_{n}", latency_single_ms=0.1 * n**power)
        for model in ("leaf", "bn_tree", "spgm")
        for n in (5, 10, 20, 40, 80)
    ]
    found = entries(rows)
    assert found["chow-liu-domain"].fspn.verdict is quadratic
    assert found["spgm-domain"].fspn.verdict is quadratic
    assert found["leaves-constant"].fspn.verdict is constant


@pytest.mark.parametrize(
    ("most", "verdict"), [(10**6, HOLDS), (10**3, Verdict.NOT_TESTED)], ids=["wide", "narrow"]
)
def test_a_time_that_never_doubles_over_a_wide_range_is_constant(entries, most, verdict):
    sizes = np.geomspace(10, most, 6).astype(int)
    rows = [
        cost("leaf", f"values_{n}", latency_single_ms=0.1 + 0.01 * k) for k, n in enumerate(sizes)
    ]
    assert entries(rows)["leaves-constant"].fspn.verdict is verdict
    rows[-1] = dataclasses.replace(rows[-1], latency_single_ms=0.5)
    assert entries(rows)["leaves-constant"].fspn.verdict is Verdict.NOT_TESTED


def test_times_within_the_fixed_cost_of_a_call_are_no_evidence(entries):
    rows = [
        cost(model, f"values_{n}", latency_single_ms=0.1 + 1e-3 * n)
        for model in ("leaf", "bn_tree", "spgm")
        for n in (5, 10, 20, 40, 80)
    ]
    for claim in ("leaves-constant", "chow-liu-domain", "spgm-domain"):
        found = entries(rows)[claim].fspn
        assert found.verdict is Verdict.NOT_TESTED
        assert found.gaps[0].startswith("0 of 5 times")
    flat = [dataclasses.replace(r, latency_single_ms=0.01) for r in nodes_rows(1.0)]
    found = entries(flat)["prop-2"].fspn
    assert found.verdict is Verdict.NOT_TESTED
    assert "experiment=nodes: 0 of 5 times" in found.gaps[0]


def test_exponents_of_the_benchmark_count_beside_the_others(rows, paper, tmp_path):
    points = [{"nodes": n, "query_us": {"median": float(n) ** 3}} for n in (10, 30, 90)]
    record = {"name": "nodes_paper", "found": {"points": points}}
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "bench.json").write_text(json.dumps({"records": [record]}))
    flat = [dataclasses.replace(row, model="fspn_paper") for row in nodes_rows(1.0)]
    judged = judge(rows(flat), paper, read_bench(tmp_path))
    found = next(entry.fspn_paper for entry in judged if entry.claim.id == "prop-2")
    assert found.verdict is FAILS
    assert "exponent 1.00" in found.numbers
    assert "exponent 3.00 ± 0.00 over 3 models, 10 to 90 nodes (results/bench" in found.numbers
    assert read_bench(tmp_path / "none") == {}


@pytest.mark.parametrize(("error", "verdict"), [(1e-15, HOLDS), (1e-3, FAILS)])
def test_exact_statements_follow_the_rows(entries, error, verdict):
    rows = [
        cost("fspn_parts", "rdc_65", "propositions", kl_max=error, kl_mean=0.0),
        cost("appendix_b", "figure_1", "propositions", kl_max=error),
        cost("spn", "random_0", n_parameters=9.0, size_bytes=100.0),
        cost("spn_as_fspn", "random_0", n_parameters=9.0, size_bytes=99.0, kl_max=error),
    ]
    found = entries(rows)
    for claim in ("nothing-lost", "worked-example", "prop-1-spn"):
        assert found[claim].fspn.verdict is verdict, claim


def test_a_product_node_that_cuts_dependence_loses_in_part(entries):
    row = cost("fspn_parts", "rdc_65", "propositions", kl_max=0.0, kl_mean=0.2)
    found = entries([row])["nothing-lost"].fspn
    assert found.verdict is PART
    assert "0.2 nats" in found.numbers


def test_an_spn_that_grows_when_converted_is_no_subset(entries):
    rows = [
        cost("spn", "random_0", n_parameters=9.0, size_bytes=100.0),
        cost("spn_as_fspn", "random_0", n_parameters=9.0, size_bytes=101.0, kl_max=0.0),
    ]
    assert entries(rows)["prop-1-spn"].fspn.verdict is FAILS


def test_mspn_against_learnspn_follows_the_rows(entries):
    rows = [
        cost(model, f"d{k}", test_ll=-10.0 + gain)
        for k in range(3)
        for model, gain in (("mspn", (1, 1, -1)[k]), ("spn_tree", 0))
    ]
    found = entries(rows)["mspn-learnspn"].fspn
    assert found.verdict is PART
    assert "ahead on 2 of 3 datasets (d0, d1, d2)" in found.numbers
    assert "LearnSPN is our own tree SPN" in found.numbers
