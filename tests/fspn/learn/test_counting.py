"""Counting cells, against dictionaries of rows."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from fspn.learn.network import counting as counts
from fspn.learn.network.counting import CellCounter, count_filled, joint_ranks


def columns_of(seed: int, n: int, sizes: list[int], dtype: type) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.integers(0, size, n).astype(dtype) for size in sizes]


def expected(columns: list[np.ndarray], sizes: list[int]) -> dict[int, int]:
    keys = [
        int(np.ravel_multi_index([int(c) for c in row], sizes))
        for row in zip(*columns, strict=True)
    ]
    return dict(Counter(keys))


@pytest.mark.parametrize("dtype", [np.uint8, np.int32])
@pytest.mark.parametrize("sizes", [[7, 3], [256, 256], [5, 1, 9], [256, 256, 200]])
def test_filled_cells(sizes: list[int], dtype: type) -> None:
    columns = columns_of(0, 500, sizes, dtype)
    filled = CellCounter().count(columns, sizes)
    assert dict(zip(filled.keys.tolist(), filled.counts.tolist(), strict=True)) == expected(
        columns, sizes
    )


def test_a_counter_starts_from_nothing_every_time() -> None:
    counter = CellCounter()
    for seed, sizes in enumerate([[4, 5, 6], [6, 5], [4, 5, 6], [2, 2, 2]]):
        columns = columns_of(seed, 300, sizes, np.uint8)
        filled = counter.count(columns, sizes)
        assert dict(zip(filled.keys.tolist(), filled.counts.tolist(), strict=True)) == expected(
            columns, sizes
        )


def test_large_tables_are_sorted_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    columns, sizes = columns_of(1, 50, [40, 30, 20], np.int32), [40, 30, 20]
    dense = CellCounter().count(columns, sizes).ordered()
    monkeypatch.setattr(counts, "MAX_COUNTED_CELLS", 10)
    counter = CellCounter()
    by_sorting = counter.count(columns, sizes)
    np.testing.assert_array_equal(by_sorting.keys, dense.keys)
    np.testing.assert_array_equal(by_sorting.counts, dense.counts)
    assert len(counter._table) == 0


@pytest.mark.parametrize("sizes", [[6], [6, 4], [6, 4, 3], [6, 4, 3, 5]])
def test_any_number_of_columns_by_growing_keys(sizes: list[int]) -> None:
    columns = columns_of(2, 400, sizes, np.uint8)
    filled = count_filled(columns, sizes)
    assert (np.diff(filled.keys) > 0).all()
    assert dict(zip(filled.keys.tolist(), filled.counts.tolist(), strict=True)) == expected(
        columns, sizes
    )


def test_ranks_number_the_distinct_pairs() -> None:
    first, second = columns_of(3, 200, [9, 200], np.uint8)
    ranks, n_ranks = joint_ranks(first, second, 9, 200)
    pairs = list(zip(first.tolist(), second.tolist(), strict=True))
    assert n_ranks == len(set(pairs))
    assert len(set(zip(pairs, ranks.tolist(), strict=True))) == n_ranks
