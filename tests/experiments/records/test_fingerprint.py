from dataclasses import replace

import numpy as np
import pytest

from experiments.records import fingerprint as fp
from experiments.types import Workload
from tests.experiments import tiny

MODEL = "baselines.good.Good"


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A small project; writing to it changes its code."""
    monkeypatch.setattr(fp, "ROOT", tmp_path)

    def write(name, source):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source)
        forget()

    write("baselines/__init__.py", "")
    write("baselines/good.py", "from baselines.helper import help\nimport numpy\n")
    write("baselines/helper.py", "def help():\n    from fspn import deep\n")
    write("baselines/other.py", "x = 1\n")
    write("fspn/__init__.py", "")
    write("fspn/deep.py", "from . import deeper\n")
    write("fspn/deeper.py", "y = 1\n")
    write("experiments/__init__.py", "")
    write(
        "experiments/measures/evaluate.py",
        "from experiments.records import rows\nimport experiments.measures.timing\n",
    )
    write("experiments/records/rows.py", "z = 1\n")
    write("experiments/measures/timing.py", "w = 1\n")
    yield write
    forget()


def forget():
    for cached in (fp._closure, fp._tree, fp._source_digest):
        cached.cache_clear()


@pytest.mark.parametrize(
    "path",
    [
        "baselines/good.py",
        "baselines/helper.py",
        "fspn/__init__.py",
        "fspn/deep.py",
        "fspn/deeper.py",
        "experiments/measures/timing.py",
        "experiments/measures/evaluate.py",
    ],
)
def test_code_that_the_result_depends_on_counts(project, path, tmp_path):
    before = fp.code_version(MODEL)
    project(path, (tmp_path / path).read_text() + "changed = True\n")
    assert fp.code_version(MODEL) != before


@pytest.mark.parametrize("path", ["baselines/other.py", "experiments/records/rows.py"])
def test_other_models_and_bystanders_do_not_count(project, path):
    before = fp.code_version(MODEL)
    project(path, "changed = True\n")
    assert fp.code_version(MODEL) == before


def test_comments_docstrings_and_layout_do_not_count(project):
    before = fp.code_version(MODEL)
    project("experiments/measures/timing.py", '"""What it does."""\n\n# why\nw   =   1\n')
    assert fp.code_version(MODEL) == before


def test_a_fingerprint_depends_on_settings_data_and_code():
    base = fp.fingerprint({"a": 1, "b": 2}, "data", "code")
    assert fp.fingerprint({"b": 2, "a": 1}, "data", "code") == base
    others = [({"a": 1}, "data", "code"), ({"a": 1, "b": 2}, "d", "code")]
    assert base not in {fp.fingerprint(*o) for o in [*others, ({"a": 1, "b": 2}, "data", "c")]}


def test_the_real_models_depend_on_the_measuring_code():
    modules = fp._closure(frozenset({"baselines.independent", *fp.MEASURES}))
    assert {
        "baselines.base",
        "experiments.measures.divergence",
        "experiments.measures.timing",
    } <= modules
    assert {"experiments.study.search", "experiments.datasets.truth"} <= modules
    assert not modules & fp.BYSTANDERS
    assert not modules & {
        "baselines.bayes_net.bn_dag",
        "experiments.records.tracking",
        "experiments.study.job",
    }
    assert "experiments.datasets.table_file" not in modules


def test_any_change_of_the_data_is_seen():
    data = tiny.dataset()
    before = fp.data_digest(data)
    assert fp.data_digest(tiny.dataset()) == before
    for split in ("train", "valid", "test"):
        table = getattr(data, split).copy()
        table.iloc[3, 1] = (table.iloc[3, 1] + 1) % 3
        assert fp.data_digest(replace(data, **{split: table})) != before
    assert fp.data_digest(replace(data, domains=data.domains | {"a": np.arange(4)})) != before
    assert fp.data_digest(replace(data, workload=Workload(()))) != before
    fair, loaded = Coin(0.5), Coin(0.6)
    assert fp.data_digest(replace(data, truth=fair)) != fp.data_digest(replace(data, truth=loaded))


class Coin:
    """A truth of which only the probability of rows matters here."""

    def __init__(self, p):
        self.p = p

    def log_probability(self, table):
        return np.full(len(table), np.log(self.p))
