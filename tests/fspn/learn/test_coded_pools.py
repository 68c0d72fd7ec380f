"""The search in pools on columns of any number of values, against scipy and enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy.special import gammaln
from sklearn.metrics import mutual_info_score

from fspn import FSPN
from fspn.learn import fit
from fspn.learn.mixture import fit as mixture_fit
from fspn.learn.pools import trial
from fspn.learn.pools.binary_rows import BinaryRows
from fspn.learn.pools.build import mixture_node
from fspn.learn.pools.coded_evidence import _evidence, _filled, choose_parents
from fspn.learn.pools.coded_rows import CodedRows
from fspn.learn.pools.family import STRENGTHS, Limits
from fspn.learn.pools.mixture import learn_mixture
from fspn.learn.pools.structure import learn_structure
from fspn.model.graph import elimination_order
from fspn.model.infer import log_probability
from fspn.model.nodes import Product, Sum, TableSplit, walk
from fspn.schema.events import CodeRange, Events

SIZES = np.array([3, 2, 4, 2, 3])


def noisy_sums(n: int, sizes: np.ndarray, seed: int, noise: float = 0.2) -> np.ndarray:
    """Every column is the sum of the two before it, modulo its size, or by chance anything."""
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, sizes, size=(n, len(sizes)))
    for v in range(2, len(sizes)):
        known = rng.random(n) > noise
        cells[known, v] = (cells[known, v - 1] + cells[known, v - 2]) % sizes[v]
    return cells.astype(np.uint8)


def classes(n: int, m: int, k: int, seed: int, values: int = 3) -> np.ndarray:
    """Rows of a mixture of independent columns."""
    rng = np.random.default_rng(seed)
    tables = rng.dirichlet(np.full(values, 0.4), size=(k, m))
    kind = rng.integers(k, size=n)
    below = tables.cumsum(axis=2)[kind][..., :-1]
    return (rng.random((n, m, 1)) > below).sum(axis=2).astype(np.uint8)


def states(sizes: np.ndarray) -> np.ndarray:
    return np.array(list(product(*map(range, sizes))), dtype=np.uint8)


def points(cells: np.ndarray) -> Events:
    codes = cells.astype(np.int64)
    columns = {v: CodeRange(codes[:, v], codes[:, v]) for v in range(cells.shape[1])}
    return Events(len(cells), columns)


def test_counts_of_pairs_are_those_of_pandas() -> None:
    cells = noisy_sums(700, SIZES, 0)
    rows = CodedRows.distinct(cells, SIZES)
    assert rows.total == 700
    for i, j in [(0, 2), (3, 1), (4, 4)]:
        expected = pd.crosstab(cells[:, i], cells[:, j]).to_numpy()
        np.testing.assert_array_equal(rows.pairs[rows._of(i), rows._of(j)], expected)


def test_information_is_that_of_scikit_learn_less_chance() -> None:
    cells = noisy_sums(30_000, SIZES, 1)
    rows = CodedRows.distinct(cells, SIZES)
    found = rows.information(rows, 0.0)
    for i, j in product(range(5), repeat=2):
        if i != j:
            chance = (SIZES[i] - 1) * (SIZES[j] - 1) / 2 - 0.5
            expected = max(mutual_info_score(cells[:, i], cells[:, j]) * 30_000 - chance, 0.0)
            assert found[i, j] == pytest.approx(expected, abs=1.0)


@pytest.mark.parametrize("share", [0.0, 0.1])
@pytest.mark.parametrize("strength", [0.1, 8.0])
def test_evidence_is_that_of_a_dirichlet_multinomial(share: float, strength: float) -> None:
    counts = np.array([[5, 0, 2.5], [0, 0, 0], [1, 1, 0], [0, 7, 3]])
    prior = np.array([[0.7, 0.2, 0.1], [0.1, 0.5, 0.4]])
    expected = 0.0
    for i, row in enumerate(counts):
        a = strength * ((1 - share) * prior[i // 2] + share / 3)
        expected += gammaln(a.sum()) - gammaln(a.sum() + row.sum())
        expected += (gammaln(a + row) - gammaln(a)).sum()
    found = _evidence(counts, _filled(counts), prior, 2, share, strength)
    assert found == pytest.approx(expected, abs=1e-8)


def chosen(cells: np.ndarray, sizes: np.ndarray, child: int) -> list[int]:
    rows = CodedRows.distinct(cells, sizes)
    others = np.array([v for v in range(len(sizes)) if v != child])
    parents = choose_parents(
        rows.columns, sizes, rows.offsets, child, rows.weights, others[None],
        np.array([len(others)]), rows.bases(rows, 0.0)[child], np.empty((0, sizes[child])),
        np.full(len(sizes), np.inf), np.array(STRENGTHS), (3.0, 3.0, 3.0), 4, 4_096,
    )[3]  # fmt: skip
    return sorted(parents.tolist())


def test_parents_are_those_that_matter() -> None:
    cells = np.random.default_rng(2).integers(0, 3, size=(4_000, 8)).astype(np.uint8)
    cells[:, 7] = np.maximum(cells[:, 2], cells[:, 5])
    assert chosen(cells, np.full(8, 3), 7) == [2, 5]


def test_no_table_has_more_cells_than_allowed() -> None:
    cells = np.random.default_rng(2).integers(0, 3, size=(4_000, 4)).astype(np.uint8)
    cells[:, 3] = cells[:, :3].max(axis=1)
    rows = CodedRows.distinct(cells, np.full(4, 3))
    for max_cells in (9, 27, 81):
        families = learn_structure(rows, rows, Limits(4, max_cells))[0].families
        assert max(family.table.size for family in families) == max_cells


def test_two_values_are_learned_as_by_counting_ones() -> None:
    cells = noisy_sums(3_000, np.full(12, 2), 3, noise=0.1)
    limits = Limits(4, 2**6)
    by_ones, by_codes = BinaryRows.distinct(cells), CodedRows.distinct(cells, np.full(12, 2))
    ones, codes = (learn_structure(rows, rows, limits)[0] for rows in (by_ones, by_codes))
    assert ones.order == codes.order
    for first, second in zip(ones.families, codes.families, strict=True):
        assert first.parents == second.parents
        assert first.strengths == second.strengths
        np.testing.assert_allclose(first.table, second.table, atol=1e-6)


def test_few_rows_are_smoothed_towards_the_rest_of_the_table() -> None:
    cells = noisy_sums(5_000, SIZES, 4)
    table = CodedRows(cells, np.ones(5_000), SIZES)
    few = CodedRows(cells[:40], np.ones(40), SIZES)
    found, rest = table.without(few, 2), cells[40:]
    for value in range(2):
        expected = np.bincount(rest[rest[:, 1] == value, 2], minlength=4)
        np.testing.assert_allclose(found[3 + value], expected / expected.sum(), atol=2e-3)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)


def test_no_first_parent_gains_more_than_its_ceiling() -> None:
    rows = CodedRows.distinct(noisy_sums(400, SIZES, 5), SIZES)
    bases = rows.bases(rows, 10.0)
    ceilings = rows.ceilings(bases)
    for child, parent in product(range(5), repeat=2):
        if child != parent:
            _, gain, *_ = choose_parents(
                rows.columns, SIZES, rows.offsets, child, rows.weights, np.array([[parent]]),
                np.array([1]), bases[child], np.empty((0, SIZES[child])), np.full(5, np.inf),
                np.array(STRENGTHS), (0.0, 0.0, 0.0), 1, 4_096,
            )  # fmt: skip
            assert gain <= ceilings[child, parent]


@pytest.mark.parametrize("max_cells", [16, 100, 1_000])
def test_no_elimination_is_wider_than_asked(max_cells: int) -> None:
    sizes = np.array([2, 3, 4] * 8)
    rows = CodedRows.distinct(noisy_sums(3_000, sizes, 6), sizes)
    families = learn_structure(rows, rows, Limits(8, max_cells))[0].families
    cells = elimination_order([f.parents for f in families], sizes.tolist())[1]
    assert cells <= max_cells * 1.0001


@pytest.mark.parametrize("n_components", [1, 3])
def test_nodes_say_what_was_learned_and_sum_to_one(n_components: int) -> None:
    cells = noisy_sums(900, SIZES, 7)
    rng = np.random.default_rng(0)
    rows = CodedRows.distinct(cells, SIZES)
    mixture = learn_mixture(rows, n_components, Limits(3, 256), rng)
    found = log_probability(mixture_node(mixture, range(5)), points(states(SIZES)))
    assert found == pytest.approx(mixture.log_likelihood(states(SIZES)), abs=1e-4)
    assert np.exp(found).sum() == pytest.approx(1.0, abs=1e-9)


def test_one_column_of_three_values_does_not_change_how_a_table_is_learned() -> None:
    """Classes that 26 columns of two values show, beside one column of noise."""
    cells = classes(4_000, 26, 12, 8, values=2)
    noise = np.random.default_rng(1).integers(0, 3, len(cells))
    beside = pd.DataFrame(cells).assign(noise=noise)
    alone = FSPN(random_state=0).fit(cells[:3_000])
    model = FSPN(random_state=0).fit(beside[:3_000])
    own = model.score(beside[3_000:]) + np.log(3)
    assert own > alone.score(cells[3_000:]) - 0.15
    assert isinstance(model.root_, Sum)


def test_networks_of_pools_are_not_taken_where_they_gain_nothing() -> None:
    sizes = np.full(10, 3)
    cells = noisy_sums(6_000, sizes, 9)
    model = FSPN(random_state=0).fit(cells)
    one = FSPN(random_state=0, n_components=1).fit(cells)
    np.testing.assert_array_equal(model.score_samples(cells), one.score_samples(cells))


def test_answers_of_networks_of_pools_equal_enumeration() -> None:
    cells = classes(4_000, 6, 5, 10)
    rows = CodedRows.distinct(cells, np.full(6, 3))
    mixture = learn_mixture(rows, 5, Limits(3, 243), np.random.default_rng(0))
    root = mixture_node(mixture, range(6))
    every = states(np.full(6, 3))
    mass = np.exp(mixture.log_likelihood(every))
    low, high = np.array([1]), np.array([2])
    found = np.exp(log_probability(root, Events(1, {2: CodeRange(low, high)})))
    assert found[0] == pytest.approx(mass[every[:, 2] >= 1].sum(), abs=1e-5)


@pytest.fixture(scope="module")
def survey() -> pd.DataFrame:
    """Classes that 26 columns of three values show, a column with gaps, and a constant one."""
    cells = classes(3_000, 27, 12, 8)
    table = pd.DataFrame(cells, columns=[f"c{i}" for i in range(27)]).astype(float)
    table.loc[::9, "c26"] = np.nan
    return table.assign(always=1)


def test_a_table_with_gaps_and_constants_gets_networks_of_pools(survey: pd.DataFrame) -> None:
    model = FSPN(random_state=0).fit(survey)
    assert isinstance(model.root_, Product)
    assert any(isinstance(child, Sum) for child in model.root_.children)
    assert set(model.gains_) == {"sum", "all"}
    assert model.probability({"always": 1}) == pytest.approx(1.0)
    assert model.probability({"c26": None}) == pytest.approx(survey["c26"].isna().mean(), abs=0.02)
    before = model.score(survey[:20])
    model.update(survey[:500])
    assert np.isfinite(before)
    assert np.isfinite(model.score(survey[:20]))
    again = FSPN(random_state=0).fit(survey)
    assert again.score(survey[:20]) == before


@pytest.mark.parametrize("max_query_cost", [150])
def test_queries_on_networks_of_pools_cost_no_more_than_asked(
    survey: pd.DataFrame, max_query_cost: int
) -> None:
    model = FSPN(random_state=0, max_query_cost=max_query_cost).fit(survey[:1_200])
    assert model.query_cost_ <= max_query_cost


def test_as_many_components_as_asked_and_no_cell_more(survey: pd.DataFrame) -> None:
    model = FSPN(random_state=0, n_components=3, max_cells=30).fit(survey[:1_200])
    (mixed,) = [node for node in walk(model.root_) if isinstance(node, Sum)]
    assert len(mixed.children) == 3
    sizes = np.array([v.size for v in model.domain_])
    for node in walk(model.root_):
        if isinstance(node, TableSplit):
            assert np.prod(sizes[[node.variable, *node.given]]) <= 30


@pytest.mark.parametrize("max_cells", [1, 3, 4])
def test_bounds_on_tables_of_two_values_are_kept(max_cells: int) -> None:
    cells = noisy_sums(1_500, np.full(6, 2), 11)
    model = FSPN(random_state=0, max_cells=max_cells).fit(cells)
    tables = [node for node in walk(model.root_) if isinstance(node, TableSplit)]
    assert (len(tables) > 0) == (max_cells == 4)


def test_too_little_cost_for_the_components_asked_for_is_refused() -> None:
    cells = noisy_sums(1_500, np.full(20, 2), 12)
    with pytest.raises(ValueError, match=r"max_query_cost=100 is too little.*480 cells"):
        FSPN(n_components=12, max_query_cost=100).fit(cells)


@pytest.mark.filterwarnings("ignore:interrupted")
def test_an_interrupt_of_the_search_for_classes_tries_no_pools(
    survey: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    def never(*_: object) -> None:
        raise AssertionError("tried after an interrupt")

    monkeypatch.setattr(mixture_fit, "_components", interrupt)
    monkeypatch.setattr(fit, "try_pools", never)
    assert FSPN(random_state=0).fit(survey[:1_200]).probability({"always": 1}) > 0.99


def test_an_interrupt_of_the_trial_keeps_what_was_learned(
    survey: pd.DataFrame, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(trial, "mixture_of", interrupt)
    with pytest.warns(UserWarning, match="interrupted while looking for more components"):
        model = FSPN(random_state=0).fit(survey)
    assert not any(isinstance(child, Sum) for child in getattr(model.root_, "children", ()))
    assert model.gains_["factorize"] > 0
