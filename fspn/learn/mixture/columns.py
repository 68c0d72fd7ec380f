r"""Components that are regions of one column: networks that hold in a context.

.. math:: \Pr(x) = \sum_k \Pr(X_c \in R_k) \, \Pr_k(x \mid X_c \in R_k)

The regions :math:`R_k` tile the domain of :math:`X_c`, so that the sum node is a split of the rows
by the values of a column, as the root of a cutset network (Rahman et al. 2014). What depends on
:math:`X_c` need not have it as a parent, and what depends on what may change with it: where the
bound on the width keeps one network from having all the edges that the rows ask for, several
narrow ones of the same cells together may have them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from fspn.learn.mixture.coarse import CoarseRows, coarse_rows
from fspn.learn.mixture.trees import fit_trees
from fspn.learn.network.counting import code_counts
from fspn.learn.slices import Slice

MAX_REGIONS = 8
HELD_OUT = 5
"""Every so many rows, one is held out."""
PAIR_BUDGET = 20_000 * 200
"""Rows times pairs of columns in one mixture of trees, at most."""


@dataclass(frozen=True)
class Regions:
    """A column and the region of each of its codes.

    Arguments:
        variable: The column.
        of_code: The number of the region of every code, from 0 without gaps.
        gain: What trees of the regions gain over one tree, in nats per held-out row.
    """

    variable: int
    of_code: np.ndarray
    gain: float

    def __len__(self) -> int:
        return int(self.of_code.max()) + 1

    def classes(self, data: Slice) -> np.ndarray:
        """The region of every row."""
        return np.asarray(self.of_code[data.values(self.variable)])


def promising_regions(
    data: Slice, scope: Sequence[int], most: int, room: float = np.inf
) -> list[Regions]:
    """The columns by whose regions trees gain most, best first; only those that gain.

    Trees on coarse codes are fitted in milliseconds, and what they gain tells columns apart.

    Arguments:
        data: The rows.
        scope: The variables.
        most: At most so many columns.
        room: At most so many regions.
    """
    n_pairs = max(1, len(scope) * (len(scope) - 1) // 2)
    n_rows = min(data.n_rows, max(1000, PAIR_BUDGET // n_pairs))
    data = data.take(np.linspace(0, data.n_rows - 1, n_rows).astype(np.int64))
    is_held_out = np.arange(n_rows) % HELD_OUT == 0
    rows = coarse_rows(data, list(scope))
    seen, unseen = rows.take(~is_held_out), rows.take(is_held_out)
    one = _score(seen, unseen, np.zeros(seen.n_rows, dtype=np.int64))
    found = []
    for variable in scope:
        described, codes = data.domain[variable], data.values(variable)
        counts = code_counts(codes, described.size)
        of_code = regions_of(counts, described.kind != "unordered")
        if 0 < of_code.max() < room:
            classes = of_code[codes[~is_held_out]]
            found.append(Regions(variable, of_code, _score(seen, unseen, classes) - one))
    found.sort(key=lambda regions: -regions.gain)
    return [regions for regions in found[:most] if regions.gain > 0]


def _score(seen: CoarseRows, unseen: CoarseRows, classes: np.ndarray) -> float:
    """The mean held-out log-likelihood of a mixture of one tree per class."""
    return float(logsumexp(fit_trees(seen, classes).scores(unseen), axis=1).mean())


def regions_of(counts: np.ndarray, ordered: bool, most: int = MAX_REGIONS) -> np.ndarray:
    """The region of every code, from 0 without gaps; none has less than half of an even share.

    Ordered codes are cut into runs of about equal weight. Of others each frequent one is a region,
    and the rest are one, together with the least of those where they are too few.

    Arguments:
        counts: How many rows have each code.
        ordered: Whether the codes are in order.
        most: At most so many regions.
    """
    least = counts.sum() / (2 * most)
    if ordered:
        return _runs(counts, most, least)
    frequent = np.argsort(-counts, kind="stable")[: most - 1]
    frequent = frequent[counts[frequent] >= least]
    of_code = np.full(len(counts), len(frequent), dtype=np.int64)
    of_code[frequent] = np.arange(len(frequent))
    if len(frequent) and counts[of_code == len(frequent)].sum() < least:
        of_code[of_code == len(frequent)] -= 1
    return of_code


def _runs(counts: np.ndarray, most: int, least: float) -> np.ndarray:
    """Runs of codes, each ended as soon as it has an even share of the rows that are left."""
    of_code = np.zeros(len(counts), dtype=np.int64)
    region, inside, left = 0, 0.0, float(counts.sum())
    for code, count in enumerate(counts.tolist()):
        of_code[code] = region
        inside += count
        enough = inside >= max(left / (most - region), least)
        if enough and left - inside >= least and region < most - 1:
            region, left, inside = region + 1, left - inside, 0.0
    return of_code
