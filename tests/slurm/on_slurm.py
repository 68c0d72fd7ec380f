"""`make slurm-test`: a study on a real Slurm, while jobs, server and command are killed.

Needs root and the packages slurm-wlm and munge. Everything runs in a temporary folder and on the
loopback address; what was started is stopped by its process id.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pytest
from submitit.core.utils import DelayedSubmission

from experiments.records.rows import collect
from experiments.records.tracking import tracker
from experiments.server import Server
from tests.experiments.records.test_server import wait_for
from tests.experiments.tiny import OVERRIDES, ROOT
from tests.slurm.cluster import SlurmCluster, free_ports, missing, stop, wait_until

WHY = missing()
if WHY:
    pytest.exit(f"make slurm-test cannot run here: {WHY}", returncode=2)

SEEDS = range(4)
SAME = ["label", "status", "kl_mean", "kl_p95", "valid_ll", "test_ll", "n_trials", "params"]


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A checkout of its own, so that nothing is written into this one."""
    folder = tmp_path_factory.mktemp("home")
    for name in ("fspn", "baselines", "experiments", "conf", "tests"):
        (folder / name).symlink_to(ROOT / name)
    return folder


@pytest.fixture(scope="module")
def slurm(home, tmp_path_factory):
    with SlurmCluster(tmp_path_factory.mktemp("slurm")) as cluster:
        yield cluster


@pytest.fixture
def environment(home, slurm):
    """What a user's shell on the login node has set."""
    binaries = f"{Path(sys.executable).parent}:{slurm.environment['PATH']}"
    own = {"HOME": str(home), "PATH": binaries, "FSPN_LOCK_DIR": str(home / "locks")}
    return os.environ | slurm.environment | own | {"OMP_NUM_THREADS": "1"}


def test_the_commands_of_the_docs_run_as_they_are_written(home, slurm, environment):
    text = (ROOT / "docs" / "cluster.md").read_text()
    script = "\n".join(re.findall(r"```sh\n(.*?)```", text, re.DOTALL))
    assert script.count("executor=slurm") == 3
    output = run_to_its_end(["bash", "-e", "-c", script], home, environment)
    assert "all 6 jobs of smoke are recorded" in output
    assert "all 4 jobs of single are recorded" in output
    assert output.count("done before") == 6
    assert output.count("page: results/smoke/index.html") == 2
    assert "0 runs of killed jobs closed, 0 jobs logged" in output
    rows = collect(home / "results")
    assert Counter(rows["experiment"]) == {"smoke": 6, "single": 4}
    assert rows["node_type"].nunique() == 1
    scripts = list(home.glob("results/runs/*/submitit/*/*_submission.sh"))
    assert scripts
    assert all("#SBATCH --exclusive" in path.read_text() for path in scripts), "shared nodes"
    assert rows["run_id"].astype(bool).all()
    assert not list(home.glob("mlflow*")) + list(home.glob("mlartifacts"))


def run_to_its_end(command, folder, environment):
    """What a command prints that must succeed; nothing that it started outlives it."""
    log = folder / "output.log"
    with log.open("w") as file:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        process.wait(2400)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
    assert process.returncode == 0, log.read_text()
    return log.read_text()


class Trouble:
    """A study of tiny jobs under a server, a command and jobs that are killed."""

    def __init__(self, home, slurm, environment):
        self.home, self.slurm = home, slurm
        self.results = home / "trouble"
        self.gate = home / "open"
        self.server = Server(home / "server", port=free_ports(1)[0])
        self.server.prepare()
        self.environment = environment | self.server.client()
        self.started = []
        slow = "{seed: [0, 1, 2, 3], model.sleeps: [2]}"
        gated = f"{{seed: [4, 5], model.waits: [{self.gate}]}}"
        self.stages = f"[{slow}, {gated}]"

    def start_server(self):
        command = [sys.executable, "-m", "experiments.server", "--folder", str(self.server.folder)]
        log = self.home / "server.log"
        process = subprocess.Popen(
            [*command, "--port", str(self.server.port)],
            cwd=self.home,
            env=self.environment,
            stdout=log.open("a"),
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.started.append(process)
        wait_for(self.server.address, process, log)
        return process

    def study(self, *overrides, name="trouble", stages="", results=None, executor="slurm"):
        """The command: by default a first stage that works, a second that waits for the gate."""
        kept = [o for o in OVERRIDES if not o.startswith(("search.", "model="))]
        limits = ["executor.timeout_min=2", "executor.exclusive=false", "executor.mem_gb=1"]
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "experiments.run", *kept, "model=independent"),
                *("model.name=fragile", "model._target_=tests.experiments.tiny.Fragile"),
                # As one node: a key that is given by its own name would not be swept.
                *("++model={sleeps: 0, waits: ''}", "+search.grid.alpha=[0.1,1.0]"),
                *("search=none", f"study={name}", f"results_dir={results or self.results}"),
                f"plan={{stages: {stages or self.stages}, report: false}}",
                *(f"executor={executor}", *(limits if executor == "slurm" else [])),
                *overrides,
            ],
            cwd=self.home,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.started.append(process)
        return process

    def rows(self):
        return collect(self.results)

    def job_of(self, seed):
        """Slurm's name of the running job of a seed, by the name of its log."""
        for job, state in self.slurm.states().items():
            path = list(self.results.glob(f"runs/trouble/submitit/*/{job}_submitted.pkl"))
            if state == "RUNNING" and path and seed == _seed(path[0]):
                return job
        return ""


def _seed(path):
    return DelayedSubmission.load(path).args[0].seed


@pytest.fixture
def trouble(home, slurm, environment):
    made = Trouble(home, slurm, environment)
    yield made
    for process in made.started:
        if process.poll() is None and process.args[2] == "experiments.server":
            os.killpg(process.pid, signal.SIGTERM)
    stop(made.started)


