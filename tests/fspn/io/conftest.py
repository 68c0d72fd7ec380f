"""A small file that is written anew for every test."""

from __future__ import annotations

from pathlib import Path

import pytest

from experiments import appendix_b as paper_example
from fspn.io.model_file import save_model


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "model.fspn"
    save_model(path, paper_example.domain(), paper_example.root(), {})
    return path
