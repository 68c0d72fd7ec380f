"""Scores of parent sets, against the formula written out row by row."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import permutations
from math import lgamma, log

import numpy as np
import pytest

from fspn.learn.network import cell_counts as cells
from fspn.learn.network.cell_counts import CodedTable, TableCounts
from fspn.learn.network.score import STRENGTHS, LocalScores

ALPHA = 2.0


def table_of(n: int = 400, seed: int = 0, *, numbers: bool = False) -> CodedTable:
    rng = np.random.default_rng(seed)
    a, b, c = rng.integers(0, 5, (3, n))
    x = np.where(rng.random(n) < 0.7, (a + 2 * b) % 7, rng.integers(0, 7, n))
    y = 2 * a - b + c + rng.integers(0, 2, n) + 4
    codes = [column.astype(np.uint8) for column in (a, b, c, x, y)]
    sizes = [5, 5, 5, 7, int(y.max()) + 1]
    return CodedTable(codes, sizes, [np.arange(s) if numbers else None for s in sizes])


Rows = dict[tuple[int, ...], dict[int, float]]


class Evidence:
    """Dirichlet-multinomial rows around those of fewer parents, written out row by row."""

    def __init__(self, table: CodedTable, child: int, strengths: tuple[float, ...]):
        self.codes = [column.tolist() for column in table.codes]
        self.x, self.size, self.strengths = self.codes[child], table.sizes[child], strengths
        held, n = Counter(self.x), len(self.x)
        self.base = {v: (held[v] + 0.5) / (n + 0.5 * self.size) for v in range(self.size)}
        self.marginal = sum(log(self.base[v]) for v in self.x)

    def level(self, parents: tuple[int, ...], below: Rows, n_below: int) -> tuple[float, Rows]:
        """The gain at the best strength over rows of the first so many parents, and the rows."""
        rows: dict[tuple[int, ...], Counter[int]] = defaultdict(Counter)
        for *key, value in zip(*(self.codes[p] for p in parents), self.x, strict=True):
            rows[tuple(key)][value] += 1

        def gain(strength: float) -> float:
            total = 0.0
            for key, row in rows.items():
                total += lgamma(strength) - lgamma(sum(row.values()) + strength)
                for value, count in row.items():
                    b = below[key[:n_below]][value]
                    a = strength * b
                    total += lgamma(count + a) - lgamma(a) - count * log(b)
            return total

        best = max(self.strengths, key=gain)
        smoothed = {
            key: {
                v: (row[v] + best * below[key[:n_below]][v]) / (sum(row.values()) + best)
                for v in range(self.size)
            }
            for key, row in rows.items()
        }
        return gain(best), smoothed

    def score(self, parents: tuple[int, ...]) -> float:
        if not parents:
            return self.marginal
        singles = {p: self.level((p,), {(): self.base}, 0) for p in parents}
        ordered = tuple(sorted(parents, key=lambda p: -singles[p][0]))
        first, rows = singles[ordered[0]]
        if len(parents) == 1:
            return self.marginal + first
        at_once = self.level(ordered, rows, 1)[0]
        by_levels = 0.0
        for n in range(2, len(parents) + 1):
            gain, rows = self.level(ordered[:n], rows, n - 1)
            by_levels += gain
        return self.marginal + first + max(at_once, by_levels)


SETS = [
    (0, (1, 2, 3, 4)),
    (3, ()),
    (3, (0,)),
    (3, (0, 1)),
    (3, (1, 2)),
    (4, (0, 1, 2)),
    (0, (3, 4)),
    (3, (0, 1, 2)),
]


@pytest.mark.parametrize(("child", "parents"), SETS)
@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("strengths", [(ALPHA,), STRENGTHS])
def test_tables(
    child: int,
    parents: tuple[int, ...],
    dense: bool,
    strengths: tuple[float, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if not dense:
        monkeypatch.setattr(cells, "MAX_PAIR_CELLS", 1)
        monkeypatch.setattr("fspn.learn.network.score.MAX_PAIR_CELLS", 1)
    table = table_of()
    found = LocalScores(table, strengths, price=1.5).score(child, parents)
    expected = Evidence(table, child, strengths).score(parents) - 1.5 * len(parents)
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
