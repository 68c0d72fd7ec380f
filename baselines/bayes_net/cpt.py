"""Conditional probability tables from counts, with a pseudo-count prior."""

from __future__ import annotations

import numpy as np

from baselines.base import ModelTooLarge
from baselines.bayes_net.chow_liu import Parents

MAX_CELLS = 60_000_000
"""Most cells of one dense table: 480 MB of float64."""

PRIORS = ("uniform", "marginal", "backoff")


def check_cells(cards: np.ndarray, parents: Parents, columns: tuple[str, ...]) -> None:
    """Refuses a structure whose dense tables would not fit in memory."""
    for child, above in enumerate(parents):
        cells = float(np.prod(cards[[*above, child]], dtype=np.float64))
        if cells > MAX_CELLS:
            raise ModelTooLarge(
                f"the table of {columns[child]!r} given {[columns[p] for p in above]} has "
                f"{cells:.3g} cells, more than {MAX_CELLS:.3g}; lower max_parents"
            )


def count_table(codes: np.ndarray, cards: np.ndarray, axes: tuple[int, ...]) -> np.ndarray:
    """Counts N(x_axes), one array axis per named column."""
    shape = tuple(int(cards[a]) for a in axes)
    flat = np.zeros(len(codes), dtype=np.int64)
    for axis, size in zip(axes, shape, strict=True):
        flat = flat * size + codes[:, axis]
    return np.bincount(flat, minlength=int(np.prod(shape))).reshape(shape)


def smooth(counts: np.ndarray, alpha: float, prior: str) -> np.ndarray:
    r"""\(\theta(x \mid u) = \frac{N(x, u) + \alpha d\, b(x \mid u)}{N(u) + \alpha d}\).

    The base \(b\) is uniform, the column's own (smoothed) marginal, or, with "backoff", the mean of
    the same estimate with one parent left out, down to the marginal.

    Arguments:
        counts: \(N(u, x)\), the child on the last axis.
        alpha: Pseudo-count per value of the child.
        prior: One of `PRIORS`.
    """
    cells = counts.shape[-1]
    base = _base(counts, alpha, prior)
    total = counts.sum(axis=-1, keepdims=True)
    table: np.ndarray = (counts + alpha * cells * base) / (total + alpha * cells)
    return table / table.sum(axis=-1, keepdims=True)


def _base(counts: np.ndarray, alpha: float, prior: str) -> np.ndarray:
    parents = counts.ndim - 1
    uniform = np.full(counts.shape[-1], 1.0 / counts.shape[-1])
    if parents == 0 or prior == "uniform":
        return uniform
    if prior == "marginal" or parents == 1:
        return smooth(counts.sum(axis=tuple(range(parents))), alpha, "uniform")
    base = np.zeros(counts.shape)
    for j in range(parents):
        base += np.expand_dims(smooth(counts.sum(axis=j), alpha, prior), j) / parents
    return base
