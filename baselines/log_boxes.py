"""Everything that a model can answer once it knows the logarithms of box probabilities."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np
from scipy.special import logsumexp

from baselines.base import DensityModel, ImpossibleEvidence
from baselines.encoding import FREE

BLOCK = 1 << 16


class LogBoxes(DensityModel):
    """A model with an engine of its own that works on logarithms."""

    @abstractmethod
    def _log_boxes(self, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        """Log-probabilities of non-empty closed code ranges, both of shape (n, m)."""

    def _boxes(self, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        return np.exp(self._log_boxes(first, last))

    def _log_points(self, codes: np.ndarray) -> np.ndarray:
        free = codes == FREE
        return self._log_boxes(np.where(free, 0, codes), np.where(free, self._last, codes))

    @property
    def _last(self) -> np.ndarray:
        return (self.encoder.cards - 1).astype(np.int32)

    def _conditional(self, asked: np.ndarray, given: np.ndarray) -> np.ndarray:
        part = self._log_points(np.where(asked == FREE, given, asked))
        whole = self._log_points(given)
        with np.errstate(invalid="ignore"):
            return np.where(np.isneginf(whole), np.nan, np.exp(part - whole))

    def _table(self, target: tuple[int, ...], given: np.ndarray) -> np.ndarray:
        """Every cell is a query of its own, in blocks."""
        shape = tuple(int(d) for d in self.encoder.cards[list(target)])
        whole = self._log_points(given[None, :])[0]
        if np.isneginf(whole):
            raise ImpossibleEvidence(f"{self.name}: the evidence has probability zero")
        cells = int(np.prod(shape))
        logs = np.empty(cells)
        for start in range(0, cells, BLOCK):
            stop = min(start + BLOCK, cells)
            codes = np.tile(given, (stop - start, 1))
            codes[:, list(target)] = np.stack(np.unravel_index(np.arange(start, stop), shape), 1)
            logs[start:stop] = self._log_points(codes)
        return np.exp(logs - logsumexp(logs)).reshape(shape)
