r"""Family `dense`: random tables on random structures of a given treewidth; it favours nobody.

.. math:: \Pr(x) = \prod_j \Pr(x_j \mid x_{\pi(j)}), \quad
          \Pr(\cdot \mid x_{\pi(j)}) \sim \mathrm{Dirichlet}(c, \dots, c)

The values have no order and no arithmetic, and every cell is positive. The moral graph is part of
a random k-tree: the first k + 1 columns are a clique, and every further column hangs below a
random part of a clique of k columns that is there. `experiments.datasets.context` has other tables
on the same structures.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from experiments.datasets.assemble import SPLITS, assemble, pack_queries
from experiments.datasets.cache import Arrays, cached
from experiments.datasets.config import check_random_tables, checked_keys
from experiments.datasets.network import Network
from experiments.datasets.seeds import digest_of, generator
from experiments.datasets.truth import ExactTruth
from experiments.measures.workload import WorkloadConfig, draw_workload
from experiments.types import Dataset

FAMILY = "dense"
GENERATOR_VERSION = 1


@dataclass(frozen=True)
class DenseConfig:
    """What a dataset of the family is made from.

    Arguments:
        name: name of the dataset, e.g. `dense_4`.
        treewidth: of the moral graph; also the largest number of parents.
        concentration: of the Dirichlet distribution of a table's rows.
        family: always `dense`.
        columns: number of columns.
        min_size, max_size: bounds of the domain sizes.
        train_rows, valid_rows, test_rows: rows of the three splits.
    """

    name: str
    treewidth: int
    concentration: float
    family: str = FAMILY
    columns: int = 20
    min_size: int = 2
    max_size: int = 5
    train_rows: int = 100_000
    valid_rows: int = 10_000
    test_rows: int = 10_000

    def __post_init__(self) -> None:
        check_random_tables(self, "treewidth", self.treewidth + 1)

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> Self:
        """Reads a plain mapping or a Hydra node; an unknown or missing key is an error."""
        return cls(**checked_keys(cls, values))

    def draw_table(self, shape: Sequence[int], rng: np.random.Generator) -> np.ndarray:
        """A table Pr(last axis | others) whose rows are draws of a Dirichlet distribution."""
        return self.draw_rows(tuple(shape[:-1]), shape[-1], rng)

    def draw_rows(self, rows: tuple[int, ...], size: int, rng: np.random.Generator) -> np.ndarray:
        """Distributions of `size` values without a zero, drawn from the Dirichlet distribution."""
        drawn = rng.dirichlet(np.full(size, self.concentration), size=rows)
        drawn = np.maximum(drawn, np.finfo(float).tiny)
        return np.asarray(drawn / drawn.sum(axis=-1, keepdims=True))


def draw_network(config: DenseConfig, rng: np.random.Generator) -> Network:
    """Random domain sizes, structure and tables."""
    sizes = rng.integers(config.min_size, config.max_size + 1, config.columns)
    parents = draw_parents(config.columns, config.treewidth, rng)
    cpts = [config.draw_table([int(sizes[p]) for p in (*above, j)], rng) for j, above in parents]
    return Network(
        columns=tuple(f"x{j}" for j in range(config.columns)),
        domains=tuple(np.arange(size) for size in sizes),
        parents=tuple(above for _, above in parents),
        cpts=tuple(cpts),
    )


def draw_parents(
    columns: int, treewidth: int, rng: np.random.Generator
) -> list[tuple[int, tuple[int, ...]]]:
    """Each column with its parents: one to `treewidth` members of a clique of the k-tree."""
    parents: list[tuple[int, tuple[int, ...]]] = []
    cliques = [tuple(range(treewidth))]
    for j in range(columns):
        if j <= treewidth:
            above = tuple(range(j))
        else:
            clique = cliques[int(rng.integers(len(cliques)))]
            count = int(rng.integers(1, treewidth + 1))
            above = tuple(sorted(int(p) for p in rng.choice(clique, count, replace=False)))
            cliques += [(*(q for q in clique if q != left), j) for left in clique]
        if j == treewidth:
            cliques += [tuple(q for q in range(j + 1) if q != left) for left in range(j)]
        parents.append((j, above))
    return parents


def load_dense(
    config: DenseConfig, workload: WorkloadConfig, seed: int, cache_dir: Path
) -> Dataset:
    """The dataset of these parameters; its rows come from the cache where they are there."""
    digest = digest_of(GENERATOR_VERSION, asdict(config), asdict(workload), seed)
    network = draw_network(config, generator("truth", *_axes(config, seed)))
    arrays = cached(
        cache_dir / f"{digest}.npz", lambda: _build(network, config, workload, _axes(config, seed))
    )
    domains = dict(zip(network.columns, network.domains, strict=True))
    return assemble(config, seed, digest, arrays, ExactTruth(network), domains)


def _axes(config: DenseConfig, seed: int) -> tuple[str, int]:
    """What the random streams depend on: neither the name nor the row counts."""
    ignored = {"name", "train_rows", "valid_rows", "test_rows"}
    return digest_of({k: v for k, v in asdict(config).items() if k not in ignored}), seed


def _build(
    network: Network, config: DenseConfig, workload: WorkloadConfig, axes: tuple[str, int]
) -> Arrays:
    counts = (config.train_rows, config.valid_rows, config.test_rows)
    arrays = {
        split: network.sample_codes(n, generator(split, *axes))
        for split, n in zip(SPLITS, counts, strict=True)
    }
    fresh = network.decode(network.sample_codes(workload.queries, generator("workload", *axes)))
    return arrays | pack_queries(draw_workload(fresh, workload, generator("queries", *axes)))
