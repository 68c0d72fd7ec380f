"""Rules for what grows with dependence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from experiments.report.claims.ledger import Evidence, Finding, Test, Verdict
from experiments.report.claims.rules import EQUAL, of_other_code, untested
from experiments.report.names import LEVELS, label
from experiments.report.tables.writing import readable


def grows(model: str, measure: str) -> Test:
    """The measure of `model` rises with RDC, over all levels and from the second on.

    The first level has independent columns, where any model is small and exact; so dependence that
    grows is judged without it too, and the weaker verdict counts.
    """
    whole, dependent = _rises(model, measure, LEVELS), _rises(model, measure, LEVELS[1:])

    def test(evidence: Evidence) -> Finding:
        first, second = whole(evidence), dependent(evidence)
        if Verdict.NOT_TESTED in (first.verdict, second.verdict):
            return first
        order = (Verdict.FAILS, Verdict.IN_PART, Verdict.HOLDS)
        weaker = min((first.verdict, second.verdict), key=order.index)
        words = f"{first.numbers}; from RDC {LEVELS[1]:g} up {second.numbers}; the weaker counts"
        return replace(first, verdict=weaker, numbers=words)

    return test


def _rises(model: str, measure: str, levels: Sequence[float]) -> Test:
    """From first to last of some levels 10x, and in all steps but one."""

    def test(evidence: Evidence) -> Finding:
        values = [evidence.numbers.mean(level, model, measure) for level in levels]
        known = [v for v in values if v > 0]
        if len(known) < 3:  # Of two steps at least one has to rise.
            return untested([f"{label(model)} not measured on three levels"])
        absent = [level for level, v in zip(levels, values, strict=True) if not v > 0]
        where = evidence.numbers.listed(absent)
        gaps = (f"{label(model)} not measured at {where}",) if absent else ()
        factor = known[-1] / known[0]
        rises = sum(b > (1 + EQUAL) * a for a, b in pairwise(known))
        strong = factor >= 10 and rises >= len(known) - 2
        weak = Verdict.IN_PART if factor > 1 + EQUAL else Verdict.FAILS
        ends = f"{readable(known[0])} to {readable(known[-1])} ({readable(factor)}×)"
        steps = f"rising in {rises} of {len(known) - 1} steps"
        words = f"{ends}, {steps}; the factor rests on the two end points"
        stale = of_other_code(evidence, measure, (model,))
        return Finding(Verdict.HOLDS if strong else weak, words, gaps, len(stale))

    return test
