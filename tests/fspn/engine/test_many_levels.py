"""Tables of many parents, a level of counts for each: the engine follows the key of every level."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from fspn import FSPN
from fspn.engine.kernels import MAX_PLACES
from fspn.model.cpt.backoff import BackoffTable, CountLevel
from fspn.model.leaves.categorical import Categorical
from fspn.model.nodes import Factorize, Product, TableSplit, UniLeaf
from fspn.schema.domain import Domain
from fspn.schema.variable import Variable


def coins(n: int, rng: np.random.Generator) -> np.ndarray:
    """The probabilities of n coins, one row each."""
    return rng.dirichlet((2.0, 2.0), size=n)


def table_of(n_parents: int, rng: np.random.Generator) -> BackoffTable:
    """One level of counts per parent."""
    levels = []
    for width in range(1, n_parents + 1):
        cells = np.sort(rng.choice(2 ** (width + 1), size=min(60, 2**width), replace=False))
        counts = rng.integers(1, 9, len(cells))
        levels.append(CountLevel.from_cells(cells // 2, cells % 2, counts, (2,) * width, 0.7))
    return BackoffTable(rng.dirichlet((1.0, 1.0)), tuple(levels))


@pytest.mark.parametrize("n_parents", [MAX_PLACES - 2, MAX_PLACES, MAX_PLACES + 5])
def test_joint_tables_agree_with_enumeration(n_parents: int) -> None:
    """With MAX_PLACES parents the walk over a table once wrote beyond its scratch space."""
    rng = np.random.default_rng(n_parents)
    shares, cpt = coins(n_parents, rng), table_of(n_parents, rng)
    left = Product(tuple(UniLeaf(v, Categorical(p)) for v, p in enumerate(shares)))
    root = Factorize(left, TableSplit(n_parents, tuple(range(n_parents)), cpt))
    names = [f"x{v}" for v in range(n_parents + 1)]
    domain = Domain(tuple(Variable(name, "ordered", np.arange(2)) for name in names))
    model = FSPN.from_root(domain, root)

    cells = np.array(list(product(range(2), repeat=n_parents)))
    weights = np.prod(shares[np.arange(n_parents), cells], axis=1)
    rows = cpt.table(cells)
    for parent in (0, n_parents - 1):
        expected = np.stack([weights[cells[:, parent] == u] @ rows[cells[:, parent] == u]
                             for u in range(2)])  # fmt: skip
        found = model.conditional_table([names[parent], names[-1]])
        np.testing.assert_allclose(found, expected, atol=1e-12)
    assert model.describe().nodes["factorize"] == 1
