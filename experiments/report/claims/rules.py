"""Rules that turn numbers into verdicts.

A pair is one other model on one dataset; its ratio is the other model's value divided by FSPN's, so
above 1 FSPN is better. Where the values of single queries are recorded, ratio and interval are of
the queries that both have, and a pair is better or worse by its interval, corrected for the number
of pairs (:mod:`experiments.report.statistics`); where there is one number each, by more than one
percent. Our times differ from run to run by more than any interval over queries, so a time must
also be twice the other.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from experiments.report.claims.ledger import ONE_DRAW, Evidence, Finding, Test, Verdict
from experiments.report.names import JUDGED, OPPONENTS, TIMES, label
from experiments.report.statistics import LEVEL, Comparison, holm
from experiments.report.tables.writing import readable

# Without an interval, within one percent counts as equal.
EQUAL = 0.01
# The same model took 0.014 and 0.025 ms in two runs on one machine.
SAME_TIME = 2.0
# A claimed maximum was rounded in the paper.
ROUNDING = 0.95
PROGRAMS = {"engine": "same engine", "latency": "each model's own program"}
"""What times are of."""


@dataclass(frozen=True)
class Pair:
    """FSPN against another model on one level."""

    level: float
    model: str
    ratio: float
    comparison: Comparison | None = None
    where: str = ""

    def __str__(self) -> str:
        return f"{readable(self.ratio)}×{self._interval} ({label(self.model)}, {self.where})"

    @property
    def _interval(self) -> str:
        if self.comparison is None:
            return ""
        return f" [{readable(self.comparison.low)}, {readable(self.comparison.high)}]"


@dataclass(frozen=True)
class Pairs:
    """All pairs that could be formed, and what is missing.

    Arguments:
        found: the pairs.
        gaps: what could not be compared.
        program: whose times they are.
        noise: the factor within which two values are equal whatever their interval.
        other_code: the rows behind them that other code recorded, by their place in the table.
    """

    found: tuple[Pair, ...]
    gaps: tuple[str, ...]
    program: str = ""
    noise: float = 1.0
    other_code: frozenset[int] = frozenset()

    @cached_property
    def better(self) -> list[Pair]:
        """Pairs in which FSPN is better, by the interval or else by more than the tolerance."""
        return [pair for pair in self._different if pair.ratio > 1]

    @cached_property
    def worse(self) -> list[Pair]:
        """Pairs in which FSPN is worse, by the interval or else by more than the tolerance."""
        return [pair for pair in self._different if pair.ratio < 1]

    @cached_property
    def behind(self) -> list[Pair]:
        """Pairs in which FSPN is worse, but by less than the noise: nothing that "never" covers."""
        equal = [pair for pair in self.found if pair not in self._different]
        return [pair for pair in equal if self.noise > 1 and pair.ratio < 1 - EQUAL]

    @property
    def draws(self) -> tuple[int, ...]:
        """The numbers of dataset draws behind intervals, from the fewest to the most."""
        return tuple(sorted({p.comparison.draws for p in self.found if p.comparison}))

    @cached_property
    def _different(self) -> list[Pair]:
        adjusted = iter(holm([p.comparison.p for p in self.found if p.comparison]))
        return [
            pair
            for pair in self.found
            if (next(adjusted) < LEVEL if pair.comparison else abs(pair.ratio - 1) > EQUAL)
            and max(pair.ratio, 1 / pair.ratio) >= self.noise
        ]


def pairs(
    evidence: Evidence,
    measure: str,
    models: Sequence[str],
    levels: Sequence[float] | None = None,
) -> Pairs:
    """FSPN against `models` on `levels` by one measure; latency in one engine where it is known."""
    measure = evidence.measured_by(measure)
    levels = evidence.levels if levels is None else levels
    listed = evidence.numbers.listed
    found: list[Pair] = []
    gaps: list[str] = []
    for model in models:
        ratios = [_pair(evidence, x, model, measure) for x in levels]
        known = [pair for pair in ratios if math.isfinite(pair.ratio)]
        found += known
        other = [x for x in levels if not _comparable(evidence, x, model, measure)]
        if other:
            gaps.append(f"{label(model)} timed on another node type at {listed(other)}")
        absent = [pair.level for pair in ratios if pair not in known and pair.level not in other]
        if len(absent) == len(levels):
            gaps.append(f"{label(model)} not measured")
        elif absent:
            gaps.append(f"{label(model)} not measured at {listed(absent)}")
    if any(one_draw(evidence, pair, measure) for pair in found):
        gaps.append(ONE_DRAW)
    return Pairs(
        tuple(found),
        tuple(gaps),
        PROGRAMS.get(measure, ""),
        noise(evidence, measure),
        of_other_code(evidence, measure, (*models, evidence.subject)),
    )


def of_other_code(evidence: Evidence, measure: str, models: Sequence[str]) -> frozenset[int]:
    """The rows of the study with a value of `models` that other code recorded."""
    rows = evidence.main
    if rows.empty:
        return frozenset()
    stale = rows["model"].isin(models) & rows["other_code"].astype(bool)
    return frozenset(rows.index[stale & rows[JUDGED[measure].column].notna()])


def noise(evidence: Evidence, measure: str) -> float:
    """The factor within which two of our values are equal; the paper's are taken as printed."""
    return SAME_TIME if measure in TIMES and len(evidence.rows) else 1.0


