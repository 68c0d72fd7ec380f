"""Rules for the propositions and for the benchmark table."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from experiments.report.claims.further import stale, within_the_call
from experiments.report.claims.ledger import Evidence, Finding, Test, Verdict
from experiments.report.claims.propositions import EXPERIMENT as PROPOSITIONS
from experiments.report.claims.rules import by_share, untested
from experiments.report.figures.scaling import (
    LARGE,
    MIN_POINTS,
    VARYING,
    PowerFit,
    studies_of,
    timed_models,
)
from experiments.report.tables.loglik import LogLikelihoods

# Nats per row within which two test log-likelihoods count as equal.
EQUAL_LL = 0.01
EXACT_KL = 1e-9
# "Slightly" better or worse: the median difference as a share of the log-likelihood.
SLIGHT = 0.01
# An EM step that gains less than this per row moved nothing.
STILL = 1e-6
QUERY_COST = "query_cost"
# With fewer of the 20 benchmarks than this, nothing can be said overall.
ENOUGH = 15
# Datasets on which the paper prints its FSPN in bold, and half of its last digit.
BOLD_IN_PAPER = 6
ROUNDED = 0.005


def no_larger(evidence: Evidence) -> Finding:
    """Proposition 1: converted networks answer alike and are no larger."""
    done = evidence.checks.conversions
    if not done:
        return untested(["no rows of experiment=propositions"])
    good = [c for c in done if c.kl <= EXACT_KL and c.fspn_parameters <= c.source_parameters]
    ratios = [c.fspn_parameters / c.source_parameters for c in done]
    words = (
        f"{len(good)} of {len(done)} networks; parameters {max(ratios):.3g}× the source's at most, "
        f"largest KL {max(c.kl for c in done):.1e}"
    )
    rows = evidence.of(PROPOSITIONS)
    used = stale(rows[rows["model"].isin(["bn", "bn_as_fspn"])])
    return Finding(by_share(len(good), len(done)), words, other_code=used)


def near_linear(evidence: Evidence) -> Finding:
    """Proposition 2: the exponent b of t = a n^b; holds up to 1.1, in part up to 1.5.

    All exponents are shown, over all models and over large ones, and the weakest verdict counts.
    """
    fits = evidence.scaling
    hidden = _within_the_call(evidence)
    if not fits:
        return untested(hidden or ["no rows that vary the node count enough"])
    steepest = max(fit.exponent for fit in fits)
    verdict = Verdict.HOLDS if steepest <= 1.1 else Verdict.FAILS
    if verdict is Verdict.FAILS and steepest <= 1.5:
        verdict = Verdict.IN_PART
    words = "; ".join(_exponent(fit) for fit in fits)
    both = "; the steepest counts" if len(fits) > 1 else ""
    gaps = (*_without_large(fits), *_not_measured(evidence), *hidden)
    return Finding(verdict, words + both, gaps, _other_code(evidence))


def _within_the_call(evidence: Evidence) -> list[str]:
    """Studies with enough models whose times are too close to the fixed cost of a call."""
    fitted, found = {fit.source for fit in evidence.scaling}, []
    for study in _studies(evidence):
        mine = timed_models(evidence.rows, evidence.subject, study)
        if f"experiment={study}" not in fitted and len(mine) >= MIN_POINTS:
            times = mine["latency_single_ms"].to_numpy()
            span = f"{mine['n_nodes'].min():,.0f} to {mine['n_nodes'].max():,.0f} nodes"
            found.append(f"experiment={study}: {within_the_call(times, span)}")
    return found


def _other_code(evidence: Evidence) -> int:
    """The rows of other code behind the exponents that are shown."""
    fitted = {fit.source.removeprefix("experiment=") for fit in evidence.scaling}
    found = (
        timed_models(evidence.rows, evidence.subject, study)
        for study in _studies(evidence)
        if study in fitted
    )
    return sum(stale(mine) for mine in found)


def _studies(evidence: Evidence) -> tuple[str, ...]:
    """The studies of ours that vary node counts; none for the paper."""
    if evidence.rows.empty or evidence.main.empty:
        return VARYING if len(evidence.rows) else ()
    return studies_of(str(evidence.main["experiment"].iloc[0]))


def _exponent(fit: PowerFit) -> str:
    which = f" of at least {fit.fewest:,} nodes" if fit.is_large else ""
    return (
        f"exponent {fit.exponent:.2f} ± {2 * fit.error:.2f} over {len(fit.nodes)} models{which}, "
        f"{min(fit.nodes):,.0f} to {max(fit.nodes):,.0f} nodes ({fit.source})"
    )


def _without_large(fits: Sequence[PowerFit]) -> tuple[str, ...]:
    """What is missing where no study has an exponent over large models."""
    if any(fit.is_large for fit in fits):
        return ()
    n_large = max(fit.n_large for fit in fits)
    found = f"{n_large} models in one study, too few or too alike" if n_large else "none"
    return (f"no exponent over models of at least {LARGE:,} nodes: {found}",)


def _not_measured(evidence: Evidence) -> tuple[str, ...]:
    """Models whose cost was to be measured and took too long, which flatters the exponent."""
    rows = evidence.rows
    if rows.empty:
        return ()
    mine = (rows["experiment"] == QUERY_COST) & (rows["model"] == evidence.subject)
    late = int((mine & (rows["status"] == "timeout")).sum())
    return (f"{late} models of experiment={QUERY_COST} ended at their time limit",) if late else ()


def local_optimum(evidence: Evidence) -> Finding:
    """Proposition 3: one EM step does not raise the training likelihood any more."""
    done = evidence.checks.optima
    if not done:
        return untested(["no rows of experiment=propositions with a sum node for this learner"])
    gains = [optimum.after_em - optimum.learned for optimum in done]
    still = sum(gain <= STILL for gain in gains)
    words = (
        f"at rest on {still} of {len(done)} datasets; "
        f"an EM step gains up to {max(gains):.2g} nats per row"
    )
    rows = evidence.of(PROPOSITIONS)
    used = stale(rows[rows["model"].isin([evidence.subject, f"{evidence.subject}_em"])])
    untried = ("leaves and structures are not tested, weights of sum nodes are",)
    return Finding(by_share(still, len(done)), words, untried, used)


def best_plugins(evidence: Evidence) -> Finding:
    """Appendix C: no other oracle, clustering or split method has a lower KL."""
    found = evidence.checks.plugins
    if found is None:
        return untested(["no rows of experiment=plugins for this learner"])
    if not found.datasets:
        return untested(["no plug-in changes anything on these datasets"])
    gaps = tuple(f"{key} changes nothing on these datasets" for key in found.idle)
    return Finding(by_share(found.wins, found.datasets), str(found), gaps)


def beats_published(methods: tuple[str, ...]) -> Test:
    """On the benchmarks, FSPN is more often better than worse than each of `methods`."""

    def test(evidence: Evidence) -> Finding:
        found = {m: evidence.table1.differences(m) for m in methods}
        found = {m: d for m, d in found.items() if len(d) >= ENOUGH}
        if not found:
            return _too_few(evidence)
        scores = {m: _score(d) for m, d in found.items()}
        good = sum(wins > losses for wins, losses in scores.values())
        words = ", ".join(f"{m} {wins}:{losses}" for m, (wins, losses) in scores.items())
        return Finding(by_share(good, len(found)), f"wins : losses {words}", _coverage(found))

    return test


def slight_edges(evidence: Evidence) -> Finding:
    """Better than SPGM and ID-SPN, worse than SPN-BTB, each by little (median within 1%)."""
    expected = {"SPGM": 1, "ID-SPN": 1, "SPN-BTB": -1}
    theirs = evidence.table1.published
    found = {m: evidence.table1.differences(m) for m in expected}
    found = {m: d for m, d in found.items() if len(d) >= ENOUGH}
    if not found:
        return _too_few(evidence)
    scores = {m: _score(d) for m, d in found.items()}
    shares = {m: _median_share(d, theirs[m]) for m, d in found.items()}
    agree = sum(
        np.sign(won - lost) == expected[m] and abs(shares[m]) <= SLIGHT
        for m, (won, lost) in scores.items()
    )
    words = ", ".join(
        f"{m} {won}:{lost}, median difference {np.median(list(found[m].values())):+.2f}"
        for m, (won, lost) in scores.items()
    )
    return Finding(by_share(int(agree), len(found)), f"wins : losses {words}", _coverage(found))


def comparable(evidence: Evidence) -> Finding:
    """On most benchmarks FSPN is within 2% of the best published other model."""
    table = evidence.table1
    others = {m: d for m, d in table.published.items() if m != "FSPN"}
    shares = {}
    for name, value in table.subject.items():
        best = max(
            (d[name] for d in others.values() if math.isfinite(d.get(name, math.nan))),
            default=math.nan,
        )
        if math.isfinite(best):
            shares[name] = (best - value) / abs(best)
    if len(shares) < ENOUGH:
        return _too_few(evidence)
    near = [name for name, share in shares.items() if share <= 0.02]
    worst = max(shares, key=lambda name: shares[name])
    words = (
        f"within 2% of the best other on {len(near)} of {len(shares)} datasets; "
        f"furthest on {worst} ({100 * shares[worst]:.1f}%)"
    )
    enough = Verdict.HOLDS if len(near) >= 0.75 * len(shares) else Verdict.IN_PART
    return Finding(
        enough if len(near) >= 0.5 * len(shares) else Verdict.FAILS, words, _gap(len(shares))
    )


def best_of_all(evidence: Evidence) -> Finding:
    """FSPN has the best value of all columns on some of the 20 benchmarks, as in the paper (6)."""
    table = evidence.table1
    if len(table.subject) < ENOUGH:
        return _too_few(evidence)
    wins = sum(_is_best(table, name) for name in table.subject)
    verdict = Verdict.HOLDS if wins >= BOLD_IN_PAPER else Verdict.IN_PART
    total = len(table.subject)
    words = f"best on {wins} of {total}"
    return Finding(verdict if wins else Verdict.FAILS, words, _gap(total))


def _too_few(evidence: Evidence) -> Finding:
    return untested([f"{len(evidence.table1.subject)} of 20 benchmark datasets were run"])


def _is_best(table: LogLikelihoods, name: str) -> bool:
    others = [d.get(name, math.nan) for m, d in table.published.items() if m != "FSPN"]
    return all(table.subject[name] >= v - ROUNDED for v in others if math.isfinite(v))


def _score(differences: dict[str, float]) -> tuple[int, int]:
    values = differences.values()
    return sum(v > EQUAL_LL for v in values), sum(v < -EQUAL_LL for v in values)


def _median_share(differences: dict[str, float], theirs: Mapping[str, float]) -> float:
    return float(np.median([d / abs(theirs[name]) for name, d in differences.items()]))


def _coverage(found: dict[str, dict[str, float]]) -> tuple[str, ...]:
    return _gap(max(len(d) for d in found.values()))


def _gap(covered: int) -> tuple[str, ...]:
    return () if covered >= 20 else (f"{20 - covered} of 20 datasets not run",)
