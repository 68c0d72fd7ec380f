"""The frontier's rows, points and figure, without training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments import frontier
from experiments.frontier import LABELS, Point, draw, draw_boxes, in_cells, write


@pytest.mark.parametrize("asked", [False, True])
def test_nothing_is_recorded_unless_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: bool
) -> None:
    measured = [Point("one", model, "a setting", -20.0, 0.1, 0.2) for model in LABELS]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(frontier, "RECORDED", (tmp_path / "figures", tmp_path / "tables"))
    monkeypatch.setattr(frontier, "read_rows", lambda *_: None)
    monkeypatch.setattr(frontier, "points", lambda *_: measured)
    frontier.main(["one", "--record"] if asked else ["one"])
    written = {str(path.parent.relative_to(tmp_path)) for path in tmp_path.rglob("frontier.*")}
    assert written == ({"figures", "tables"} if asked else {"outputs/frontier"})


def test_points_are_written_and_drawn(tmp_path: Path) -> None:
    found = [
        Point(table, model, f"setting {i}", -20.0 + i, 0.1 * (i + 1), 0.2 * (i + 1))
        for table in ("one", "other")
        for model in LABELS
        for i in range(2)
    ]
    write(found, tmp_path / "points")
    draw(found, tmp_path)
    read = pd.read_csv(tmp_path / "points" / "frontier.csv")
    assert [Point(**row) for row in read.to_dict("records")] == found
    assert (tmp_path / "frontier.png").stat().st_size > 10_000


def test_cells_are_few_and_a_box_holds_its_row() -> None:
    rng = np.random.default_rng(0)
    numbers = pd.Series(rng.normal(size=1_000))
    numbers[::10] = np.nan
    names = pd.Series(rng.choice(list("abcdefgh"), 1_000))
    codes = pd.DataFrame({"x": in_cells(numbers, 6), "y": in_cells(names, 4)})
    assert codes["x"].nunique() == 6
    assert codes["y"].nunique() == 4
    assert codes["x"][::10].nunique() == 1
    lower, upper = draw_boxes(codes, rng)
    assert (np.isnan(lower) == np.isnan(upper)).all()
    assert (lower <= upper)[~np.isnan(lower)].all()
