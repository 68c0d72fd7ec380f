"""Generated datasets: network, rows, workload and truth from (parameters, seed), cached."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from experiments.datasets.cache import Arrays, cached
from experiments.datasets.config import GeneratorConfig
from experiments.datasets.level import reach_level
from experiments.datasets.network import Network
from experiments.datasets.population import CountedQuery, CountedTruth, count_population
from experiments.datasets.seeds import digest_of, generator
from experiments.datasets.truth import ExactTruth
from experiments.measures.workload import WorkloadConfig, draw_workload
from experiments.types import Dataset, EvidenceQuery, Truth, Workload

GENERATOR_VERSION = 1


def load_generated(
    config: GeneratorConfig, workload: WorkloadConfig, seed: int, cache_dir: Path
) -> Dataset:
    """The dataset of these parameters, from the cache where it is there."""
    digest = digest_of(GENERATOR_VERSION, asdict(config), asdict(workload), seed)
    arrays = cached(cache_dir / f"{digest}.npz", lambda: _build(config, workload, seed))
    return _unpack(arrays, config, seed, digest)


def _build(config: GeneratorConfig, workload: WorkloadConfig, seed: int) -> Arrays:
    """Draws everything; each part has a random stream of its own."""
    level = reach_level(config, seed)
    network, axes = level.network, (config.network_digest, seed)
    splits = {"train": config.train_rows, "valid": config.valid_rows, "test": config.test_rows}
    arrays = {k: network.sample_codes(n, generator(k, *axes)) for k, n in splits.items()}
    # A counted truth needs evidence that occurs: its queries come from rows of the population.
    stream = "population" if config.population_rows else "workload"
    n_fresh = max(config.population_rows, workload.queries)
    fresh = next(network.stream_codes(n_fresh, generator(stream, *axes)))[: workload.queries]
    queries = draw_workload(network.decode(fresh), workload, generator("queries", *axes))
    if config.population_rows:
        truth = count_population(network, queries, config.population_rows, generator(stream, *axes))
        arrays |= _pack_answers(truth, queries)
    about = {
        "measured_rdc": level.measured_rdc,
        "noise": level.noise,
        "columns": network.columns,
        "parents": network.parents,
        "queries": [asdict(query) for query in queries.queries],
    }
    return arrays | _pack_tables(network) | {"about": np.array(json.dumps(about))}


def _pack_tables(network: Network) -> Arrays:
    cpts = {f"cpt_{j}": cpt for j, cpt in enumerate(network.cpts)}
    return cpts | {f"domain_{j}": domain for j, domain in enumerate(network.domains)}


def _pack_answers(truth: CountedTruth, workload: Workload) -> Arrays:
    arrays: Arrays = {}
    for i, query in enumerate(workload.queries):
        answer = truth.answers[query.key]
        arrays |= {f"answer_codes_{i}": answer.codes, f"answer_counts_{i}": answer.counts}
    return arrays


def _unpack(arrays: Arrays, config: GeneratorConfig, seed: int, digest: str) -> Dataset:
    about = json.loads(str(arrays["about"]))
    network = _unpack_network(arrays, about)
    workload = Workload(
        tuple(
            EvidenceQuery(tuple(q["query"]), q["evidence"], q["target"]) for q in about["queries"]
        )
    )
    return Dataset(
        name=config.name,
        family=config.family,
        target_rdc=config.target_rdc,
        measured_rdc=about["measured_rdc"],
        seed=seed,
        train=network.decode(arrays["train"]),
        valid=network.decode(arrays["valid"]),
        test=network.decode(arrays["test"]),
        domains=dict(zip(network.columns, network.domains, strict=True)),
        truth=_unpack_truth(arrays, network, workload, config),
        workload=workload,
        digest=digest,
    )


def _unpack_network(arrays: Arrays, about: dict[str, Any]) -> Network:
    columns = range(len(about["columns"]))
    return Network(
        columns=tuple(about["columns"]),
        domains=tuple(arrays[f"domain_{j}"] for j in columns),
        parents=tuple(tuple(p) for p in about["parents"]),
        cpts=tuple(arrays[f"cpt_{j}"] for j in columns),
    )


def _unpack_truth(
    arrays: Arrays, network: Network, workload: Workload, config: GeneratorConfig
) -> Truth:
    if not config.population_rows:
        return ExactTruth(network)
    counted = {
        query.key: CountedQuery(arrays[f"answer_codes_{i}"], arrays[f"answer_counts_{i}"])
        for i, query in enumerate(workload.queries)
    }
    return CountedTruth(network, counted)
