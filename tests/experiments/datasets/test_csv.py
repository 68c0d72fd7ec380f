"""The user's own table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from experiments.datasets import load
from experiments.datasets.table_file import discretise


@pytest.fixture
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    age = rng.integers(18, 30, 500)
    return pd.DataFrame(
        {
            "age": age,
            "income": age * 1_000 + rng.normal(0, 500, 500),
            "town": rng.choice(["Rome", "Bonn", "Oslo"], 500),
            "member": rng.random(500) < 0.3,
        }
    )


def settings(path: Path, **change: Any) -> dict[str, Any]:
    return {"name": "mine", "family": "csv", "path": str(path), "max_values": 10} | change


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_file_becomes_a_dataset_without_truth(
    tmp_path: Path, table: pd.DataFrame, suffix: str
) -> None:
    path = tmp_path / f"mine{suffix}"
    table.to_csv(path, index=False) if suffix == ".csv" else table.to_parquet(path)
    dataset = load(settings(path, max_values=20), 0, tmp_path)
    assert (len(dataset.train), len(dataset.valid), len(dataset.test)) == (400, 50, 50)
    assert dataset.truth is None
    assert dataset.workload is not None
    assert len(dataset.domains["income"]) == 20
    assert list(dataset.domains["age"]) == list(range(18, 30))
    assert len(dataset.domains["town"]) == 3
    everything = pd.concat([dataset.train, dataset.valid, dataset.test])
    assert sorted(everything["age"]) == sorted(table["age"])
    assert dataset.measured_rdc is not None
    for query in dataset.workload.queries:
        values = {**query.evidence, **query.target}
        assert (dataset.test[list(values)] == pd.Series(values)).all(axis=1).any()


def test_split_follows_the_seed(tmp_path: Path, table: pd.DataFrame) -> None:
    path = tmp_path / "mine.csv"
    table.to_csv(path, index=False)
    first, again = (load(settings(path, max_values=20), 0, tmp_path) for _ in range(2))
    other = load(settings(path, max_values=20), 1, tmp_path)
    assert first.train.equals(again.train)
    assert first.digest == again.digest != other.digest
    assert not first.train.equals(other.train)
    table.assign(age=table["age"] + 1).to_csv(path, index=False)
    assert load(settings(path, max_values=20), 0, tmp_path).digest != first.digest


def test_bins_keep_order_and_frequency() -> None:
    values = np.random.default_rng(1).exponential(size=1_000)
    binned = discretise(pd.DataFrame({"v": values}), 10)["v"].to_numpy()
    assert len(np.unique(binned)) == 10
    assert np.isin(binned, values).all()
    assert np.bincount(np.unique(binned, return_inverse=True)[1]).tolist() == [100] * 10
    order = np.argsort(values)
    assert (np.diff(binned[order]) >= 0).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"path": "absent.csv"}, "there is no file absent.csv"),
        ({"valid_share": 0.9}, "dataset.valid_share is 0.9"),
        ({"max_values": 1}, "dataset.max_values is 1"),
        ({"path": None}, "dataset.path is missing"),
    ],
)
def test_wrong_settings_name_the_key(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        load(settings(tmp_path / "mine.csv") | change, 0, tmp_path)


@pytest.mark.parametrize(
    ("content", "name", "message"),
    [
        ("a,b\n1,2\n", "mine.csv", "too few for a split"),
        ("a,b\n1,2\n", "mine.txt", "must end in .csv or .parquet"),
    ],
)
def test_a_table_that_will_not_do_is_named(
    tmp_path: Path, content: str, name: str, message: str
) -> None:
    path = tmp_path / name
    path.write_text(content)
    with pytest.raises(ValueError, match=message):
        load(settings(path), 0, tmp_path)


def test_any_column_becomes_integers(tmp_path: Path) -> None:
    """Missing values, datetimes and many texts are coded as the library codes them."""
    path = tmp_path / "mine.csv"
    lines = [f"w{i % 90},{i % 3 if i % 4 else ''},2020-01-{1 + i % 28:02d}" for i in range(400)]
    path.write_text("text,gap,day\n" + "\n".join(lines))
    dataset = load(settings(path), 0, tmp_path)
    table = pd.concat([dataset.train, dataset.valid, dataset.test])
    assert len(table) == 400
    assert all(dtype.kind == "i" for dtype in table.dtypes)
    assert table["gap"].value_counts().to_dict() == {0: 100, 1: 100, 2: 100, 3: 100}
    assert table["text"].nunique() <= settings(path)["max_values"]
