"""No documented command can break: each one is taken out of the pages and composed or parsed."""

from __future__ import annotations

import argparse
import re
import runpy
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hydra import compose, initialize_config_dir

from experiments.study.config import read_job, read_plan
from experiments.study.plan import compose_jobs, conf_dir
from experiments.study.sweep import read_sweep

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), ROOT / "data" / "README.md"]
CODE = re.compile(
    r"```[a-z]*\n(.*?)```|^((?:    |\t)[^\n]*)$|`([^`\n]+)`", re.DOTALL | re.MULTILINE
)
MODULE = re.compile(r"python -m (experiments(?:\.\w+)+)([^#\n>|&;]*)")
MAKE = re.compile(r"\bmake ([a-z][a-z0-9-]*)")


def code_of(page: Path) -> list[str]:
    """The lines of a page that are code: blocks, indented lines, words in backticks."""
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    found = CODE.findall(text)
    return [line for parts in found for part in parts for line in part.splitlines()]


def documented() -> list[tuple[str, tuple[str, ...]]]:
    """The modules that the pages run, with their arguments."""
    lines = [line for page in PAGES for line in code_of(page)]
    found = {match for line in lines for match in MODULE.findall(line)}
    return sorted((m, tuple(a for a in shlex.split(text) if a != "...")) for m, text in found)


COMMANDS = documented()
STUDIES = [arguments for module, arguments in COMMANDS if module == "experiments.run"]
OTHERS = [command for command in COMMANDS if command[0] != "experiments.run"]


def test_the_pages_were_read() -> None:
    thresholds = ("experiment=thresholds", "model.tau_low=0.05,0.1", "model.tau_high=0.6,0.8")
    assert thresholds in STUDIES
    assert len(STUDIES) >= 10
    assert any(module == "experiments.report" for module, _ in OTHERS)


@pytest.mark.parametrize("arguments", STUDIES, ids=" ".join)
def test_a_documented_study_composes(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://localhost:1")
    (tmp_path / "my.csv").write_text("a,b\n1,2\n")
    sweep = read_sweep(list(arguments))
    with initialize_config_dir(str(conf_dir()), version_base="1.3"):
        config = compose("config", overrides=sweep.given, return_hydra_config=False)
    plan = sweep.plan(read_plan(config))
    if plan is None:
        job = read_job(config, sweep.given)
        assert job.command.split()[:3] == ["python", "-m", "experiments.run"]
        return
    # The last value of every key: that all of them compose is tested elsewhere.
    stages = tuple({key: values[-1:] for key, values in stage.items()} for stage in plan.stages)
    for stage in compose_jobs(replace(plan, stages=stages), sweep.given):
        assert len(stage) == 1
        for key, values in sweep.values.items():
            if key.startswith("model."):
                assert stage[0].model.params[key.removeprefix("model.")] == float(values[-1])


class Parsed(Exception):
    """The arguments were understood; nothing is to be run."""


@pytest.mark.parametrize(("module", "arguments"), OTHERS, ids=lambda x: str(x))
def test_other_documented_commands_are_understood(
    module: str, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    parse = argparse.ArgumentParser.parse_args

    def parse_only(self: argparse.ArgumentParser, *args: Any, **kwargs: Any) -> None:
        parse(self, *args, **kwargs)
        raise Parsed

    monkeypatch.setattr(argparse.ArgumentParser, "parse_args", parse_only)
    monkeypatch.setattr(sys, "argv", [module, *arguments])
    for name in (module, f"{module}.__main__"):  # runpy warns of modules that are there already.
        monkeypatch.delitem(sys.modules, name, raising=False)
    with pytest.raises(Parsed):
        runpy.run_module(module, run_name="__main__")


def test_make_has_every_documented_target() -> None:
    targets = set(re.findall(r"^([a-z][a-z0-9-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {t for page in PAGES for line in code_of(page) for t in MAKE.findall(line)}
    assert "thresholds" in named
    assert named <= targets
