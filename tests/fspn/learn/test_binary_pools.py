"""The search in pools on two-valued columns, against scipy, scikit-learn and enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.special import betaln, gammaln
from sklearn.metrics import mutual_info_score

from fspn import FSPN
from fspn.learn.pools import fit as pools_fit
from fspn.learn.pools.binary_evidence import NEVER, _row_evidence, _stirling, choose_parents
from fspn.learn.pools.binary_rows import BinaryRows
from fspn.learn.pools.build import mixture_node
from fspn.learn.pools.family import STRENGTHS, Family, Limits, without_parents
from fspn.learn.pools.mixture import (
    _HeldOut,
    _overlapping,
    _starts,
    learn_mixture,
    log_likelihood,
)
from fspn.learn.pools.structure import PoolNetwork, learn_structure
from fspn.model.graph import elimination_order
from fspn.model.infer import log_probability
from fspn.model.nodes import Sum, TableSplit, walk
from fspn.schema.events import CodeRange, Events


def chain(n: int, m: int, seed: int, noise: float = 0.1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    cells = np.empty((n, m), dtype=np.uint8)
    cells[:, 0] = rng.random(n) < 0.4
    for v in range(1, m):
        cells[:, v] = cells[:, v - 1] ^ (rng.random(n) < noise)
    return cells


def clusters(n: int, m: int, k: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of a mixture of independent columns, and the true log-likelihood of each."""
    rng = np.random.default_rng(seed)
    ones = rng.beta(0.3, 0.3, size=(k, m)).clip(0.03, 0.97)
    cells = (rng.random((n, m)) < ones[rng.integers(k, size=n)]).astype(np.uint8)
    logs = np.log(ones) @ cells.T + np.log(1 - ones) @ (1 - cells.T)
    return cells, np.log(np.exp(logs).mean(axis=0))


def weighted(cells: np.ndarray) -> BinaryRows:
    """Rows of weight 1 each, equal ones too."""
    return BinaryRows(cells, np.ones(len(cells)), np.full(cells.shape[1], 2))


def states(m: int) -> np.ndarray:
    return np.array(list(product([0, 1], repeat=m)), dtype=np.uint8)


def points(cells: np.ndarray) -> Events:
    codes = cells.astype(np.int64)
    return Events(
        len(cells), {v: CodeRange(codes[:, v], codes[:, v]) for v in range(cells.shape[1])}
    )


def test_distinct_rows_keep_their_counts() -> None:
    cells = chain(500, 9, 0)
    rows = BinaryRows.distinct(cells)
    expected = pd.DataFrame(cells).value_counts()
    found = {tuple(row): count for row, count in zip(rows.cells, rows.weights, strict=True)}
    assert found == {key: float(count) for key, count in expected.items()}


def test_information_is_that_of_scikit_learn() -> None:
    cells = chain(20_000, 5, 1)
    rows = BinaryRows.distinct(cells)
    found = rows.information(rows, 0.0) / len(cells)
    for i, j in product(range(5), repeat=2):
        if i != j:
            assert found[i, j] == pytest.approx(
                mutual_info_score(cells[:, i], cells[:, j]), abs=1e-4
            )


@pytest.mark.parametrize("x", [1e-6, 0.02, 0.7, 1.0, 3.3, 6.99, 7.01, 150.0, 1e6])
def test_log_gamma_is_that_of_scipy(x: float) -> None:
    found, shift = _stirling(x)
    assert found - np.log(shift) == pytest.approx(gammaln(x), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("n", "ones", "below", "strength"), [(10, 3, 0.2, 1), (5.5, 0, 0.9, 8)])
def test_evidence_is_that_of_a_beta_binomial(
    n: float, ones: float, below: float, strength: float
) -> None:
    a, b = strength * below, strength * (1 - below)
    expected = betaln(a + ones, b + n - ones) - betaln(a, b)
    expected -= ones * np.log(below) + (n - ones) * np.log(1 - below)
    assert _row_evidence(n, ones, below, strength) == pytest.approx(expected, abs=1e-8)


