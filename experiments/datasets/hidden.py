r"""Family `hidden`: several networks over the same columns, and which one made a row is not told.

.. math:: \Pr(x) = \sum_k w_k \prod_j \Pr_k(x_j \mid x_{\pi_k(j)})

Every class has a random structure of treewidth two in a random order of the columns, and tables
whose rows are drawn from a Dirichlet distribution: the smaller its concentration, the sharper.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from experiments.datasets.assemble import SPLITS, assemble, pack_queries
from experiments.datasets.cache import Arrays, cached
from experiments.datasets.config import check_random_tables, checked_keys
from experiments.datasets.graph import Graph
from experiments.datasets.network import Network
from experiments.datasets.seeds import digest_of, generator
from experiments.datasets.truth import ExactTruth, check_cells
from experiments.measures.workload import WorkloadConfig, draw_workload
from experiments.types import Dataset, Evidence, WeightedPoints

FAMILY = "hidden"
GENERATOR_VERSION = 1
WEIGHT_CONCENTRATION = 5.0


@dataclass(frozen=True)
class HiddenConfig:
    """What a dataset of the family is made from.

    Arguments:
        name: name of the dataset, e.g. `hidden_4`.
        classes: number of networks.
        concentration: of the Dirichlet distribution of a table's rows.
        family: always `hidden`.
        columns: number of columns.
        min_size, max_size: bounds of the domain sizes.
        pair_probability: share of the columns that try to have two parents.
        train_rows, valid_rows, test_rows: rows of the three splits.
    """

    name: str
    classes: int
    concentration: float
    family: str = FAMILY
    columns: int = 20
    min_size: int = 2
    max_size: int = 12
    pair_probability: float = 0.5
    train_rows: int = 100_000
    valid_rows: int = 10_000
    test_rows: int = 10_000

    def __post_init__(self) -> None:
        check_random_tables(self, "classes", 2)

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> HiddenConfig:
        """Reads a plain mapping or a Hydra node; an unknown or missing key is an error."""
        return cls(**checked_keys(cls, values))


@dataclass(frozen=True)
class HiddenTruth:
    """The mixture as an oracle: every class answers exactly, weighted by its evidence."""

    weights: np.ndarray
    classes: tuple[ExactTruth, ...]

    @property
    def structure(self) -> dict[str, tuple[str, ...]]:
        """A mixture has no DAG over its columns."""
        raise ValueError("a dataset with hidden classes has no generating DAG")

    @property
    def domains(self) -> dict[str, np.ndarray]:
        """The values of every column, in the order of their names' numbers."""
        network = self.classes[0].network
        found = dict(zip(network.columns, network.domains, strict=True))
        return {f"x{j}": found[f"x{j}"] for j in range(len(found))}

    def class_log_probability(self, table: pd.DataFrame) -> np.ndarray:
        """Natural logarithm of w_k Pr_k(row), one column per class."""
        found = [truth.log_probability(table) for truth in self.classes]
        return np.stack(found, axis=1) + np.log(self.weights)

    def log_probability(self, table: pd.DataFrame) -> np.ndarray:
        """Natural logarithm of Pr(row) of complete rows."""
        return np.asarray(logsumexp(self.class_log_probability(table), axis=1))

    def conditional_table(self, query: Sequence[str], evidence: Evidence) -> np.ndarray:
        """Pr(Q | E = e), the mean of the classes' tables weighted by Pr(class | E = e)."""
        check_cells(self._shape(query))
        shares = self.weights * [truth.evidence_probability(evidence) for truth in self.classes]
        tables = [truth.conditional_table(query, evidence) for truth in self.classes]
        return np.asarray(np.tensordot(shares / shares.sum(), tables, axes=1))

    def support(
        self, query: Sequence[str], evidence: Evidence, limit: int
    ) -> WeightedPoints | None:
        """All cells with positive probability, or None if the table has more than `limit`."""
        if prod(self._shape(query)) > limit:
            return None
        table = self.conditional_table(query, evidence)
        places = np.nonzero(table)
        return self._points(query, places, table[places], len(places[0]) == table.size)

    def draw(self, query: Sequence[str], evidence: Evidence, n: int, seed: int) -> WeightedPoints:
        """Draws of Q given e."""
        table = self.conditional_table(query, evidence)
        flat = table.ravel()
        cells = np.random.default_rng(seed).choice(len(flat), size=n, p=flat / flat.sum())
        places = np.unravel_index(cells, table.shape)
        return self._points(query, places, flat[cells], bool(table.all()))

    def _shape(self, query: Sequence[str]) -> tuple[int, ...]:
        return tuple(len(self.domains[name]) for name in query)

    def _points(
        self, query: Sequence[str], places: tuple[np.ndarray, ...], p: np.ndarray, whole: bool
    ) -> WeightedPoints:
        values = [self.domains[name][codes] for name, codes in zip(query, places, strict=True)]
        return WeightedPoints(np.column_stack(values), p, whole)


