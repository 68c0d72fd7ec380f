"""Distinct rows with their counts: most benchmarks repeat rows, and a bootstrap only reweights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


def compact(codes: np.ndarray) -> np.ndarray:
    """Codes in the smallest integers that hold them, row by row."""
    kind = np.uint8 if codes.max(initial=0) < 256 else np.int32
    return np.ascontiguousarray(codes, dtype=kind)


@dataclass(frozen=True)
class Distinct:
    """A table without repetitions.

    Arguments:
        codes: The distinct rows, small integers.
        weights: How often each occurs.
        place: For every row of the table, which of the distinct ones it is.
    """

    codes: np.ndarray
    weights: np.ndarray
    place: np.ndarray

    @classmethod
    def of(cls, codes: np.ndarray) -> Distinct:
        """The distinct rows of a table of codes."""
        small = compact(codes)
        whole_rows = small.view(np.dtype((np.void, small.itemsize * small.shape[1]))).ravel()
        _, first, place, counts = np.unique(
            whole_rows, return_index=True, return_inverse=True, return_counts=True
        )
        return cls(small[first], counts.astype(np.float64), place.ravel())

    def bootstrap(self, rng: np.random.Generator) -> np.ndarray:
        """Weights of as many rows as the table has, drawn with replacement."""
        n = int(self.weights.sum())
        return rng.multinomial(n, self.weights / n).astype(np.float64)

    def mean(self, scores: np.ndarray) -> float:
        """The mean over the table's rows of a score of each distinct row."""
        return float(self.weights @ scores / self.weights.sum())
