"""The oracles, against computations on the rows: canonical correlation, HGR, phi, permutations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import rankdata
from sklearn.cross_decomposition import CCA

from fspn.learn.dependence import rdc as dependence
from fspn.learn.dependence.rdc import RDC, Column, Corrected, pool, rdc_matrix


def columns(n: int, seed: int = 0) -> list[Column]:
    """Ordered, unordered and real columns, dependent in several ways."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 6, n)
    b = (a + rng.integers(0, 3, n)) % 6
    turned = rng.permutation(6)[a]
    real = a + rng.normal(size=n)
    return [
        Column(a, 6),
        Column(b, 6),
        Column(np.where(rng.random(n) < 0.5, turned, b), 6, ordered=False),
        Column(rng.integers(0, 4, n), 4, ordered=False),
        Column(real, 0),
        Column(rng.normal(size=n), 0),
    ]


def row_features(column: Column, k: int, s: float, seed: int, side: int) -> np.ndarray:
    """The features of Lopez-Paz et al., row by row: sines of random projections of the copula."""
    n = len(column.values)
    if column.size and not column.ordered:
        inputs = np.eye(column.size)[column.values]
    else:
        inputs = (rankdata(column.values, method="max") / n)[:, None]
    inputs = np.column_stack([inputs, np.ones(n)])
    weights = np.random.default_rng([seed, side]).normal(size=(inputs.shape[1], k))
    return np.sin(s / inputs.shape[1] * (inputs @ weights))


def largest_canonical_correlation(x: np.ndarray, y: np.ndarray) -> float:
    """By orthonormal bases of the centred features (QR with a rank cut)."""

    def basis(features: np.ndarray) -> np.ndarray:
        u, singular, _ = np.linalg.svd(features - features.mean(axis=0), full_matrices=False)
        return u[:, singular > 1e-5 * singular[0]]

    return float(np.linalg.norm(basis(x).T @ basis(y), 2))


