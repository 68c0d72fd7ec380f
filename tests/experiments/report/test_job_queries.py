"""The KL of single queries, from runs and as kept; and a study that is on more draws than one."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from experiments.records.rows import Store
from experiments.report.claims.ledger import ONE_DRAW, claims_table
from experiments.report.freeze import as_kept, freeze
from experiments.report.job_queries import NAME, as_queries, keep, kl_by_job
from experiments.report.numbers import ours
from experiments.report.page.build import judge
from experiments.report.paper import Paper
from experiments.report.rows import (
    Rows,
    at_other_settings,
    load_rows,
    on_shared_draws,
    with_draws,
)
from experiments.report.tables.gaps import failed
from tests.experiments.report import fake


def recorded(tmp_path: Path, model: str, seed: int, experiment: str, factor: float) -> None:
    """A job with its queries: KL is `factor` times what the seed draws."""
    kl = factor * np.random.default_rng(seed).gamma(2.0, size=40)
    row = fake.row(model, "21", seed, experiment=experiment, status="ok", kl_mean=float(kl.mean()))
    queries = pd.DataFrame({"kl": kl, "latency_ms": 0.1, "engine_ms": 0.1})
    Store.of(tmp_path, experiment).write(row, queries)


@pytest.fixture
def rows(tmp_path: Path) -> Rows:
    """FSPN on three draws (of the first: twice), BN-DAG on two and MSPN on the first only."""
    for model, factor in (("fspn", 1.0), ("bn_dag", 3.0), ("mspn", 5.0)):
        recorded(tmp_path, model, 0, "reproduce", factor)
    for model, factor, seeds in (("fspn", 9.0, (0,)), ("fspn", 1.0, (1, 2)), ("bn_dag", 3.0, (1,))):
        for seed in seeds:
            recorded(tmp_path, model, seed, "draws", factor)
    return load_rows(tmp_path)


def test_what_was_kept_stands_in_for_queries_that_are_not_here(rows: Rows, tmp_path: Path) -> None:
    drawn = rows.of("draws")
    here = kl_by_job(drawn, tmp_path)
    folder = tmp_path / "clone" / "reference"
    folder.mkdir(parents=True)
    assert kl_by_job(drawn, tmp_path / "clone") == {}
    keep(here, folder)
    there = kl_by_job(drawn, tmp_path / "clone")
    assert there.keys() == here.keys()
    assert all((there[key] == here[key]).all() for key in here)
    assert len((folder / NAME).read_text().splitlines()) == 1 + 4
    newer = drawn.assign(fingerprint="other")
    assert kl_by_job(newer, tmp_path / "clone") == {}
    assert len(as_queries(drawn, there)) == 4 * 40


def test_the_main_study_takes_its_accuracy_from_all_draws(rows: Rows) -> None:
    assert rows.study == "reproduce"
    main = rows.main("sparse")
    numbers = ours(main, rows.queries_of(main))
    assert set(numbers.get(0.21, "fspn", "kl").values) == {0, 1, 2}
    assert set(numbers.get(0.21, "mspn", "kl").values) == {0}
    assert set(numbers.get(0.21, "fspn", "latency").values) == {0}
    assert numbers.ratio(0.21, "mspn", "fspn", "kl") == pytest.approx(5.0), "the main study's draw"
    both = numbers.compare(0.21, "bn_dag", "fspn", "kl")
    assert (both.draws, both.ratio) == (2, pytest.approx(3.0, rel=1e-3))
    assert numbers.compare(0.21, "mspn", "fspn", "kl").draws == 1
    assert set(numbers.queries[0.21, "fspn", "latency"]) == {0}


def test_figures_show_the_draws_that_all_models_have(rows: Rows) -> None:
    def told(shown: pd.DataFrame, column: str) -> dict[str, set[int]]:
        some = shown[shown[column].notna()]
        return {model: set(own["seed"]) for model, own in some.groupby("model")}

    first = {"fspn": {0}, "bn_dag": {0}}
    shown = on_shared_draws(rows.main("sparse"))
    assert told(shown, "kl_mean") == first | {"mspn": {0}}
    without = on_shared_draws(rows.main("sparse").query("model != 'mspn'"))
    assert told(without, "kl_mean") == {"fspn": {0, 1}, "bn_dag": {0, 1}}
    assert told(without, "latency_single_ms") == first, "times stay, whatever is shared"
    known = shown[shown["kl_mean"].notna()]
    queries = ours(shown, rows.queries_of(known)).queries[0.21, "fspn", "kl"]
    assert set(queries) == {0}, "an interval is of the draws that the point is of"


def test_a_draw_at_another_setting_is_left_out(rows: Rows) -> None:
    main, drawn = (rows.of(study).assign(params='{"alpha": 1}') for study in ("reproduce", "draws"))
    other = drawn.assign(params=drawn["params"].where(drawn["seed"] != 2, '{"alpha": 9}'))
    assert at_other_settings(main, other).sum() == 1
    assert set(with_draws(main, other)["seed"]) == {0, 1}


def test_a_failed_job_makes_room_and_is_a_gap(rows: Rows) -> None:
    main, drawn = rows.of("reproduce"), rows.of("draws")
    mine = main["model"] == "fspn"
    lost = main.assign(status=main["status"].mask(mine, "failed"))
    found = with_draws(lost, drawn).query("model == 'fspn'")
    assert sorted(found["seed"]) == [0, 0, 1, 2], "the first draw is taken from the further ones"
    bad = drawn.assign(status=drawn["status"].where(drawn["seed"] != 1, "failed"))
    assert len(failed(with_draws(main, bad))) == 2


def test_a_reader_with_the_kept_files_gets_the_same_verdicts(
    rows: Rows, tmp_path: Path, paper: Paper
) -> None:
    kept = as_kept(rows)
    entries = judge(kept, paper)
    folder = freeze(kept, entries, tmp_path)
    elsewhere = tmp_path / "clone"
    shutil.copytree(folder, elsewhere / "reference")
    again = judge(load_rows(elsewhere, elsewhere / "reference" / "rows"), paper)
    assert claims_table(again) == claims_table(entries)
    by_id = {entry.claim.id: entry.fspn for entry in entries}
    assert "1 to 2 dataset draws" in by_id["accuracy"].numbers
    assert ONE_DRAW in by_id["kl-mspn"].gaps


def test_nothing_kept_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "reference").mkdir()
    keep({"a": np.array([]), "b": np.array([np.nan])}, tmp_path / "reference")
    rows = fake.frame([fake.row(fingerprint="a"), fake.row(fingerprint="b", label="b")])
    found = kl_by_job(rows, tmp_path)
    assert len(found["a"]) == 0
    assert np.isnan(found["b"]).all()
