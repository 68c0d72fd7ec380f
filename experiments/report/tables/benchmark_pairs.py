"""Table 1's differences between our own columns, with intervals over test rows and fits."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.report.paper import TABLE1_NAMES
from experiments.report.tables.loglik import benchmark_name, short
from experiments.report.tables.pairs import Pair
from experiments.report.tables.writing import Cell, Table, text


def benchmark_pairs_table(pairs: Sequence[Pair], models: Sequence[str]) -> Table:
    """Each model minus our FSPN, nats per test row."""
    found = {(benchmark_name(pair.dataset), pair.model): pair for pair in pairs}
    columns = [m for m in models if any(model == m for _, model in found)]
    names = [n for n in TABLE1_NAMES.values() if any(name == n for name, _ in found)]
    lines = tuple((text(n), *(_cell(found.get((n, m))) for m in columns)) for n in names)
    fits = max((pair.seeds_against for pair in pairs), default=1)
    return Table(
        "table1_pairs",
        "Table 1: our columns against our FSPN",
        "Mean difference of the log-likelihood of the same test rows, nats per row, with its 95% "
        f"interval over rows and fits ({fits} fits of FSPN at most); above 0: better than FSPN.",
        ("dataset", *map(short, columns)),
        lines,
    )


def _cell(pair: Pair | None) -> Cell:
    if pair is None:
        return text("")
    if pair.low != pair.low:
        return text(f"{pair.difference:+.2f}")
    return text(f"{pair.difference:+.2f} [{pair.low:+.2f}, {pair.high:+.2f}]")
