"""FSPN itself behind the protocol: the default learner and the paper's own recipe."""

from __future__ import annotations

from collections.abc import Hashable
from typing import ClassVar

import numpy as np
import pandas as pd

from baselines.base import DensityModel, Footprint, ImpossibleEvidence
from baselines.encoding import FREE
from fspn import FSPN


class FSPNModel(DensityModel):
    """Adapter of `fspn.FSPN`; None leaves a setting to the preset.

    Arguments:
        tau_low: Below this dependence two columns count as independent.
        tau_high: From this dependence on they count as highly correlated.
        min_rows: Slices of fewer rows are not partitioned any further.
        alpha: Strength of the smoothing.
        max_parents: Conditioning variables per table, at most.
    """

    name: ClassVar[str] = "fspn"
    preset: ClassVar[str] = "default"
    engine = "fspn numba"

    def __init__(
        self,
        tau_low: float | None = None,
        tau_high: float | None = None,
        min_rows: int | None = None,
        alpha: float | None = None,
        max_parents: int = 2,
    ) -> None:
        self.tau_low, self.tau_high = tau_low, tau_high
        self.min_rows, self.alpha, self.max_parents = min_rows, alpha, max_parents

    def _fit(self, codes: np.ndarray, seed: int) -> None:
        columns = self.encoder.columns
        sizes = self.encoder.cards.tolist()
        domains: dict[Hashable, range] = dict(zip(columns, map(range, sizes), strict=True))
        self.model = FSPN(
            self.tau_low,
            self.tau_high,
            preset=self.preset,
            min_rows=self.min_rows,
            alpha=self.alpha,
            max_parents=self.max_parents,
            kinds=dict.fromkeys(columns, "ordered"),
            random_state=seed,
        ).fit(pd.DataFrame(codes, columns=list(columns)), domains)

    def _log_score(self, codes: np.ndarray) -> np.ndarray:
        return self.model.score_samples(pd.DataFrame(codes, columns=list(self.encoder.columns)))

    def _boxes(self, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        return np.asarray(self.model.probability(first, last))

    def _table(self, target: tuple[int, ...], given: np.ndarray) -> np.ndarray:
        columns = self.encoder.columns
        fixed = np.flatnonzero(given != FREE)
        evidence: dict[Hashable, int] = {columns[i]: int(given[i]) for i in fixed}
        table = self.model.conditional_table([columns[i] for i in target], evidence)
        if np.isnan(table).any():
            raise ImpossibleEvidence(f"{self.name}: the evidence has probability zero")
        return table

    def _conditional(self, asked: np.ndarray, given: np.ndarray) -> np.ndarray:
        codes = np.concatenate([np.where(asked == FREE, given, asked), given])
        free = codes == FREE
        last = np.where(free, self.encoder.cards - 1, codes)
        part, whole = np.split(self._boxes(np.where(free, 0, codes), last), 2)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(whole > 0, part / whole, np.nan)

    def _footprint(self) -> Footprint:
        model = self.model
        return Footprint(model.n_nodes_, model.n_parameters_, model.size_bytes_)


class FSPNPaper(FSPNModel):
    """The paper's learner: RDC, k-means row clusters, greedy splitting."""

    name: ClassVar[str] = "fspn_paper"
    preset: ClassVar[str] = "paper"
