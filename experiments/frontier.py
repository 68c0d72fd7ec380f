"""Accuracy against latency on four real tables: `python -m experiments.frontier`.

With `--record` the points and the figure go to `results/`, else to `outputs/`, which git ignores.

FSPN at several values of `max_query_cost`, as one network and with as many components as pay,
beside pyAgrum's hill-climbed networks and MSPN. Every column is cut to a few cells, which are all
that the models see; a question is a box over some of the columns, asked one by one.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from baselines.base import DensityModel
from baselines.bayes_net.bn_dag import BNDag
from baselines.ours.fspn_laws import FSPNLaws
from baselines.spflow.mspn import MSPN
from experiments.bench.clock import seconds_of
from experiments.datasets.seeds import generator
from experiments.datasets.table_sources import read_source
from experiments.measures.divergence import log_likelihood
from experiments.measures.timing import one_thread
from experiments.report.figures.style import look, paper_style, save

TABLES = ("flights", "diamonds", "stops", "wages")
BUDGETS = (1_000, 4_000, 16_000, 64_000, 256_000, 1_000_000)
CELLS = 32
QUESTIONS, ROUNDS = 100, 5
TEST_ROWS = 5_000
RECORDED = (Path("results/figures"), Path("results/tables"))
"""Where recorded figures and tables are."""
LABELS = {
    "fspn_one": ("FSPN, one network", "spgm"),
    "fspn": ("FSPN, components by held-out rows", "fspn"),
    "bn_dag": ("pyAgrum, hill-climbing", "bn_dag"),
    "mspn": ("MSPN", "mspn"),
}


@dataclass(frozen=True)
class Point:
    """A model on a table: its setting, test log-likelihood, median and 95% latency in ms."""

    table: str
    model: str
    setting: str
    likelihood: float
    median_ms: float
    p95_ms: float

    def __str__(self) -> str:
        label = LABELS[self.model][0]
        times = f"{self.median_ms:.3f} / {self.p95_ms:.3f}"
        return f"| {self.table} | {label} | {self.setting} | {self.likelihood:.2f} | {times} |"


HEAD = "| table | model | setting | test log-likelihood | ms, median / 95% |"


@dataclass(frozen=True)
class Rows:
    """A table in cells: rows to learn from, rows to judge by, and boxes to ask for."""

    name: str
    train: pd.DataFrame
    test: pd.DataFrame
    domains: dict[str, np.ndarray]
    boxes: tuple[np.ndarray, np.ndarray]


def read_rows(
    name: str, n_train: int, seed: int, without: Sequence[str] = (), complete: bool = False
) -> Rows:
    """Rows of a table, every column in cells, and random boxes over two to five columns.

    Arguments:
        name: The table.
        n_train: At most so many rows to learn from.
        seed: Of the choice of rows and of the boxes.
        without: Columns to leave out.
        complete: Whether rows with missing values are left out.
    """
    rng = generator("frontier", name, seed)
    table = read_source(name).drop(columns=list(without))
    table = table.dropna() if complete else table
    chosen = rng.permutation(len(table))[: n_train + TEST_ROWS]
    coded = pd.DataFrame({str(c): in_cells(table[c].iloc[chosen], CELLS) for c in table})
    coded = coded.loc[:, coded.nunique() > 1]
    domains = {str(c): np.unique(coded[c]) for c in coded}
    n_test = min(TEST_ROWS, len(coded) // 5)
    return Rows(name, coded[n_test:], coded[:n_test], domains, draw_boxes(coded[:n_test], rng))


def in_cells(column: pd.Series, n_cells: int) -> np.ndarray:
    """Codes: runs of about equal frequency for numbers, the most frequent values of others."""
    known = column.notna().to_numpy()
    codes = np.zeros(len(column), dtype=np.int64)
    if pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column):
        values = column[known].to_numpy(dtype=np.float64)
        cuts = np.unique(np.quantile(values, np.linspace(0, 1, n_cells)[1:-1]))
        codes[known] = 1 + np.searchsorted(cuts, values)
    else:
        order = column.astype(str).value_counts().index[: n_cells - 1]
        places = pd.Index(order).get_indexer(column.astype(str))
        codes[known] = 1 + np.where(places < 0, len(order), places)[known]
    return np.unique(codes, return_inverse=True)[1]


def draw_boxes(rows: pd.DataFrame, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Boxes around the cells of random rows, NaN where a column is free."""
    cells, m = rows.to_numpy(dtype=np.float64), rows.shape[1]
    lower, upper = np.full((2, QUESTIONS, m), np.nan)
    for i, row in enumerate(rng.choice(len(rows), QUESTIONS)):
        for j in rng.choice(m, min(m, int(rng.integers(2, 6))), replace=False):
            lower[i, j] = cells[row, j] - rng.integers(0, 8)
            upper[i, j] = cells[row, j] + rng.integers(0, 8)
    return lower, upper


