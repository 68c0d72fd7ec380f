"""Checks that the validation of several families shares: a sentence per fault."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

TOLERANCE = 1e-9


def share_faults(shares: np.ndarray, what: str) -> Iterator[str]:
    """Probabilities must not be negative and must sum to 1."""
    if not (shares >= 0).all():
        yield f"{what} hold a negative number or NaN"
    else:
        yield from total_fault(float(shares.sum()), what)


def total_fault(total: float, what: str) -> Iterator[str]:
    """A total mass must be 1."""
    if not abs(total - 1.0) <= TOLERANCE:
        yield f"{what} sum to {total:.12g}, not 1"
