"""Rules for what the paper says in passing: f and l, leaves, domains, rivals, shapes."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd

from experiments.report.call_cost import TIMES_THE_CALL, beyond_the_call, fixed_cost
from experiments.report.claims.ledger import ONE_DRAW, Evidence, Finding, Test, Verdict
from experiments.report.claims.propositions import EXPERIMENT as PROPOSITIONS
from experiments.report.claims.rules import EQUAL, by_count, by_share, noise, untested
from experiments.report.figures.scaling import fit_power
from experiments.report.names import MEASURES, label
from experiments.report.tables.writing import readable

COSTS = "costs"
# "A very small number (near O(1))".
FEW = 5
# Exponents that count as constant, and as quadratic.
CONSTANT = 0.2
# Over so wide a range of sizes that exponent makes a time six times as long: one that never
# doubles, the fixed cost of a call included, is constant.
WIDE = 1e4
QUADRATIC = (1.5, 2.5)
# "Stays small as models grow": at most as the root of the number of nodes.
SLOW = 0.5
EXACT = 1e-9
# Nats per row that count as nothing lost.
LOST = 1e-3


def few_factorize(evidence: Evidence) -> Finding:
    """F is at most five on every dataset of the study."""
    rows = _study(evidence)
    known = rows[rows["n_factorize"].notna()] if len(rows) else rows
    if known.empty:
        return untested(["no rows that count factorize nodes"])
    good = int((known["n_factorize"] <= FEW).sum())
    words = (
        f"f from {known['n_factorize'].min():,.0f} to {known['n_factorize'].max():,.0f}, "
        f"at most {FEW} in {good} of {len(known)} models"
    )
    verdict = by_share(good, len(known))
    if verdict is Verdict.IN_PART and 2 * good <= len(known):
        verdict = Verdict.FAILS
    return Finding(verdict, words, other_code=stale(known))


def slow_growth(evidence: Evidence) -> Finding:
    """Both f and l grow at most as the root of the number of nodes, as far as it varies."""
    rows = _study(evidence)
    fits = {}
    for name, column in (("f", "n_factorize"), ("l", "n_multi_leaves")):
        known = rows[rows[column].notna() & (rows["n_nodes"] > 1)] if len(rows) else rows
        if len(known):
            nodes, counts = known["n_nodes"].to_numpy(), known[column].to_numpy()
            fits[name] = fit_power(nodes, counts, "the study")
    found = {name: fit for name, fit in fits.items() if fit is not None}
    if not found:
        return untested(["no rows in which f or l and the number of nodes vary"])
    good = sum(fit.exponent <= SLOW for fit in found.values())
    words = ", ".join(f"{n} ~ nodes^{fit.exponent:.2f}" for n, fit in found.items())
    gaps = tuple(f"{n} does not vary enough" for n in ("f", "l") if n not in found)
    return Finding(by_share(good, len(found)), words, gaps, stale(rows))


def cost_in_domain(model: str, low: float, high: float) -> Test:
    """The exponent of query time over the number of values lies between `low` and `high`.

    Times that are mostly the fixed cost of a call do not count: they are flat whatever the cost.
    """

    def test(evidence: Evidence) -> Finding:
        rows = evidence.of(COSTS)
        mine = rows[rows["model"] == model] if len(rows) else rows
        if mine.empty:
            return untested([f"no rows of experiment={COSTS} of {label(model)}"])
        sizes = mine["dataset"].str.rpartition("_")[2].astype(float).to_numpy()
        times = mine["latency_single_ms"].to_numpy()
        kept = beyond_the_call(times)
        fit = fit_power(sizes[kept], times[kept], f"experiment={COSTS}")
        if fit is None and low < 0 and max(sizes) >= WIDE * min(sizes):
            return _never_doubles(sizes, times, stale(mine))
        if fit is None:
            return untested([within_the_call(times, f"up to {max(sizes):,.0f} values a column")])
        verdict = Verdict.HOLDS if low <= fit.exponent <= high else Verdict.FAILS
        words = (
            f"exponent {fit.exponent:.2f} ± {2 * fit.error:.2f} (95%), "
            f"{min(fit.nodes):,.0f} to {max(fit.nodes):,.0f} values a column"
        )
        return Finding(verdict, words, other_code=stale(mine))

    return test


def _never_doubles(sizes: np.ndarray, times: np.ndarray, other_code: int) -> Finding:
    """Constant where no time is twice the smallest; a few that are, too few to fit, say nothing."""
    span = f"{min(sizes):,.0f} to {max(sizes):,.0f} values a column"
    if beyond_the_call(times).any():
        return untested([within_the_call(times, span)])
    words = f"{readable(min(times))} to {readable(max(times))} ms, {span}"
    return Finding(Verdict.HOLDS, words, other_code=other_code)


def loses_nothing(evidence: Evidence) -> Finding:
    """Nodes put together as their parts say, and no dependence is cut at product nodes.

    In part: the parts are exact, but a product node cuts dependence that the rows have.
    """
    rows = evidence.of(PROPOSITIONS)
    mine = rows[rows["model"] == f"{evidence.subject}_parts"] if len(rows) else rows
    if mine.empty:
        return untested([f"no rows of experiment={PROPOSITIONS} for this learner"])
    exact, whole = mine["kl_max"] <= EXACT, mine["kl_mean"] <= LOST
    cut = f", product nodes lose up to {mine['kl_mean'].max():.2g} nats per row"
    words = (
        f"exact on {exact.sum()} of {len(mine)} datasets, {mine['n_nodes'].sum():,.0f} children of "
        f"product and factorize nodes tested, largest difference {mine['kl_max'].max():.1e}"
        f"{cut if not whole.all() else ''}"
    )
    verdict = by_share(int((exact & whole).sum()), len(mine))
    verdict = Verdict.IN_PART if exact.all() and not whole.all() else verdict
    return Finding(verdict, words, other_code=stale(mine))


def subsumes_spn(evidence: Evidence) -> Finding:
    """Proposition 1 for tree SPNs: the same answers by no more parameters and no more bytes."""
    rows = evidence.of(COSTS)
    couples = _couples(rows, "spn", "spn_as_fspn") if len(rows) else {}
    if not couples:
        return untested([f"no rows of experiment={COSTS} that convert tree SPNs"])
    alike = [
        own["n_parameters"] >= ours["n_parameters"] and own["size_bytes"] >= ours["size_bytes"]
        for own, ours in couples.values()
        if ours["kl_max"] <= EXACT
    ]
    ratio = max(ours["size_bytes"] / own["size_bytes"] for own, ours in couples.values())
    worst = max(ours["kl_max"] for _, ours in couples.values())
    words = f"bytes {readable(ratio)}× the source's at most, largest difference {worst:.1e}"
    used = stale(rows[rows["model"].isin(["spn", "spn_as_fspn"])])
    return Finding(by_share(sum(alike), len(couples)), words, other_code=used)


def mspn_over_learnspn(evidence: Evidence) -> Finding:
    """MSPN's test log-likelihood is above LearnSPN's where both were run on the same rows."""
    rows = evidence.rows[evidence.rows["status"] == "ok"] if len(evidence.rows) else evidence.rows
    couples = _couples(rows, "mspn", "spn_tree") if len(rows) else {}
    gains = {
        name: a["test_ll"] - b["test_ll"]
        for name, (a, b) in couples.items()
        if math.isfinite(a["test_ll"] - b["test_ll"])
    }
    if not gains:
        return untested(["no dataset has rows of both MSPN and LearnSPN"])
    better = sum(gain > 0 for gain in gains.values())
    median = float(np.median(list(gains.values())))
    names = ", ".join(name.split("/")[1] for name in gains)
    words = (
        f"ahead on {better} of {len(gains)} datasets ({names}), median {median:+.2f} nats per row; "
        "LearnSPN is our own tree SPN (spn_tree), not its authors' program"
    )
    own = ("LearnSPN's authors' program was not run",)
    return Finding(by_count(better, len(gains) - better, len(gains)), words, own)


def drops_at_the_end(evidence: Evidence) -> Finding:
    """From RDC 0.83 to 0.95 FSPN's KL, query time and bytes all fall; in part: most of them."""
    numbers, subject = evidence.numbers, evidence.subject
    found, gaps, fell = {}, [], 0
    for measure in ("kl", "latency", "size"):
        key = evidence.measured_by(measure)
        cells = [numbers.get(level, subject, key) for level in (0.83, 0.95)]
        known = [cell for cell in cells if cell is not None]
        if len(known) < 2:
            gaps.append(f"{MEASURES[key].short} not measured at both levels")
            continue
        before, last = (cell.mean for cell in known)
        found[MEASURES[key].short] = (before, last)
        fell += before / last >= max(noise(evidence, key), 1 + EQUAL)
        if len(evidence.rows) and min(len(cell.values) for cell in known) < 2:
            gaps.append(ONE_DRAW)
    if not found:
        return untested([f"{label(subject)} not measured at RDC 0.83 and 0.95"])
    words = ", ".join(f"{k} {readable(a)} to {readable(b)}" for k, (a, b) in found.items())
    verdict = by_share(fell, len(found))
    if verdict is Verdict.IN_PART and 2 * fell <= len(found):
        verdict = Verdict.FAILS
    said = f"{words}; rests on two levels"
    return Finding(verdict, said, tuple(dict.fromkeys(gaps)), stale(_study(evidence)))


