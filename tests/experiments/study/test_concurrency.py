"""Many processes start at once on a fresh folder."""

import sqlite3

from experiments.records.rows import collect
from tests.experiments.tiny import finish, start


def test_eight_processes_start_at_once_on_a_fresh_folder(tmp_path):
    processes = [start(tmp_path, f"seed={seed % 6}") for seed in range(8)]
    outputs = [finish(process) for process in processes]
    rows = collect(tmp_path / "results")
    assert rows["seed"].tolist() == list(range(6))
    assert sum("was finished before" in output for output in outputs) == 2
    with sqlite3.connect(tmp_path / "results" / "mlflow.db") as database:
        assert database.execute("pragma integrity_check").fetchone() == ("ok",)
        names = database.execute("select name, status from runs where name like '%/%'").fetchall()
    assert sorted(names) == [(f"independent/rdc_07/{seed}", "FINISHED") for seed in range(6)]
