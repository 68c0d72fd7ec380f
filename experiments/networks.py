"""FSPN on the published networks that pgmpy brings along: `python -m experiments.networks`.

Rows are sampled from a network, the models learn from them, and the mean KL of evidence queries is
exact. Beside FSPN stand the generating structure and pyAgrum's best network (hill-climbing or a
tabu list, BDeu or BIC); what smooths their tables, and which of the networks is pyAgrum's best, is
chosen on validation rows. So is the width of FSPN's network: pyAgrum's is not bounded, and FSPN's
default bound buys latency, not accuracy.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from baselines.base import DensityModel
from baselines.bayes_net.bn_dag import BNDag
from baselines.bayes_net.true_dag import TrueDag
from baselines.ours.fspn_laws import FSPNLaws
from experiments.datasets.network import Network
from experiments.datasets.seeds import digest_of, generator
from experiments.datasets.truth import ExactTruth
from experiments.measures.divergence import kl_divergence, log_likelihood
from experiments.measures.workload import WorkloadConfig, draw_workload
from experiments.types import Dataset
from fspn.convert.bif import read_bif
from fspn.model.graph import topological_order

NETWORKS = ("asia", "sachs", "child", "insurance", "alarm", "hailfinder", "win95pts", "hepar2")
LARGE_NETWORKS = ("water", "mildew", "barley")
SMOOTHINGS = tuple(product((0.001, 0.01, 0.1), ("marginal", "backoff")))
SEARCHES = tuple(product(("BDeu", "BIC"), ("hill_climb", "tabu")))
PYAGRUM_PARENTS = 5
MAX_CELLS = (None, 6_000_000)
"""Bounds on the width that FSPN is fitted with, chosen on validation rows; None = its default."""
TOLERANCE = 1.5
"""How many times the KL of the fitted true structure FSPN may have."""

Structure = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Line:
    """Mean KL, log-likelihood lost per test row, and CPU seconds of every model on one network."""

    network: str
    rows: int
    kl: Mapping[str, float]
    lost: Mapping[str, float]
    seconds: Mapping[str, float]

    @property
    def target(self) -> float:
        """The lower of 1.5 times the true structure's KL and pyAgrum's."""
        return min(TOLERANCE * self.kl["true_dag"], self.kl["bn_dag"])

    @property
    def holds(self) -> bool:
        """Whether FSPN is within the target."""
        return self.kl["fspn"] <= self.target

    def __str__(self) -> str:
        names = ("fspn", "true_dag", "bn_dag")
        kls = " | ".join(f"{self.kl[name]:.2g}" for name in names)
        lost = " / ".join(f"{self.lost[name]:.4f}" for name in names)
        seconds = f"{self.seconds['fspn']:.1f} / {self.seconds['bn_dag']:.1f}"
        ratio = self.kl["fspn"] / self.target
        own = self.kl["fspn_default"] / self.target
        verdict = f"{'holds' if self.holds else 'falls short'} ({ratio:.2f} of the target"
        verdict += f", {own:.2f} at the default width)" if own != ratio else ")"
        return f"| {self.network} | {self.rows:,} | {kls} | {verdict} | {lost} | {seconds} |"


HEAD = (
    "| network | rows | FSPN | true structure | pyAgrum's best | verdict "
    "| nats lost per row, each | training (s), FSPN / pyAgrum |"
)


def published_dataset(name: str, rows: int, seed: int, workload: WorkloadConfig) -> Dataset:
    """Rows and evidence queries of a network; the values of a column are its states' numbers."""
    network = published_network(name)
    axes = (name, seed)
    train, valid, test = (
        network.decode(network.sample_codes(n, generator(split, *axes)))
        for split, n in (("train", rows), ("valid", 10_000), ("test", 10_000))
    )
    fresh = network.decode(network.sample_codes(workload.queries, generator("workload", *axes)))
    return Dataset(
        name=name,
        family="published",
        target_rdc=None,
        measured_rdc=None,
        seed=seed,
        train=train,
        valid=valid,
        test=test,
        domains=dict(zip(network.columns, network.domains, strict=True)),
        truth=ExactTruth(network),
        workload=draw_workload(fresh, workload, generator("queries", *axes)),
        digest=digest_of(name, rows, seed),
    )