def chosen(
    cells: np.ndarray, child: int, anchors: np.ndarray | None = None
) -> tuple[list[int], bool, np.ndarray]:
    rows = BinaryRows.distinct(cells)
    start, ones = rows.ones
    others = np.array([v for v in range(cells.shape[1]) if v != child])
    _, _, anchored, parents, _, table = choose_parents(
        rows.columns[child], rows.weights, others[None], np.array([len(others)]), start, ones,
        rows.means[child], np.empty((0, 2)) if anchors is None else anchors,
        np.full(cells.shape[1], np.inf), np.array(STRENGTHS), (3.0, 3.0, 3.0), 4,
    )  # fmt: skip
    assert len(table) == 2 ** len(parents)
    return parents.tolist(), anchored, table


def test_parents_are_those_that_matter() -> None:
    rng = np.random.default_rng(2)
    cells = rng.integers(0, 2, size=(4_000, 8)).astype(np.uint8)
    cells[:, 7] = (cells[:, 2] & cells[:, 5]) ^ (rng.random(4_000) < 0.05)
    assert sorted(chosen(cells, 7)[0]) == [2, 5]


def test_few_rows_are_smoothed_towards_the_rest_of_the_table() -> None:
    everything = chain(5_000, 6, 11)
    few = weighted(everything[:30])
    anchors = weighted(everything).without(few, 1)
    rest = everything[30:]
    for value in (0, 1):
        expected = rest[rest[:, 0] == value, 1].mean()
        assert anchors[0, value] == pytest.approx(expected, abs=1e-3)
    (parent, *_), anchored, table = chosen(few.cells, 1, anchors)
    assert anchored
    assert len(table) == 2
    assert table == pytest.approx(anchors[parent], abs=0.1)


@pytest.mark.filterwarnings("error")
def test_what_rounds_to_certain_is_scored_without_a_warning() -> None:
    """Each level leaves less to the unseen value, until its probability would round to 0."""
    cells = np.random.default_rng(2).integers(0, 2, size=(200_000, 5)).astype(np.uint8)
    cells[:, 4] = cells[:, :4].any(axis=1)
    parents, _, table = chosen(cells, 4)
    assert sorted(parents) == [0, 1, 2, 3]
    assert 1 - NEVER <= table.max() < 1.0
    even = np.array([0.5, 0.5])
    root, ones = without_parents(even), np.column_stack([1 - table, table])
    child = Family(tuple(parents), (1.0,) * 4, (0.0,) * 4, even, None, ones)
    network = PoolNetwork(tuple(range(5)), (*[root] * 4, child))
    seen, unseen = log_likelihood(network, np.array([[1, 1, 1, 1, 1], [1, 1, 1, 1, 0]], np.uint8))
    assert seen == pytest.approx(4 * np.log(0.5))
    assert -60 < unseen < -30


def test_a_rare_pair_is_smoothed_towards_an_even_chance() -> None:
    """Six ones of 5,000 that a parent tells: towards a mean of 0.001 they would count for less."""
    cells = np.zeros((5_000, 2), dtype=np.uint8)
    cells[:6] = 1
    rows = BinaryRows.distinct(cells)
    mixture = learn_mixture(rows, 1, Limits(2, 2**4), np.random.default_rng(0))
    (family,) = [f for f in mixture.networks[0].families if f.parents]
    assert family.even == (0.1,)
    assert family.table[1, 1] > 0.97
    found = log_probability(mixture_node(mixture, range(2)), points(states(2)))
    assert found == pytest.approx(mixture.log_likelihood(states(2)), rel=1e-6)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_components_do_not_overlap_where_rows_fall_into_classes(k: int) -> None:
    """Were a row to count for all of two components, they would be the same network twice."""
    cells, truth = clusters(800, 100, k, 3)
    rows = BinaryRows.distinct(cells[:400])
    found = [
        learn_mixture(rows, n, Limits(4, 2**6), np.random.default_rng(0)).log_likelihood(cells)
        for n in (1, k)
    ]
    one, several = ((truth - logs)[400:].mean() for logs in found)
    assert several < 0.6 * one


