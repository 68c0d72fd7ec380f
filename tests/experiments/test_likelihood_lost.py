"""What product and factorize nodes lose, on models made by hand."""

import numpy as np
import pytest

from experiments import appendix_b
from experiments.likelihood_lost import likelihood_lost, mutual_information, reached
from fspn.model.leaves.categorical import Categorical
from fspn.model.nodes import Product, Sum, UniLeaf

HALF = Categorical(np.array([0.5, 0.5]))
SPLIT = Product((UniLeaf(0, HALF), UniLeaf(1, HALF)))


def test_a_product_of_equal_columns_loses_their_entropy():
    twice = np.array([[0, 0], [1, 1]] * 500, dtype=np.int32)
    lost = likelihood_lost(SPLIT, twice)
    assert lost.parts == 2
    assert lost.difference < 1e-12
    assert lost.nats == pytest.approx(np.log(2) - 1 / 2000)


def test_a_product_of_independent_columns_loses_nothing():
    grid = np.array([[0, 0], [0, 1], [1, 0], [1, 1]] * 250, dtype=np.int32)
    assert likelihood_lost(SPLIT, grid).nats == 0.0


def test_the_bias_of_mutual_information_is_taken_off():
    rng = np.random.default_rng(0)
    found = [
        mutual_information(*rng.integers(0, 8, (2, 400)), weights=np.ones(400)) for _ in range(200)
    ]
    assert np.mean(found) == pytest.approx(0.0, abs=0.005)


def test_a_sum_node_passes_rows_on_by_responsibility():
    sure = [Categorical(np.array(p)) for p in ([1.0, 0.0], [0.0, 1.0])]
    children = tuple(Product((UniLeaf(0, one), UniLeaf(1, HALF))) for one in sure)
    codes = np.array([[0, 0], [0, 1], [1, 1]], dtype=np.int32)
    with np.errstate(divide="ignore"):
        found = list(reached(Sum(np.array([0.5, 0.5]), children), codes))
    weights = {id(node): w.tolist() for node, w in found}
    assert [weights[id(child)] for child in children] == [[1, 1, 0], [0, 0, 1]]


def test_the_worked_example_is_exact():
    codes = np.random.default_rng(0).integers(0, appendix_b.SIZE, (50, 4)).astype(np.int32)
    lost = likelihood_lost(appendix_b.root(), codes)
    assert lost.parts == 5  # the left child of the factorize node, two children of each product
    assert lost.difference < 1e-12
    assert appendix_b.probability() == pytest.approx(appendix_b.PRINTED, abs=1e-12)
