"""A conditional table written out cell by cell, whatever its kind."""

from __future__ import annotations

from typing import Any

import numpy as np


def dense_table(cpt: Any) -> np.ndarray:
    r""":math:`P(x \mid u)` for all cells, shape (sizes of the parents, codes of the child).

    Back-off levels are laid over each other from few parents to all,
    :math:`P_\ell = S_\ell + T_\ell P_{\ell-1}`; a kind without levels is read row by row.
    """
    levels = getattr(cpt, "levels", None)
    if levels is None:
        configurations = np.indices(cpt.sizes).reshape(len(cpt.sizes), -1).T
        return np.asarray(cpt.table(configurations)).reshape(*cpt.sizes, -1)
    table = np.asarray(cpt.base, dtype=np.float64)[None, :]
    for level in levels:
        rows, n_rows = level.rows, int(np.prod(level.sizes))
        tail = np.ones(n_rows)
        tail[rows.keys] = rows.tail
        table = np.repeat(table, n_rows // len(table), axis=0) * tail[:, None]
        table[np.repeat(rows.keys, np.diff(rows.start)), rows.codes] += rows.share
    return np.repeat(table, int(np.prod(cpt.sizes)) // len(table), axis=0).reshape(*cpt.sizes, -1)