def test_nothing_is_lost_or_wrong_when_jobs_server_and_command_are_killed(trouble):
    server = trouble.start_server()
    first = trouble.study("tracking=server")
    wait_until(lambda: len(trouble.rows()) >= 1, 240, "the first row")
    os.killpg(server.pid, signal.SIGKILL)
    server.wait()
    wait_until(lambda: len(trouble.rows()) >= 2, 240, "a row without the server")
    first.kill()
    first.wait()
    refused, _ = trouble.study("tracking=server").communicate(timeout=120)
    assert "does not answer" in refused
    trouble.start_server()

    second = trouble.study("tracking=server")
    wait_until(lambda: trouble.job_of(4), 300, "the job that is to be cancelled")
    cancelled = trouble.job_of(4)
    trouble.slurm.ask("scancel", cancelled)
    output, _ = second.communicate(timeout=400)
    assert second.returncode != 0
    assert "2 jobs failed" in output
    assert "rdc_07/fragile/4" in output
    assert "ended without a result (cancelled)" in output
    assert "stopped by its time limit: raise executor.timeout_min" in output
    states = trouble.slurm.states()
    assert states[cancelled] == "CANCELLED"
    rows = trouble.rows()
    assert sorted(rows["seed"]) == list(SEEDS), "a stopped job has a row"

    trouble.gate.touch()
    output, _ = trouble.study("tracking=server").communicate(timeout=400)
    assert "all 6 jobs of trouble are recorded" in output
    assert output.count("done before") == len(SEEDS)
    check_rows(trouble)
    check_runs(trouble)


def check_rows(trouble):
    """Every row once, and equal to what this machine alone computes."""
    alone = trouble.home / "alone"
    output, _ = trouble.study("tracking=none", results=alone, executor="local").communicate()
    assert "all 6 jobs of trouble are recorded" in output
    ours, theirs = (
        collect(folder)[SAME].sort_values("label").reset_index(drop=True)
        for folder in (trouble.results, alone)
    )
    assert len(ours) == 6
    assert ours["params"].str.contains(str(trouble.gate)).sum() == 2, "two jobs had to wait"
    pd.testing.assert_frame_equal(ours, theirs)


def check_runs(trouble):
    """One finished run per row, with all its trials; everything else is closed as killed."""
    os.environ.update(trouble.server.client())
    found = tracker(trouble.server.address, trouble.results)
    runs = found._client.search_runs([found._experiment("trouble")], max_results=1000)
    parents = [r for r in runs if "mlflow.parentRunId" not in r.data.tags]
    finished = [r.info.run_id for r in parents if r.info.status == "FINISHED"]
    assert sorted(finished) == sorted(trouble.rows()["run_id"])
    assert {r.info.status for r in runs} <= {"FINISHED", "KILLED"}
    trials = Counter(r.data.tags.get("mlflow.parentRunId") for r in runs)
    assert {run: trials[run] for run in finished} == dict.fromkeys(finished, 2)


def test_a_failed_job_fails_for_slurm_too(trouble):
    before = set(trouble.slurm.states())
    options = ("tracking=none", "+model.fails=true")
    process = trouble.study(*options, name="failing", stages="[{seed: [0]}]")
    output, _ = process.communicate(timeout=240)
    assert process.returncode != 0
    assert "told to fail" in output
    new = {job: state for job, state in trouble.slurm.states().items() if job not in before}
    assert list(new.values()) == ["FAILED"]


def test_finished_trials_survive_preemption_a_lost_node_and_the_time_limit(trouble):
    """Each trial is made once, however often its job is put back into the queue or stopped."""
    slurm, notes = trouble.slurm, trouble.home / "fits"
    before = set(slurm.states())
    gate = trouble.home / "open too"
    model = f"++model={{sleeps: 0, waits: '', notes: '{notes}'}}"
    options = ("tracking=none", model, f"+search.grid.waits=['','{gate}']")
    where = {"name": "kept", "stages": "[{seed: [0]}]", "results": trouble.home / "kept"}
    kept = trouble.home / "kept" / "runs" / "kept" / "trials"

    def running():
        return [j for j, s in slurm.states().items() if j not in before and s == "RUNNING"]

    study = trouble.study(*options, "executor.timeout_min=60", **where)
    wait_until(lambda: list(kept.glob("*/0.json")), 300, "the first trial")
    (job,) = running()
    slurm.preempt()
    wait_until(lambda: job not in running(), 60, "preemption")
    wait_until(lambda: slurm.restarts(job) == 1 and job in running(), 120, "the second attempt")
    slurm.lose_node()
    wait_until(lambda: job not in running(), 60, "the loss of the node")
    slurm.resume_node()
    wait_until(lambda: slurm.restarts(job) == 2 and job in running(), 120, "the third attempt")
    slurm.ask("scancel", job)
    output, _ = study.communicate(timeout=240)
    assert "ended without a result (cancelled)" in output

    output, _ = trouble.study(*options, **where).communicate(timeout=400)
    assert "stopped by its time limit" in output
    assert collect(where["results"]).empty
    gate.touch()
    output, _ = trouble.study(*options, **where).communicate(timeout=400)
    assert "all 1 jobs of kept are recorded" in output
    (row,) = collect(where["results"]).itertuples()
    assert (row.status, row.n_trials, row.n_failed_trials) == ("ok", 4, 0)
    fits = Counter(line for line in notes.read_text().splitlines() if line.startswith("300 "))
    assert fits == {f"300 {a} {how}": 1 for a in (0.1, 1.0) for how in ("at once", "waited")}
    assert not list(kept.glob("*"))
