import pandas as pd
import pytest

from experiments.records.reference import ROWS, RowsError, committed, read_rows, write_rows
from experiments.records.rows import COLUMNS, as_frame
from tests.experiments.report import fake


def test_a_file_for_each_study_gives_the_rows_back(tmp_path):
    table = as_frame([fake.row("fspn"), fake.row("mspn", error="late"), *fake.thresholds()])
    folder = write_rows(table, tmp_path)
    assert {path.name for path in folder.iterdir()} == {"reproduce.csv", "thresholds.csv"}
    kept = committed(tmp_path)
    assert tuple(kept.columns) == COLUMNS
    pd.testing.assert_frame_equal(kept, table.sort_values("experiment", kind="stable"))


def test_a_study_without_rows_loses_its_file(tmp_path):
    write_rows(as_frame([fake.row(), *fake.thresholds()]), tmp_path)
    write_rows(as_frame([fake.row()]), tmp_path)
    assert [path.name for path in (tmp_path / ROWS).iterdir()] == ["reproduce.csv"]


def test_columns_that_a_study_leaves_empty_are_not_written(tmp_path):
    folder = write_rows(as_frame([fake.row(), fake.row("mspn", kl_mean=0.5)]), tmp_path)
    written = pd.read_csv(folder / "reproduce.csv").columns
    assert "kl_mean" in written
    assert "error" not in written


def test_a_folder_without_rows_is_no_table(tmp_path):
    assert committed(tmp_path) is None
    with pytest.raises(RowsError, match="or a folder"):
        read_rows(tmp_path)
