r"""Fitting the conditional table of one variable: which levels, and how strongly smoothed.

Every choice is made by the leave-one-out likelihood, which follows from the counts alone: without
one of its own occurrences a cell of count n in a row of N has the probability

.. math:: \frac{n - 1 + \alpha P_{below}}{N - 1 + \alpha}
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fspn.learn.network.cell_counts import CodedTable
from fspn.learn.network.counting import code_counts, count_filled
from fspn.learn.network.graded import dense_counts, fit_graded, may_be_graded
from fspn.learn.network.score import LocalScores, TableGain
from fspn.learn.network.trees import Filled, fit_tree_level, may_be_tree
from fspn.model.cpt.backoff import BackoffLevel, BackoffTable, CountLevel, LinearLaw
from fspn.model.cpt.rows import shrink

ALPHAS = np.geomspace(0.02, 500.0, 14)
EPSILONS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
"""Shares of what lies below a graded law."""


@dataclass(frozen=True)
class Cells:
    """The filled cells of a child given some parents, sorted by key and code.

    Arguments:
        keys: The key of each cell's row.
        codes: The child's code.
        counts: The number of rows in the cell.
        totals: The number of rows in the cell's row of the table.
    """

    keys: np.ndarray
    codes: np.ndarray
    counts: np.ndarray
    totals: np.ndarray


def count_cells(
    child: np.ndarray, size: int, parents: list[np.ndarray], sizes: tuple[int, ...]
) -> Cells:
    """Count a child's codes per configuration of its parents."""
    filled = count_filled([*parents, child], [*sizes, size])
    keys, codes = np.divmod(filled.keys, size)
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    sums = np.add.reduceat(filled.counts, starts)
    totals = np.repeat(sums, np.diff(np.append(starts, len(keys))))
    return Cells(keys, codes, filled.counts, totals)


def fit_cpt(
    table: CodedTable,
    scores: LocalScores,
    child: int,
    parents: tuple[int, ...],
    alpha: float | None,
) -> tuple[BackoffTable, tuple[int, ...]]:
    """The cpt with the best leave-one-out likelihood, and its parents in the cpt's order.

    Arguments:
        table: The coded rows.
        scores: Local scores on the same rows.
        child: The variable.
        parents: Its parents.
        alpha: The strength of the smoothing; None = chosen by leave-one-out.
    """
    ordered = tuple(sorted(parents, key=lambda p: -scores.score(child, (p,))))
    fits = [_count_cpt(table, child, ordered, alpha)]
    offset = _offset_level(table, scores, child, ordered)
    if offset is not None:
        fits += _offset_cpts(table, child, ordered, offset, alpha)
    best = max(fits, key=lambda fit: fit.likelihood)
    by_law = len(best.levels) == 1 and isinstance(best.levels[0], LinearLaw)
    if may_be_graded(table, child, ordered) and not by_law:
        fits += _graded_cpts(table, child, ordered, alpha)
        best = max(fits, key=lambda fit: fit.likelihood)
    sizes = tuple(table.sizes[p] for p in ordered)
    if table.trees and not by_law and may_be_tree(table.sizes[child], sizes):
        fits.append(_tree_cpt(table, child, ordered, alpha))
        best = max(fits, key=lambda fit: fit.likelihood)
    scores.gained[child] = _gain(table, child, alpha, best, fits[0])
    return BackoffTable(base_row(table, child, alpha), best.levels), ordered


def _gain(
    table: CodedTable, child: int, alpha: float | None, best: _Fit, counts: _Fit
) -> TableGain:
    """What the best fit gains over no parents, and over rows of counts."""
    own = code_counts(table.codes[child], table.sizes[child])
    alone = float(own @ np.log(_base_left_out(table, child, alpha)))
    families = dict.fromkeys(level.family for level in best.levels)
    return TableGain(
        tuple(family for family in families if family != "counts"),
        best.likelihood - alone,
        best.likelihood - counts.likelihood,
    )


def base_row(table: CodedTable, child: int, alpha: float | None) -> np.ndarray:
    r""":math:`P_0(x) = (n_x + \alpha) / (n + \alpha d)`."""
    counts = code_counts(table.codes[child], table.sizes[child])
    strength = 0.1 if alpha is None else alpha
    return (counts + strength) / (counts.sum() + strength * len(counts))


@dataclass(frozen=True)
class _Fit:
    levels: tuple[BackoffLevel, ...]
    likelihood: float


def _count_cpt(
    table: CodedTable, child: int, parents: tuple[int, ...], alpha: float | None
) -> _Fit:
    """One level per number of parents, from the strongest parent to all of them."""
    below = _base_left_out(table, child, alpha)
    levels: list[BackoffLevel] = []
    likelihood = -np.inf
    previous: tuple[np.ndarray, np.ndarray] | None = None
    for width in range(1, len(parents) + 1):
        cells, sizes = _cells(table, child, parents[:width])
        if previous is None:
            inherited = below[cells.codes]
        else:
            flat = cells.keys // sizes[-1] * table.sizes[child] + cells.codes
            inherited = previous[1][np.searchsorted(previous[0], flat)]
        strength, left_out, likelihood = _choose_alpha(cells, inherited, alpha)
        levels.append(_level(cells, sizes, strength))
        previous = (cells.keys * table.sizes[child] + cells.codes, left_out)
    return _Fit(tuple(levels), likelihood)


