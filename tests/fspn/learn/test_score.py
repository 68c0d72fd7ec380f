"""Scores of parent sets, against the formula written out row by row."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import permutations
from math import lgamma, log

import numpy as np
import pytest

from fspn.learn.network import cell_counts as cells
from fspn.learn.network.cell_counts import CodedTable, TableCounts
from fspn.learn.network.score import LocalScores

ALPHA = 2.0


def table_of(n: int = 400, seed: int = 0, *, numbers: bool = False) -> CodedTable:
    rng = np.random.default_rng(seed)
    a, b, c = rng.integers(0, 5, (3, n))
    x = np.where(rng.random(n) < 0.7, (a + 2 * b) % 7, rng.integers(0, 7, n))
    y = 2 * a - b + c + rng.integers(0, 2, n) + 4
    codes = [column.astype(np.uint8) for column in (a, b, c, x, y)]
    sizes = [5, 5, 5, 7, int(y.max()) + 1]
    return CodedTable(codes, sizes, [np.arange(s) if numbers else None for s in sizes])


def dirichlet_score(table: CodedTable, child: int, parents: tuple[int, ...]) -> float:
    """Dirichlet-multinomial rows around the rows of the best single parent."""
    codes = [column.tolist() for column in table.codes]
    x = codes[child]
    n = len(x)
    held = Counter(x)
    size = table.sizes[child]
    base = {v: (held[v] + 0.5) / (n + 0.5 * size) for v in range(size)}
    marginal = sum(log(base[v]) for v in x)
    if not parents:
        return marginal

    def gain(keys: list[tuple[int, ...]], below: dict[tuple[int, ...], dict[int, float]]) -> float:
        rows: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
        for key, value in zip(keys, x, strict=True):
            rows[key][value] += 1
        total = 0.0
        for key, row in rows.items():
            total += lgamma(ALPHA) - lgamma(sum(row.values()) + ALPHA)
            for value, count in row.items():
                a = ALPHA * below[key][value]
                total += lgamma(count + a) - lgamma(a) - count * log(below[key][value])
        return total

    def single(parent: int) -> float:
        keys = [(u,) for u in codes[parent]]
        return marginal + gain(keys, dict.fromkeys(keys, base))

    first = max(sorted(parents), key=single)
    if len(parents) == 1:
        return single(first)
    seen: dict[int, Counter[int]] = defaultdict(Counter)
    for u, value in zip(codes[first], x, strict=True):
        seen[u][value] += 1
    smooth = {
        u: {v: (row[v] + ALPHA * base[v]) / (sum(row.values()) + ALPHA) for v in range(size)}
        for u, row in seen.items()
    }
    keys = list(zip(*(codes[p] for p in parents), strict=True))
    below = {key: smooth[u] for key, u in zip(keys, codes[first], strict=True)}
    return single(first) + gain(keys, below)


SETS = [(3, ()), (3, (0,)), (3, (0, 1)), (3, (1, 2)), (4, (0, 1, 2)), (0, (3, 4)), (3, (0, 1, 2))]


@pytest.mark.parametrize(("child", "parents"), SETS)
@pytest.mark.parametrize("dense", [True, False])
def test_tables(
    child: int, parents: tuple[int, ...], dense: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not dense:
        monkeypatch.setattr(cells, "MAX_PAIR_CELLS", 1)
        monkeypatch.setattr("fspn.learn.network.score.MAX_PAIR_CELLS", 1)
    table = table_of()
    found = LocalScores(table, ALPHA, price=1.5).score(child, parents)
    expected = dirichlet_score(table, child, parents) - 1.5 * len(parents)
    assert found == pytest.approx(expected, rel=1e-10)


def test_pairs_that_are_not_kept_score_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = [LocalScores(table_of()).score(*each) for each in SETS]
    monkeypatch.setattr(cells, "MAX_KEPT_CELLS", 0)
    assert [LocalScores(table_of()).score(*each) for each in SETS] == kept


class TestLaws:
    def test_residuals_row_by_row(self) -> None:
        table = table_of(numbers=True)
        laws = LocalScores(table).laws
        for parents, factors in [((0, 1, 2), (2, -1, 1)), ((2, 0, 1), (1, 2, -1))]:
            found = laws.coefficients(4, parents)
            assert found is not None
            assert found.tolist() == list(factors)
            counts, lowest = laws.residuals(4, parents, found)
            numbers = [column.astype(int) for column in table.codes]
            rest = numbers[4] - sum(c * numbers[p] for c, p in zip(factors, parents, strict=True))
            held = Counter(rest.tolist())
            assert {k + lowest: int(c) for k, c in enumerate(counts) if c} == held

    @pytest.mark.parametrize("parents", [(0,), (0, 1), (1, 0), (0, 1, 2)])
    def test_slopes_are_those_of_least_squares(self, parents: tuple[int, ...]) -> None:
        table = table_of(numbers=True)
        y, *u = (table.codes[v].astype(float) for v in (4, *parents))
        design = np.column_stack([*u, np.ones(len(y))])
        expected = np.linalg.lstsq(design, y, rcond=None)[0][:-1]
        found = LocalScores(table).laws._slopes(4, parents)
        assert found == pytest.approx(expected, rel=1e-8)

    def test_a_law_beats_a_table_it_explains(self) -> None:
        law = LocalScores(table_of(numbers=True)).score(4, (0, 1, 2))
        free = LocalScores(table_of()).score(4, (0, 1, 2))
        assert law > free + 50

    def test_no_law_without_numbers_or_with_constant_parents(self) -> None:
        assert LocalScores(table_of()).laws.coefficients(4, (0,)) is None
        zeros = np.zeros(50, dtype=np.uint8)
        x = (np.arange(50) % 3).astype(np.uint8)
        values: list[np.ndarray | None] = [np.arange(3)] * 3
        laws = LocalScores(CodedTable([zeros, x, x], [3, 3, 3], values)).laws
        assert laws.coefficients(1, (0,)) is None
        assert laws.coefficients(1, (0, 2)) is None
        assert laws.coefficients(0, (1, 2)) is None


@pytest.mark.parametrize("n", [1, 30, 3_000])
def test_two_valued_columns_at_once_equal_one_pair_after_the_other(
    n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    codes = [(np.random.default_rng(v).random(n) < v / 8).astype(np.uint8) for v in range(9)]
    codes.append(codes[4] ^ codes[7])
    table = CodedTable(codes, [2] * 10, [np.arange(2)] * 10)
    fast = LocalScores(table)
    assert fast.counts.ones_together is not None
    monkeypatch.setattr(TableCounts, "ones_together", None)
    slow = LocalScores(table)
    for child, parent in permutations(range(10), 2):
        assert fast.score(child, (parent,)) == slow.score(child, (parent,))
    assert fast.score(9, (4, 7)) == slow.score(9, (4, 7))


def test_more_values_are_counted_pair_by_pair() -> None:
    assert LocalScores(table_of()).counts.ones_together is None
