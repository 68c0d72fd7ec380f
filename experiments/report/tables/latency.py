"""Time of one query in each model's own program, and in our engine after conversion."""

from __future__ import annotations

from experiments.report.names import MEASURES, in_order, label
from experiments.report.numbers import Numbers
from experiments.report.tables.writing import Table, number, text, times

COLUMNS = ("latency", "engine")


def latency_table(ours: Numbers, suffix: str = "") -> Table:
    """Per level and model both times in milliseconds, and what the program makes of it."""
    timed = {m for _, m, measure in ours.cells if measure in COLUMNS}
    rows = []
    for level in ours.levels:
        for model in in_order(frozenset(timed)):
            own, same = (ours.mean(level, model, measure) for measure in COLUMNS)
            if own > 0 or same > 0:
                cells = (number(own, 3), number(same, 3), times(own / same))
                rows.append((text(f"{level:.2f}"), text(label(model)), *cells))
    heads = ("own program (ms)", "our engine (ms)", "program over engine")
    return Table(
        f"latency{suffix}",
        "Time of one query: programs and models",
        "The model's own program, and our engine on the model converted to an FSPN with the same "
        "answers. Verdicts on speed use the second column, so that they are about models; the last "
        "column is what the program brings. Empty: no conversion (SPGM, models too large), or rows "
        f"from before this was measured. One query asked alone: {MEASURES['latency'].label}.",
        ("RDC", "model", *heads),
        tuple(rows),
        folded=True,
    )