def _offset_cpts(
    table: CodedTable,
    child: int,
    parents: tuple[int, ...],
    offset: LinearLaw,
    alpha: float | None,
) -> list[_Fit]:
    """The integer-linear law alone, and with rows of counts on top of it."""
    cells, sizes = _cells(table, child, parents)
    inherited = _offset_left_out(table, child, offset, cells)
    alone = _Fit((offset,), float(cells.counts @ np.log(inherited)))
    strength, _, likelihood = _choose_alpha(cells, inherited, alpha)
    return [alone, _Fit((offset, _level(cells, sizes, strength)), likelihood)]


def _graded_cpts(
    table: CodedTable, child: int, parents: tuple[int, ...], alpha: float | None
) -> list[_Fit]:
    """The graded law alone, and with rows of counts on top of it."""
    counts = dense_counts(table, child, parents)
    fit = fit_graded(counts, tuple(table.sizes[p] for p in parents))
    if fit is None:
        return []
    cells, sizes = _cells(table, child, parents)
    own = fit.law.rows.share.reshape(counts.shape)[cells.keys, cells.codes]
    base = _base_left_out(table, child, alpha)[cells.codes]
    mixed = {epsilon: (1 - epsilon) * own + epsilon * base for epsilon in EPSILONS}
    logs = {epsilon: float(cells.counts @ np.log(p)) for epsilon, p in mixed.items()}
    epsilon = max(EPSILONS, key=lambda each: logs[each])
    law = replace(fit.law, epsilon=epsilon)
    strength, _, likelihood = _choose_alpha(cells, mixed[epsilon], alpha)
    corrected = (law, _level(cells, sizes, strength))
    return [
        _Fit((law,), logs[epsilon] - fit.freedom),
        _Fit(corrected, likelihood - fit.freedom),
    ]


def _tree_cpt(table: CodedTable, child: int, parents: tuple[int, ...], alpha: float | None) -> _Fit:
    """A decision tree over all parents."""
    cells, sizes = _cells(table, child, parents)
    codes = np.column_stack(np.unravel_index(cells.keys, sizes))
    filled = Filled(codes, cells.codes, cells.counts)
    ordered = tuple(table.is_ordered(p) for p in parents)
    fit = fit_tree_level(filled, sizes, ordered, _base_left_out(table, child, alpha))
    return _Fit((fit.level,), fit.left_out)


def _cells(
    table: CodedTable, child: int, parents: tuple[int, ...]
) -> tuple[Cells, tuple[int, ...]]:
    sizes = tuple(table.sizes[p] for p in parents)
    codes = [table.codes[p] for p in parents]
    return count_cells(table.codes[child], table.sizes[child], codes, sizes), sizes


def _level(cells: Cells, sizes: tuple[int, ...], alpha: float) -> CountLevel:
    return CountLevel.from_cells(cells.keys, cells.codes, shrink(cells.counts), sizes, alpha)


def _base_left_out(table: CodedTable, child: int, alpha: float | None) -> np.ndarray:
    counts = code_counts(table.codes[child], table.sizes[child])
    strength = 0.1 if alpha is None else alpha
    return (np.maximum(counts - 1, 0) + strength) / (counts.sum() - 1 + strength * len(counts))


def _choose_alpha(
    cells: Cells, below: np.ndarray, alpha: float | None
) -> tuple[float, np.ndarray, float]:
    """The strength, the leave-one-out probability of each cell, and their likelihood."""
    tried = ALPHAS if alpha is None else [max(alpha, 1e-9)]
    best: tuple[float, np.ndarray, float] | None = None
    for strength in tried:
        left_out = (cells.counts - 1 + strength * below) / (cells.totals - 1 + strength)
        likelihood = float(cells.counts @ np.log(left_out))
        if best is None or likelihood > best[2]:
            best = (float(strength), left_out, likelihood)
    assert best is not None
    return best


def _offset_level(
    table: CodedTable, scores: LocalScores, child: int, parents: tuple[int, ...]
) -> LinearLaw | None:
    coefficients = scores.laws.coefficients(child, parents)
    if coefficients is None:
        return None
    counts, lowest = scores.laws.residuals(child, parents, coefficients)
    if len(counts) == 0:
        return None
    support = np.flatnonzero(counts)
    singletons = int((counts == 1).sum())
    values = [table.values[v] for v in (*parents, child)]
    *parent_values, child_values = (np.asarray(v, dtype=np.int64) for v in values)
    return LinearLaw(
        tuple(parent_values),
        child_values,
        coefficients,
        support + lowest,
        counts[support] / counts.sum(),
        (singletons + 1.0) / (table.n_rows + 2.0),
    )


def _offset_left_out(table: CodedTable, child: int, offset: LinearLaw, cells: Cells) -> np.ndarray:
    """The leave-one-out probability of each cell under the integer-linear law."""
    parents = np.column_stack(np.unravel_index(cells.keys, offset.sizes))
    residual = offset.child_values[cells.codes] - offset.centre(parents)
    place = np.minimum(np.searchsorted(offset.offsets, residual), len(offset.offsets) - 1)
    n = table.n_rows
    left_out = np.maximum(offset.noise[place] * n - 1, 0.0) / max(n - 1, 1)
    base = _base_left_out(table, child, None)[cells.codes]
    return (1 - offset.epsilon) * left_out + offset.epsilon * base
