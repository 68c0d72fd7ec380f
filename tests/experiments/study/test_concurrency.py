"""Many processes start at once on a fresh folder."""

import sqlite3

from experiments.records.rows import collect
from tests.experiments.tiny import finish, start

SEEDS = 4


def test_five_processes_start_at_once_on_a_fresh_folder(tmp_path):
    """More than a small machine has cores; two of them want the same job."""
    processes = [start(tmp_path, f"seed={seed % SEEDS}") for seed in range(SEEDS + 1)]
    outputs = [finish(process) for process in processes]
    rows = collect(tmp_path / "results")
    assert rows["seed"].tolist() == list(range(SEEDS))
    assert sum("was finished before" in output for output in outputs) == 1
    with sqlite3.connect(tmp_path / "results" / "mlflow.db") as database:
        assert database.execute("pragma integrity_check").fetchone() == ("ok",)
        names = database.execute("select name, status from runs where name like '%/%'").fetchall()
    assert sorted(names) == [(f"independent/rdc_07/{seed}", "FINISHED") for seed in range(SEEDS)]
