"""Paired comparison of our models on the same test rows.

Per-row log-likelihoods are large and stay with the runs; what a comparison of two models comes to
is kept beside the reference rows (`reference/pairs.csv`), so that the marks outlive the runs.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from experiments.records.rows import Store

WORSE, BETTER = "−*", "+*"
SIGNIFICANT = 0.01
SUBJECT = "fspn"
FILE = Path("reference") / "pairs.csv"


@dataclass(frozen=True)
class Pair:
    """A model against our FSPN on one dataset.

    Arguments:
        dataset, model: which.
        fingerprint, against: the two recorded jobs.
        rows: number of test rows.
        difference: mean log-likelihood of the model minus that of FSPN.
        p: of a paired t-test over the rows.
    """

    dataset: str
    model: str
    fingerprint: str
    against: str
    rows: int
    difference: float
    p: float

    @property
    def mark(self) -> str:
        """`+*` or `−*` where the difference is significant, else nothing."""
        if not self.p < SIGNIFICANT:
            return ""
        return BETTER if self.difference > 0 else WORSE


def pairs(rows: pd.DataFrame, results_dir: Path) -> list[Pair]:
    """Every model with recorded per-row values against FSPN; else what was kept of it."""
    kept = _kept(results_dir / FILE)
    found = []
    subjects = rows[rows["model"] == SUBJECT]
    for subject in subjects.to_dict("records"):
        same = (rows["dataset"] == subject["dataset"]) & (rows["seed"] == subject["seed"])
        others = rows[same & (rows["model"] != SUBJECT)]
        for other in others.to_dict("records"):
            key = str(other["fingerprint"]), str(subject["fingerprint"])
            a = _scores(other["experiment"], key[0], results_dir)
            b = _scores(subject["experiment"], key[1], results_dir)
            if a is not None and b is not None and len(a) == len(b):
                found.append(compare(str(other["dataset"]), str(other["model"]), *key, a, b))
            elif key in kept:
                found.append(kept[key])
    return found


def compare(
    dataset: str, model: str, fingerprint: str, against: str, a: np.ndarray, b: np.ndarray
) -> Pair:
    """The pair of two models' log-likelihoods of the same rows."""
    from scipy import stats

    difference = a - b
    p = float(stats.ttest_rel(a, b).pvalue) if np.any(difference) else 1.0
    return Pair(dataset, model, fingerprint, against, len(a), float(difference.mean()), p)


def write_pairs(found: list[Pair], results_dir: Path) -> None:
    """Keep what the comparisons came to."""
    frame = pd.DataFrame([asdict(pair) for pair in found])
    frame.to_csv(results_dir / FILE, index=False, float_format="%.6g")


def _scores(experiment: object, fingerprint: str, results_dir: Path) -> np.ndarray | None:
    return Store.of(results_dir, str(experiment)).read_scores(fingerprint)


def _kept(path: Path) -> dict[tuple[str, str], Pair]:
    if not path.is_file():
        return {}
    frame = pd.read_csv(path, dtype={"fingerprint": str, "against": str})
    found = [Pair(**{str(k): v for k, v in row.items()}) for row in frame.to_dict("records")]
    return {(pair.fingerprint, pair.against): pair for pair in found}