class TestRDC:
    def test_it_equals_the_computation_on_the_rows(self) -> None:
        table = columns(400)
        found = RDC(k=5, seed=3).matrix(table, list(table))
        for i, x in enumerate(table):
            for j, y in enumerate(table):
                expected = largest_canonical_correlation(
                    row_features(x, 5, 1 / 6, 3, 0), row_features(y, 5, 1 / 6, 3, 1)
                )
                assert found[i, j] == pytest.approx(expected, abs=2e-3), (i, j)

    def test_it_equals_scikit_learns_cca(self) -> None:
        table = columns(500, seed=1)
        # Few features: an iterative CCA does not converge on nearly collinear ones.
        found = RDC(k=2, s=3.0, seed=1).matrix(table, list(table))
        for i, j in [(0, 1), (0, 2), (1, 2), (0, 4), (2, 4), (3, 5)]:
            x = row_features(table[i], 2, 3.0, 1, 0)
            y = row_features(table[j], 2, 3.0, 1, 1)
            u, v = CCA(n_components=1, max_iter=5000, tol=1e-10).fit_transform(x, y)
            expected = abs(np.corrcoef(u.ravel(), v.ravel())[0, 1])
            assert found[i, j] == pytest.approx(expected, abs=1e-4), (i, j)

    def test_one_list_of_columns_gives_the_larger_of_both_directions(self) -> None:
        table = columns(300)
        ordered = RDC(k=3).matrix(table, list(table))
        assert not np.allclose(ordered, ordered.T, atol=1e-4)
        np.testing.assert_allclose(
            RDC(k=3).matrix(table, table), np.maximum(ordered, ordered.T), atol=1e-12
        )

    @pytest.mark.parametrize("ordered", [True, False])
    def test_binary_columns_have_their_phi(self, ordered: bool) -> None:
        rng = np.random.default_rng(7)
        x = rng.integers(0, 2, 3000)
        y = np.where(rng.random(3000) < 0.8, x, rng.integers(0, 2, 3000))
        third = rng.integers(0, 3, 3000) + x
        alone = np.ones(3000, dtype=int)
        table = [Column(v, 2, ordered) for v in (x, y, alone)] + [Column(third, 4, ordered)]
        found = RDC().matrix(table, table)
        assert found[0, 1] == pytest.approx(abs(np.corrcoef(x, y)[0, 1]), abs=1e-9)
        assert found[2].max() == found[:, 2].max() == 0.0
        rows = [row_features(column, 20, 1 / 6, 0, side) for side, column in enumerate(table[:2])]
        assert found[0, 1] == pytest.approx(largest_canonical_correlation(*rows), abs=1e-6)
        assert found[0, 3] == pytest.approx(maximal_correlation(x, third, 2, 4), abs=1e-3)

    def test_large_domains_take_the_way_over_the_rows(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        table = columns(300)
        expected = RDC().matrix(table, table)
        monkeypatch.setattr(dependence, "MAX_TABLE_CELLS", 0)
        np.testing.assert_allclose(RDC().matrix(table, table), expected, atol=1e-9)

    @pytest.mark.parametrize("n", [2, 12, 60, 3000])
    @pytest.mark.parametrize("ordered", [True, False])
    @pytest.mark.parametrize("s", [1 / 6, 40.0])
    def test_coded_columns_alone_are_measured_as_beside_reals(
        self, n: int, ordered: bool, s: float
    ) -> None:
        """Few rows or many, few polynomials or too many: a row of pairs at once, or one by one."""
        rng = np.random.default_rng(n)
        a = rng.integers(0, 30, n)
        noisy = (a + rng.integers(0, 4, n)) % 30
        coded = [Column(a, 30), Column(noisy, 30, ordered), Column(a // 15, 2), Column(a // 7, 5)]
        real = Column(rng.normal(size=n), 0)
        both = [*coded, real]
        np.testing.assert_allclose(
            RDC(s=s).matrix(coded, coded), RDC(s=s).matrix(both, both)[:4, :4], atol=1e-6
        )
        np.testing.assert_allclose(
            RDC(s=s).matrix(coded[:1], coded[1:]),
            RDC(s=s).matrix(coded[:1], [*coded[1:], real])[:, :3],
            atol=1e-6,
        )

    def test_a_variable_and_itself(self) -> None:
        table = columns(400)
        assert np.diag(RDC().matrix(table, table)) == pytest.approx(1.0, abs=1e-6)

    def test_relabelling_does_not_matter_for_unordered_values(self) -> None:
        rng = np.random.default_rng(5)
        x = rng.integers(0, 5, 2000)
        y = rng.permutation(5)[x]
        found = RDC().matrix([Column(x, 5, False)], [Column(y, 5, False)])[0, 0]
        assert found == pytest.approx(1.0, abs=1e-6)

    def test_independence_and_single_values(self) -> None:
        rng = np.random.default_rng(6)
        x, y = rng.integers(0, 4, (2, 50_000))
        alone = Column(np.zeros(50_000, dtype=int), 3)
        found = RDC().matrix([Column(x, 4), alone], [Column(y, 4), alone])
        assert found[0, 0] < 0.03
        assert found[0, 1] == found[1, 0] == found[1, 1] == 0.0

    def test_the_seed_is_the_only_randomness(self) -> None:
        table = columns(200)
        np.testing.assert_array_equal(
            RDC(seed=1).matrix(table, table), RDC(seed=1).matrix(table, table)
        )
        assert not np.array_equal(
            RDC(seed=1).matrix(table, table), RDC(seed=2).matrix(table, table)
        )

    def test_matrix_of_codes(self) -> None:
        codes = [column.values for column in columns(300)[:2]]
        matrix = rdc_matrix(codes, [6, 6])
        assert np.diag(matrix).tolist() == [1.0, 1.0]
        np.testing.assert_array_equal(matrix, matrix.T)
        assert 0.5 < matrix[0, 1] < 1.0


def maximal_correlation(x: np.ndarray, y: np.ndarray, r: int, c: int) -> float:
    """HGR: the second singular value of P(x, y) / sqrt(P(x) P(y))."""
    table = np.zeros((r, c))
    np.add.at(table, (x, y), 1.0 / len(x))
    p, q = table.sum(axis=1), table.sum(axis=0)
    scaled = table[p > 0][:, q > 0] / np.sqrt(np.outer(p[p > 0], q[q > 0]))
    return float(np.linalg.svd(scaled, compute_uv=False)[1])


class TestCorrected:
    def test_small_independent_samples(self) -> None:
        rng = np.random.default_rng(0)
        n, d = 300, 50
        codes = rng.integers(0, d, (12, n))
        plain = [maximal_correlation(codes[0], other, d, d) for other in codes[1:]]
        assert min(plain) > 0.6, "the plain coefficient finds dependence where there is none"
        table = [Column(row, d) for row in codes]
        found = Corrected().matrix(table, table)
        assert found[~np.eye(12, dtype=bool)].max() < 0.1

    def test_few_false_alarms(self) -> None:
        rng = np.random.default_rng(1)
        alarms = 0
        for _ in range(200):
            x, y = rng.integers(0, 6, (2, 200))
            alarms += Corrected().matrix([Column(x, 6)], [Column(y, 6)])[0, 0] > 0
        assert alarms <= 10

    def test_large_samples_give_the_maximal_correlation(self) -> None:
        rng = np.random.default_rng(2)
        x = rng.integers(0, 8, 40_000)
        y = np.where(rng.random(40_000) < 0.4, x, rng.integers(0, 8, 40_000))
        found = Corrected().matrix([Column(x, 8)], [Column(y, 8)])[0, 0]
        assert found == pytest.approx(maximal_correlation(x, y, 8, 8), abs=5e-3)
        assert found == pytest.approx(0.4, abs=0.02)

    def test_binary_columns_have_their_phi(self) -> None:
        rng = np.random.default_rng(3)
        x = rng.random(20_000) < 0.3
        y = x ^ (rng.random(20_000) < 0.2)
        pair = [Column(v.astype(np.int32), 2) for v in (x, y)]
        phi = abs(np.corrcoef(x, y)[0, 1])
        found = Corrected().matrix(pair, pair)
        assert found[0, 1] == pytest.approx(phi, abs=2e-3)
        np.testing.assert_allclose(found, found.T, atol=1e-6)

    def test_binary_and_other_columns_are_measured_alike(self) -> None:
        rng = np.random.default_rng(4)
        x = rng.integers(0, 2, 5000)
        y = x ^ (rng.random(5000) < 0.3)
        pair = [Column(x, 2), Column(y.astype(np.int64), 2)]
        third = Column(rng.integers(0, 3, 5000), 3)
        alone = Corrected().matrix(pair, pair)[0, 1]
        among = Corrected().matrix([*pair, third], [*pair, third])[0, 1]
        assert among == pytest.approx(alone, abs=1e-4)

    def test_pairs_are_measured_once_and_alike(self) -> None:
        table = [*columns(900), *columns(900, seed=1)]
        table += [Column((column.values > 2).astype(np.int32), 2) for column in table[:2]]
        np.testing.assert_allclose(
            Corrected().matrix(table, table), Corrected().matrix(table, list(table)), atol=1e-6
        )

    def test_many_rows_go_through_in_blocks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        rng = np.random.default_rng(8)
        x = rng.integers(0, 2, (5, 7000))
        x[1:] ^= rng.random((4, 7000)) < 0.3
        table = [Column(row, 2) for row in x]
        monkeypatch.setattr("fspn.learn.dependence.base.BLOCK_CELLS", 1)
        np.testing.assert_allclose(RDC().matrix(table, table), np.abs(np.corrcoef(x)), atol=1e-9)

    def test_reals(self) -> None:
        rng = np.random.default_rng(5)
        x = rng.normal(size=5000)
        table = [Column(v, 0) for v in (x, np.abs(x), rng.normal(size=5000))]
        found = Corrected().matrix(table, table)
        assert found[0, 1] > 0.9, "a dependence without correlation"
        assert found[0, 2] == found[1, 2] == 0.0

    def test_a_single_value_depends_on_nothing(self) -> None:
        rng = np.random.default_rng(6)
        table = [Column(np.zeros(500, dtype=int), 4), Column(rng.integers(0, 4, 500), 4)]
        assert Corrected().matrix(table, table)[0, 1] == 0.0


class TestPooling:
    @pytest.mark.parametrize("ordered", [True, False])
    def test_pools_hold_enough_rows_and_all_rows(self, ordered: bool) -> None:
        rng = np.random.default_rng(0)
        values = rng.geometric(0.05, 500) % 80
        pooled = pool(Column(values, 80, ordered), 16)
        counts = np.bincount(pooled.values, minlength=pooled.size)
        assert len(counts) == pooled.size > 5
        assert counts.min() >= 10
        assert counts.sum() == 500

    def test_ordered_values_pool_with_their_neighbours(self) -> None:
        rng = np.random.default_rng(1)
        values = rng.integers(0, 80, 300)
        pooled = pool(Column(values, 80), 16)
        order = np.argsort(values, kind="stable")
        assert (np.diff(pooled.values[order]) >= 0).all()

    def test_common_values_stay(self) -> None:
        column = Column(np.arange(100) % 4, 4)
        pooled = pool(column, 16)
        np.testing.assert_array_equal(pooled.values, column.values)
        assert (pooled.size, pooled.ordered) == (column.size, column.ordered)
