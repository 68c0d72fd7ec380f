"""Files that version 1 of the format holds load, and answer as they did when they were written.

The files of ``first_round`` were written by the code before the packages were divided (77beccc^):
tables with an integer-linear law and back-off levels, reals with one density behind their cells, a
mixture of binary networks, and the paper's recipe with regions.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fspn import FSPN, validate

FOLDER = Path(__file__).parent / "first_round"
ANSWERS = json.loads((FOLDER / "answers.json").read_text())
# The density behind old cells is kept by its quantiles (fspn/io/old_cells.py).
TOLERANCE = {"mixed": 2e-3}


@pytest.mark.parametrize("name", ANSWERS)
def test_a_file_of_the_first_round_answers_as_it_did(name: str) -> None:
    model = FSPN.load(FOLDER / f"{name}.fspn")
    validate(model.root_, model.domain_)
    for question, expected in ANSWERS[name]:
        event = {
            column: wanted if not isinstance(wanted, list) else as_asked(wanted)
            for column, wanted in question.items()
        }
        assert abs(model.probability(event) - expected) <= TOLERANCE.get(name, 1e-12)


def as_asked(wanted: list[object]) -> object:
    """A list of JSON is a set of labels or the two ends of an interval."""
    return set(wanted) if isinstance(wanted[0], str) else tuple(wanted)
