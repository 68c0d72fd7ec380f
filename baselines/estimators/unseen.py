r"""Settings compared on rows that have values which the training rows never had.

Held-out rows of a real table nearly always have some: a label or a number that no training row has.
Every setting gives such a row the likelihood 0, and one of them makes all means minus infinity, so
that nothing would be compared. Such a row counts as one whose m values were each seen in one of the
n training rows, :math:`-m \ln n`, for all settings alike.
"""

from __future__ import annotations

import numpy as np


def bounded(scores: np.ndarray, n_rows: int, n_columns: int) -> np.ndarray:
    r"""Log-likelihoods of rows, at least :math:`-m \ln n`.

    Arguments:
        scores: Log-likelihoods of rows; minus infinity where a value was never seen.
        n_rows: n, the number of training rows.
        n_columns: m, the number of columns.
    """
    return np.maximum(scores, -n_columns * np.log(max(n_rows, 2)))
