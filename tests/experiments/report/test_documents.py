"""Tables of the documents are what the committed rows give."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from experiments.report.documents import MARKED, TABLES, Records, filled, number, read_records
from tests.experiments.report import fake

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def records() -> Records:
    return read_records(ROOT / "results")


def test_tables_of_documents_are_those_of_the_records(records: Records) -> None:
    names = set()
    for path in sorted((ROOT / "docs").glob("*.md")):
        text = path.read_text(encoding="utf-8")
        names |= {found[2] for found in MARKED.finditer(text)}
        assert filled(text, records) == text, "run python -m experiments.report.documents"
    assert names == set(TABLES)


def test_a_table_takes_the_place_of_the_old_one() -> None:
    rows = pd.DataFrame([vars(row) for row in fake.study()])
    records = Records(rows, pd.DataFrame(), pd.DataFrame())
    text = "before\n<!-- table: main_study -->\nold\n<!-- end of table -->\nafter\n"
    found = filled(text, records)
    assert found.startswith("before\n<!-- table: main_study -->\n| average RDC | 0.07 |")
    assert found.endswith("|\n<!-- end of table -->\nafter\n")
    assert "old" not in found
    assert "| **mean KL** FSPN |" in found
    assert filled(found, records) == found


def test_numbers_have_two_digits_or_all_before_the_point() -> None:
    numbers = [0.000123, 0.5, 9.96, 17.2, 12_345.6, float("nan")]
    assert [number(x) for x in numbers] == ["0.00012", "0.5", "10", "17", "12346", "-"]
