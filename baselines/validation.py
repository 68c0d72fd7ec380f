"""Validation rows inside a fit: how many bags to keep, when to stop, which smoothing to take."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from baselines.base import DensityModel
from baselines.encoding import OUTSIDE

HELD_OUT = 0.1


class Validated(DensityModel):
    """A model that looks at validation rows while it learns.

    The runner binds the dataset and with it the validation rows. Without them a tenth of the
    training rows is held out, as far as there are enough.
    """

    _validation: pd.DataFrame | None = None

    def bind(self, dataset: Any) -> None:
        """Takes the dataset's validation rows."""
        self._validation = getattr(dataset, "valid", None)

    def _train_and_valid(self, codes: np.ndarray, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """The rows to learn from, and the rows to choose by."""
        if self._validation is not None and len(self._validation):
            valid = self.encoder.table(self._validation)
            return codes, valid[(valid != OUTSIDE).all(axis=1)]
        order = np.random.default_rng(seed).permutation(len(codes))
        aside = max(1, int(HELD_OUT * len(codes)))
        if len(codes) <= aside:
            return codes, codes
        return codes[np.sort(order[aside:])], codes[np.sort(order[:aside])]
