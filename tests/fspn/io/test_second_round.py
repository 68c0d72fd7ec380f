"""A file of version 2 of the format loads, and answers as it did when it was written.

The file was written by the code before counts were stored as numbered cells (241f5dc): rows of
counts on one to three parents with tilts, cells of a mixed column, missing labels.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fspn import FSPN
from tests.fspn.io.test_first_round import as_asked

FOLDER = Path(__file__).parent / "second_round"
ANSWERS = json.loads((FOLDER / "answers.json").read_text())


@pytest.mark.parametrize("name", ANSWERS)
def test_a_file_of_the_second_round_answers_as_it_did(name: str, tmp_path: Path) -> None:
    old = FSPN.load(FOLDER / f"{name}.fspn")
    old.save(tmp_path / "again.fspn")
    for model in (old, FSPN.load(tmp_path / "again.fspn")):
        for question, expected in ANSWERS[name]:
            event = {
                column: as_asked(wanted) if isinstance(wanted, list) else wanted
                for column, wanted in question.items()
            }
            assert abs(model.probability(event) - expected) <= 1e-12
