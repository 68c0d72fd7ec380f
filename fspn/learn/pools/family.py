"""One column's table in a network, and the bounds on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

STRENGTHS = (0.1, 1.0, 8.0, 64.0)
"""The strengths of smoothing that a level may have."""
EVEN_SHARES = (0.0, 0.1)
"""How much of what a level is smoothed towards may be an even chance of all values."""
POOLS = (64, 32, 20, 16)


class Prices(NamedTuple):
    """The evidence in nats that parents must bring.

    Arguments:
        first: The first one.
        anchored: The first one, where its rows are smoothed towards the rest of the table.
        further: Any further one.
    """

    first: float
    anchored: float
    further: float


@dataclass(frozen=True)
class Limits:
    """The bounds on a network.

    Arguments:
        max_parents: At most so many parents per variable.
        max_cells: No product of an elimination has more cells.
        strengths: The strengths of smoothing that a level may have.
        careful: Whether a parent that is found on a part of the rows must gain more.
    """

    max_parents: int
    max_cells: int
    strengths: tuple[float, ...] = STRENGTHS
    careful: bool = True

    def narrow_pool(self, sizes: np.ndarray) -> int:
        """So many columns, at least one, have no more cells together, whichever they are."""
        bits = np.cumsum(np.log2(np.sort(sizes)[::-1]))
        return max(int(np.searchsorted(bits, np.log2(self.max_cells) + 1e-9)), 1)

    def pools(self, largest: int, narrow: int) -> list[int]:
        """The sizes of pools to try, the largest first."""
        return [*(size for size in POOLS if narrow < size <= largest), narrow]


@dataclass(frozen=True)
class Family:
    """One column's table.

    Arguments:
        parents: In the order in which they were found.
        strengths: The strength of the smoothing of each level.
        even: The share of an even chance in what each level is smoothed towards.
        base: The distribution without parents.
        anchor: What the rows of the first level are smoothed towards, one distribution per value
            of the first parent; None = the base.
        table: The distribution per configuration of the parents (the first is the highest digit).
    """

    parents: tuple[int, ...]
    strengths: tuple[float, ...]
    even: tuple[float, ...]
    base: np.ndarray
    anchor: np.ndarray | None
    table: np.ndarray


def without_parents(base: np.ndarray) -> Family:
    """The table of a column that has none."""
    return Family((), (), (), base, None, base[None])
