"""Files of version 1: cells of one density over the whole line."""

from __future__ import annotations

import numpy as np

from fspn.io.old_cells import cells_of_shape
from fspn.model.leaves.continuous import GaussianMixture
from fspn.schema.events import RealRange

SHAPE = GaussianMixture(np.array([0.5, 0.5]), np.array([-1.0, 2.0]), np.array([1.0, 0.5]))
CUTS = np.array([-1.0, 0.0, 2.0])


def mass(low: float, high: float) -> float:
    return float(np.exp(SHAPE.log_probability(RealRange(np.array([low]), np.array([high])))[0]))


def test_shares_of_old_cells_are_those_of_their_density() -> None:
    cells = cells_of_shape(CUTS, SHAPE)
    assert cells.faults() == []
    values = np.array([-5.0, -1.0, -0.5, 0.0, 1e-9, 2.0, 2.1])
    assert cells.codes(values).tolist() == [0, 0, 1, 1, 2, 2, 3]
    borders = [-np.inf, *CUTS, np.inf]
    for low, high in [(-0.5, 1.0), (-np.inf, np.inf), (0.0, 2.0), (1.3, 2.4), (-2.0, -1.5)]:
        shares = cells.range_weights(np.array([low]), np.array([high]))[0]
        for k, share in enumerate(shares):
            a, b = max(low, borders[k]), min(high, borders[k + 1])
            expected = mass(a, b) / mass(borders[k], borders[k + 1]) if b > a else 0.0
            assert abs(share - expected) < 2e-3
