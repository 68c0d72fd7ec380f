"""Calibration: from a target level to settings that reach it."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from experiments import calibrate as module
from experiments.calibrate import calibrate, main, to_yaml
from experiments.datasets.config import GeneratorConfig
from experiments.datasets.level import reach_level


@pytest.fixture(autouse=True)
def few_structures(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "STRUCTURES", 4)


@pytest.mark.parametrize(
    ("family", "target", "seed"), [("sparse", 0.5, 0), ("smooth", 0.5, 0), ("smooth", 0.9, 1)]
)
def test_found_settings_reach_the_target(family: str, target: float, seed: int) -> None:
    config = calibrate(target, family, seed, columns=6)
    assert config.target_rdc == target
    level = reach_level(config, seed=3)
    assert abs(level.measured_rdc - target) < 0.01


def test_more_dependence_takes_fewer_roots() -> None:
    roots = [calibrate(t, "sparse", 0, columns=8).roots for t in (0.3, 0.6, 0.9)]
    assert roots == sorted(roots, reverse=True)
    assert roots[0] > roots[-1]


def test_the_floor_means_independent_columns() -> None:
    config = calibrate(0.07, "sparse", 0)
    assert config.independent
    assert config.name == "rdc_07"
    assert (config.min_size, config.root_size) == (5, 100)


def test_settings_survive_the_file() -> None:
    config = GeneratorConfig("rdc_65", "sparse", 0.65, roots=3, noise=0.25)
    assert GeneratorConfig.from_mapping(yaml.safe_load(to_yaml(config))) == config


def test_command_prints_and_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--target", "0.07", "--family", "smooth", "--out", str(tmp_path)])
    printed = capsys.readouterr().out
    written = (tmp_path / "smooth_07.yaml").read_text()
    assert printed.startswith(written)
    assert "# seed 2: RDC 0.07" in printed
    assert GeneratorConfig.from_mapping(yaml.safe_load(written)).family == "smooth"
