"""The generated datasets: levels, domains, determinism, and the population they stand for."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from experiments.datasets import check, load
from experiments.datasets.config import GeneratorConfig
from experiments.datasets.graph import Graph
from experiments.datasets.level import Level, draw_blueprint, measure_rdc, reach_level
from experiments.datasets.network import CHUNK_ROWS, Network
from experiments.datasets.population import count_population
from experiments.datasets.rdc import RDC_FEATURES, RDC_ROWS, RDC_SCALE, average_rdc, rdc_matrix
from experiments.datasets.truth import ExactTruth
from experiments.types import EvidenceQuery, Workload
from fspn.learn.dependence.rdc import rdc_matrix as oracle_matrix

CONF = Path(__file__).parents[3] / "conf" / "dataset"
LEVELS = ("07", "21", "37", "65", "83", "95")
NAMES = [f"{family}_{level}" for family in ("rdc", "smooth") for level in LEVELS]
SMALL = {
    "name": "small",
    "family": "sparse",
    "target_rdc": 0.9,
    "roots": 1,
    "noise": 0.4,
    "columns": 6,
    "root_size": 6,
    "train_rows": 2_000,
    "valid_rows": 300,
    "test_rows": 200,
}


def settings(name: str) -> dict[str, Any]:
    return yaml.safe_load((CONF / f"{name}.yaml").read_text())


@pytest.fixture(scope="module", params=NAMES)
def level(request: pytest.FixtureRequest) -> tuple[GeneratorConfig, Level]:
    config = GeneratorConfig.from_mapping(settings(request.param))
    return config, reach_level(config, seed=0)


def test_every_level_is_met_on_rows_of_its_own(level: tuple[GeneratorConfig, Level]) -> None:
    config, found = level
    again = [measure_rdc(found.network, np.random.default_rng(s)) for s in range(5)]
    assert abs(found.measured_rdc - config.target_rdc) < 0.01
    assert abs(np.mean(again) - config.target_rdc) < 0.01


def test_every_network_has_the_stated_shape(level: tuple[GeneratorConfig, Level]) -> None:
    config, found = level
    network = found.network
    assert len(network.columns) == 20
    assert all(5 <= size <= 100 for size in network.sizes)
    assert sum(not parents for parents in network.parents) == config.roots
    assert _treewidth_at_most_two(network)
    for j, cpt in enumerate(network.cpts):
        assert cpt.shape == tuple(network.sizes[v] for v in (*network.parents[j], j))
        np.testing.assert_allclose(cpt.sum(axis=-1), 1)
        if config.family == "smooth":
            assert cpt.all()


def test_no_column_copies_another(level: tuple[GeneratorConfig, Level]) -> None:
    codes = level[1].network.sample_codes(2_000, np.random.default_rng(0))
    for i, j in combinations(range(20), 2):
        sizes = [len(np.unique(codes[:, v], axis=0)) for v in ([i, j], [i], [j])]
        assert sizes[0] > min(sizes[1:])


def test_sparse_columns_are_integer_combinations_with_small_noise() -> None:
    config = GeneratorConfig.from_mapping(settings("rdc_65"))
    blueprint: Any = draw_blueprint(config, np.random.default_rng(0))
    table = blueprint.network(0.3).decode(
        blueprint.network(0.3).sample_codes(2_000, np.random.default_rng(1))
    )
    for j, column in enumerate(blueprint.columns):
        if column.parents:
            centre = sum(
                c * table[f"x{p}"] for c, p in zip(column.coefficients, column.parents, strict=True)
            )
            noise = table[f"x{j}"] - centre
            assert noise.between(0, config.noise_width).all()
            assert noise.nunique() > 1


def test_other_seeds_give_other_datasets_of_the_same_level() -> None:
    config = GeneratorConfig.from_mapping(settings("rdc_95"))
    first, second = reach_level(config, seed=1), reach_level(config, seed=2)
    assert first.network.parents != second.network.parents
    assert abs(first.measured_rdc - 0.95) < 0.01
    assert abs(second.measured_rdc - 0.95) < 0.01


def test_a_level_out_of_reach_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.datasets.level.MAX_ATTEMPTS", 3)
    config = GeneratorConfig("x", "sparse", 0.9, roots=10, noise=0.3)
    with pytest.raises(ValueError, match=r"experiments\.calibrate --target 0\.9"):
        reach_level(config, seed=0)


def test_same_parameters_and_seed_give_the_same_dataset(tmp_path: Path) -> None:
    first = load(SMALL, 0, tmp_path / "a")
    second = load(SMALL, 0, tmp_path / "b")
    other = load(SMALL, 1, tmp_path / "a")
    assert first.train.equals(second.train)
    assert first.workload == second.workload
    assert first.digest == second.digest != other.digest
    assert not first.train.equals(other.train)


def test_splits_are_of_the_asked_sizes_and_differ(tmp_path: Path) -> None:
    dataset = load(SMALL, 0, tmp_path)
    assert [len(t) for t in (dataset.train, dataset.valid, dataset.test)] == [2_000, 300, 200]
    assert not dataset.train.head(200).equals(dataset.test)
    for column, domain in dataset.domains.items():
        assert np.isin(dataset.train[column], domain).all()


def test_row_counts_do_not_change_the_distribution(tmp_path: Path) -> None:
    small, large = load(SMALL, 0, tmp_path), load(SMALL | {"train_rows": 3_000}, 0, tmp_path)
    assert isinstance(small.truth, ExactTruth)
    assert isinstance(large.truth, ExactTruth)
    for a, b in zip(small.truth.network.cpts, large.truth.network.cpts, strict=True):
        np.testing.assert_array_equal(a, b)
    assert small.workload == large.workload


def test_streamed_rows_equal_rows_at_once() -> None:
    network = draw_blueprint(GeneratorConfig(**SMALL), np.random.default_rng(0)).network(0.3)
    rows = CHUNK_ROWS + 10
    whole = network.sample_codes(rows, np.random.default_rng(2))
    chunks = list(network.stream_codes(rows, np.random.default_rng(2)))
    assert [len(c) for c in chunks] == [CHUNK_ROWS, 10]
    np.testing.assert_array_equal(np.concatenate(chunks), whole)


def test_counted_truth_approaches_the_exact_one() -> None:
    network = draw_blueprint(GeneratorConfig(**SMALL), np.random.default_rng(0)).network(0.3)
    row = network.decode(network.sample_codes(1, np.random.default_rng(3))).iloc[0]
    query = EvidenceQuery(("x1", "x4"), {"x0": int(row["x0"])}, {})
    counted = count_population(network, Workload((query,)), 400_000, np.random.default_rng(4))
    exact = ExactTruth(network).conditional_table(query.query, query.evidence)
    table = counted.conditional_table(query.query, query.evidence)
    matches = counted.answers[query.key].counts.sum()
    assert matches > 40_000
    assert np.abs(table - exact).max() < 5 * np.sqrt(0.25 / matches)
    support = counted.support(query.query, query.evidence, limit=1_000)
    assert support is not None
    assert support.probability.sum() == pytest.approx(1)
    with pytest.raises(ValueError, match="was not counted"):
        counted.conditional_table(["x2"], {})


def test_population_rows_keep_the_counts_in_the_cache(tmp_path: Path) -> None:
    config = SMALL | {"population_rows": 150_000}
    workload = {"queries": 5, "query_size": [1, 2], "evidence_size": [1, 2]}
    built, cached = (load(config, 0, tmp_path, workload) for _ in range(2))
    assert built.truth is not None
    assert cached.truth is not None
    assert built.workload is not None
    exact = load(SMALL, 0, tmp_path, workload).truth
    assert exact is not None
    for query in built.workload.queries:
        first = built.truth.conditional_table(query.query, query.evidence)
        again = cached.truth.conditional_table(query.query, query.evidence)
        np.testing.assert_array_equal(first, again)
        wanted = exact.conditional_table(query.query, query.evidence)
        assert 0.5 * np.abs(first - wanted).sum() < 0.1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"train_rows": -1}, "dataset.train_rows is -1"),
        ({"train_rows": "many"}, "dataset.train_rows is 'many'"),
        ({"roots": 7}, "dataset.roots is 7"),
        ({"noise": 1.5}, "dataset.noise is 1.5"),
        ({"family": "odd"}, "dataset.family is 'odd'"),
        ({"trainrows": 5}, "dataset.trainrows is no known key"),
        ({"roots": None}, "dataset.roots is missing"),
    ],
)
def test_wrong_settings_name_the_key(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        check(SMALL | change)


def test_rdc_finds_dependence_that_correlation_misses() -> None:
    rng = np.random.default_rng(0)
    x = rng.integers(0, 21, RDC_ROWS)
    columns = [x, (x - 10) ** 2 // 4, rng.integers(0, 21, RDC_ROWS)]
    sizes = [21, 26, 21]
    matrix = rdc_matrix(columns, sizes)
    assert abs(np.corrcoef(columns[0], columns[1])[0, 1]) < 0.1
    assert matrix[0, 1] > 0.95
    assert matrix[0, 2] < 0.15


def test_rdc_equals_canonical_correlation_of_the_rows() -> None:
    """The same features row by row, and correlations by QR instead of contingency tables."""
    rng = np.random.default_rng(1)
    x = rng.integers(0, 8, 500)
    y = (x + rng.integers(0, 4, 500)) // 2
    value = rdc_matrix([x, y], [8, 6], k=3, s=RDC_SCALE, seed=5)[0, 1]
    weights = np.random.default_rng(5)
    blocks = []
    for column in (x, y):
        ranks = np.searchsorted(np.sort(column), column, side="right") / len(column)
        w = weights.normal(0, RDC_SCALE, (2, 3))
        features = np.sin(np.outer(ranks, w[0]) + w[1])
        blocks.append(np.linalg.qr(features - features.mean(axis=0))[0])
    expected = np.linalg.svd(blocks[0].T @ blocks[1], compute_uv=False)[0]
    assert value == pytest.approx(expected, abs=1e-6)


def test_rdc_agrees_with_the_library_oracle() -> None:
    """Other random features of the same kind: the library halves the scale of a pair (rank, 1)."""
    config = GeneratorConfig.from_mapping(settings("rdc_95"))
    network = draw_blueprint(config, np.random.default_rng(0)).network(0.25)
    codes = list(network.sample_codes(RDC_ROWS, np.random.default_rng(0)).T.astype(np.int64))
    ours = rdc_matrix(codes, network.sizes)
    library = oracle_matrix(codes, network.sizes, k=RDC_FEATURES, s=2 * RDC_SCALE)
    assert np.abs(ours - library).max() < 0.01


def test_floor_of_the_measure_is_the_lowest_level() -> None:
    rng = np.random.default_rng(2)
    sizes = [round(5 * 20**u) for u in rng.random(20)]
    codes = [rng.integers(0, n, RDC_ROWS) for n in sizes]
    assert RDC_FEATURES == 20
    assert average_rdc(codes, sizes) == pytest.approx(0.07, abs=0.01)


def test_graph_joins_only_what_keeps_the_treewidth() -> None:
    graph = Graph()
    for parents in ((), (0,), (1,), ()):
        graph.add(parents)
    rng = np.random.default_rng(0)
    pairs = {p for p in (graph.propose(rng, 1.0) for _ in range(300)) if len(p) == 2}
    assert pairs == {(0, 1), (1, 2), (0, 3), (1, 3), (2, 3)}


def test_noise_moves_the_level_down() -> None:
    config = replace(GeneratorConfig.from_mapping(settings("rdc_95")), noise=0.3)
    blueprint = draw_blueprint(config, np.random.default_rng(0))
    levels = [measure_rdc(blueprint.network(x), np.random.default_rng(0)) for x in (0.1, 0.3, 0.8)]
    assert levels[0] > levels[1] > levels[2]


def _treewidth_at_most_two(network: Network) -> bool:
    """A graph has treewidth <= 2 if columns of at most two neighbours can be taken off in turn."""
    near: dict[int, set[int]] = {j: set() for j in range(len(network.columns))}
    for j, parents in enumerate(network.parents):
        for a, b in combinations((*parents, j), 2):
            near[a].add(b)
            near[b].add(a)
    while near:
        easy = next((j for j, around in near.items() if len(around) <= 2), None)
        if easy is None:
            return False
        around = near.pop(easy)
        for a in around:
            near[a] = (near[a] | around) - {a, easy}
    return True
