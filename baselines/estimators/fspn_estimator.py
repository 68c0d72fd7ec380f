"""FSPN itself, on the table as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from baselines.base import SCORE, Footprint
from baselines.estimators.base import Estimator, Question
from baselines.estimators.unseen import bounded
from fspn import FSPN


class FSPNEstimator(Estimator):
    """Probabilities by `fspn.FSPN`; None leaves a setting to the preset.

    Arguments:
        max_parents: Conditioning variables per table, at most.
        max_cells: Cells of an intermediate result of a query, at most.
        max_bins: Cells of a column of many values, at most.
        alpha: Strength of the smoothing.
    """

    name: ClassVar[str] = "fspn"
    engine = "fspn numba"
    answers = frozenset({SCORE})

    def __init__(
        self,
        max_parents: int | None = None,
        max_cells: int | None = None,
        max_bins: int | None = None,
        alpha: float | None = None,
    ) -> None:
        self.settings: dict[str, Any] = {
            "max_parents": max_parents,
            "max_cells": max_cells,
            "max_bins": max_bins,
            "alpha": alpha,
        }

    def fit(self, table: pd.DataFrame, domains: Mapping[str, Any], seed: int = 0) -> Self:
        """Learns structure and parameters."""
        self.model = FSPN(random_state=seed, **self.settings).fit(table)
        return self

    def selectivity(self, questions: Sequence[Question]) -> np.ndarray:
        """Probabilities of the conditions, dictionaries or SQL; asked one by one if mixed."""
        if len(questions) > 1 and len({isinstance(each, str) for each in questions}) > 1:
            return np.array([self.model.probability(each) for each in questions])
        return np.asarray(self.model.probability(list(questions)))

    def score_samples(self, table: pd.DataFrame) -> np.ndarray:
        """Log-likelihoods of rows, bounded where a value was never seen."""
        return bounded(self.model.score_samples(table), self.model.n_rows_, table.shape[1])

    def save(self, path: Path) -> None:
        """Writes the fitted FSPN; `FSPN.load` reads it."""
        self.model.save(path)

    @property
    def footprint(self) -> Footprint:
        """Nodes, parameters and bytes as the library counts them, and the bytes of its file."""
        model = self.model
        size = model.n_nodes_, model.n_parameters_, model.size_bytes_
        return Footprint(*size, stored_bytes=model.file_bytes_)


class FSPNPaperEstimator(FSPNEstimator):
    """The paper's recipe.

    Arguments:
        tau_low: Below this dependence two columns count as independent.
        tau_high: From this dependence on they count as highly correlated.
        min_rows: Slices of fewer rows are not partitioned any further.
    """

    name: ClassVar[str] = "fspn_paper"

    def __init__(
        self,
        tau_low: float | None = None,
        tau_high: float | None = None,
        min_rows: int | None = None,
    ) -> None:
        self.settings = {
            "preset": "paper",
            "tau_low": tau_low,
            "tau_high": tau_high,
            "min_rows": min_rows,
        }