def draw_truth(config: HiddenConfig, rng: np.random.Generator) -> HiddenTruth:
    """Random domain sizes, shares of the classes, structures and tables."""
    sizes = rng.integers(config.min_size, config.max_size + 1, config.columns)
    weights = rng.dirichlet(np.full(config.classes, WEIGHT_CONCENTRATION))
    networks = [_draw_network(config, sizes, rng) for _ in range(config.classes)]
    return HiddenTruth(weights, tuple(ExactTruth(network) for network in networks))


def _draw_network(config: HiddenConfig, sizes: np.ndarray, rng: np.random.Generator) -> Network:
    graph, order = Graph(), rng.permutation(config.columns)
    cpts = []
    for place, column in enumerate(order):
        parents = graph.propose(rng, config.pair_probability) if place else ()
        graph.add(parents)
        shape = tuple(int(sizes[order[p]]) for p in parents)
        row = np.full(sizes[column], config.concentration)
        table = rng.dirichlet(row, size=shape or (1,)).reshape(*shape, sizes[column])
        floor = np.finfo(float).tiny
        cpts.append(np.maximum(table, floor) / np.maximum(table, floor).sum(-1, keepdims=True))
    return Network(
        columns=tuple(f"x{column}" for column in order),
        domains=tuple(np.arange(sizes[column]) for column in order),
        parents=tuple(graph.parents),
        cpts=tuple(cpts),
    )


def sample_rows(
    truth: HiddenTruth, n: int, rng: np.random.Generator
) -> tuple[pd.DataFrame, np.ndarray]:
    """Independent rows, and the class that made each."""
    classes = rng.choice(len(truth.weights), size=n, p=truth.weights)
    values = np.zeros((n, len(truth.domains)), dtype=np.int64)
    for k, one in enumerate(truth.classes):
        rows = np.flatnonzero(classes == k)
        drawn = one.network.decode(one.network.sample_codes(len(rows), rng))
        values[rows] = drawn[list(truth.domains)].to_numpy()
    return pd.DataFrame(values, columns=list(truth.domains)), classes


def load_hidden(
    config: HiddenConfig, workload: WorkloadConfig, seed: int, cache_dir: Path
) -> Dataset:
    """The dataset of these parameters; its rows come from the cache where they are there."""
    digest = digest_of(GENERATOR_VERSION, asdict(config), asdict(workload), seed)
    arrays = cached(cache_dir / f"{digest}.npz", lambda: _build(config, workload, seed))
    truth = truth_of(config, seed)
    return assemble(config, seed, digest, arrays, truth, truth.domains)


def truth_of(config: HiddenConfig, seed: int) -> HiddenTruth:
    """The mixture of a dataset: it depends on neither the name nor the row counts."""
    return draw_truth(config, generator("truth", *_axes(config, seed)))


def _axes(config: HiddenConfig, seed: int) -> tuple[str, int]:
    ignored = {"name", "train_rows", "valid_rows", "test_rows"}
    return digest_of({k: v for k, v in asdict(config).items() if k not in ignored}), seed


def _build(config: HiddenConfig, workload: WorkloadConfig, seed: int) -> Arrays:
    truth, axes = truth_of(config, seed), _axes(config, seed)
    arrays: Arrays = {}
    for split, n in zip(
        SPLITS, (config.train_rows, config.valid_rows, config.test_rows), strict=True
    ):
        rows, classes = sample_rows(truth, n, generator(split, *axes))
        arrays |= {split: rows.to_numpy().astype(np.uint8), f"{split}_class": classes}
    fresh, _ = sample_rows(truth, workload.queries, generator("workload", *axes))
    return arrays | pack_queries(draw_workload(fresh, workload, generator("queries", *axes)))