def worked_example(evidence: Evidence) -> Finding:
    """Appendix B: the event of the worked example has probability 0.171."""
    rows = evidence.of(PROPOSITIONS)
    mine = rows[rows["model"] == "appendix_b"] if len(rows) else rows
    if mine.empty:
        return untested([f"no rows of experiment={PROPOSITIONS} with the worked example"])
    error = float(mine["kl_max"].max())
    verdict = Verdict.HOLDS if error <= EXACT else Verdict.FAILS
    return Finding(verdict, f"differs from 0.171 by {error:.1e}", other_code=stale(mine))


def within_the_call(milliseconds: np.ndarray, span: str) -> str:
    """Why times give no exponent: too few of them are more than the fixed cost of a call."""
    kept = int(beyond_the_call(milliseconds).sum())
    return (
        f"{kept} of {len(milliseconds)} times, {span}, are {TIMES_THE_CALL:g}× the fixed cost of a "
        f"call ({readable(fixed_cost(milliseconds))} ms) or more"
    )


def stale(rows: pd.DataFrame) -> int:
    """How many rows other code than the present one recorded."""
    return int(rows["other_code"].sum()) if len(rows) else 0


def _study(evidence: Evidence) -> pd.DataFrame:
    """The finished rows of the subject in the main study and on its further draws."""
    rows = evidence.main
    if rows.empty:
        return rows
    return rows[(rows["model"] == evidence.subject) & (rows["status"] == "ok")]


def _couples(
    rows: pd.DataFrame, first: str, second: str
) -> dict[str, tuple[Mapping[str, float], Mapping[str, float]]]:
    """The measures of two models on the experiments, datasets and seeds that have both."""
    columns = ["test_ll", "n_parameters", "size_bytes", "kl_max"]
    index = ["experiment", "dataset", "seed"]
    both = rows[rows["model"].isin([first, second])].drop_duplicates([*index, "model"], keep="last")
    found = {}
    for key, part in both.groupby(index):
        by_model = part.set_index("model")[columns].astype(float).to_dict("index")
        if len(by_model) == 2:
            found["/".join(map(str, key))] = (by_model[first], by_model[second])
    return found  # type: ignore[return-value]
