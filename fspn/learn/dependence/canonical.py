r"""The largest canonical correlation between features of coded columns.

Features of a code, *whitened* on a slice (mean 0, the identity as covariance), make it the largest
singular value of

.. math:: A_{ij} = \frac{1}{n} \sum_{row} f_i(x_{row}) \, g_j(y_{row}) .

Slices of a learner are many and small, so a whole row of pairs is measured in one call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numba import njit
from numba.extending import register_jitable
from scipy.special import jv

from fspn.jit import patient

KEPT = 1e-10
"""Directions whose variance is a smaller share of the largest one are left out."""

LEAST_VARIANCE = 1e-12
NEGLIGIBLE = 1e-16
MAX_TABLE_CELLS = 4_000_000
MOST_SQUARES, RANK_ONE = 60, 1.0 - 1e-14


@dataclass(frozen=True)
class Sines:
    r"""Features :math:`\sin(w_i r + b_i)` of a rank r in [0, 1], as Chebyshev polynomials.

    With :math:`r = (1 + t) / 2` the Jacobi-Anger expansion has Bessel functions as coefficients,

    .. math:: \sin(\alpha t + \beta) = \sin \beta \, (J_0 + 2 \sum_k (-1)^k J_{2k} T_{2k}(t))
              + 2 \cos \beta \sum_k (-1)^k J_{2k+1} T_{2k+1}(t) , \quad J = J(\alpha),

    which fall off so fast for the small frequencies of RDC that some nine polynomials stand for
    any number of features to the last digit.

    Arguments:
        triangle: R of the features' coefficients Q R, one column per polynomial from the first
            degree on: the covariance of the features is that of R times the polynomials, turned.
    """

    triangle: np.ndarray

    @classmethod
    def of(cls, slopes: np.ndarray, offsets: np.ndarray) -> Sines | None:
        """None where there would be more polynomials than features."""
        alpha, beta = slopes / 2, offsets + slopes / 2
        degrees = np.arange(1, len(slopes) + 2)
        bessel = jv(degrees, alpha[:, None])
        signs = np.where(degrees // 2 % 2 == 0, 2.0, -2.0)
        waves = np.where(degrees % 2 == 0, np.sin(beta)[:, None], np.cos(beta)[:, None])
        largest = np.abs(bessel).max(axis=0)
        needed = int(np.count_nonzero(largest > NEGLIGIBLE * largest.max()))
        if needed > len(slopes):
            return None
        triangle = np.linalg.qr((signs * waves * bessel)[:, :needed], mode="r")
        return cls(np.ascontiguousarray(triangle))


@register_jitable
def _polynomials(codes: np.ndarray, shares: np.ndarray, values: np.ndarray) -> None:
    """Fill in the shares of the codes, and the polynomials of their ranks, centred."""
    for row in range(len(codes)):
        shares[codes[row]] += 1.0
    shares /= len(codes)
    rank, mean = 0.0, np.zeros(values.shape[1])
    for code in range(len(shares)):
        rank += shares[code]
        t = 2.0 * rank - 1.0
        before, now = 1.0, t
        for k in range(len(mean)):
            values[code, k] = now
            mean[k] += shares[code] * now
            before, now = now, 2.0 * t * now - before
    values -= mean


@register_jitable
def _covariance(values: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Of centred values that have such shares."""
    size = values.shape[1]
    covariance = np.zeros((size, size))
    for code in range(len(values)):
        if shares[code] > 0.0:
            for k in range(size):
                weighted = shares[code] * values[code, k]
                for other in range(size):
                    covariance[k, other] += weighted * values[code, other]
    return covariance


