"""Git keeps the figures and tables that documents show, and no others."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = ("results/figures", "results/tables", "results/bench")


def test_every_committed_figure_and_table_is_linked_from_a_document():
    listed = subprocess.run(
        ["git", "ls-files", *FOLDERS], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("no git repository here")
    documents = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    text = "".join(path.read_text(encoding="utf-8") for path in documents)
    assert [name for name in listed.stdout.split() if name not in text] == []
