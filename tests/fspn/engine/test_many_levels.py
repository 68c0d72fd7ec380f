"""Tables of many levels, and products of too many cells: what the scratch space holds."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from fspn import FSPN
from fspn.engine.kernels import MAX_PLACES
from fspn.engine.limits import TooWide
from fspn.model.cpt.backoff import BackoffTable, CountLevel
from fspn.model.leaves.categorical import Categorical
from fspn.model.nodes import Factorize, Node, Product, TableSplit, UniLeaf
from fspn.schema.domain import Domain
from fspn.schema.variable import Variable
from fspn.validate import ModelError
from fspn.validate.domain import MAX_LEVELS


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


def two_columns(n_levels: int) -> FSPN:
    """A column and its parent, with so many levels of the same width."""
    cells = np.arange(4)
    level = CountLevel.from_cells(cells // 2, cells % 2, np.ones(4, dtype=np.int64), (2,), 0.5)
    cpt = BackoffTable(np.full(2, 0.5), (level,) * n_levels)
    root = Factorize(UniLeaf(0, Categorical(np.full(2, 0.5))), TableSplit(1, (0,), cpt))
    columns = (Variable("x0", "ordered", np.arange(2)), Variable("x1", "ordered", np.arange(2)))
    return FSPN.from_root(Domain(columns), root)


def test_more_levels_than_columns_are_answered_and_too_many_refused(tmp_path) -> None:
    model = two_columns(MAX_LEVELS)
    np.testing.assert_allclose(model.conditional_table(["x0", "x1"]), 0.25)
    model.save(tmp_path / "model.fspn")
    FSPN.load(tmp_path / "model.fspn")
    with pytest.raises(ModelError, match="back-off levels"):
        two_columns(MAX_LEVELS + 1).save(tmp_path / "model.fspn")


def test_products_beyond_any_number_of_cells_are_refused() -> None:
    """Their number once wrapped around, to an answer of 0 or the end of the process."""
    size, core, leaves = 32, 16, 150
    rng = np.random.default_rng(0)
    even = Categorical(np.full(size, 1 / size))
    root: Node = Product(tuple(UniLeaf(v, even) for v in range(core)))
    for leaf in range(core, core + leaves):
        keys = np.sort(rng.choice(size**3, 50, replace=False))
        codes = rng.integers(0, 2, 50)
        level = CountLevel.from_cells(keys, codes, np.ones(50, dtype=np.int64), (size,) * 3, 1.0)
        given = tuple(rng.choice(core, 3, replace=False).tolist())
        root = Factorize(root, TableSplit(leaf, given, BackoffTable(np.full(2, 0.5), (level,))))
    sizes = [size] * core + [2] * leaves
    domain = Domain(tuple(Variable(f"x{v}", "ordered", np.arange(n)) for v, n in enumerate(sizes)))
    model = FSPN.from_root(domain, root)
    with pytest.raises(TooWide):
        model.probability({f"x{v}": 1 for v in range(core, core + leaves)})
