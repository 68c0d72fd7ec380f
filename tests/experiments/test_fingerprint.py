import pytest

from experiments import fingerprint as fp

MODEL = "baselines.good.Good"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A small project; writing to it changes its code."""
    monkeypatch.setattr(fp, "ROOT", tmp_path)

    def write(name, source):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
        for cached in (fp._closure, fp._tree, fp._source_digest):
            cached.cache_clear()

    write("baselines/__init__.py", "")
    write("baselines/good.py", "from baselines.helper import help\nimport numpy\n")
    write("baselines/helper.py", "def help():\n    from fspn import deep\n")
    write("baselines/other.py", "x = 1\n")
    write("fspn/__init__.py", "")
    write("fspn/deep.py", "from . import deeper\n")
    write("fspn/deeper.py", "y = 1\n")
    write("experiments/__init__.py", "")
    write("experiments/job.py", "from experiments import tracking\nimport experiments.timing\n")
    write("experiments/tracking.py", "z = 1\n")
    write("experiments/timing.py", "w = 1\n")
    return write


@pytest.mark.parametrize(
    "path",
    [
        "baselines/good.py",
        "baselines/helper.py",
        "fspn/__init__.py",
        "fspn/deep.py",
        "fspn/deeper.py",
        "experiments/timing.py",
        "experiments/job.py",
    ],
)
def test_code_that_the_result_depends_on_counts(project, path, tmp_path):
    before = fp.code_version(MODEL)
    project(path, (tmp_path / path).read_text() + "changed = True\n")
    assert fp.code_version(MODEL) != before


@pytest.mark.parametrize("path", ["baselines/other.py", "experiments/tracking.py"])
def test_other_models_and_bystanders_do_not_count(project, path):
    before = fp.code_version(MODEL)
    project(path, "changed = True\n")
    assert fp.code_version(MODEL) == before


def test_comments_docstrings_and_layout_do_not_count(project):
    before = fp.code_version(MODEL)
    project("experiments/timing.py", '"""What it does."""\n\n# why\nw   =   1\n')
    assert fp.code_version(MODEL) == before


def test_a_fingerprint_depends_on_settings_data_and_code():
    base = fp.fingerprint({"a": 1, "b": 2}, "data", "code")
    assert fp.fingerprint({"b": 2, "a": 1}, "data", "code") == base
    others = [({"a": 1}, "data", "code"), ({"a": 1, "b": 2}, "d", "code")]
    assert base not in {fp.fingerprint(*o) for o in [*others, ({"a": 1, "b": 2}, "data", "c")]}


def test_the_real_models_depend_on_the_measuring_code():
    roots = frozenset({"baselines.independent", fp.MEASURES})
    modules = fp._closure(roots)
    assert {"baselines.base", "experiments.metrics", "experiments.timing"} <= modules
    assert {"experiments.search", "experiments.datasets.sparse"} <= modules
    assert not modules & fp.BYSTANDERS
    assert "baselines.bn_dag" not in modules
