r"""Is one network enough? The residuals of a correct model are independent of each other.

Given the values of a row in topological order,

.. math:: u_v = F(x_v - 1 \mid x_{\pi(v)}) + U_v \, \Pr(x_v \mid x_{\pi(v)}), \qquad
          U_v \sim \text{uniform}

are independent and uniform if the network is the truth (Rosenblatt, 1952). A class that no column
records, or a parent that is missing, leaves dependence between some of them. Measuring it costs a
few passes over a sample, so tables without classes are not slowed down by a search for some.
"""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2

from fspn.learn.mixture.coarse import CoarseRows
from fspn.learn.mixture.trees import pair_counts
from fspn.learn.slices import Slice
from fspn.model.cpt.rows import row_keys
from fspn.model.leaves.categorical import Categorical
from fspn.model.nodes import Factorize, Node, Product, TableSplit, UniLeaf, walk

BINS = 8
MAX_ROWS = 100_000
"""A network of three parents hides two classes in 20,000 rows; the pairs are counted in 0.2 s."""
MAX_VARIABLES = 64
LEVEL = 0.01
WEAK_LEVEL = 0.05
DEVIATIONS = 4.0


def is_network(root: Node) -> bool:
    """Whether a model is one network of tables."""
    return all(
        isinstance(node, Product | TableSplit)
        or (isinstance(node, Factorize) and isinstance(node.right, TableSplit))
        or (isinstance(node, UniLeaf) and isinstance(node.dist, Categorical))
        for node in walk(root)
    )


def needs_classes(root: Node, data: Slice, rng: np.random.Generator) -> bool:
    """Whether the residuals depend on each other in the way hidden classes cause.

    A missing parent shows in one pair of residuals, a class in all pairs that it touches. So either
    more pairs are significant than chance and one missing parent for every other variable would
    explain, or the clearly significant ones are at least as many as the variables they involve.
    """
    parts = [part for part in walk(root) if isinstance(part, UniLeaf | TableSplit)]
    if len(parts) > MAX_VARIABLES:
        chosen = rng.choice(len(parts), MAX_VARIABLES, replace=False)
        parts = [parts[i] for i in np.sort(chosen)]
    if len(parts) < 3 or data.n_rows < 2 * BINS**2:
        return False
    if data.n_rows > MAX_ROWS:
        data = data.take(np.sort(rng.choice(data.n_rows, MAX_ROWS, replace=False)))
    cells = np.column_stack([_residual(part, data, rng) for part in parts])
    levels = pair_levels(cells)
    upper = np.triu_indices(len(parts), 1)
    n_pairs = len(upper[0])
    expected = WEAK_LEVEL * n_pairs
    chance = DEVIATIONS * np.sqrt(expected * (1 - WEAK_LEVEL))
    if (levels[upper] < WEAK_LEVEL).sum() > expected + chance + len(parts) / 2:
        return True
    clear = levels < LEVEL / n_pairs
    touched = int(clear.any(axis=0).sum())
    return touched > 2 and clear[upper].sum() >= touched


def pair_levels(cells: np.ndarray) -> np.ndarray:
    """The level at which a G-test rejects that two columns of cells are independent."""
    n, m = cells.shape
    rows = CoarseRows(np.ascontiguousarray(cells), np.full(m, BINS))
    pairs, joint, single = pair_counts(rows, np.zeros(n, dtype=np.int64), 1)
    own = _times_log(single[0]).sum(axis=1)
    levels = np.ones((m, m))
    for i in range(m):
        for j in range(i + 1, m):
            table = joint[0, pairs[i, j] : pairs[i, j] + BINS**2]
            g = 2 * (_times_log(table).sum() - own[i] - own[j] + n * np.log(n))
            levels[i, j] = levels[j, i] = chi2.sf(g, (BINS - 1) ** 2)
    return levels


def _times_log(counts: np.ndarray) -> np.ndarray:
    return np.asarray(counts * np.log(np.maximum(counts, 1)))


def _residual(part: UniLeaf | TableSplit, data: Slice, rng: np.random.Generator) -> np.ndarray:
    """The cell of the residual of one variable, for every row."""
    codes = data.values(part.variable).astype(np.int64)
    if isinstance(part, UniLeaf):
        assert isinstance(part.dist, Categorical)
        rows, which = part.dist.p[None], np.zeros(len(codes), dtype=np.int64)
    else:
        given = [data.values(v).astype(np.int64) for v in part.given]
        keys, which = np.unique(row_keys(given, part.cpt.sizes), return_inverse=True)
        rows = part.cpt.table(np.column_stack(np.unravel_index(keys, part.cpt.sizes)))
    upper = np.cumsum(rows, axis=1)[which, codes]
    drawn = upper - rng.random(len(codes)) * rows[which, codes]
    return np.minimum((drawn * BINS).clip(0).astype(np.uint8), BINS - 1)
