"""Averages of models."""

from __future__ import annotations

import numpy as np
import pytest

from fspn import FSPN
from fspn.model.ensemble import average
from fspn.model.nodes import Sum
from fspn.validate import validate


def models(n: int) -> list[FSPN]:
    cells = (np.random.default_rng(0).random((600, 6)) < 0.4).astype(int)
    cells[:, 1] |= cells[:, 0]
    return [FSPN(n_components=2, random_state=i).fit(cells[i * 20 :]) for i in range(n)]


def test_average_is_the_mean_of_the_probabilities() -> None:
    parts = models(3)
    root = average([model.root_ for model in parts], [2, 1, 1])
    mixed = FSPN.from_root(parts[0].domain_, root)
    event = [{0: 1, 3: 0}, {1: 1}, {}]
    expected = np.array([0.5, 0.25, 0.25]) @ [model.probability(event) for model in parts]
    assert mixed.probability(event) == pytest.approx(expected, abs=1e-12)
    assert isinstance(root, Sum)
    assert not any(isinstance(child, Sum) for child in root.children)
    validate(root, parts[0].domain_)


def test_bad_ensembles_are_refused() -> None:
    roots = [model.root_ for model in models(2)]
    with pytest.raises(ValueError, match="at least one model"):
        average([])
    with pytest.raises(ValueError, match="one positive number per model"):
        average(roots, [1.0, -1.0])
    other = FSPN().fit(np.random.default_rng(1).integers(0, 2, size=(50, 3)))
    with pytest.raises(ValueError, match="the same variables"):
        average([roots[0], other.root_])
