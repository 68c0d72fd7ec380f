"""Shared by the tests of a study: the smallest job there is."""

import pytest
from hydra import compose, initialize_config_dir

from experiments.study.config import read_job
from experiments.study.plan import conf_dir
from tests.experiments.tiny import OVERRIDES, folders


@pytest.fixture
def config(tmp_path, monkeypatch):
    monkeypatch.setenv("FSPN_LOCK_DIR", str(tmp_path / "locks"))
    overrides = [*OVERRIDES, *folders(tmp_path)[:2], "tracking=none"]
    with initialize_config_dir(str(conf_dir()), version_base="1.3"):
        return read_job(compose("config", overrides=overrides), overrides)