def one_draw(evidence: Evidence, pair: Pair, measure: str) -> bool:
    """Whether one of our pairs rests on a single draw of its dataset."""
    if not len(evidence.rows):
        return False
    if pair.comparison is not None:
        return pair.comparison.draws < 2
    models = (pair.model, evidence.subject)
    cells = [evidence.numbers.get(pair.level, model, measure) for model in models]
    return len(set.intersection(*(set(cell.values) for cell in cells if cell is not None))) < 2


def _comparable(evidence: Evidence, level: float, model: str, measure: str) -> bool:
    """Times of different node types do not compare."""
    return evidence.numbers.same_node(level, model, evidence.subject, measure)


def _pair(evidence: Evidence, level: float, model: str, measure: str) -> Pair:
    """The ratio is that of its interval: a slow model is not timed on every query."""
    if not _comparable(evidence, level, model, measure):
        return Pair(level, model, math.nan)
    numbers, subject = evidence.numbers, evidence.subject
    factor = numbers.factor(level, model, subject, measure)
    compared = numbers.compare(level, model, subject, measure)
    return Pair(level, model, factor, compared, numbers.name(level))


def _as_printed(pair: Pair) -> float:
    """The ratio to four digits: of two models that are the same the first is named, always."""
    return float(f"{pair.ratio:.4g}")


def untested(gaps: Sequence[str]) -> Finding:
    """Nothing to judge by."""
    return Finding(Verdict.NOT_TESTED, "no numbers", tuple(gaps))


def count(tested: Pairs) -> str:
    """In how many pairs FSPN is better, equal, worse; and the worst one."""
    better, worse, total = len(tested.better), len(tested.worse), len(tested.found)
    words = (
        f"better in {better} of {total} pairs, tied in {total - better - worse}, worse in {worse}"
    )
    if tested.behind:
        words += f" (behind by less than {tested.noise:g}× in {len(tested.behind)})"
    if tested.program:
        words += f", {tested.program}"
    if tested.draws:
        few, many = tested.draws[0], tested.draws[-1]
        span = f"{few}" if few == many else f"{few} to {many}"
        words += f" ({span} dataset draw{'s' * (many > 1)} each)"
    if worse:
        words += "; worst: " + str(min(tested.found, key=_as_printed))
    return words


def by_count(better: int, worse: int, total: int) -> Verdict:
    """Holds if never worse and mostly better, in part if more often better than worse."""
    if not worse and 2 * better > total:
        return Verdict.HOLDS
    return Verdict.IN_PART if better > worse else Verdict.FAILS


def rests_on_one(better: int, worse: int, total: int) -> str:
    """Says so where the verdict by count is another once some single pair is left out."""
    verdict = by_count(better, worse, total)
    without = [(better - 1, worse), (better, worse - 1), (better, worse)]
    there = (better, worse, total - better - worse)
    changed = [
        by_count(b, w, total - 1) is not verdict
        for (b, w), count in zip(without, there, strict=True)
        if count
    ]
    return "; rests on one pair" if total == 1 or any(changed) else ""


def always_better(
    measures: Sequence[str],
    models: Sequence[str] = OPPONENTS,
    levels: Sequence[float] | None = None,
) -> Test:
    """FSPN is better than each of `models` on each level, by every measure; ties do not count."""

    def test(evidence: Evidence) -> Finding:
        tested = {m: pairs(evidence, m, models, levels) for m in measures}
        gaps = _unique(gap for found in tested.values() for gap in found.gaps)
        if not any(found.found for found in tested.values()):
            return untested(gaps)
        better = sum(len(found.better) for found in tested.values())
        worse = sum(len(found.worse) for found in tested.values())
        total = sum(len(found.found) for found in tested.values())
        words = [
            f"{_name(evidence, m)}: {count(found)}" for m, found in tested.items() if found.found
        ]
        verdict = _never(by_count(better, worse, total), tested.values())
        said = ". ".join(words) + rests_on_one(better, worse, total)
        return Finding(verdict, said, gaps, _count_other(tested.values()))

    return test


