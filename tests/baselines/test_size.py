"""The size rule, counted by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd

from baselines.base import DensityModel
from baselines.bayes_net.true_dag import TrueDag
from baselines.independent import Independent
from baselines.spflow.mspn import MSPN


def sized(model: DensityModel) -> tuple[int, int, int]:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.integers(0, 2, 4000), "b": rng.integers(0, 3, 4000)})
    model.fit(table, {"a": np.arange(2), "b": np.arange(3)})
    return model.n_nodes, model.n_parameters, model.size_bytes


def test_product_of_two_leaves() -> None:
    """5 numbers; 3 nodes, 2 children, 2 variables named."""
    expected = (3, 3, 5 * 8 + 7 * 4)
    assert sized(Independent()) == expected
    assert sized(MSPN(threshold=0.3)) == expected


def test_network_of_two_variables() -> None:
    """2 + 6 numbers, of which 1 + 4 are free; 2 nodes, 1 parent."""
    model = TrueDag(structure={"b": ("a",)})
    assert sized(model) == (2, 5, 8 * 8 + 3 * 4)
