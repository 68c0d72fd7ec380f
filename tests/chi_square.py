"""Whether counts may come from given expectations."""

from __future__ import annotations

import numpy as np
from scipy.stats import chi2


def is_likely(counts: np.ndarray, expected: np.ndarray, probability: float = 1e-9) -> bool:
    """Whether the chi-square statistic is below a value that is exceeded with a probability.

    Nothing may be drawn where nothing is expected; cells of small expectation are put together.
    """
    if counts[expected == 0].any():
        return False
    small = expected < 5
    counts = np.append(counts[~small], counts[small].sum())
    expected = np.append(expected[~small], expected[small].sum())
    statistic = ((counts - expected) ** 2 / np.maximum(expected, 1.0)).sum()
    return bool(statistic < chi2.isf(probability, max(len(counts) - 1, 1)))
