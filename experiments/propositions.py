r"""Measures what the paper proves: `python -m experiments.propositions` writes rows for the report.

Proposition 1: random Bayesian networks are converted to FSPNs; number of free parameters of both,
and the KL over the whole joint table, which is enumerated.
Proposition 3: in a learned FSPN, the weights of every sum node that all rows reach take an EM step,

.. math:: w_i' = \frac1n \sum_x \frac{w_i p_i(x)}{\sum_j w_j p_j(x)},

which raises the training likelihood unless they are at a local maximum; and what product and
factorize nodes lose (`experiments.likelihood_lost`).
Appendix B: the worked example's event, asked of the example's FSPN.
"""

from __future__ import annotations

import argparse
import platform
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from scipy.special import logsumexp

from experiments import appendix_b
from experiments.datasets import load
from experiments.likelihood_lost import likelihood_lost
from experiments.records.fingerprint import code_version, commit
from experiments.records.rows import ResultRow, Store
from experiments.study.job import machine_name
from experiments.study.plan import conf_dir
from fspn import FSPN
from fspn.ask.parse import row_events
from fspn.convert import bn_to_fspn
from fspn.model.infer import log_probability
from fspn.model.nodes import Factorize, Node, Product, Sum

EXPERIMENT = "propositions"
# Sum nodes arise where variables are dependent but not highly correlated: the smooth family.
DATASETS = ("smooth_21", "smooth_37")
FURTHER = ("rdc_21", "rdc_37", "rdc_65")
FAMILIES = {"rdc": "sparse", "smooth": "smooth", "random": "network", "figure": "network"}
LEARNERS: Mapping[str, Mapping[str, Any]] = {"fspn": {}, "fspn_paper": {"preset": "paper"}}
TARGET = "baselines.ours.fspn_model.FSPNModel"
TARGETS = {"fspn_paper": "baselines.ours.fspn_model.FSPNPaper"}


