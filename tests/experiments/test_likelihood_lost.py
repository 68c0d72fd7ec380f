"""What product and factorize nodes lose, on models made by hand."""

import numpy as np
import pandas as pd
import pytest

from experiments import appendix_b
from experiments.likelihood_lost import likelihood_lost, mutual_information, reached
from fspn import FSPN
from fspn.model.leaves.categorical import Categorical
from fspn.model.nodes import Product, Sum, UniLeaf
from fspn.schema.domain import Domain, Variable

HALF = Categorical(np.array([0.5, 0.5]))
SPLIT = Product((UniLeaf(0, HALF), UniLeaf(1, HALF)))


def model_of(root, *sizes):
    variables = (Variable(f"x{i}", "ordered", np.arange(n)) for i, n in enumerate(sizes))
    return FSPN.from_root(Domain(tuple(variables)), root)


def table_of(rows):
    return pd.DataFrame(rows, columns=["x0", "x1"])


def test_a_product_of_equal_columns_loses_their_entropy():
    lost = likelihood_lost(model_of(SPLIT, 2, 2), table_of([[0, 0], [1, 1]] * 500))
    assert lost.parts == 2
    assert lost.difference < 1e-12
    assert lost.nats == pytest.approx(np.log(2) - (1 + 4 * np.sqrt(2)) / 2000)


def test_a_product_of_independent_columns_loses_nothing():
    grid = table_of([[0, 0], [0, 1], [1, 0], [1, 1]] * 250)
    assert likelihood_lost(model_of(SPLIT, 2, 2), grid).nats == 0.0


def test_chance_is_no_dependence():
    rng = np.random.default_rng(0)
    found = [mutual_information(*rng.integers(0, 8, (2, 400)), np.ones(400)) for _ in range(200)]
    assert max(found) == 0.0


def test_a_part_that_is_not_the_models_marginal_is_found(monkeypatch):
    model = model_of(SPLIT, 2, 2)
    monkeypatch.setattr(FSPN, "probability", lambda *_: np.full(4, 0.4))
    lost = likelihood_lost(model, table_of([[0, 0], [0, 1], [1, 0], [1, 1]]))
    assert lost.difference == pytest.approx(0.1)


def test_a_sum_node_passes_rows_on_by_responsibility():
    sure = [Categorical(np.array(p)) for p in ([1.0, 0.0], [0.0, 1.0])]
    children = tuple(Product((UniLeaf(0, one), UniLeaf(1, HALF))) for one in sure)
    codes = np.array([[0, 0], [0, 1], [1, 1]], dtype=np.int32)
    with np.errstate(divide="ignore"):
        found = list(reached(Sum(np.array([0.5, 0.5]), children), codes))
    weights = {id(node): w.tolist() for node, w in found}
    assert [weights[id(child)] for child in children] == [[1, 1, 0], [0, 0, 1]]


def test_the_worked_example_is_exact():
    rows = np.random.default_rng(0).integers(0, appendix_b.SIZE, (50, 4))
    model = FSPN.from_root(appendix_b.domain(), appendix_b.root())
    lost = likelihood_lost(model, pd.DataFrame(rows, columns=["X1", "X2", "X3", "X4"]))
    assert lost.parts == 5  # the left child of the factorize node, two of each product node
    assert lost.difference < 1e-12
    assert appendix_b.probability() == pytest.approx(appendix_b.PRINTED, abs=1e-12)