def _name(evidence: Evidence, measure: str) -> str:
    """What a reader calls a measure, or the one that it is judged by instead."""
    return JUDGED[evidence.instead.get(measure, measure)].short


def _count_other(tested: Iterable[Pairs]) -> int:
    return len(frozenset[int]().union(*(found.other_code for found in tested)))


def all_at_once(
    measures: Sequence[str],
    models: Sequence[str] = OPPONENTS,
    levels: Sequence[float] | None = None,
) -> Test:
    """FSPN leads each of `models` on each level in all measures at once: a conjunction.

    A pair is better if it is so by every measure, and worse if it is worse by any of them.
    """

    def test(evidence: Evidence) -> Finding:
        tested = {m: pairs(evidence, m, models, levels) for m in measures}
        gaps = _unique(gap for found in tested.values() for gap in found.gaps)
        known = set.intersection(*({_who(p) for p in found.found} for found in tested.values()))
        if not known:
            return untested(gaps)
        better = set.intersection(*({_who(p) for p in t.better} for t in tested.values())) & known
        worse = set.union(*({_who(p) for p in t.worse} for t in tested.values())) & known
        names = " and ".join(_name(evidence, m) for m in measures)
        words = [
            f"{names} at once: better in {len(better)} of {len(known)} pairs, worse in one of them "
            f"in {len(worse)}{rests_on_one(len(better), len(worse), len(known))}",
            *(f"{_name(evidence, m)}: {count(found)}" for m, found in tested.items()),
        ]
        verdict = _never(by_count(len(better), len(worse), len(known)), tested.values())
        return Finding(verdict, ". ".join(words), gaps, _count_other(tested.values()))

    return test


def _never(verdict: Verdict, tested: Iterable[Pairs]) -> Verdict:
    """Holds only if FSPN is never behind, not even within the noise."""
    if verdict is Verdict.HOLDS and any(found.behind for found in tested):
        return Verdict.IN_PART
    return verdict


def _who(pair: Pair) -> tuple[float, str]:
    return pair.level, pair.model


def up_to(factor: float, measure: str, model: str) -> Test:
    """The largest ratio over the levels reaches the claimed factor; in part: half of its orders.

    Half of the orders of magnitude, the root of the factor: 26 of a claimed 680, not 3.
    """

    def test(evidence: Evidence) -> Finding:
        tested = pairs(evidence, measure, (model,))
        if not tested.found:
            return untested(tested.gaps)
        best = max(tested.found, key=_as_printed)
        if best.ratio >= ROUNDING * factor:
            verdict = Verdict.HOLDS
        else:
            verdict = Verdict.IN_PART if best.ratio >= math.sqrt(factor) else Verdict.FAILS
        of = f", {tested.program}" if tested.program else ""
        return Finding(
            verdict,
            f"up to {best}{of}; claimed {factor:g}×; rests on one dataset",
            tested.gaps,
            len(tested.other_code),
        )

    return test


def orders_faster(least: float = 10.0) -> Test:
    """Every other model is at least `least` times slower; in part if some are, and few faster."""

    def test(evidence: Evidence) -> Finding:
        tested = pairs(evidence, "latency", OPPONENTS)
        if not tested.found:
            return untested(tested.gaps)
        reach = [pair for pair in tested.found if pair.ratio >= least]
        low = min(tested.found, key=_as_printed)
        high = max(tested.found, key=_as_printed)
        verdict = by_share(len(reach), len(tested.found))
        better, worse = len(tested.better), len(tested.worse)
        if verdict is Verdict.IN_PART and better <= worse:
            verdict = Verdict.FAILS
        share = f"{len(reach)} of {len(tested.found)} pairs at {least:g}× or more"
        words = f"{share}, better in {better}, worse in {worse}, {tested.program}; {low} to {high}"
        words += share_rests_on_one(len(reach), len(tested.found), "pair")
        return Finding(verdict, words, tested.gaps, len(tested.other_code))

    return test


def by_share(reached: int, total: int) -> Verdict:
    """Holds if all, in part if some, does not hold if none."""
    if reached == total:
        return Verdict.HOLDS
    return Verdict.IN_PART if reached else Verdict.FAILS


def share_rests_on_one(reached: int, total: int, what: str) -> str:
    """Says so where the verdict by share is another once some single case is left out."""
    alone = total == 1 or reached == 1 or reached == total - 1
    return f"; rests on one {what}" if alone else ""


