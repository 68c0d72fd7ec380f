"""The commands, as a user gives them."""

import pickle
from datetime import datetime

import pytest

from experiments.records.rows import collect
from tests.experiments.tiny import OVERRIDES, finish, start

NO_GRID = [o for o in OVERRIDES if not o.startswith("search.")]
BROKEN = ("model.name=fragile", "model._target_=tests.experiments.tiny.FailsAtTwo")
# One worker: each is a process of seconds, and no test here is about two of them.
PLAN = "plan={stages: [{seed: [0, 1]}, {seed: [2]}], workers: 1, report: false}"


def test_a_sweep_of_hydra_runs_every_job_once_and_names_all_failures(tmp_path):
    swept = ("seed=0,1", "model.alpha=1,2", "search=none", "tracking=none")
    process = start(tmp_path, *swept, *BROKEN, flags=("-m",), tiny=NO_GRID)
    output, _ = process.communicate(timeout=180)
    assert process.returncode != 0
    assert "2 jobs failed" in output
    failed = [line for line in output.splitlines() if line.startswith("  rdc_07/fragile/")]
    assert failed == [f"  rdc_07/fragile/{seed}/model.alpha=2" for seed in (0, 1)]
    assert "Traceback" not in output
    rows = collect(tmp_path / "results")
    assert rows[rows["status"] == "ok"]["seed"].tolist() == [0, 1]
    assert len(rows) == 4


def test_a_study_goes_through_submitit_stage_after_stage_to_one_report(tmp_path):
    plan = "plan={stages: [{seed: [0]}, {seed: [1]}]}"
    where = ("study=small", "executor=submitit_local", "tracking=none")
    output = finish(start(tmp_path, plan, *where, flags=("-m",)))
    assert "all 2 jobs of small are recorded" in output
    assert output.count("page: ") == 1
    folder = tmp_path / "results" / "runs" / "small"
    assert [kind for kind, _ in submitted(folder)] == ["success", "success"]
    first, second = collect(tmp_path / "results").sort_values("seed").itertuples()
    ended = (folder / f"{first.fingerprint}.parquet").stat().st_mtime
    assert datetime.fromisoformat(second.started_at).timestamp() > ended


def submitted(folder):
    """What the jobs that submitit ran have left behind: how they ended, and their result."""
    paths = sorted(folder.glob("submitit/*/*_result.pkl"))
    return [pickle.loads(path.read_bytes()) for path in paths]


def test_a_wrong_setting_of_a_sweep_is_found_before_anything_is_submitted(tmp_path):
    where = ("seed=0,1", "model.alpha=-1", "executor=submitit_local", "tracking=none")
    process = start(tmp_path, *where, flags=("-m",), tiny=NO_GRID)
    output, _ = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "model.alpha is -1 but must be a number of at least 0" in output
    assert not (tmp_path / "results").exists()


def test_a_study_shows_its_progress_and_is_resumed(tmp_path):
    output = finish(start(tmp_path, PLAN, "study=small", "tracking=none"))
    lines = [line for line in output.splitlines() if "/3]" in line]
    assert [line.split()[0] for line in lines] == ["[1/3]", "[2/3]", "[3/3]"]
    assert " left" in lines[1]
    assert "  rdc_07/independent/2  " in lines[2]
    assert "all 3 jobs of small are recorded" in output
    again = finish(start(tmp_path, PLAN, "study=small", "tracking=none", flags=("-m",)))
    assert again.count("done before") == 3
    assert len(collect(tmp_path / "results")) == 3


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("dataset.train_rows=-1", "dataset.train_rows is -1 but must be at least 1"),
        ("model.alfa=1", "alfa"),
        ("search=typo", "search=typo is no search: use one of bn_dag"),
    ],
)
def test_a_wrong_setting_stops_at_once_and_names_its_key(tmp_path, override, message):
    tiny = NO_GRID if override.startswith("search") else OVERRIDES
    process = start(tmp_path, override, "tracking=none", tiny=tiny)
    output, _ = process.communicate(timeout=60)
    assert process.returncode != 0
    assert message in output
    assert "Traceback" not in output
    assert not (tmp_path / "results").exists()


def test_a_table_without_a_path_stops_at_once(tmp_path):
    output = stopped(tmp_path, "dataset=csv")
    assert "dataset.path is missing: it has no default, give dataset.path=..." in output


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "No columns to parse from file"),
        ("a,b\n", "the table has no rows"),
        ("a,b\n1,2\n2,3\n", "has 2 rows: too few for a split in three"),
    ],
)
def test_a_file_that_is_no_table_is_named_with_what_to_do(tmp_path, content, message):
    path = tmp_path / "my.csv"
    path.write_text(content)
    output = stopped(tmp_path, "dataset=csv", f"dataset.path={path}")
    assert message in output
    assert f"dataset.path={path} cannot be used" in output
    assert "a first line that names the columns, and enough rows" in output


def stopped(base, *given):
    """What a command prints that must stop with a message and no traceback."""
    process = start(base, *given, "model=independent", "tracking=none", tiny=())
    output, _ = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "Traceback" not in output
    assert 'File "' not in output, "frames of other programs"
    return output
