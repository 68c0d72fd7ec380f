"""Tables of the synthetic study: node counts, KL in detail, FSPN against every model."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import pandas as pd

from experiments.report.names import (
    CEILING,
    FLOOR,
    MEASURES,
    PUBLISHED,
    RERUN,
    in_order,
    label,
)
from experiments.report.numbers import Numbers
from experiments.report.tables.writing import (
    OTHER_CODE,
    OTHER_NODE,
    Cell,
    Table,
    number,
    text,
    times,
    whole,
)

MARK_NOTE = f"{OTHER_CODE} measured by another version of the code"
NODE_NOTE = f"{OTHER_NODE} times of different node types: the ratio is of machines as well"


def nodes_table(ours: Numbers, paper: Numbers, suffix: str = "") -> Table:
    """Number of nodes per level and model, ours and the paper's (Appendix D)."""
    models = in_order((ours.models | frozenset(PUBLISHED)) - {FLOOR, CEILING})
    rows = []
    for level in sorted({*ours.levels, *paper.levels}):
        cells = [text(f"{level:.2f}")]
        for model in models:
            cells.append(_count(ours, level, model))
            if model in PUBLISHED:
                cells.append(whole(paper.mean(level, model, "nodes")))
        rows.append(tuple(cells))
    header = ["RDC"]
    for model in models:
        header += [label(model), *([f"{label(model)}, paper"] if model in PUBLISHED else [])]
    return Table(
        f"nodes{suffix}",
        "Number of nodes",
        "Mean over seeds; beside each model the paper's published count.",
        tuple(header),
        tuple(rows),
        (*_not_run(ours), *_marks(ours), *_absent(ours)),
    )


def ratios_table(ours: Numbers, paper: Numbers, subject: str, suffix: str = "") -> Table:
    """How many times better `subject` is than every model on every level, with the paper's ratio.

    A ratio is that of means over the draws and queries that both have (`Numbers.factor`).
    """
    rows = []
    for level in sorted({*ours.levels, *paper.levels}):
        for model in _others(ours, subject):
            cells = [text(f"{level:.2f}"), text(label(model))]
            for measure in MEASURES.values():
                mark = _node_mark(ours, [level], model, subject, measure.key)
                cells.append(times(ours.factor(level, model, subject, measure.key), mark=mark))
                if measure.paper:
                    cells.append(times(paper.factor(level, model, "fspn", measure.key)))
            rows.append(tuple(cells))
    return Table(
        f"ratios_{subject}{suffix}",
        f"{label(subject)} against every model",
        f"The other model's value divided by that of {label(subject)}: above 1, FSPN is better "
        "(lower KL, faster, smaller). Beside it the same ratio of the paper's published values.",
        ("RDC", "against", *_measured()),
        tuple(rows),
        (*_not_run(ours), *_marks(ours), *_absent(ours)),
        folded=True,
    )


def best_ratios_table(ours: Numbers, paper: Numbers, subject: str, suffix: str = "") -> Table:
    """The largest ratio over the levels for every model and measure: the "up to" numbers."""
    rows = []
    for model in _others(ours, subject):
        cells = [text(label(model))]
        for measure in MEASURES.values():
            mark = _node_mark(ours, ours.levels, model, subject, measure.key)
            cells.append(times(_largest(ours, model, subject, measure.key), mark=mark))
            if measure.paper:
                cells.append(times(_largest(paper, model, "fspn", measure.key)))
        rows.append(tuple(cells))
    return Table(
        f"best_ratios_{subject}{suffix}",
        f"{label(subject)}: up to how many times better",
        "The largest ratio over the six datasets, other model over FSPN, as the paper quotes it.",
        ("against", *_measured()),
        tuple(rows),
        (*_not_run(ours), *_marks(ours), *_absent(ours)),
    )


def _measured() -> Iterator[str]:
    """The headings of all measures, each with the paper's beside it where that has it."""
    for measure in MEASURES.values():
        yield from (measure.short, *([f"{measure.short}, paper"] if measure.paper else []))


