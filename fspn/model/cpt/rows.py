"""Rows of a conditional table, as levels hand them to the kernels, and their keys."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


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


def row_keys(parents: list[np.ndarray], sizes: tuple[int, ...]) -> np.ndarray:
    """One integer per configuration: the mixed-radix number of its codes."""
    keys = np.zeros(len(parents[0]) if parents else 1, dtype=np.int64)
    for codes, size in zip(parents, sizes, strict=False):
        keys = keys * size + codes
    return keys


def shrink(integers: np.ndarray) -> np.ndarray:
    """Non-negative integers in the smallest type that holds them."""
    top = int(integers.max(initial=0))
    return integers.astype(np.min_scalar_type(top) if top < 2**32 else np.int64)
