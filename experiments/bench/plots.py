"""The curves as pictures, in the style of the report."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.bench.curves import exponent
from experiments.bench.results import Found, Results, learner_of, time_of
from experiments.report.figures.style import Look, look, paper_style, save

GREY = "#8a8a8a"
ENGINES = {
    "fspn": ("FSPN", look("fspn")),
    "bn_tree": ("pyAgrum, BN-Tree", look("bn_tree")),
    "bn_dag": ("pyAgrum, BN-DAG", look("bn_dag")),
    "mspn": ("MSPN, array leaves", look("mspn")),
    "mspn_own": ("MSPN, SPFlow's own", look("mspn_stock")),
    "loopy_tree": ("pomegranate, BN-Tree", Look("#0072b2", "v")),
    "loopy_dag": ("pomegranate, BN-DAG", Look("#56b4e9", "P")),
}
LEARNERS = {
    "fspn": ("FSPN", look("fspn")),
    "bn_tree": ("Chow-Liu", look("bn_tree")),
    "agrum_search": ("pyAgrum hill-climbing", look("bn_dag")),
    "mspn": ("MSPN, fast RDC", look("mspn")),
}
PANELS = {"rows": "Rows", "columns": "Columns", "domains": "Values per column"}


def draw_all(results: Results, folder: Path) -> list[str]:
    """Every picture that the results have the numbers for; returns their names."""
    drawings = {
        "queries": (results.queries, _queries),
        "training": (results.training, _training),
        "limit": (results.limit, _limit),
        "scaling": (results.curve("rows"), _scaling),
    }
    drawn = []
    with paper_style():
        for name, (needed, draw) in drawings.items():
            if needed:
                save(draw(results), folder, name)
                drawn.append(name)
    return drawn


def _queries(results: Results) -> Any:
    figure, axis = _figure(5.2, 3.4)
    names = [part["dataset"] for part in results.queries]
    for engine, (label, style) in ENGINES.items():
        found = [time_of(part, engine) for part in results.queries]
        _line(axis, names, [f["microseconds"] if f else None for f in found], style, label)
    batch = [time_of(part, "fspn", batched=True) for part in results.queries]
    spreads = [f["microseconds"] if f else None for f in batch]
    _line(axis, names, spreads, look("fspn_paper"), "FSPN, batch of 10,000", "--")
    return _finish(figure, axis, "Time of one query (µs)")


def _training(results: Results) -> Any:
    figure, axis = _figure(5.2, 3.0)
    names = [part["dataset"] for part in results.training]
    for learner, (label, style) in LEARNERS.items():
        found = [learner_of(part, learner) for part in results.training]
        _line(axis, names, [f["seconds"] if f else None for f in found], style, label)
    stock = {p["dataset"]: p["seconds"] for p in results.stock}
    if stock:
        style = look("mspn_stock")
        axis.plot(
            list(stock), list(stock.values()), linestyle=":", color=style.color,
            marker=style.marker, label="SPFlow's stock learner (at least)",
        )  # fmt: skip
    return _finish(figure, axis, "Training (s)")


def _limit(results: Results) -> Any:
    figure, axis = _figure(5.2, 3.0)
    names = [part["dataset"] for part in results.limit]
    series = {
        "batch_us": ("FSPN, batched", look("fspn"), "-"),
        "replay_us": ("the same reads of the model, nothing else", look("bn_dag"), "--"),
        "lines_us": ("as many cache lines in a row", Look(GREY, "D"), "--"),
        "read_us": ("as many bytes in a row: the limit", Look(GREY, "s"), ":"),
    }
    for key, (label, style, line) in series.items():
        _line(axis, names, [part[key] for part in results.limit], style, label, line)
    return _finish(figure, axis, "Time per query (µs)")


def _scaling(results: Results) -> Any:
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, 4, figsize=(10.6, 4.8), layout="constrained")
    for j, (name, label) in enumerate(PANELS.items()):
        points = results.curve(name)
        for axis, key, words in ((axes[0, j], "train_seconds", "Training (s)"),
                                 (axes[1, j], "query_us", "Query, batched (µs)")):  # fmt: skip
            _power(axis, points, key, look("fspn"), "FSPN")
            _label(axis, label, words)
    _memory(axes[0, 3], results)
    _nodes(axes[1, 3], results)
    return figure


def _memory(axis: Any, results: Results) -> None:
    points = results.curve("rows")
    x = [p["x"] for p in points]
    for key, words, color in (("peak_bytes", "peak of training", look("fspn").color),
                              ("data_bytes", "the data", GREY)):  # fmt: skip
        axis.plot(x, [max(p[key], 1) / 1e6 for p in points], "o-", color=color, label=words)
    bound = [3 * p["data_bytes"] / 1e6 for p in points]
    axis.plot(x, bound, linestyle=":", color=GREY, label="three times the data")
    axis.set_xscale("log")
    axis.set_yscale("log")
    _label(axis, "Rows", "Memory (MB)")


def _label(axis: Any, x: str, y: str) -> None:
    from matplotlib.ticker import NullFormatter

    axis.set_xlabel(x)
    axis.set_ylabel(y)
    for side in (axis.xaxis, axis.yaxis):
        side.set_minor_formatter(NullFormatter())
        low, high = side.get_view_interval()
        if high < 10 * low:  # less than a decade: its only label may lie outside
            side.set_minor_formatter("{x:g}")
    axis.legend(fontsize=8, loc="lower left", bbox_to_anchor=(0.0, 1.0), borderaxespad=0.1)


def _nodes(axis: Any, results: Results) -> None:
    columns = [{**p, "x": p["nodes"]} for p in results.curve("columns")]
    _power(axis, columns, "query_us", look("fspn"), "FSPN (columns varied)")
    _power(axis, results.curve("nodes_spn"), "query_us", look("mspn"), "tree SPN")
    _power(axis, results.curve("nodes_paper"), "query_us", look("fspn_paper"), "paper's recipe")
    _label(axis, "Nodes", "Query, batched (µs)")


def _power(
    axis: Any, points: Sequence[Found], key: str, style: Look, label: str, line: str = "-"
) -> None:
    if not points:
        return
    x, y = [p["x"] for p in points], [p[key]["median"] for p in points]
    bars = [[p[key]["median"] - p[key]["low"] for p in points],
            [p[key]["high"] - p[key]["median"] for p in points]]  # fmt: skip
    axis.errorbar(x, y, yerr=np.maximum(bars, 0), fmt="none", ecolor=style.color, elinewidth=0.8)
    axis.plot(
        x, y, linestyle=line, color=style.color, marker=style.marker, markersize=4.5,
        label=f"{label}, $b={exponent(x, y):.2f}$",
    )  # fmt: skip
    axis.set_xscale("log")
    axis.set_yscale("log")


def _line(
    axis: Any,
    names: Sequence[str],
    spreads: Sequence[Found | None],
    style: Look,
    label: str,
    line: str = "-",
) -> None:
    known = [(n, s) for n, s in zip(names, spreads, strict=True) if s is not None]
    if not known:
        return
    x, y = [n for n, _ in known], np.array([s["median"] for _, s in known])
    bars = [y - [s["low"] for _, s in known], np.array([s["high"] for _, s in known]) - y]
    axis.errorbar(
        x, y, yerr=np.maximum(bars, 0), color=style.color, marker=style.marker, linestyle=line,
        markersize=style.size, elinewidth=0.8, label=label,
    )  # fmt: skip


def _figure(width: float, height: float) -> Any:
    from matplotlib import pyplot as plt

    return plt.subplots(figsize=(width, height))


def _finish(figure: Any, axis: Any, label: str) -> Any:
    axis.set_yscale("log")
    axis.set_ylabel(label)
    axis.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    return figure
