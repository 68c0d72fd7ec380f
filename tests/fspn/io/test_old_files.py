"""Files of older versions of the format load, and answer as they did when they were written.

Those of ``first_round`` (version 1) were written by the code before the packages were divided
(77beccc^): tables with an integer-linear law and back-off levels, reals with one density behind
their cells, a mixture of binary networks, and the paper's recipe with regions. Those of
``second_round`` (version 2) by the code before counts were stored as numbered cells (241f5dc): rows
of counts on one to three parents with tilts, cells of a mixed column, missing labels.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fspn import FSPN, validate

FOLDERS = [Path(__file__).parent / name for name in ("first_round", "second_round")]
ANSWERS = {
    folder / f"{name}.fspn": answers
    for folder in FOLDERS
    for name, answers in json.loads((folder / "answers.json").read_text()).items()
}
# The density behind the cells of version 1 is kept by its quantiles (fspn/io/old_cells.py).
TOLERANCE = {FOLDERS[0] / "mixed.fspn": 2e-3}


@pytest.mark.parametrize("path", ANSWERS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_an_old_file_answers_as_it_did(path: Path, tmp_path: Path) -> None:
    old = FSPN.load(path)
    validate(old.root_, old.domain_)
    old.save(tmp_path / "again.fspn")
    for model in (old, FSPN.load(tmp_path / "again.fspn")):
        for question, expected in ANSWERS[path]:
            event = {column: _as_asked(wanted) for column, wanted in question.items()}
            assert abs(model.probability(event) - expected) <= TOLERANCE.get(path, 1e-12)


def _as_asked(wanted: object) -> object:
    """A list of JSON is a set of labels or the two ends of an interval."""
    if not isinstance(wanted, list):
        return wanted
    return set(wanted) if isinstance(wanted[0], str) else tuple(wanted)
