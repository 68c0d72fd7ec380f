"""The results as a page of markdown tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from experiments.bench.contestants import LABELS as ENGINES
from experiments.bench.curves import exponent
from experiments.bench.results import Found, Results, learner_of, time_of
from experiments.bench.targets import Target, doubling, number
from experiments.bench.training import LABELS as LEARNERS

CURVES = {
    "rows": "rows",
    "columns": "columns",
    "domains": "values per column",
    "nodes_spn": "nodes",
    "nodes_paper": "nodes",
}


def page(results: Results, verdicts: Sequence[Target], about: Found) -> str:
    """Everything that was measured."""
    blocks = [
        "# Benchmark", *_head(about),
        "## Targets", *_targets(verdicts),
        "## The first minute, s, in new processes", *_start(results),
        "## One query Pr(Q = q | E = e), µs, median (quartiles)", *_queries(results, False),
        "## Batched, µs per query", *_queries(results, True),
        "## Real tables: counts by conditions on 1 to 6 columns", *_real(results),
        "## Most probable completions of published networks, ms", *_completions(results),
        "## Wide models: every column depends on others far away", *_wide(results),
        "## Threads: one batch, µs per query", *_threads(results),
        "## Training, s", *_training(results),
        "## The limit: reading the bytes that a query touches", *_limit(results),
        "## Scaling of FSPN", *_curves(results),
    ]  # fmt: skip
    return "\n\n".join(blocks) + "\n"


def _head(about: Found) -> Iterator[str]:
    yield (
        f"{about['machine']}; Python {about['python']}; commit {about['commit']}; seed "
        f"{about['options']['seed']}; one thread, warm, contestants in turn round by round; "
        f"`{about['command']}`. Versions: "
        + ", ".join(f"{k} {v}" for k, v in about["versions"].items())
        + ". Load of the machine before the parts: {:.1f} to {:.1f}.".format(*about["load"])
    )


def _targets(verdicts: Sequence[Target]) -> Iterator[str]:
    yield _table(
        ["target", "needed", "found", "verdict"],
        [
            [
                t.what + (f" ({t.note})" if t.note and t.found else ""),
                f"{'≥' if t.least else '≤'} {t.needed:g}" + (f" (aim {t.aim:g})" if t.aim else ""),
                ", ".join(f"{k}: {number(v)}" for k, v in t.found.items()) or "-",
                t.verdict,
            ]
            for t in verdicts
        ],
    )


def _start(results: Results) -> Iterator[str]:
    names = {
        "library": "`import fspn`",
        "warm": "the README's first lines",
        "cold": "the same, no kernel compiled yet",
    }
    rows = [[label, _spread(part[key])] for part in results.start for key, label in names.items()]
    yield _table(["what", "median (quartiles)"], rows)


def _queries(results: Results, batched: bool) -> Iterator[str]:
    datasets = [part["dataset"] for part in results.queries]
    key = "over_fspn_batch" if batched else "over_fspn"
    rows = []
    for engine, label in ENGINES.items():
        found = [time_of(part, engine, batched) for part in results.queries]
        if not any(found):
            continue
        rows.append([label, *(_spread(f["microseconds"]) if f else "-" for f in found)])
        ratios = [(f[key] if batched else f[key]["median"]) if f else None for f in found]
        rows.append(["  × FSPN", *(number(r) if r else "-" for r in ratios)])
        if not batched:
            typical = [f["typical_over_fspn"] if f else None for f in found]
            rows.append(["  × FSPN, median query", *map(number, typical)])
    if not batched:
        calls = [number(part["call_us"]) for part in results.queries]
        rows.append(["FSPN, a call without any work", *calls])
    yield _table(["engine", *datasets], rows)
    if batched:
        yield (
            "One call with all queries. The ratio of the targets is pyAgrum's mean time on the "
            "queries asked one by one over this time: queries of the same kind, but more of them."
        )
    else:
        yield (
            "Times are of the mean query. The ratio is of the same queries in the same round. "
            "pomegranate and SPFlow's own evaluation are asked fewer of them. "
            "pyAgrum, SPFlow and pomegranate get codes, ready made; FSPN gets values and "
            "looks the codes up itself."
        )


def _real(results: Results) -> Iterator[str]:
    for part in results.tables:
        yield (
            f"**{part['table']}**: {part['rows']:,} rows, {part['columns']} columns; learned in "
            f"{part['train_seconds']:.1f} s, {part['model_bytes'] / 1e3:,.0f} KB."
        )
        yield _table(
            ["engine", "µs: median / 95% / 99% / max", "per second", "q-error: the same"],
            [
                [
                    time["label"], _quantiles(time["microseconds"]),
                    number(time["per_second"]), _quantiles(time["q_error"]),
                ]
                for time in part["times"]
            ],
        )  # fmt: skip


def _completions(results: Results) -> Iterator[str]:
    if results.completions:
        yield _table(
            ["network", "columns", "one `map`", "in a list", "toulbar2", "ratio", "same maximum"],
            [
                [
                    part["network"], part["columns"], _spread(part["fspn"]), _spread(part["batch"]),
                    _spread(part["toulbar2"]) if part["toulbar2"] else "-",
                    _spread(part["over_fspn"]) if part["over_fspn"] else "-",
                    {True: "yes", False: "no", None: "-"}[part["agree"]],
                ]
                for part in results.completions
            ],
        )  # fmt: skip
        yield (
            "Every fifth column is evidence. toulbar2's time is that of its solver alone; building "
            "its problem is not counted."
        )


def _wide(results: Results) -> Iterator[str]:
    if results.wide:
        yield _table(
            ["columns", "learned in, s", "question", "asked", "ms: median", "`TooWide`"],
            [
                [
                    part["columns"], number(part["train_seconds"]), kind["kind"], kind["asked"],
                    number(kind["milliseconds"]), kind["too_wide"],
                ]
                for part in results.wide for kind in part["kinds"]
            ],
        )  # fmt: skip


def _threads(results: Results) -> Iterator[str]:
    if results.threads:
        yield _table(
            ["dataset", "events", "one thread", "threads", "so many", "one over so many"],
            [
                [
                    part["dataset"], f"{part['events']:,}", _spread(part["one_us"]),
                    part["threads"], _spread(part["many_us"]), _spread(part["speed_up"]),
                ]
                for part in results.threads
            ],
        )  # fmt: skip


def _quantiles(values: Sequence[float]) -> str:
    return " / ".join(number(value) for value in values)


def _training(results: Results) -> Iterator[str]:
    rows = []
    for learner, label in LEARNERS.items():
        found = [learner_of(part, learner) for part in results.training]
        rows.append([label, *(_spread(f["seconds"]) if f else "-" for f in found)])
        rows.append(["  × FSPN", *(number(f["over_fspn"]["median"]) if f else "-" for f in found)])
    stock = {p["dataset"]: p for p in results.stock}
    datasets = [part["dataset"] for part in results.training]
    if stock:
        cells = [_stock(stock.get(d)) for d in datasets]
        rows.append(["SPFlow's stock `learn_mspn`, all cores", *cells])
    yield _table(["learner", *datasets], rows)


def _limit(results: Results) -> Iterator[str]:
    lines = {
        "FSPN batched, µs": lambda p: _spread(p["batch_us"]),
        "read the touched bytes in a row, µs (the limit)": lambda p: _spread(p["read_us"]),
        "  × the limit": lambda p: number(p["batch_us"]["median"] / p["read_us"]["median"]),
        "read their cache lines in a row, µs": lambda p: _spread(p["lines_us"]),
        "  × those lines": lambda p: number(p["batch_us"]["median"] / p["lines_us"]["median"]),
        "the same reads at their places, in order, µs": lambda p: _spread(p["replay_us"]),
        "  × those reads": lambda p: number(p["batch_us"]["median"] / p["replay_us"]["median"]),
        "bytes touched": lambda p: f"{p['touched_bytes']:,.0f}",
        "bytes of their cache lines": lambda p: f"{p['line_bytes']:,.0f}",
        "bytes of the compiled model": lambda p: f"{p['model_bytes']:,.0f}",
        "reads of structure": lambda p: f"{p['structure']:,.0f}",
        "reads of indices and codes": lambda p: f"{p['indices']:,.0f}",
        "reads of probabilities": lambda p: f"{p['probabilities']:,.0f}",
        "reads of domains": lambda p: f"{p['domains']:,.0f}",
        "accesses to bookkeeping": lambda p: f"{p['state']:,.0f}",
        "accesses to intermediate tables": lambda p: f"{p['intermediate']:,.0f}",
    }
    rows = [[label, *(cell(p) for p in results.limit)] for label, cell in lines.items()]
    yield _table(["per query", *(p["dataset"] for p in results.limit)], rows)
    yield (
        "A query is two events, (q, e) and e, answered one after the other; bytes and accesses are "
        "those of both, counted on some of the queries, with the columns' domains, which codes are "
        "found from. The limit sums as many numbers in a row, "
        "in vector registers, from memory of the model's size; a processor reads whole cache "
        "lines, so those that the bytes lie in are what it can reach. What a query does beyond: "
        "finding the codes of its values, finding out which tables matter and at which places "
        "they begin (structure and bookkeeping), and writing and reading messages."
    )


def _curves(results: Results) -> Iterator[str]:
    for name, unit in CURVES.items():
        points = results.curve(name)
        if not points:
            continue
        x = [float(p["x"]) for p in points]
        train = exponent(x, [p["train_seconds"]["median"] for p in points])
        query = exponent(x, [p["query_us"]["median"] for p in points])
        fitted = f"Fitted exponents: training {train:.2f}, query {query:.2f}."
        yield f"**{name}**: {points[0]['about']}. {fitted}"
        steps = doubling(points) if name == "rows" else {}
        yield _table(
            [unit, "training, s", "query, µs", "nodes", "peak memory / data", "time / half"],
            [
                [
                    f"{p['x']:,}", _spread(p["train_seconds"]), _spread(p["query_us"]),
                    f"{p['nodes']:,}", _memory(p), number(steps.get(f"{p['x']:,}")),
                ]
                for p in points
            ],
        )  # fmt: skip


def _memory(point: Found) -> str:
    if point["peak_bytes"] is None:
        return "-"
    return f"{point['peak_bytes'] / 1e6:,.0f} MB / {point['data_bytes'] / 1e6:,.0f} MB"


def _stock(part: Found | None) -> str:
    if part is None:
        return "-"
    return f"more than {part['seconds']:.0f}" if part["ended"] else f"{part['seconds']:.0f}"


def _spread(spread: Found) -> str:
    return f"{number(spread['median'])} ({number(spread['low'])}-{number(spread['high'])})"


def _table(head: list[str], rows: list[list[Any]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)
