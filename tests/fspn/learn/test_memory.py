"""Memory follows the data and the answer, not the squares of domains."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from fspn import FSPN
from fspn.engine.limits import TooWide
from fspn.learn.dependence.rdc import RDC, Column, Corrected
from tests.fspn.sample_tables import PRESETS, chain, discrete

MEGABYTE = 1_000_000


class Peak:
    """The most memory in use inside a block, in megabytes."""

    value = 0.0


@contextmanager
def measured() -> Iterator[Peak]:
    peak = Peak()
    tracemalloc.start()
    try:
        yield peak
        peak.value = tracemalloc.get_traced_memory()[1] / MEGABYTE
    finally:
        tracemalloc.stop()


def test_the_measure_sees_arrays() -> None:
    with measured() as peak:
        np.ones(4 * MEGABYTE)
    assert peak.value > 30


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("oracle", [RDC(), Corrected()])
def test_dependence_of_ten_thousand_values(oracle: RDC | Corrected, ordered: bool) -> None:
    """One table of 10,000 x 10,000 cells is 800 MB."""
    codes = np.random.default_rng(0).permutation(10_000)
    pair = [Column(codes, 10_000, ordered), Column(codes[::-1].copy(), 10_000, ordered)]
    with measured() as peak:
        oracle.matrix(pair, pair)
    assert peak.value < 100


@pytest.mark.parametrize("preset", PRESETS)
def test_fitting_and_asking_on_ten_thousand_values(preset: str) -> None:
    codes = np.random.default_rng(0).permutation(10_000)
    table = pd.DataFrame({"a": codes, "s": (codes[::-1] * 7).astype(str)})
    with measured() as peak:
        model = FSPN(preset=preset).fit(table)
        model.conditional_table(["a"], {"s": "7"})
        model.probability([{"a": k} for k in range(100)])
        model.score_samples(table)
    assert peak.value < 150


def test_scores_of_many_rows() -> None:
    table = chain(100_000, 8)
    model = FSPN().fit(table)
    with measured() as peak:
        model.score_samples(table)
    assert peak.value < 10 * table.memory_usage().sum() / MEGABYTE


@pytest.mark.parametrize("preset", PRESETS)
def test_a_table_costs_its_cells(preset: str) -> None:
    model = FSPN(preset=preset).fit(chain(2000, 7, size=10, keep=0.9))
    names = [f"x{i}" for i in range(5)]
    with measured() as peak:
        table = model.conditional_table(names, {"x6": 3})
    assert table.size == 10**5
    assert peak.value < 20 * table.nbytes / MEGABYTE


def test_an_endless_table_is_refused_and_the_model_lives_on() -> None:
    model = FSPN().fit(chain(2000, 14, size=10, keep=0.8))
    names = [f"x{i}" for i in range(13)]
    with measured() as peak, pytest.raises(TooWide, match="constrain more variables"):
        model.conditional_table(names, {"x13": 1})
    assert peak.value < 10
    assert model.conditional_table(["x0"], {"x13": 1}).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("preset", PRESETS)
def test_files_are_about_as_large_as_the_model_says(preset: str, tmp_path: Path) -> None:
    model = FSPN(preset=preset).fit(discrete(5000).assign(e=np.arange(5000) % 700))
    model.save(tmp_path / "model.fspn")
    size = (tmp_path / "model.fspn").stat().st_size
    assert model.size_bytes_ > 700 * 8
    assert size < 1.5 * model.size_bytes_ + 20_000


def test_fitting_takes_little_more_than_the_table() -> None:
    table = chain(400_000, 8)
    FSPN().fit(table.head(1000))
    with measured() as peak:
        FSPN().fit(table)
    assert peak.value < table.memory_usage(index=False).sum() / MEGABYTE
