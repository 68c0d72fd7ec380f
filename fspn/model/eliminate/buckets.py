r"""Bucket elimination of tables of logarithms (Dechter 1999).

.. math:: m_v(x_{S}) = \bigoplus_{x_v} \prod_{f \ni v} f(x_v, x_{S})

for one variable v after the other: the factors that mention v are multiplied and v is summed or
maximised out. A plan fixes, for given scopes and an order, which factors meet in which bucket; it
is made once per pattern of evidence. Axes of a factor are sorted so that the variable eliminated
first comes last: products need no transposition, and v is the last axis of its own bucket. Axis 0
counts the events.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fspn.model.eliminate.semiring import Semiring, TooWide

MAX_CELLS = 1 << 25
"""Numbers in one intermediate table, at most (256 MB)."""

Spread = tuple[slice | None, ...]


@dataclass(frozen=True)
class Step:
    """One bucket.

    Arguments:
        variable: What is taken out.
        scope: The variables of the product, what is taken out first last.
        inputs: The factors: their places, the index that spreads their axes over the scope, and
            their variables but the one that is taken out.
        output: The place of the message.
    """

    variable: int
    scope: tuple[int, ...]
    inputs: tuple[tuple[int, Spread, tuple[int, ...]], ...]
    output: int


@dataclass(frozen=True)
class Plan:
    """The buckets in their order.

    Arguments:
        scopes: The variables of the factors, each sorted as the axes must be.
        steps: The buckets.
        rest: Places of what is left, over the variables that are kept, and their spread.
        kept: The variables that are kept, as the answer's axes.
    """

    scopes: tuple[tuple[int, ...], ...]
    steps: tuple[Step, ...]
    rest: tuple[tuple[int, Spread], ...]
    kept: tuple[int, ...]


def make_plan(
    scopes: Sequence[Sequence[int]], order: Sequence[int], kept: Sequence[int] = ()
) -> Plan:
    """The plan of factors over ``scopes``, with all but the kept variables taken out in order."""
    rank = {v: i for i, v in enumerate([*order, *reversed(kept)])}
    known = [_sorted(scope, rank) for scope in scopes]
    alive = set(range(len(known)))
    holders: dict[int, set[int]] = {v: set() for v in rank}
    for place, scope in enumerate(known):
        for v in scope:
            holders[v].add(place)
    steps = []
    for v in order:
        bucket = sorted(holders[v])
        union = _sorted({u for place in bucket for u in known[place]} or {v}, rank)
        output = len(known)
        inputs = tuple(
            (place, spread, known[place][:-1]) for place, spread in _spreads(bucket, known, union)
        )
        steps.append(Step(v, union, inputs, output))
        known.append(union[:-1])
        alive -= set(bucket)
        alive.add(output)
        for place in bucket:
            for u in known[place]:
                holders[u].discard(place)
        for u in union[:-1]:
            holders[u].add(output)
    ends = tuple(kept)
    return Plan(
        tuple(known[: len(scopes)]), tuple(steps), _spreads(sorted(alive), known, ends), ends
    )


def _sorted(scope: Sequence[int] | set[int], rank: dict[int, int]) -> tuple[int, ...]:
    return tuple(sorted(scope, key=rank.__getitem__, reverse=True))


def _spreads(
    bucket: list[int], known: list[tuple[int, ...]], union: tuple[int, ...]
) -> tuple[tuple[int, Spread], ...]:
    whole = slice(None)
    return tuple(
        (place, (whole, *(whole if u in known[place] else None for u in union))) for place in bucket
    )


def eliminate(
    plan: Plan,
    factors: Sequence[np.ndarray],
    lengths: dict[int, int] | None,
    semiring_of: Callable[[int], Semiring],
) -> tuple[list[np.ndarray], np.ndarray]:
    """All factors and messages, and the answer: shape (n or 1, kept variables).

    Arguments:
        plan: Made for these factors.
        factors: Logarithms of shape (n or 1, variables of the scope).
        lengths: The number of codes of every variable; None = nothing is kept, and all fits.
        semiring_of: How a variable is taken out.
    """
    known = list(factors)
    n = 1 if lengths is None else max((len(factor) for factor in known), default=1)
    for step in plan.steps:
        if lengths is not None:
            check_cells(step.scope, lengths, n)
        place, spread, _ = step.inputs[0]
        product = known[place][spread]
        for place, spread, _ in step.inputs[1:]:
            product = product + known[place][spread]
        known.append(semiring_of(step.variable).plus(product))
    if lengths is not None:
        check_cells(plan.kept, lengths, n)
    answer = np.zeros((1, *((lengths or {})[v] for v in plan.kept)))
    for place, spread in plan.rest:
        answer = answer + known[place][spread]
    return known, answer


def check_cells(scope: tuple[int, ...], lengths: dict[int, int], n: int = 1) -> None:
    """Refuse n tables of too many cells."""
    cells = n
    for v in scope:
        cells *= lengths[v]
    if cells > MAX_CELLS:
        raise TooWide(
            f"an exact answer needs an intermediate table of {cells} numbers (at most {MAX_CELLS} "
            "are allowed); constrain more variables, ask for fewer columns, or fit with fewer "
            "max_parents or a smaller max_cells"
        )
