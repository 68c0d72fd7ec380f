"""Models, measures and levels: their order and names in every figure and table."""

from __future__ import annotations

from dataclasses import dataclass

LEVELS = (0.07, 0.21, 0.37, 0.65, 0.83, 0.95)
SUBJECTS = ("fspn", "fspn_paper")
PUBLISHED = ("mspn", "spn_btb", "spgm", "bn_dag", "bn_tree", "fspn")
OPPONENTS = PUBLISHED[:-1]
LAWS = "fspn_laws"
RERUN = ("mspn", "spn_btb", "spgm", "bn_dag", "bn_tree", "fspn", LAWS, "fspn_paper")
FLOOR, CEILING = "true_dag", "independent"
ORDER = (
    *("mspn", "mspn_stock", "spn_bt", "spn_btb", "spgm"),
    *("bn_dag", "bn_tree", "fspn", LAWS, "fspn_paper"),
)
PAPER_NAMES = {
    "MSPN": "mspn",
    "SPN-BTB": "spn_btb",
    "SPGM": "spgm",
    "BN-DAG": "bn_dag",
    "BN-Tree": "bn_tree",
    "FSPN": "fspn",
}
LABELS = {ours: paper for paper, ours in PAPER_NAMES.items()} | {
    LAWS: "FSPN with integer-linear laws",
    "fspn_paper": "FSPN (paper's recipe)",
    "mspn_stock": "MSPN (stock SPFlow)",
    "fspn_ensemble": "FSPN ensemble",
    "spn_tree": "LearnSPN (tree SPN)",
    "spn_bt": "SPN-BT (no bags)",
    "ecnet": "ECNet",
    "tree_network": "WinMine (decision-tree BN)",
    "mixture_trees": "MT (mixture of trees)",
    "chow_liu": "Chow-Liu tree",
    "independent": "Independent columns",
    "true_dag": "True DAG, fitted",
}
FAMILIES = {
    "sparse": "sparse arithmetic tables",
    "smooth": "smooth, dense tables",
}
LEVELLESS = {
    "hidden": "rows of several networks over the same columns, which one is not recorded",
    "dense": "random dense tables, treewidth 2 to 5, values without order: they favour nobody",
    "context": "random decision trees as tables, treewidth 4 and 6, values without order",
}
"""Families of datasets without levels of dependence."""


@dataclass(frozen=True)
class Measure:
    """A measured quantity; smaller is better for all of them.

    Arguments:
        key: its name here.
        column: its column in the rows.
        scale: rows' unit to the paper's unit.
        paper: its column in the paper's numbers, empty if the paper has none.
        label: as the axis of the paper's figure says it.
        short: a table heading.
    """

    key: str
    column: str
    scale: float
    paper: str
    label: str
    short: str


MEASURES = {
    measure.key: measure
    for measure in (
        Measure("kl", "kl_mean", 1.0, "kl_divergence", "KL-divergence", "KL"),
        Measure(
            "latency", "latency_single_ms", 1.0, "inference_ms", "Inference Time (ms)", "latency"
        ),
        Measure(
            "engine",
            "engine_ms",
            1.0,
            "",
            "Inference Time (ms)",
            "latency, same engine",
        ),
        Measure(
            "latency_batch",
            "latency_batch_ms",
            1.0,
            "",
            "Inference Time, batched (ms)",
            "latency, batched",
        ),
        Measure("size", "size_bytes", 1 / 1024, "model_size_kb", "Model Size (KB)", "size"),
        Measure("nodes", "n_nodes", 1.0, "nodes", "Number of Nodes", "nodes"),
        Measure(
            "train", "train_seconds", 1 / 60, "training_min", "Training Time (min)", "training"
        ),
    )
}
TIMES = frozenset({"latency", "engine", "latency_batch", "train"})
"""Measures that compare only when they were taken on machines of one type."""


# Drawn beside the model size; no measure of its own in the tables.
COMPILED = Measure(
    "compiled", "compiled_bytes", 1 / 1024, "", "Compiled Size (KB)", "compiled size"
)

# No column of its own in the tables: what verdicts on sizes are judged by besides.
ANSWERING = Measure(
    "answering",
    "size_bytes",
    1 / 1024,
    "model_size_kb",
    "Size of the Answering Form (KB)",
    "size of the form that answers",
)
"""The compiled bytes of a model that is compiled before it answers, else its bytes."""
JUDGED = MEASURES | {ANSWERING.key: ANSWERING}


def label(model: str) -> str:
    """The name that a reader sees."""
    return LABELS.get(model, model)


def in_order(models: set[str] | frozenset[str]) -> list[str]:
    """The paper's order, then others by name, then the two reference lines."""
    known = [name for name in ORDER if name in models]
    last = [name for name in (FLOOR, CEILING) if name in models]
    return known + sorted(models - set(known) - set(last)) + last
