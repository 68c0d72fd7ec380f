"""The speed of every engine, side by side: `make bench`, or `python -m experiments.bench`.

Parts that were finished before, by the same code on the same machine, are not measured again
unless `--fresh` is given; so a run that was ended goes on where it was. After `--minutes` no
further part is begun, and one that takes longer than `--part-minutes` is ended: both are named, and
their targets are "not measured"; waiting until the machine is free does not count. `--record`
writes to the committed page.
"""

from __future__ import annotations

import argparse
import csv
import json
import platform
import shlex
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from experiments.bench.options import DATASETS, ROW_COUNTS, SECTIONS, Options, quick
from experiments.bench.parts import Part, Shelf, plan
from experiments.bench.plots import draw_all
from experiments.bench.results import Results
from experiments.bench.tables import page
from experiments.bench.targets import Target, targets
from experiments.bench.time_limits import Limits, OutOfTime
from experiments.records.fingerprint import commit
from experiments.study.job import machine_name

RECORDED = Path("results/bench")
LIBRARIES = ("numpy", "numba", "pandas", "scipy", "pyagrum", "spflow", "pomegranate", "torch")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, then write JSON, tables and pictures."""
    given = parser().parse_args(arguments)
    options = options_of(given)
    parts = list(plan(options, tuple(given.sections)))
    limits = Limits(60 * given.minutes, 60 * given.part_minutes)
    records = run(parts, Shelf(options, given.fresh), limits)
    if not records:
        raise SystemExit("nothing was measured: give more --minutes or --part-minutes")
    command = shlex.join(["python", "-m", "experiments.bench", *(arguments or sys.argv[1:])])
    out = RECORDED if given.record else given.out
    write(out, records, about(options, records, command))


def parser() -> argparse.ArgumentParser:
    """The command line."""
    p = argparse.ArgumentParser(prog="python -m experiments.bench", description=__doc__)
    p.add_argument("--quick", action="store_true", help="all in small: a check, no measurement")
    p.add_argument("--fresh", action="store_true", help="measure again what was finished before")
    p.add_argument("--stock-limit", type=float, help="seconds for SPFlow's own learn_mspn")
    p.add_argument(
        "--max-rows", type=int, help="end of the curve over rows, 1,250,000 unless given"
    )
    p.add_argument("--max-columns", type=int, help="end of the curve over columns")
    p.add_argument("--datasets", nargs="+", choices=DATASETS, help="some of the six only")
    p.add_argument("--sections", nargs="+", choices=SECTIONS, default=SECTIONS, help="some only")
    p.add_argument("--share", action="store_true", help="do not wait until studies are idle")
    p.add_argument("--minutes", type=float, default=12, help="begin no part after so many")
    p.add_argument("--part-minutes", type=float, default=4, help="end a part after so many")
    p.add_argument("--out", type=Path, default=Path("outputs/bench"))
    p.add_argument("--record", action="store_true", help=f"write to {RECORDED}, which is committed")
    p.add_argument("--cache", type=Path, default=Path("data/cache"))
    return p


def options_of(given: argparse.Namespace) -> Options:
    """What the command line asks for."""
    options = quick(given.cache) if given.quick else Options(cache_dir=given.cache)
    if given.max_rows is not None:
        known = options.row_counts if given.quick else ROW_COUNTS
        kept = tuple(n for n in known if n <= given.max_rows)
        options = replace(options, row_counts=kept)
    if given.max_columns is not None:
        kept = tuple(n for n in options.column_counts if n <= given.max_columns)
        options = replace(options, column_counts=kept)
    return replace(
        options,
        datasets=tuple(given.datasets or options.datasets),
        stock_limit=given.stock_limit or options.stock_limit,
        share_machine=given.share or options.share_machine,
    )


def run(parts: Sequence[Part], shelf: Shelf, limits: Limits) -> list[dict[str, Any]]:
    """Measure part after part, with a display; what time does not allow is left out and named."""
    console = Console(highlight=False)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    records: list[dict[str, Any]] = []
    with Progress(*columns, TimeElapsedColumn(), console=console, transient=True) as display:
        task = display.add_task("", total=len(parts))
        for i, part in enumerate(parts, start=1):
            label = f"{part.section} {part.name}"
            display.update(task, description=label)
            known = shelf.has(part)
            try:
                record = shelf.get(part, limits)
                records.append(record)
                how = "[dim]done before[/]" if known else f"{record['seconds']:.1f} s"
            except OutOfTime as late:
                how = f"left out: {late}"
            console.print(f"[{i}/{len(parts)}]".replace("[", "\\["), label, how)
            display.advance(task)
    return records


def about(options: Options, records: Sequence[Any], command: str) -> dict[str, Any]:
    """What the numbers belong to."""
    loads = [record["load_before"] for record in records]
    return {
        "machine": machine_name(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in LIBRARIES},
        "commit": commit(),
        "written_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command,
        "options": {k: v for k, v in asdict(options).items() if k != "cache_dir"},
        "load": [min(loads), max(loads)],
    }


def write(out: Path, records: Sequence[Any], head: dict[str, Any]) -> None:
    """bench.json, bench.md, times.csv and the pictures."""
    out.mkdir(parents=True, exist_ok=True)
    results = Results.of(records)
    verdicts = targets(results)
    whole = {"about": head, "targets": [_verdict(t) for t in verdicts], "records": records}
    (out / "bench.json").write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    text = page(results, verdicts, head)
    drawn = draw_all(results, out)
    text += "".join(f"\n![{name}]({name}.svg)\n" for name in drawn)
    (out / "bench.md").write_text(text, encoding="utf-8")
    _write_csv(out / "times.csv", results)
    console = Console(highlight=False, soft_wrap=True)
    for target in verdicts:
        console.print(target.line(), markup=False)
    console.print(f"{out / 'bench.md'}: " + _summary(verdicts), markup=False)


def _verdict(target: Target) -> dict[str, Any]:
    return {**asdict(target), "verdict": target.verdict}


def _summary(verdicts: Iterable[Target]) -> str:
    found = [t for t in verdicts if t.found]
    return f"{sum(t.verdict == 'met' for t in found)} of {len(found)} targets met"


def _write_csv(path: Path, results: Results) -> None:
    """Every time in one flat table."""
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(["dataset", "what", "who", "unit", "median", "low", "high", "rounds"])
        for part in results.queries:
            for row in part["times"]:
                what = "batch" if row["batched"] else "single"
                spread = row["microseconds"].values()
                out.writerow([part["dataset"], what, row["engine"], "us", *spread])
        for part in results.training:
            for row in part["times"]:
                out.writerow(
                    [part["dataset"], "training", row["learner"], "s", *row["seconds"].values()]
                )


if __name__ == "__main__":
    main()