def test_components_of_many_columns_overlap_and_of_few_do_not() -> None:
    rng = np.random.default_rng(0)
    logs = 40.0 * rng.normal(size=(500, 6))
    wide = weighted(np.zeros((500, 300), dtype=np.uint8))
    shares = _overlapping(logs, wide)
    assert shares.max(axis=1) == pytest.approx(1.0)
    assert shares.sum() / 500 == pytest.approx(1 + np.sqrt(6 * 300 / 500), rel=1e-3)
    longer = weighted(np.zeros((500, 50), dtype=np.uint8))
    assert _overlapping(logs, longer).sum() / 500 == pytest.approx(1 + np.sqrt(0.6), rel=1e-3)
    narrow = weighted(np.zeros((500, 2), dtype=np.uint8))
    soft = _overlapping(logs / 100, narrow)
    assert soft.sum(axis=1) == pytest.approx(1.0)


def test_independent_columns_have_no_parents() -> None:
    cells = np.random.default_rng(3).integers(0, 2, size=(3_000, 10)).astype(np.uint8)
    rows = BinaryRows.distinct(cells)
    families = learn_structure(rows, rows, Limits(6, 2**8))[0].families
    assert sum(len(family.parents) for family in families) <= 1


def correlated(n: int, m: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(n, 3)) @ rng.normal(size=(3, m))
    return (hidden + 0.5 * rng.normal(size=hidden.shape) > 0).astype(np.uint8)


@pytest.mark.parametrize("width", [2, 4, 7, 10])
def test_no_elimination_is_wider_than_asked(width: int) -> None:
    rows = BinaryRows.distinct(correlated(3_000, 25, 4))
    families = learn_structure(rows, rows, Limits(10, 2**width))[0].families
    assert max(len(family.parents) for family in families) > min(width, 3) - 2
    assert elimination_order([f.parents for f in families], [2] * 25)[1] <= 2**width * 1.0001


def test_pools_are_larger_than_the_width_where_the_elimination_stays_narrow() -> None:
    """Three parents far apart: a pool of six columns would have forgotten the first of them."""
    rng = np.random.default_rng(13)
    cells = chain(6_000, 30, 13, noise=0.2)
    cells[:, 29] = (cells[:, 2] + cells[:, 12] + cells[:, 22] > 1) ^ (rng.random(6_000) < 0.05)
    rows = BinaryRows.distinct(cells)
    network, pool = learn_structure(rows, rows, Limits(6, 2**6))
    narrow, smallest = learn_structure(rows, rows, Limits(6, 2**6), largest_pool=6)
    assert pool > smallest == 6
    assert elimination_order([f.parents for f in network.families], [2] * 30)[1] <= 2**6 * 1.0001
    wide, held = (log_likelihood(n, cells).mean() for n in (network, narrow))
    assert wide > held + 0.1


def test_no_first_parent_gains_more_than_its_ceiling() -> None:
    rows = BinaryRows.distinct(correlated(400, 8, 14))
    ceilings = rows.ceilings([np.array([0.7, 0.3])] * 8)
    start, ones = rows.ones
    for child, parent in product(range(8), repeat=2):
        if child == parent:
            continue
        _, gain, *_ = choose_parents(
            rows.columns[child], rows.weights, np.array([[parent]]), np.array([1]), start, ones,
            0.3, np.empty((0, 2)), np.full(8, np.inf), np.array(STRENGTHS),
            (0.0, 0.0, 0.0), 1,
        )  # fmt: skip
        assert gain <= ceilings[child, parent]


def test_pools_that_share_members_are_searched_as_if_alone() -> None:
    rows = BinaryRows.distinct(correlated(600, 12, 4))
    start, ones = rows.ones
    rng, child = np.random.default_rng(5), 0
    pools = np.array([rng.permutation(11)[:7] + 1 for _ in range(5)])
    ceilings = rows.ceilings(rows.bases(rows, 0.0))[child]

    def search(some: np.ndarray) -> tuple[int, float, bool, np.ndarray, np.ndarray, np.ndarray]:
        return choose_parents(
            rows.columns[child], rows.weights, some, np.full(len(some), 7), start, ones,
            rows.means[child], np.empty((0, 2)), ceilings, np.array(STRENGTHS), (1.0, 1.0, 1.0), 4,
        )  # fmt: skip

    together, alone = search(pools), [search(pool[None]) for pool in pools]
    best = max(range(5), key=lambda i: alone[i][1])
    assert together[0] == best
    assert together[1] == alone[best][1]
    for found, expected in zip(together[3:], alone[best][3:], strict=True):
        np.testing.assert_array_equal(found, expected)


