"""Statements that are judged in a second way, since the first is not the paper's or not all.

Times are first of all models in one engine: what the models are like. The paper timed programs. And
bytes are first those of a model; but what is compiled before it answers takes more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from experiments.report.claims.ledger import Claim, Test
from experiments.report.names import ANSWERING

PROGRAMS, ANSWERS = "-programs", "-answering"
TIMED = ("superior", "orders-faster", "fast-bn-dag", "fast-spn-btb", "fast-bn-tree", "fast-mspn")
SIZED = (
    *("superior-all", "compact-correlated", "size-orders", "size-consistent"),
    *("size-mspn", "size-spn-btb", "size-bn", "bn-tree-smallest"),
)


def with_both_ways(claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Each statement, and behind it the one that is judged in the second way."""
    return tuple(found for claim in claims for found in _ways(claim))


def _ways(claim: Claim) -> Iterator[Claim]:
    yield claim
    if claim.id in (*TIMED, "tree-still-slow"):
        how = f"times by each model's own program; {claim.measurement}"
        yield replace(claim, id=claim.id + PROGRAMS, measurement=how, test=by_programs(claim.test))
    if claim.id in SIZED:
        how = f"bytes of what answers: compiled ones where a model is compiled; {claim.measurement}"
        yield replace(
            claim, id=claim.id + ANSWERS, measurement=how, test=by_what_answers(claim.test)
        )


def by_programs(test: Test) -> Test:
    """A statement about query times by each model's own program, as the paper measured them."""
    return lambda evidence: test(replace(evidence, instead={"latency": "latency"}))


def by_what_answers(test: Test) -> Test:
    """A statement about sizes by the form of each model that answers queries."""
    return lambda evidence: test(replace(evidence, instead={"size": ANSWERING.key}))
