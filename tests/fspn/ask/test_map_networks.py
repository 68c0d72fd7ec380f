"""Published networks: the most probable completion is as good as an exact solver's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from experiments.bench.completions import solver
from fspn import bn_to_fspn
from fspn.convert import BayesNet, read_bif
from tests.fspn.networks import shipped


def log_joint(network: BayesNet, row: dict[Any, Any]) -> float:
    codes = [
        values.index(row[name]) for name, values in zip(network.names, network.values, strict=True)
    ]
    return sum(
        float(np.log(cpt[tuple(codes[u] for u in (*parents, v))]))
        for v, (parents, cpt) in enumerate(zip(network.parents, network.cpts, strict=True))
    )


@pytest.mark.parametrize("name", ["alarm", "insurance", "hailfinder", "andes"])
def test_as_good_as_toulbar2(name: str) -> None:
    network = read_bif(shipped(name))
    model = bn_to_fspn(network)
    rng = np.random.default_rng(0)
    rows = model.sample(3, random_state=0).to_dict("records")
    evidences: list[dict[Any, Any]] = [{}]
    for row in rows:
        known = rng.permutation(len(row))[: len(row) // 5]
        evidences.append({list(row)[i]: list(row.values())[i] for i in known})
    assignments, probabilities = model.map(evidences)
    for evidence, row, probability in zip(evidences, assignments, probabilities, strict=True):
        assert row.items() >= evidence.items()
        best = solver(network, evidence)[0]
        assert log_joint(network, row) == pytest.approx(best, abs=1e-6 * (len(row) + 1))
        joint = probability * model.probability(evidence)
        assert np.log(joint) == pytest.approx(log_joint(network, row), abs=1e-9)