def test_many_components_come_from_several_starts() -> None:
    assert _starts(12) == [[12]]
    assert _starts(60) == [[12] * 5, [60]]
    rows, rng = BinaryRows.distinct(correlated(1_200, 60, 15)), np.random.default_rng(0)
    mixture = learn_mixture(rows, 24, Limits(3, 2**5), rng)
    assert 12 < len(mixture.networks) <= 24
    assert mixture.weights.sum() == pytest.approx(1.0)


def test_copies_of_a_row_are_held_out_one_by_one() -> None:
    cells = np.repeat(np.array([[0, 1], [1, 0]], dtype=np.uint8), [4_000, 1], axis=0)
    rows = BinaryRows.distinct(cells)
    seen, unseen = rows.split(0.1, np.random.default_rng(0))
    assert seen.total + unseen.total == rows.total
    assert 300 < unseen.total < 500
    assert seen.cells.tolist()[0] == unseen.cells.tolist()[0] == [0, 1]


@pytest.mark.parametrize(("strong", "careful"), [(True, False), (False, True)])
def test_rows_that_were_not_seen_choose_the_price_of_a_parent(strong: bool, careful: bool) -> None:
    """Parents found on few rows cost little where dependence is real, and much where it is not."""
    rng = np.random.default_rng(1)
    cells = rng.integers(0, 2, size=(400, 60), dtype=np.uint8)
    if strong:
        flipped = rng.random((400, 30)) < 0.25
        cells[:, 30:] = cells[:, :30] ^ flipped.astype(np.uint8)
    seen, unseen = BinaryRows.distinct(cells).split(0.3, rng)
    held_out = _HeldOut(seen, unseen, Limits(4, 2**6))
    held_out.first(8, rng)
    assert held_out.limits.careful is careful


def test_one_start_is_enough_where_rows_fall_into_classes() -> None:
    cells, _ = clusters(1_200, 30, 5, 15)
    rows, rng = BinaryRows.distinct(cells), np.random.default_rng(0)
    mixture = learn_mixture(rows, 24, Limits(3, 2**5), rng)
    assert len(mixture.networks) == 5


@pytest.mark.parametrize("n_components", [1, 3])
def test_nodes_say_what_was_learned_and_sum_to_one(n_components: int) -> None:
    cells, _ = clusters(1_500, 9, 3, 5)
    rng = np.random.default_rng(0)
    mixture = learn_mixture(BinaryRows.distinct(cells), n_components, Limits(4, 2**6), rng)
    root = mixture_node(mixture, range(9))
    found = log_probability(root, points(states(9)))
    assert found == pytest.approx(mixture.log_likelihood(states(9)), abs=1e-5)
    assert np.exp(found).sum() == pytest.approx(1.0, abs=1e-9)


def test_clusters_are_found_by_the_default_learner() -> None:
    cells, _ = clusters(4_000, 40, 4, 6)
    fresh, truth = cells[3_000:], clusters(4_000, 40, 4, 6)[1][3_000:]
    model = FSPN().fit(cells[:3_000])
    alone = FSPN(n_components=1).fit(cells[:3_000])
    assert isinstance(model.root_, Sum)
    assert model.score(fresh) > alone.score(fresh)
    assert model.score(fresh) > truth.mean() - 0.6


