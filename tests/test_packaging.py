import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel that `python -m build` makes, built in a copy so that the tree stays clean."""
    copy, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    tracked = ["pyproject.toml", "README.md", "LICENSE", "fspn", "baselines", "experiments", "conf"]
    for name in [*tracked, "tests"]:
        subprocess.run(["cp", "-r", str(ROOT / name), str(copy)], check=True)
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(out)]
    subprocess.run([*command, str(copy)], check=True, capture_output=True)
    (path,) = out.glob("*.whl")
    return zipfile.ZipFile(path)


def test_the_wheel_holds_exactly_the_three_packages(wheel):
    top = {name.split("/")[0] for name in wheel.namelist()}
    assert {name for name in top if not name.endswith(".dist-info")} == {
        "fspn",
        "baselines",
        "experiments",
    }


def test_the_wheel_holds_all_settings_and_all_modules(wheel):
    names = set(wheel.namelist())
    for path in (ROOT / "conf").rglob("*.yaml"):
        assert f"experiments/conf/{path.relative_to(ROOT / 'conf')}" in names
    assert "experiments/datasets/debd.sha256" in names
    for package in ("fspn", "baselines", "experiments"):
        for path in (ROOT / package).rglob("*.py"):
            assert str(path.relative_to(ROOT)) in names


def test_an_installed_wheel_finds_its_settings(wheel, tmp_path):
    wheel.extractall(tmp_path / "site")
    code = "from experiments.study.plan import conf_dir; print(conf_dir())"
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, 'site'); {code}"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    assert Path(tmp_path, done.stdout.strip()).resolve() == tmp_path / "site/experiments/conf"


def test_every_package_is_listed():
    found = {
        str(path.parent.relative_to(ROOT)).replace("/", ".")
        for name in ("fspn", "baselines", "experiments")
        for path in (ROOT / name).rglob("__init__.py")
    }
    listed = PROJECT["tool"]["setuptools"]["packages"]
    assert sorted(listed) == sorted(found | {"experiments.conf"})


def test_the_library_is_light():
    needed = {d.split(">")[0].split("=")[0] for d in PROJECT["project"]["dependencies"]}
    brought_along = {"llvmlite", "threadpoolctl"}  # by numba and scikit-learn; imported by us too
    assert needed - brought_along == {"numpy", "scipy", "scikit-learn", "pandas", "numba"}


def test_requirements_are_pinned_and_name_no_host():
    for name in ("requirements.txt", "requirements-spflow.txt"):
        lines = (ROOT / name).read_text().splitlines()
        pins = [line for line in lines if line and not line.startswith("#")]
        assert pins
        assert all("==" in pin and "://" not in pin and "@" not in pin for pin in pins)
    assert "torch==2.13.0" in (ROOT / "requirements.txt").read_text().splitlines()
