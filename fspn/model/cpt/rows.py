"""Sparse rows of a conditional table, the form that kernels read, and their keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from fspn.model.leaves.checks import TOLERANCE


@dataclass(frozen=True)
class Rows:
    """Sparse rows: one per configuration of the first ``width`` parents that was seen.

    Arguments:
        keys: The sorted keys of the rows (see :func:`row_keys`).
        start: Where each row begins in ``codes`` and ``share``; one more entry than rows.
        codes: The child's codes.
        share: :math:`S(x, u)` of each entry.
        tail: :math:`T(u)` of each row.
    """

    keys: np.ndarray
    start: np.ndarray
    codes: np.ndarray
    share: np.ndarray
    tail: np.ndarray

    def faults(self, sizes: tuple[int, ...], size: int) -> Iterator[str]:
        """What is wrong: keys and codes outside their domains, order, sums other than 1.

        Arguments:
            sizes: The numbers of codes of the parents in use.
            size: The number of codes of the child.
        """
        keys, codes = self.keys.astype(np.int64), self.codes.astype(np.int64)
        row = np.repeat(np.arange(len(keys)), np.diff(self.start))
        total = np.bincount(row, self.share, len(keys)) + self.tail
        if (keys < 0).any() or (keys >= np.prod([float(s) for s in sizes])).any():
            yield "a table with rows outside the domain of its parents"
        elif not (np.diff(keys) > 0).all():
            yield "a table whose rows are not sorted"
        elif (codes < 0).any() or (codes >= size).any():
            yield "a table with codes outside the domain"
        elif not (np.diff(row * size + codes) > 0).all():
            yield "a table with a row whose codes are not sorted"
        elif not ((self.share >= 0).all() and (self.tail >= 0).all()):
            yield "a table with negative probabilities"
        elif not (np.abs(total - 1.0) <= TOLERANCE).all():
            worst = int(np.nanargmax(np.abs(total - 1.0)))
            yield f"row {int(keys[worst])} of the table sums to {total[worst]:.12g}, not 1"


def row_keys(parents: list[np.ndarray], sizes: tuple[int, ...]) -> np.ndarray:
    """One integer per configuration: the mixed-radix number of its codes."""
    keys = np.zeros(len(parents[0]) if parents else 1, dtype=np.int64)
    for codes, size in zip(parents, sizes, strict=False):
        keys = keys * size + codes
    return keys


def tilt_faults(tilt: np.ndarray | None, size: int) -> Iterator[str]:
    """A tilt is a positive factor per code of the child."""
    if tilt is not None and not (len(tilt) == size and (tilt > 0).all()):
        yield "a tilt that does not fit the codes, or is not positive"


def shrink(integers: np.ndarray) -> np.ndarray:
    """Non-negative integers in the smallest type that holds them."""
    top = int(integers.max(initial=0))
    return integers.astype(np.min_scalar_type(top) if top < 2**32 else np.int64)