@dataclass(frozen=True)
class Network:
    """A discrete Bayesian network; the last axis of a table is the variable's own."""

    name: str
    parents: tuple[tuple[int, ...], ...]
    tables: tuple[np.ndarray, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of values of each variable."""
        return tuple(table.shape[-1] for table in self.tables)

    @property
    def n_parameters(self) -> int:
        """Free parameters: one less than values, for each configuration of the parents."""
        return sum(table[..., 1:].size for table in self.tables)

    def joint(self) -> np.ndarray:
        """All probabilities, in the order of `itertools.product` over the values."""
        states = np.array(list(product(*map(range, self.sizes))))
        logs = [
            np.log(table[tuple(states[:, [*above, variable]].T)])
            for variable, (above, table) in enumerate(zip(self.parents, self.tables, strict=True))
        ]
        return np.exp(np.sum(logs, axis=0))


def random_network(seed: int, variables: int = 8, most_values: int = 4) -> Network:
    """A network with up to three parents per variable and random tables."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(2, most_values + 1, variables)
    parents = []
    for variable in range(variables):
        count = min(variable, int(rng.integers(0, 4)))
        parents.append(tuple(sorted(int(p) for p in rng.choice(variable, count, replace=False))))
    tables = [
        rng.dirichlet(np.ones(sizes[v]), size=tuple(int(sizes[p]) for p in above))
        for v, above in enumerate(parents)
    ]
    return Network(f"random_{seed}", tuple(parents), tuple(tables))


def conversion_rows(network: Network) -> Iterator[ResultRow]:
    """The network and its FSPN: parameters, and the KL between their joint tables."""
    model = bn_to_fspn(list(network.sizes), network.parents, network.tables)
    states = np.array(list(product(*map(range, network.sizes))))
    truth = network.joint()
    kl = float(np.sum(truth * (np.log(truth) - model.score_samples(states))))
    yield _row(network.name, "bn", n_parameters=float(network.n_parameters))
    yield _row(
        network.name,
        "bn_as_fspn",
        n_parameters=float(model.n_parameters_),
        size_bytes=float(model.size_bytes_),
        n_nodes=float(model.n_nodes_),
        kl_max=abs(kl),
    )


def learned_rows(dataset: str, learner: str, n_rows: int, cache_dir: Path) -> Iterator[ResultRow]:
    """What product and factorize nodes of a learned model lose, and what an EM step gains."""
    settings = yaml.safe_load((conf_dir() / "dataset" / f"{dataset}.yaml").read_text("utf-8"))
    data = load({**settings, "train_rows": n_rows}, 0, cache_dir)
    domains: dict[Hashable, np.ndarray] = dict(data.domains.items())
    model = FSPN(random_state=0, **LEARNERS[learner]).fit(data.train, domains=domains)
    yield from parts_rows(dataset, learner, model, data.train)
    if dataset in DATASETS:
        yield from optimum_rows(dataset, learner, model, data.train)


def parts_rows(dataset: str, learner: str, model: FSPN, table: pd.DataFrame) -> Iterator[ResultRow]:
    """The losses at product and factorize nodes; nothing if there is no such node."""
    lost = likelihood_lost(model, table)
    if lost.parts:
        yield _row(
            dataset,
            f"{learner}_parts",
            n_nodes=float(lost.parts),
            kl_max=lost.difference,
            kl_mean=lost.nats,
        )


def optimum_rows(
    dataset: str, learner: str, model: FSPN, table: pd.DataFrame
) -> Iterator[ResultRow]:
    """Training likelihood as learned and after the EM step; nothing if there is no sum node."""
    sums = list(reached_sums(model.root_))
    if not sums:
        return
    events = row_events(model.domain_, model.domain_.encode(table))
    gain = sum(em_gain(node, events) for node in sums)
    learned = model.score(table)
    yield _row(dataset, learner, test_ll=learned, n_nodes=float(model.n_nodes_))
    yield _row(dataset, f"{learner}_em", test_ll=learned + gain)


def reached_sums(node: Node) -> Iterator[Sum]:
    """Sum nodes with only product and factorize nodes above them: every row counts in full."""
    if isinstance(node, Sum):
        yield node
    elif isinstance(node, Product):
        for child in node.children:
            yield from reached_sums(child)
    elif isinstance(node, Factorize):
        yield from reached_sums(node.left)


def em_gain(node: Sum, events: Any) -> float:
    """Mean gain in log-likelihood by one EM step on the weights of a sum node."""
    logs = np.stack([log_probability(child, events) for child in node.children], axis=1)
    before = logs + np.log(node.weights)
    weights = np.exp(before - logsumexp(before, axis=1, keepdims=True)).mean(axis=0)
    after = logsumexp(logs + np.log(weights), axis=1)
    return float(np.mean(after - logsumexp(before, axis=1)))


def _row(dataset: str, model: str, **measures: float) -> ResultRow:
    """A row of this experiment, without the facts that are the same for all."""
    return ResultRow(
        fingerprint=f"{EXPERIMENT}-{dataset}-{model}",
        experiment=EXPERIMENT,
        label=f"{dataset}/{model}",
        dataset=dataset,
        family=FAMILIES[dataset.partition("_")[0]],
        seed=0,
        model=model,
        **measures,  # type: ignore[arg-type]
    )


def measure(n_rows: int, networks: int, cache_dir: Path) -> Iterator[ResultRow]:
    """All rows of this experiment."""
    error = abs(appendix_b.probability() - appendix_b.PRINTED)
    yield _row("figure_1", "appendix_b", kl_max=error)
    for seed in range(networks):
        yield from conversion_rows(random_network(seed))
    for dataset, learner in product((*DATASETS, *FURTHER), LEARNERS):
        yield from learned_rows(dataset, learner, n_rows, cache_dir)


def main() -> None:
    """Measure and record."""
    parser = argparse.ArgumentParser(prog="python -m experiments.propositions")
    parser.add_argument("--results", type=Path, default=Path("results"))
    parser.add_argument("--cache", type=Path, default=Path("data/cache"))
    parser.add_argument("--rows", type=int, default=10_000, help="training rows per dataset")
    parser.add_argument("--networks", type=int, default=20)
    options = parser.parse_args()
    store = Store.of(options.results, EXPERIMENT)
    for row in measure(options.rows, options.networks, options.cache):
        row = replace(
            row,
            code_version=code_version(TARGETS.get(row.model, TARGET), row.family),
            commit=commit(),
            machine=machine_name(),
            python=platform.python_version(),
            started_at=datetime.now(UTC).isoformat(timespec="milliseconds"),
            command="python -m experiments.propositions",
        )
        store.write(row)
        shown = {
            "parameters": row.n_parameters,
            "difference": row.kl_max,
            "nats lost": row.kl_mean,
            "log-likelihood": row.test_ll,
        }
        print(row.label, *(f"{k} {v:.7g}" for k, v in shown.items() if v == v), sep=", ")


if __name__ == "__main__":
    main()
