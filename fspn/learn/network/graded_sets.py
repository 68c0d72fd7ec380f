r"""Which parent sets deserve a graded law: a linear-Gaussian network on the codes proposes them.

A graded law takes milliseconds to fit, too long for every pair of candidates. Where locations
follow the parents, the codes are roughly linear in each other, and the score of a parent set is

.. math:: -\frac{n}{2} \ln (1 - R^2) - \frac{|u|}{2} \ln n,

R the multiple correlation of child and parents, known from the correlations of all pairs.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from fspn.learn.network.cell_counts import CodedTable

SAMPLE = 20_000
LEAST_VARIANCE = 1e-9


class Correlations:
    """The correlations of the ordered variables' codes, on a sample of the rows.

    Arguments:
        table: The rows.
    """

    def __init__(self, table: CodedTable) -> None:
        self.n_rows = table.n_rows
        step = max(table.n_rows // SAMPLE, 1)
        self.ordered = np.array([table.is_ordered(v) for v in range(len(table))])
        codes = np.array([column[::step] for column in table.codes], dtype=np.float64)
        codes -= codes.mean(axis=1, keepdims=True)
        scale = np.sqrt((codes**2).sum(axis=1))
        codes /= np.where(scale > 0, scale, 1.0)[:, None]
        self.matrix = codes @ codes.T
        self.matrix[~self.ordered] = self.matrix[:, ~self.ordered] = 0.0

    def score(self, child: int, parents: tuple[int, ...]) -> float:
        """The score of a parent set over that of no parents."""
        if not parents:
            return 0.0
        between, with_child = (
            self.matrix[np.ix_(parents, parents)],
            self.matrix[list(parents), child],
        )
        ridge = LEAST_VARIANCE * np.eye(len(parents))
        explained = with_child @ np.linalg.solve(between + ridge, with_child)
        left = max(1.0 - float(explained), LEAST_VARIANCE)
        return -0.5 * self.n_rows * np.log(left) - 0.5 * len(parents) * np.log(self.n_rows)

    def sets(
        self, candidates: list[list[int]], max_parents: int
    ) -> list[dict[tuple[int, ...], float]]:
        """Per child the scores of all sets of at most one or two ordered candidates."""
        found = []
        for child, own in enumerate(candidates):
            near = [p for p in own if self.ordered[p] and self.ordered[child]]
            widths = range(max_parents + 1)
            keys = [key for width in widths for key in combinations(sorted(near), width)]
            found.append({key: self.score(child, key) for key in keys})
        return found

    def best_extras(self, child: int, own: tuple[int, ...], candidates: list[int]) -> list[int]:
        """The candidates in the order of what they add to a parent set."""
        others = [p for p in candidates if p not in own and self.ordered[p]]
        return sorted(others, key=lambda p: -self.score(child, (*own, p)))
