"""A conditional table with all its cells."""

from __future__ import annotations

import numpy as np

from fspn.model.cpt.backoff import BackoffTable
from fspn.model.cpt.full import FullTable


def written_out(cpt: BackoffTable | FullTable) -> np.ndarray:
    """All of a conditional table, one axis per parent and the child's last."""
    rows = int(np.prod(cpt.sizes))
    table = np.tile(cpt.base, (rows, 1))
    for level in cpt.levels:
        repeats = rows // int(np.prod(level.sizes))
        place = np.full(rows // repeats, -1)
        place[level.rows.keys] = np.arange(len(level.rows.keys))
        place = np.repeat(place, repeats)
        seen = np.flatnonzero(place >= 0)
        table[seen] *= level.rows.tail[place[seen]][:, None]
        first, last = level.rows.start[place[seen]], level.rows.start[place[seen] + 1]
        n = last - first
        entries = np.repeat(first - np.concatenate([[0], np.cumsum(n)[:-1]]), n) + np.arange(
            n.sum()
        )
        table[np.repeat(seen, n), level.rows.codes[entries]] += level.rows.share[entries]
    return table.reshape(*cpt.sizes, len(cpt.base))