def _not_run(ours: Numbers) -> tuple[str, ...]:
    """A note on published models without a row of ours."""
    absent = [label(model) for model in PUBLISHED if model not in ours.models]
    return (f"{', '.join(absent)}: published values only, no row here",) if absent else ()


def _largest(numbers: Numbers, model: str, subject: str, measure: str) -> float:
    ratios = [numbers.factor(level, model, subject, measure) for level in numbers.levels]
    return max((ratio for ratio in ratios if math.isfinite(ratio)), default=math.nan)


def _others(ours: Numbers, subject: str) -> list[str]:
    """All models that `subject` is held against; the default learner is no opponent."""
    models = in_order(ours.models | frozenset(PUBLISHED))
    return [m for m in models if m != subject and not (m == "fspn" and subject == "fspn_paper")]


def ratios_frame(ours: Numbers, paper: Numbers, subject: str) -> pd.DataFrame:
    """The ratios in long form: one line per level, model and measure."""
    lines = []
    for level in sorted({*ours.levels, *paper.levels}):
        for model in in_order(ours.models | frozenset(PUBLISHED)):
            if model != subject:
                for key in MEASURES:
                    lines.append(
                        {
                            "subject": subject,
                            "rdc": level,
                            "against": model,
                            "measure": key,
                            "ratio": ours.factor(level, model, subject, key),
                            "paper_ratio": paper.ratio(level, model, "fspn", key),
                        }
                    )
    return pd.DataFrame(lines)


KL_COLUMNS = {
    "kl_mean": "mean KL",
    "kl_median": "median",
    "kl_p95": "p95",
    "kl_max": "largest",
    "kl_se": "std. error",
    "kl_floored": "floored",
    "test_ll": "test LL",
}


def kl_table(rows: pd.DataFrame, suffix: str = "") -> Table:
    """The distribution of KL over the queries: the mean alone is ruled by a few of them."""
    found = rows[rows["kl_mean"].notna()]
    learned = found[~found["model"].isin([FLOOR])]
    best = learned.groupby(["dataset", "seed"])["kl_mean"].min()
    lines = []
    for dataset, of_dataset in found.groupby("dataset", sort=True):
        for model in in_order(frozenset(of_dataset["model"])):
            for row in of_dataset[of_dataset["model"] == model].to_dict("records"):
                mark = OTHER_CODE if row["other_code"] else ""
                cells: list[Cell] = [text(dataset), text(label(model)), number(row["seed"], 4)]
                for column in KL_COLUMNS:
                    bold = column == "kl_mean" and row[column] == best.get(
                        (dataset, row["seed"]), math.nan
                    )
                    cells.append(number(row[column], 3, bold=bold, mark=mark))
                    mark = ""
                lines.append(tuple(cells))
    return Table(
        f"kl{suffix}",
        "KL-divergence in detail",
        "Over the evidence queries of each dataset, in nats; floored: queries on which the model "
        "put no mass where the truth has some. Bold: lowest mean of a learned model on that draw.",
        ("dataset", "model", "seed", *KL_COLUMNS.values()),
        tuple(lines),
        (MARK_NOTE,) if bool(found["other_code"].any()) else (),
        folded=True,
    )


def _count(numbers: Numbers, level: float, model: str) -> Cell:
    cell = numbers.get(level, model, "nodes")
    if cell is None:
        return whole(math.nan)
    return whole(cell.mean, mark=OTHER_CODE if cell.other_code else "")


def _marks(ours: Numbers) -> tuple[str, ...]:
    cells = ours.cells.values()
    code = (MARK_NOTE,) if any(cell.other_code for cell in cells) else ()
    several = len({node for cell in cells for node in cell.nodes}) > 1
    return (*code, NODE_NOTE) if several else code


def _node_mark(
    ours: Numbers, levels: Sequence[float], model: str, subject: str, measure: str
) -> str:
    """A sign on a ratio of times that were not all measured on one type of machine."""
    same = all(ours.same_node(level, model, subject, measure) for level in levels)
    return "" if same else OTHER_NODE


def _absent(ours: Numbers) -> tuple[str, ...]:
    return tuple(f"{label(m)}: no rows in this study" for m in RERUN if m not in ours.models)
