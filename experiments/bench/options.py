"""What a run of the benchmark measures."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from experiments.bench.clock import Rounds

DATASETS = ("rdc_07", "rdc_21", "rdc_37", "rdc_65", "rdc_83", "rdc_95")
TABLES = ("flights", "diamonds", "stops", "health")
NETWORKS = ("child", "alarm", "insurance", "hailfinder", "andes")
SECTIONS = (
    "start",
    "tables",
    "queries",
    "domains",
    "completions",
    "threads",
    "wide",
    "training",
    "limit",
    "columns",
    "rows",
    "stock",
    "nodes",
)
"""In the order in which they are measured: what has a target comes first."""
ROW_COUNTS = tuple(10_000_000 >> k for k in range(10, -1, -1))
"""The whole curve over rows; each twice the one before."""
FEW_ROWS = 1_250_000
"""Where it ends unless the command line says otherwise."""


@dataclass(frozen=True)
class Options:
    """The size of everything.

    Arguments:
        datasets: The datasets of queries, training and limit.
        rows: Their training rows.
        seed: Seed of data, queries and learners.
        single: Queries that are asked one by one.
        slow: The same of pomegranate, and of others that take too long.
        batch: Queries in one call.
        queries: Rounds of the query timings.
        training: Rounds of the training timings.
        curves: Rounds of the scaling curves.
        row_curve: Rounds of the curve over rows, where each step is judged.
        scaling_dataset: The dataset of the curves over rows and of the nodes.
        row_counts: The curve over rows, a part of `ROW_COUNTS`.
        column_counts: The curve over columns.
        column_rows: Rows of that curve and of the one over nodes.
        domain_sizes: The curve over domain sizes.
        domain_rows: Rows of that curve.
        node_min_rows: `min_rows` of the learner, which sets the number of nodes.
        tables: Real tables, out of installed packages.
        table_rows: Rows of each, at most.
        table_queries: Counts that are asked for on each.
        networks: Published networks whose most probable completions are asked for.
        wide_columns: Tables of so many columns that all hang together.
        wide_rows: Their rows.
        threads: Threads that share a batch.
        touched: Queries whose memory accesses are counted.
        stock_limit: Seconds after which SPFlow's `learn_mspn` is ended.
        share_machine: Whether to measure beside running studies instead of waiting for them.
        cache_dir: Generated datasets and finished parts.
    """

    datasets: tuple[str, ...] = DATASETS
    rows: int = 100_000
    seed: int = 0
    single: int = 100
    slow: int = 5
    batch: int = 10_000
    queries: Rounds = field(default_factory=Rounds)
    training: Rounds = field(default_factory=lambda: Rounds(2, 1, 2.0))
    curves: Rounds = field(default_factory=lambda: Rounds(3, 1, 4.0))
    row_curve: Rounds = field(default_factory=lambda: Rounds(3, 1, 6.0))
    scaling_dataset: str = "rdc_65"
    row_counts: tuple[int, ...] = tuple(n for n in ROW_COUNTS if n <= FEW_ROWS)
    column_counts: tuple[int, ...] = (5, 10, 20, 40, 80, 160, 200)
    column_rows: int = 20_000
    domain_sizes: tuple[int, ...] = (10, 20, 50, 100, 200, 500, 1000)
    domain_rows: int = 50_000
    node_min_rows: tuple[int, ...] = (10_000, 3_000, 1_000)
    tables: tuple[str, ...] = TABLES
    networks: tuple[str, ...] = NETWORKS
    table_rows: int = 1_000_000
    table_queries: int = 300
    wide_columns: tuple[int, ...] = (40, 100, 200)
    wide_rows: int = 3_000
    threads: int = 2
    touched: int = 50
    stock_limit: float = 10.0
    share_machine: bool = False
    cache_dir: Path = Path("data/cache")


def quick(cache_dir: Path) -> Options:
    """Everything in small: a check of the benchmark, not a measurement."""
    return Options(
        datasets=("rdc_21",),
        rows=2_000,
        single=5,
        slow=2,
        batch=50,
        queries=Rounds(2, 1, 1.0),
        training=Rounds(1, 1, 1.0),
        curves=Rounds(1, 1, 1.0),
        row_curve=Rounds(1, 1, 1.0),
        scaling_dataset="rdc_21",
        row_counts=(500, 1_000, 2_000),
        column_counts=(5, 10, 15),
        column_rows=500,
        domain_sizes=(5, 10, 15),
        domain_rows=500,
        node_min_rows=(500, 200, 100),
        tables=("diamonds",),
        networks=("child",),
        table_rows=1_000,
        table_queries=5,
        wide_columns=(12,),
        wide_rows=300,
        touched=2,
        stock_limit=1.0,
        share_machine=True,
        cache_dir=cache_dir,
    )