@patient
@njit(cache=True, nogil=True)
def whitened_sines(
    codes: np.ndarray, starts: np.ndarray, triangle: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The whitened features (:class:`Sines`) of every code, and each column's number of them.

    Arguments:
        codes: One row per column.
        starts: Where the codes of each column begin in the result, and their end.
        triangle: Of :class:`Sines`.
    """
    degree = len(triangle)
    features, counts = np.zeros((starts[-1], degree)), np.zeros(len(codes), dtype=np.int64)
    for j in range(len(codes)):
        size = starts[j + 1] - starts[j]
        shares, values = np.zeros(size), np.empty((size, degree))
        _polynomials(codes[j], shares, values)
        turned = np.dot(triangle, np.dot(_covariance(values, shares), triangle.T))
        variances, axes = np.linalg.eigh(turned)
        least = KEPT * max(variances[-1], LEAST_VARIANCE)
        first = np.searchsorted(variances, least, side="right")
        counts[j] = degree - first
        scaled = np.ascontiguousarray(axes[:, first:] / np.sqrt(variances[first:]))
        features[starts[j] : starts[j + 1], : counts[j]] = np.dot(
            values, np.dot(triangle.T, scaled)
        )
    return features, counts


@dataclass(frozen=True)
class Whitened:
    """The whitened features of every code of some columns, side by side.

    Arguments:
        features: One row per code of all columns; zeros where a column has fewer than others.
        counts: How many features each column has.
    """

    features: np.ndarray
    counts: np.ndarray


@dataclass(frozen=True)
class Coded:
    """Columns of codes on a slice.

    Arguments:
        codes: One row per column.
        starts: Where the codes of each column begin among those of all, and behind them their end.
    """

    codes: np.ndarray
    starts: np.ndarray

    @classmethod
    def of(cls, codes: Sequence[np.ndarray], sizes: Sequence[int]) -> Coded:
        """From columns of equal length."""
        starts = np.zeros(len(sizes) + 1, dtype=np.int64)
        np.cumsum(sizes, out=starts[1:])
        return cls(np.stack(codes), starts)

    def whitened(self, sines: Sines) -> Whitened:
        """Their features, if the order of the codes means something."""
        return Whitened(*whitened_sines(self.codes, self.starts, sines.triangle))

    def own(self, features: Sequence[np.ndarray]) -> Whitened:
        """Features of their own, one table per column."""
        counts = np.array([one.shape[1] for one in features])
        side_by_side = np.zeros((int(self.starts[-1]), int(counts.max())))
        for start, one in zip(self.starts.tolist(), features, strict=False):
            side_by_side[start : start + len(one), : one.shape[1]] = one
        return Whitened(side_by_side, counts)


@register_jitable
def _add_rows(
    x: np.ndarray, y: np.ndarray, f: np.ndarray, g: np.ndarray, cross: np.ndarray
) -> None:
    """Add up the products of the features of both columns, row by row."""
    for row in range(len(x)):
        for p in range(cross.shape[0]):
            for q in range(cross.shape[1]):
                cross[p, q] += f[x[row], p] * g[y[row], q]


@register_jitable
def _add_cells(table: np.ndarray, f: np.ndarray, g: np.ndarray, cross: np.ndarray) -> None:
    """Add up the products of the features of both columns, cell by cell of their table."""
    line = np.zeros(cross.shape[1])
    for a in range(len(table)):
        line[:] = 0.0
        for b in range(table.shape[1]):
            if table[a, b] > 0:
                for q in range(len(line)):
                    line[q] += table[a, b] * g[b, q]
        for p in range(cross.shape[0]):
            for q in range(len(line)):
                cross[p, q] += f[a, p] * line[q]


@register_jitable
def _largest_singular_value(cross: np.ndarray) -> float:
    """By squaring the square of a matrix until it is of rank one: its columns are the vector."""
    square = _gram(cross)
    trace = np.trace(square)
    if trace <= 0.0:
        return 0.0
    power = square / trace
    for _ in range(MOST_SQUARES):
        # It is symmetric: its square is its Gram matrix.
        power = _gram(power)
        trace = np.trace(power)
        power /= trace
        if trace > RANK_ONE:
            break
    vector = power[np.argmax(np.diag(power))]
    above, below = 0.0, 0.0
    for p in range(len(vector)):
        below += vector[p] * vector[p]
        for q in range(len(vector)):
            above += vector[p] * square[p, q] * vector[q]
    return float(np.sqrt(above / below))


@register_jitable
def _gram(matrix: np.ndarray) -> np.ndarray:
    """The transpose of a small matrix times the matrix; a library's call would take longer."""
    size = matrix.shape[1]
    product = np.zeros((size, size))
    for k in range(len(matrix)):
        for p in range(size):
            for q in range(size):
                product[p, q] += matrix[k, p] * matrix[k, q]
    return product


@patient
@njit(cache=True, nogil=True)
def correlations(
    x: np.ndarray,
    f: np.ndarray,
    codes: np.ndarray,
    starts: np.ndarray,
    features: np.ndarray,
    counts: np.ndarray,
    first: int,
) -> np.ndarray:
    """The largest canonical correlation of a column with every other from ``first`` on.

    Arguments:
        x: The codes of the column.
        f: The whitened features of each of them.
        codes: The others, as of :class:`Coded`.
        starts: As of :class:`Coded`.
        features: The features of the others, as of :class:`Whitened`.
        counts: As of :class:`Whitened`.
        first: The first column to measure.
    """
    n, n_x, width = len(x), f.shape[0], f.shape[1]
    found = np.zeros(len(codes))
    for j in range(first, len(codes)):
        begin, end = starts[j], starts[j + 1]
        if n * width * counts[j] == 0:
            continue
        g, cross = features[begin:end], np.zeros((width, counts[j]))
        n_cells = n_x * (end - begin)
        if n * width * counts[j] <= n + n_cells or n_cells > MAX_TABLE_CELLS:
            _add_rows(x, codes[j], f, g, cross)
        else:
            table = np.zeros((n_x, end - begin), dtype=np.int32)
            for row in range(n):
                table[x[row], codes[j, row]] += 1
            _add_cells(table, f, g, cross)
        found[j] = min(_largest_singular_value(cross / n), 1.0)
    return found
