"""The distinct configurations of several columns, numbered; what two sets share is counted once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit

from fspn.learn.network.counting import joint_ranks

MOST_KEPT = 16
MAX_KEPT_ROWS = 1_000_000
"""Rows over all rankings that are kept at a time."""


@dataclass(frozen=True)
class Ranking:
    """The configurations of some columns.

    Arguments:
        ranks: The number of every row's configuration.
        examples: A row of each configuration.
    """

    ranks: np.ndarray
    examples: np.ndarray

    def __len__(self) -> int:
        return len(self.examples)


class Rankings:
    """Rankings of the columns of a table, the latest ones kept.

    A search tries many further parents beside the same ones, so most sets begin like one before.

    Arguments:
        codes: The columns.
        sizes: The number of codes of each.
    """

    def __init__(self, codes: Sequence[np.ndarray], sizes: Sequence[int]):
        self._codes, self._sizes = codes, sizes
        self._kept: OrderedDict[tuple[int, ...], Ranking] = OrderedDict()
        self._most = min(MOST_KEPT, MAX_KEPT_ROWS // max(len(codes[0]), 1))

    def of(self, columns: tuple[int, ...]) -> Ranking:
        """The configurations of two or more columns."""
        if columns in self._kept:
            self._kept.move_to_end(columns)
            return self._kept[columns]
        *before, last = columns
        if len(before) == 1:
            ids, n_ids = self._codes[before[0]], self._sizes[before[0]]
        else:
            ranking = self.of(tuple(before))
            ids, n_ids = ranking.ranks, len(ranking)
        ranks, n_ranks = joint_ranks(ids, self._codes[last], n_ids, self._sizes[last])
        found = self._kept[columns] = Ranking(ranks, _examples(ranks, n_ranks))
        while len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return found


@njit(cache=True, nogil=True)
def _examples(ranks: np.ndarray, n_ranks: int) -> np.ndarray:
    """The first row of every rank."""
    found, left = np.full(n_ranks, -1, dtype=np.int64), n_ranks
    for row in range(len(ranks)):
        if found[ranks[row]] < 0:
            found[ranks[row]] = row
            left -= 1
            if left == 0:
                break
    return found
