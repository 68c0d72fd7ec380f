"""SPFlow's structure learner with the fast RDC plugged in. Imports SPFlow without its pool."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable
from functools import cache, partial
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np
from threadpoolctl import threadpool_limits

from baselines.spflow.rdc import rdc_matrix


class _SerialPool:
    """Stands in for the process pool that SPFlow opens at import and never closes."""

    def __init__(self, processes: int | None = None) -> None: ...

    def starmap(self, function: Callable[..., Any], arguments: Iterable[tuple]) -> list[Any]:
        return [function(*a) for a in arguments]


@cache
def structure_learning() -> ModuleType:
    """SPFlow's `StructureLearning`, imported with a serial pool."""
    with mock.patch.object(multiprocessing, "Pool", _SerialPool):
        from spn.algorithms import StructureLearning
    return StructureLearning


def context(cards: np.ndarray) -> Any:
    """SPFlow's description of discrete columns with codes 0 ... d - 1."""
    structure_learning()
    from spn.structure.Base import Context
    from spn.structure.StatisticalTypes import MetaType

    domains = np.empty(len(cards), dtype=object)
    domains[:] = [np.arange(int(d), dtype=float) for d in cards]
    return Context(meta_types=[MetaType.DISCRETE] * len(cards), domains=domains)


def split_columns(threshold: float, random: np.random.RandomState) -> Callable[..., list]:
    """Drop-in for SPFlow's `get_split_cols_RDC_py`: the same groups, from the fast RDC."""
    from spn.algorithms.splitting.Base import clusters_by_adjacency_matrix, split_data_by_clusters

    def split(data: np.ndarray, ds_context: Any, scope: list[int]) -> list:
        cards = np.array([len(d) for d in ds_context.get_domains_by_scope(scope)])
        matrix = rdc_matrix(data, cards, random)
        groups = clusters_by_adjacency_matrix(matrix, threshold, data.shape[1])
        result: list = split_data_by_clusters(data, groups, scope, rows=False)
        return result

    return split


def learn(
    codes: np.ndarray,
    cards: np.ndarray,
    threshold: float,
    min_rows: int,
    alpha: float,
    cluster_first: bool,
    seed: int,
) -> Any:
    """The root that SPFlow's `learn_structure` finds for a table of codes.

    Row clusters are SPFlow's (k-means on the values). SPFlow forgets `alpha` in the leaves of a
    naive factorisation; bound into the leaf function, it holds in all leaves.
    """
    learner = structure_learning()
    from spn.algorithms.splitting.Clustering import get_split_rows_KMeans
    from spn.structure.leaves.histogram.Histograms import create_histogram_leaf

    next_operation = partial(learner.get_next_operation(min_rows), cluster_first=cluster_first)
    # Slices are small: threads that wait for each other cost more than they save.
    with threadpool_limits(limits=1):
        return learner.learn_structure(
            codes.astype(np.float64),
            context(cards),
            get_split_rows_KMeans(n_clusters=2),
            split_columns(threshold, np.random.RandomState(seed)),
            partial(create_histogram_leaf, alpha=alpha),
            next_operation,
        )
