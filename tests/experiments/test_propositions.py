import numpy as np
import pytest

from experiments.propositions import Network, conversion_rows, em_gain, random_network, reached_sums
from fspn.model.leaves.categorical import Categorical
from fspn.model.nodes import Product, Sum, UniLeaf
from fspn.schema.events import CodeRange, Events


def test_a_network_enumerates_its_joint_table():
    rain, wet = np.array([0.8, 0.2]), np.array([[0.9, 0.1], [0.2, 0.8]])
    network = Network("rain", ((), (0,)), (rain, wet))
    assert network.joint() == pytest.approx([0.72, 0.08, 0.04, 0.16])
    assert network.n_parameters == 3


@pytest.mark.parametrize("seed", range(3))
def test_a_converted_network_is_the_same_and_no_larger(seed):
    network = random_network(seed, variables=5)
    assert network.joint().sum() == pytest.approx(1.0)
    source, converted = conversion_rows(network)
    assert converted.n_parameters <= source.n_parameters
    assert converted.kl_max < 1e-12


def mixture(weights):
    a, b = Categorical(np.array([0.9, 0.1])), Categorical(np.array([0.2, 0.8]))
    return Sum(np.array(weights), (UniLeaf(0, a), UniLeaf(0, b)))


def points(codes):
    codes = np.array(codes, dtype=np.int32)
    return Events(len(codes), {0: CodeRange(codes, codes)})


def test_an_em_step_raises_the_likelihood_unless_at_the_maximum():
    # Half zeros: 0.9 w + 0.2 (1 - w) = 0.5 at w = 3/7, where the likelihood is largest.
    half = points([0, 1])
    assert em_gain(mixture([3 / 7, 4 / 7]), half) == pytest.approx(0.0, abs=1e-12)
    assert em_gain(mixture([0.9, 0.1]), half) > 0.01


def test_the_gain_by_hand():
    # One row of value 0: responsibilities 0.45 / 0.55 and 0.1 / 0.55 are the new weights.
    before = np.log(0.55)
    after = np.log((0.45 * 0.9 + 0.1 * 0.2) / 0.55)
    assert em_gain(mixture([0.5, 0.5]), points([0])) == pytest.approx(after - before)


def test_only_sums_that_all_rows_reach_count():
    inner = mixture([0.5, 0.5])
    other = UniLeaf(1, Categorical(np.array([0.5, 0.5])))
    assert list(reached_sums(Product((inner, other)))) == [inner]
    outer = Sum(np.array([0.5, 0.5]), (inner, inner))
    assert list(reached_sums(outer)) == [outer]