def largest_reaches(measure: str, factor: float) -> Test:
    """The largest ratio against any model reaches `factor`, and FSPN is better in most pairs.

    In part: the factor is reached or FSPN is better in most pairs.
    """

    def test(evidence: Evidence) -> Finding:
        tested = pairs(evidence, measure, OPPONENTS)
        if not tested.found:
            return untested(tested.gaps)
        best = max(tested.found, key=_as_printed)
        met = [best.ratio >= factor, 2 * len(tested.better) > len(tested.found)]
        words = f"largest: {best}, which rests on one pair; {count(tested)}"
        verdict = by_share(sum(met), len(met))
        return Finding(verdict, words, tested.gaps, len(tested.other_code))

    return test


def several_times(measure: str, models: Sequence[str], least: float = 2.0) -> Test:
    """FSPN is at least `least` times better in every pair; in part if better in more than half."""

    def test(evidence: Evidence) -> Finding:
        tested = pairs(evidence, measure, models)
        if not tested.found:
            return untested(tested.gaps)
        reach = [pair for pair in tested.found if pair.ratio >= least]
        verdict = Verdict.HOLDS if len(reach) == len(tested.found) else Verdict.FAILS
        if verdict is Verdict.FAILS and 2 * len(tested.better) > len(tested.found):
            verdict = Verdict.IN_PART
        words = f"{least:g}× or more in {len(reach)} of {len(tested.found)} pairs; {count(tested)}"
        return Finding(verdict, words, tested.gaps, len(tested.other_code))

    return test


def extreme(measure: str, model: str, *, largest: bool) -> Test:
    """`model` has the smallest (or largest) value of all on every level where it was measured."""

    def test(evidence: Evidence) -> Finding:
        hits: list[str] = []
        misses: list[str] = []
        fewest = math.inf
        known: set[str] = set()
        for level in evidence.levels:
            values, draws = _values(evidence, level, evidence.measured_by(measure))
            known |= values.keys()
            if model in values and len(values) > 1:
                edge = max(values.values()) if largest else min(values.values())
                near = abs(values[model] - edge) <= EQUAL * edge
                who = next(m for m, value in values.items() if value == edge)
                where = evidence.numbers.name(level)
                (hits if near else misses).append(f"{where}: {label(who)} {readable(edge)}")
                fewest = min(fewest, draws)
        if not hits and not misses:
            return untested([f"{label(model)} not measured"])
        word = "largest" if largest else "smallest"
        words = f"{label(model)} is the {word} on {len(hits)} of {len(hits) + len(misses)} datasets"
        missed = f"; elsewhere {'; '.join(misses)}" if misses else ""
        gaps = [f"{label(m)} not measured" for m in OPPONENTS if m not in known]
        total, wanted = len(hits) + len(misses), len(evidence.levels)
        if total < wanted:
            gaps.append(f"{wanted - total} of {wanted} datasets")
        if len(evidence.rows) and fewest < 2:
            gaps.append(ONE_DRAW)
        words += missed + share_rests_on_one(len(hits), total, "dataset")
        judged = evidence.measured_by(measure)
        stale = of_other_code(evidence, judged, (*OPPONENTS, evidence.subject))
        return Finding(by_share(len(hits), total), words, tuple(gaps), len(stale))

    return test


def worse_than(
    worse: Sequence[str],
    better: str,
    measure: str = "latency",
    words: tuple[str, str] = ("slower", "faster"),
) -> Test:
    """Each of `worse` has more than `better` on every level, by the rules of all pairs."""

    def test(evidence: Evidence) -> Finding:
        tested = pairs(replace(evidence, subject=better), measure, worse)
        if not tested.found:
            return untested(tested.gaps)
        more, less, total = len(tested.better), len(tested.worse), len(tested.found)
        said = f"{words[0]} than {label(better)} in {more} of {total} pairs, {words[1]} in {less}"
        said += f", {tested.program}" if tested.program else ""
        if less:
            said += "; e.g. " + str(min(tested.worse, key=_as_printed))
        said += rests_on_one(more, less, total)
        return Finding(by_count(more, less, total), said, tested.gaps, len(tested.other_code))

    return test


def _values(evidence: Evidence, level: float, measure: str) -> tuple[dict[str, float], int]:
    """The means of all models over the draws that all of them have, and the number of those."""
    models = (*OPPONENTS, evidence.subject)
    cells = {m: evidence.numbers.get(level, m, measure) for m in models}
    known = {m: cell.values for m, cell in cells.items() if cell is not None}
    shared = set.intersection(*map(set, known.values())) if known else set()
    return {
        m: sum(values[seed] for seed in shared) / len(shared)
        for m, values in known.items()
        if shared
    }, len(shared)


def _unique(items: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(items))
