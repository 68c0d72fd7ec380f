"""Estimators and tables of the study: their order, names and looks."""

from __future__ import annotations

from experiments.report.figures.style import LOOKS, Look

STUDY = "tables"
SUBJECT = "fspn"
LABELS = {
    "fspn": "FSPN",
    "fspn_paper": "FSPN (paper's recipe)",
    "bn_dag": "BN-DAG",
    "mspn": "MSPN",
    "postgres": "PostgreSQL",
    "postgres_max": "PostgreSQL, target 10,000",
    "postgres_ext": "PostgreSQL, extended",
    "postgres_max_ext": "PostgreSQL, 10,000 and extended",
    "duckdb": "DuckDB",
    "sample": "sample of 1%",
    "sample_bytes": "sample of FSPN's bytes in memory",
    "sample_file": "sample in a file as large as FSPN's",
    "histograms": "histograms, independence",
}
OWN_LOOKS = {
    "postgres": Look("#336791", "s", 4.5),
    "postgres_max": Look("#5b8fb9", "s", 4.5),
    "postgres_ext": Look("#1b3a57", "d", 5.0),
    "postgres_max_ext": Look("#0072b2", "v", 5.5),
    "duckdb": Look("#b8a000", "h", 5.5),
    "sample": Look("#009e73", "x", 5.0),
    "sample_bytes": Look("#00573f", "P", 5.5),
    "sample_file": Look("#4dac26", "X", 5.5),
    "histograms": Look("#888888", "|", 7.0),
}


def label(model: str) -> str:
    """The name that a reader sees."""
    return LABELS.get(model, model)


def look(model: str) -> Look:
    """How an estimator is drawn."""
    return OWN_LOOKS.get(model) or LOOKS.get(model) or Look("#666666", "x")


def in_order(models: set[str]) -> list[str]:
    """Estimators in the order of this page, unknown ones last."""
    return [m for m in LABELS if m in models] + sorted(models - set(LABELS))