def published_network(name: str) -> Network:
    """A network of the collection, its variables in topological order."""
    spec = find_spec("pgmpy")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("the published networks come with pgmpy: pip install pgmpy")
    path = Path(spec.origin).parent / "utils" / "example_models" / f"{name}.bif.gz"
    if not path.exists():
        raise ValueError(f"pgmpy brings no network {name!r}; its names are those of the BIF files")
    found = read_bif(path)
    order = topological_order(found.parents)
    place = {v: i for i, v in enumerate(order)}
    rows = [found.cpts[v] / found.cpts[v].sum(axis=-1, keepdims=True) for v in order]
    return Network(
        columns=tuple(str(found.names[v]) for v in order),
        domains=tuple(np.arange(len(found.values[v])) for v in order),
        parents=tuple(tuple(place[p] for p in found.parents[v]) for v in order),
        cpts=tuple(rows),
    )


def measure(dataset: Dataset) -> Line:
    """Fits and scores all three."""
    assert dataset.truth is not None
    models: dict[str, DensityModel] = {"true_dag": smoothed(dataset, dataset.truth.structure)}
    start = time.process_time()
    fits = {bound: bounded(dataset, bound) for bound in MAX_CELLS}
    seconds = {"fspn": (time.process_time() - start) / len(fits)}
    chosen = max(fits, key=lambda bound: _likelihood(fits[bound], dataset.valid))
    models["fspn"], models["fspn_default"] = fits[chosen], fits[MAX_CELLS[0]]
    start = time.process_time()
    networks = [searched(dataset, *search) for search in SEARCHES]
    seconds["bn_dag"] = (time.process_time() - start) / len(SEARCHES)
    fitted = [smoothed(dataset, network) for network in networks]
    models["bn_dag"] = max(fitted, key=lambda model: _likelihood(model, dataset.valid))
    best = float(dataset.truth.log_probability(dataset.test).mean())
    return Line(
        dataset.name,
        len(dataset.train),
        {name: kl_divergence(model, dataset).mean for name, model in models.items()},
        {name: best - _likelihood(model, dataset.test) for name, model in models.items()},
        seconds,
    )


def bounded(dataset: Dataset, max_cells: int | None) -> FSPNLaws:
    """FSPN within a bound on the cells of an intermediate result; None = the default."""
    model = FSPNLaws()
    model.settings["max_cells"] = max_cells
    model.fit(dataset.train, dataset.domains, dataset.seed)
    return model


def smoothed(dataset: Dataset, structure: Structure) -> TrueDag:
    """A structure with the tables that the validation rows like best."""
    fits = [
        TrueDag(alpha, prior, structure).fit(dataset.train, dataset.domains)
        for alpha, prior in SMOOTHINGS
    ]
    return max(fits, key=lambda model: _likelihood(model, dataset.valid))


def searched(dataset: Dataset, score: str, search: str) -> Structure:
    """A structure by pyAgrum."""
    model = BNDag(score=score, search=search, max_parents=PYAGRUM_PARENTS)
    model.fit(dataset.train, dataset.domains, dataset.seed)
    columns = list(dataset.domains)
    return {c: [columns[p] for p in own] for c, own in zip(columns, model.parents, strict=True)}


def _likelihood(model: DensityModel, table: pd.DataFrame) -> float:
    return log_likelihood(model, table).mean


def main() -> None:
    """The table, one line per network."""
    parser = argparse.ArgumentParser(prog="python -m experiments.networks")
    parser.add_argument("networks", nargs="*", default=[*NETWORKS, *LARGE_NETWORKS])
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(HEAD)
    print("|" + "---|" * HEAD.count("|", 1))
    for name in options.networks:
        dataset = published_dataset(name, options.rows, options.seed, WorkloadConfig())
        print(measure(dataset), flush=True)


if __name__ == "__main__":
    main()