def test_one_network_is_searched_over_orders_where_held_out_rows_prefer_it() -> None:
    """Columns that are sums of two others, modulo 2: pairs, and so cliques, do not show them."""
    rng = np.random.default_rng(12)
    cells = rng.integers(0, 2, size=(6_000, 12)).astype(np.uint8)
    for v in (6, 9, 11):
        cells[:, v] = cells[:, v - 5] ^ cells[:, v - 2] ^ (rng.random(6_000) < 0.1)
    rows = BinaryRows.distinct(cells[:5_000])
    counted = mixture_node(learn_mixture(rows, 1, Limits(8, 2**12), rng), range(12))
    model = FSPN().fit(cells[:5_000])
    truth = -9 * np.log(2) + 3 * (0.1 * np.log(0.1) + 0.9 * np.log(0.9))
    assert log_probability(counted, points(cells[5_000:])).mean() < truth - 0.9
    assert model.score(cells[5_000:]) > truth - 0.05
    assert model.gains_["factorize"] == pytest.approx(model.gains_["all"], abs=0.02)


def test_several_networks_give_way_too_and_to_as_many_parents(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One of 24 columns says whether three of six others are 1."""
    rng = np.random.default_rng(0)
    cells = rng.integers(0, 2, size=(6_000, 24)).astype(np.uint8)
    cells[:, 6] = (cells[:, :6].sum(axis=1) >= 3) ^ (rng.random(6_000) < 0.02)
    several = pools_fit.Choice(4, np.arange(6_000) < 600, np.full(600, -100.0))
    monkeypatch.setattr(pools_fit, "choose", lambda *_: several)
    model = FSPN().fit(cells)
    tables = [node for node in walk(model.root_) if isinstance(node, TableSplit)]
    assert {0, 1, 2, 3, 4, 5, 6} in [{table.variable, *table.given} for table in tables]


def test_sum_nodes_tell_what_they_gained_over_one_network() -> None:
    cells, _ = clusters(4_000, 40, 4, 6)
    gains = FSPN().fit(cells).gains_
    assert 0 < gains["sum"] < gains["all"]


def test_answers_equal_enumeration() -> None:
    cells = chain(2_000, 8, 7)
    model = FSPN(n_components=2).fit(cells)
    mass = np.exp(model.score_samples(states(8)))
    picked = (states(8)[:, 1] == 1) & (states(8)[:, 6] == 0)
    both = mass[picked & (states(8)[:, 4] == 1)].sum() / mass[picked].sum()
    assert model.conditional({4: 1}, {1: 1, 6: 0}) == pytest.approx(both, abs=1e-12)


def test_same_seed_same_model(tmp_path) -> None:
    cells, _ = clusters(800, 12, 3, 8)
    first, second = (FSPN(random_state=5).fit(cells) for _ in range(2))
    assert (first.score_samples(cells) == second.score_samples(cells)).all()
    first.save(tmp_path / "model.fspn")
    loaded = FSPN.load(tmp_path / "model.fspn")
    assert (loaded.score_samples(cells) == first.score_samples(cells)).all()


def test_constant_columns_and_unseen_values() -> None:
    table = pd.DataFrame(chain(300, 4, 9), columns=list("abcd"))
    table["always"] = 7
    table["never one"] = 0
    model = FSPN().fit(table, domains={"never one": [0, 1]})
    assert model.probability({"always": 7}) == pytest.approx(1.0)
    assert 0 < model.probability({"never one": 1}) < 0.01


def test_thresholds_keep_the_general_learner() -> None:
    with pytest.raises(ValueError, match=r"n_components=2 does nothing here.*its own thresholds"):
        FSPN(tau_high=0.5, n_components=2).fit(chain(500, 5, 10))


def test_components_of_a_tiny_table_of_any_values_are_as_many_as_its_rows_carry() -> None:
    table = pd.DataFrame({"a": [0, 1, 2] * 20, "b": [0, 1, 1] * 20})
    assert FSPN(n_components=3).fit(table).probability({"a": 2, "b": 1}) > 0.3
    assert FSPN(n_components=3).fit(table[["a"]]).probability({"a": 2}) > 0.3
    with pytest.raises(ValueError, match="n_components=0 must be a whole number of at least 1"):
        FSPN(n_components=0).fit(table[["b"]].assign(c=table["b"]))


def test_one_row_is_enough() -> None:
    model = FSPN().fit(np.array([[0, 1, 1]]), domains=[[0, 1]] * 3)
    assert np.exp(model.score_samples(states(3))).sum() == pytest.approx(1.0)
    assert model.score_samples([[0, 1, 1]]) > np.log(0.5**3)
