"""A sum node over patterns of missing values: one child per pattern.

Columns of real tables are missing together (a flight that was cancelled has no departure and no
arrival). A network would need a chain of tables to say so, and spends its parents on the values
instead. Where columns are missing together, rows of one pattern become a component of their own,
weighted by its fraction of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fspn.learn.slices import Slice

TOGETHER = 0.7
"""From this correlation on, two columns are missing together."""

LEAST_SHARE, LEAST_ROWS = 0.001, 100
"""A pattern of fewer rows joins the most frequent one."""

MAX_PATTERNS = 8


def split_by_missing(data: Slice) -> list[Slice]:
    """The rows by the pattern of their missing values; all rows, where there are no patterns."""
    lacking = _missing_together(data)
    if lacking is None:
        return [data]
    key = np.zeros(data.n_rows, dtype=np.int64)
    for column in lacking:
        key = np.unique(2 * key + column, return_inverse=True)[1]
    counts = np.bincount(key)
    least = max(LEAST_ROWS, LEAST_SHARE * data.n_rows)
    kept = np.argsort(-counts, kind="stable")[:MAX_PATTERNS]
    kept = kept[counts[kept] >= least]
    if len(kept) < 2:
        return [data]
    part = np.zeros(len(counts), dtype=np.int64)
    part[kept] = np.arange(len(kept))
    return [data.take(np.flatnonzero(part[key] == k)) for k in range(len(kept))]


def _missing_together(data: Slice) -> Sequence[np.ndarray] | None:
    """Where each of the columns that are missing with another one is missing."""
    names = [v for v, variable in enumerate(data.domain) if variable.missing is not None]
    lacking = [data.values(v) == data.domain[v].missing_code for v in names]
    lacking = [column for column in lacking if column.any() and not column.all()]
    if len(lacking) < 2:
        return None
    correlation = np.abs(np.corrcoef(np.stack(lacking))) - np.eye(len(lacking))
    together = np.flatnonzero(correlation.max(axis=1) >= TOGETHER)
    return [lacking[i] for i in together] if len(together) else None