def points(rows: Rows, budgets: Sequence[int], seed: int, rivals: bool = True) -> Iterator[Point]:
    """FSPN at some budgets and at the default bound on the width, and the other models."""
    for name, n_components in (("fspn_one", 1), ("fspn", None)):
        model = FSPNLaws(n_components=n_components, max_parents=None)
        yield measured(rows, name, "default", model, seed)
    n_cells = sum(len(domain) for domain in rows.domains.values())
    for budget in (budget for budget in budgets if budget >= n_cells):
        for name, n_components in (("fspn_one", 1), ("fspn", None)):
            model = FSPNLaws(n_components=n_components)
            model.settings["max_query_cost"] = budget
            yield measured(rows, name, f"max_query_cost {budget:,}", model, seed)
    if not rivals:
        return
    for most in (1, 2, 3):
        network = BNDag(alpha=0.1, prior="backoff", score="BIC", max_parents=most)
        yield measured(rows, "bn_dag", f"{most} parents", network, seed)
    for least in (len(rows.train) // 10, len(rows.train) // 40):
        mspn = MSPN(threshold=0.3, min_rows=least, alpha=0.1)
        yield measured(rows, "mspn", f"min_rows {least:,}", mspn, seed)


def measured(rows: Rows, name: str, setting: str, model: DensityModel, seed: int) -> Point:
    """Fits, scores and times one model; a question's time is its median round.

    Questions are coded beforehand: that takes the same time for all models, and more than FSPN.
    """
    with one_thread():
        model.fit(rows.train, rows.domains, seed)
        first, last = model.encoder.box(*rows.boxes)
        model._boxes(first[:1], last[:1])
        seconds = np.array(
            [
                [
                    seconds_of(lambda i=i: model._boxes(first[i : i + 1], last[i : i + 1]))  # type: ignore[misc]
                    for i in range(QUESTIONS)
                ]
                for _ in range(ROUNDS)
            ]
        )
    typical = np.median(seconds, axis=0) * 1e3
    quantiles = np.percentile(typical, [50, 95]).tolist()
    likelihood = log_likelihood(model, rows.test).mean
    return Point(rows.name, name, setting, likelihood, *quantiles)


def write(found: Sequence[Point], folder: Path) -> None:
    """The points as a table of comma-separated values."""
    folder.mkdir(parents=True, exist_ok=True)
    pd.DataFrame([asdict(point) for point in found]).to_csv(folder / "frontier.csv", index=False)


def pareto(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points, by latency, that are more likely than every faster one.

    >>> pareto([(1.0, -9.0), (2.0, -9.5), (3.0, -5.0)])
    [(1.0, -9.0), (3.0, -5.0)]
    """
    front: list[tuple[float, float]] = []
    for latency, likelihood in sorted(points, key=lambda point: (point[0], -point[1])):
        if not front or likelihood > front[-1][1]:
            front.append((latency, likelihood))
    return front


def draw(found: Sequence[Point], folder: Path) -> str:
    """One panel per table: log-likelihood over median latency, a line along each Pareto front."""
    from matplotlib import pyplot as plt

    tables = list(dict.fromkeys(point.table for point in found))
    with paper_style():
        figure, axes = plt.subplots(1, len(tables), figsize=(3.0 * len(tables), 2.8), squeeze=False)
        for panel, table in zip(axes[0], tables, strict=True):
            for model, (label, looks) in LABELS.items():
                own = sorted(
                    (point.median_ms, point.likelihood)
                    for point in found
                    if point.table == table and point.model == model
                )
                style = look(looks)
                panel.plot(*zip(*own, strict=True), color=style.color, marker=style.marker,
                           markerfacecolor="none", linestyle="", label=label)  # fmt: skip
                panel.plot(*zip(*pareto(own), strict=True), color=style.color, linewidth=1.2,
                           drawstyle="steps-post")  # fmt: skip
            panel.set_xscale("log")
            panel.set_title(table)
            panel.set_xlabel("median query (ms)")
        axes[0][0].set_ylabel("test log-likelihood per row")
        figure.legend(*axes[0][0].get_legend_handles_labels(), loc="lower center", ncols=4)
        figure.tight_layout(rect=(0, 0.09, 1, 1))
        return save(figure, folder, "frontier")


def read_options(given: Sequence[str] | None = None) -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m experiments.frontier")
    parser.add_argument("tables", nargs="*", default=list(TABLES))
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--budgets", type=int, nargs="*", default=list(BUDGETS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--without", nargs="*", default=[], help="columns to leave out")
    parser.add_argument("--complete", action="store_true", help="no rows with missing values")
    parser.add_argument("--no-rivals", action="store_true", help="FSPN alone")
    parser.add_argument("--out", type=Path, default=Path("outputs/frontier"))
    parser.add_argument("--record", action="store_true", help="write to results/figures and tables")
    return parser.parse_args(given)


def main(arguments: Sequence[str] | None = None) -> None:
    """The table of points, and the figure."""
    options = read_options(arguments)
    print(HEAD)
    print("|" + "---|" * HEAD.count("|", 1))
    found = []
    for name in options.tables:
        rows = read_rows(name, options.rows, options.seed, options.without, options.complete)
        for point in points(rows, options.budgets, options.seed, not options.no_rivals):
            print(point, flush=True)
            found.append(point)
    figures, tables = RECORDED if options.record else (options.out, options.out)
    write(found, tables)
    draw(found, figures)


if __name__ == "__main__":
    main()
