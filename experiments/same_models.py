"""Does the present code learn the models of older rows? `python -m experiments.same_models`.

A change of the learner marks all rows of its models as of other code, though most changes leave
most models as they were. Each such committed row names its dataset and its settings: the model is
learned once more, and where its size and its test log-likelihood are the recorded ones, to the
digits that are kept, what the row says of the model holds for the present code. The row then gets
the present code version and names the one that measured it (`measured_code`): its times are of
that version. A row whose model differs stays marked.
"""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from hydra.utils import get_class
from omegaconf import OmegaConf

from experiments import query_cost
from experiments.datasets import load
from experiments.measures.divergence import log_likelihood
from experiments.measures.timing import one_thread
from experiments.records.fingerprint import code_version
from experiments.records.reference import ROWS, read_rows, write_rows
from experiments.report.rows import is_other_code
from experiments.study.plan import conf_dir

MODELS = ("fspn", "fspn_laws", "fspn_paper", "spn_tree")
STUDIES = (
    *("reproduce", "draws", "dense", "context", "hidden", "smooth"),
    *("node_kinds", "nodes", "thresholds", "plugins", "table1", "query_cost"),
)
TOLERANCE = 1e-6
"""How far a number may be from the recorded one, of which files keep seven digits."""
SIZES = ("n_nodes", "n_parameters", "size_bytes")


@dataclass(frozen=True)
class Refit:
    """A row's model, learned again.

    Arguments:
        job: Study and label of the row.
        version: The present code version of the model.
        differs: What is not as recorded, in words; empty = the same model.
    """

    job: tuple[str, str]
    version: str
    differs: str


def refit(row: Mapping[str, Any], cache_dir: Path) -> Refit:
    """Learn the model of a row once more and compare."""
    if row["experiment"] == query_cost.EXPERIMENT:
        return _refit_cell(row, cache_dir)
    settings = yaml.safe_load((conf_dir() / "model" / f"{row['model']}.yaml").read_text())
    dataset = load(_dataset_settings(row), int(row["seed"]), cache_dir)
    params = json.loads(row["params"])
    version = code_version(settings["_target_"], dataset.family, str(params.get("multi_leaf", "")))
    job = (str(row["experiment"]), str(row["label"]))
    if row["dataset_digest"] != dataset.digest:
        return Refit(job, version, "the data are others")
    with one_thread():
        model = get_class(settings["_target_"])(**params)
        model.fit(dataset.train, dataset.domains, int(row["seed"]))
        found = {"test_ll": log_likelihood(model, dataset.test).mean}
    found |= {name: float(getattr(model, name)) for name in SIZES}
    return Refit(job, version, _difference(row, found))


def _refit_cell(row: Mapping[str, Any], cache_dir: Path) -> Refit:
    """A model of the study of query times, of which rows keep the nodes alone."""
    cell = query_cost.cell_of(row)
    census = query_cost.learned(cell, query_cost.read(cell, cache_dir)).census_
    found = {"n_nodes": float(census.n_nodes), "n_factorize": float(census.n_factorize)}
    job = (str(row["experiment"]), str(row["label"]))
    return Refit(job, code_version(query_cost.TARGET), _difference(row, found))


def _dataset_settings(row: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a row's dataset, with what its label says was changed."""
    folder = conf_dir() / "dataset"
    path = folder / f"{row['dataset']}.yaml"
    if not path.is_file():  # One settings file for a family of tables from outside.
        path = folder / f"{row['family']}.yaml"
    found = OmegaConf.to_container(OmegaConf.load(path), resolve=True)
    assert isinstance(found, dict)
    settings = {str(key): value for key, value in found.items()} | {"name": row["dataset"]}
    _, _, changed = str(row["label"]).partition(f"/{row['seed']}/")
    for key, value in (part.split("=") for part in changed.split(",") if part):
        if key.startswith("dataset."):
            settings[key.removeprefix("dataset.")] = yaml.safe_load(value)
    return settings


def _difference(row: Mapping[str, Any], found: Mapping[str, float]) -> str:
    """The first measure that is not as recorded."""
    for name, value in found.items():
        if not math.isclose(value, row[name], rel_tol=TOLERANCE):
            return f"{name} is {value:.7g}, recorded {row[name]:.7g}"
    return ""


def other_code(table: pd.DataFrame, study: str, models: Sequence[str]) -> pd.DataFrame:
    """The finished rows of a study that the present code has not measured."""
    own = table["model"].isin(models) & (table["experiment"] == study)
    rows = table[own & (table["status"] == "ok")]
    return rows[np.array(is_other_code(rows), dtype=bool)]


def confirmed(table: pd.DataFrame, refits: Sequence[Refit]) -> pd.DataFrame:
    """The rows, those with the same model as of the present code version."""
    same = {found.job: found.version for found in refits if not found.differs}
    jobs = list(zip(table["experiment"], table["label"], strict=True))
    known = zip(table["measured_code"], table["code_version"], jobs, strict=True)
    return table.assign(
        measured_code=[(old or version) if job in same else old for old, version, job in known],
        code_version=[same.get(job, v) for v, job in zip(table["code_version"], jobs, strict=True)],
    )


def _refits(rows: pd.DataFrame, cache_dir: Path, workers: int) -> Iterator[Refit]:
    with ProcessPoolExecutor(workers) as pool:
        records = [{str(k): v for k, v in row.items()} for row in rows.to_dict("records")]
        jobs = [pool.submit(refit, row, cache_dir) for row in records]
        for done, job in enumerate(as_completed(jobs), start=1):
            found = job.result()
            print(f"[{done}/{len(jobs)}] {' '.join(found.job)}: {found.differs or 'the same'}",
                  flush=True)  # fmt: skip
            yield found


def main(arguments: Sequence[str] | None = None) -> None:
    """Refit the rows of other code, and keep what is confirmed."""
    parser = argparse.ArgumentParser(prog="python -m experiments.same_models")
    parser.add_argument("studies", nargs="*", default=list(STUDIES))
    parser.add_argument("--models", nargs="+", default=list(MODELS))
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--cache", type=Path, default=Path("data/cache"))
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args(arguments)
    table = read_rows(options.results / ROWS)
    for study in options.studies:
        old = other_code(table, study, options.models).sort_values(["train_seconds", "n_nodes"])
        same = 0
        for found in _refits(old, options.cache, options.workers):
            table = confirmed(table, [found])
            write_rows(table, options.results)  # At once: a stop loses what is under way.
            same += not found.differs
        print(f"{study}: {same} of {len(old)} rows have the model of the present code")


if __name__ == "__main__":
    main()
