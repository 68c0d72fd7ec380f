r"""Paired comparison of our models on the same test rows, over all their fits.

With s(a) fits of a model and s(b) of FSPN, scored on the same n rows, the mean difference d has

.. math:: \operatorname{Var}(d) = \frac{\sigma^2_\mathrm{rows}}{n}
          + \frac{\sigma^2_a}{s(a)} + \frac{\sigma^2_b}{s(b)},

rows by their differences between the two means over fits, fits by their means over rows; a model
with one fit adds nothing, and the interval then says nothing about other seeds. Degrees of freedom
are Satterthwaite's. Per-row log-likelihoods are large and stay with the runs; what a comparison
comes to is kept beside the reference rows (`reference/pairs.csv`), so that it outlives the runs.
"""

from __future__ import annotations

import math
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
        fingerprint, against: the recorded jobs of the two, joined by + where they are several.
        rows: number of test rows.
        difference: mean log-likelihood of the model minus that of FSPN.
        p: two-sided, of no difference.
        low, high: the 95% interval of the difference.
        seeds: fits of the model.
        seeds_against: fits of FSPN.
    """

    dataset: str
    model: str
    fingerprint: str
    against: str
    rows: int
    difference: float
    p: float
    low: float = math.nan
    high: float = math.nan
    seeds: int = 1
    seeds_against: int = 1

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
    for dataset, mine in rows.groupby("dataset", sort=False):
        jobs = {str(m): part.sort_values("seed") for m, part in mine.groupby("model", sort=False)}
        for model, part in jobs.items():
            if model == SUBJECT or SUBJECT not in jobs:
                continue
            key = _joined(part), _joined(jobs[SUBJECT])
            a, b = _scores(part, results_dir), _scores(jobs[SUBJECT], results_dir)
            if a is not None and b is not None and a.shape[1] == b.shape[1]:
                found.append(compare(str(dataset), model, *key, a, b))
            elif key in kept:
                found.append(kept[key])
    return found


def compare(
    dataset: str, model: str, fingerprint: str, against: str, a: np.ndarray, b: np.ndarray
) -> Pair:
    """The pair of two models' log-likelihoods of the same rows, one line per fit."""
    from scipy import stats

    a, b = np.atleast_2d(a), np.atleast_2d(b)
    difference = a.mean(axis=0) - b.mean(axis=0)
    n, d = len(difference), float(difference.mean())
    parts = [(difference.var(ddof=1) / n, n - 1)]
    parts += [(x.mean(axis=1).var(ddof=1) / len(x), len(x) - 1) for x in (a, b) if len(x) > 1]
    variance = sum(v for v, _ in parts)
    if not variance > 0:
        p, low, high = (1.0 if d == 0 else 0.0), d, d
    else:
        freedom = variance**2 / sum(v**2 / k for v, k in parts)
        width = float(stats.t.ppf(0.975, freedom) * np.sqrt(variance))
        p = float(2 * stats.t.sf(abs(d) / np.sqrt(variance), freedom))
        low, high = d - width, d + width
    return Pair(dataset, model, fingerprint, against, n, d, p, low, high, len(a), len(b))


def write_pairs(found: list[Pair], results_dir: Path) -> None:
    """Keep what the comparisons came to."""
    frame = pd.DataFrame([asdict(pair) for pair in found])
    frame.to_csv(results_dir / FILE, index=False, float_format="%.6g")


def _joined(jobs: pd.DataFrame) -> str:
    return "+".join(map(str, jobs["fingerprint"]))


def _scores(jobs: pd.DataFrame, results_dir: Path) -> np.ndarray | None:
    """The log-likelihoods of the test rows, one line per fit; None where a fit has none."""
    found = [
        Store.of(results_dir, str(experiment)).read_scores(str(fingerprint))
        for experiment, fingerprint in zip(jobs["experiment"], jobs["fingerprint"], strict=True)
    ]
    known = [scores for scores in found if scores is not None]
    if len(known) < len(found) or len({len(scores) for scores in known}) != 1:
        return None
    return np.stack(known)


def _kept(path: Path) -> dict[tuple[str, str], Pair]:
    if not path.is_file():
        return {}
    frame = pd.read_csv(path, dtype={"fingerprint": str, "against": str})
    found = [Pair(**{str(k): v for k, v in row.items()}) for row in frame.to_dict("records")]
    return {(pair.fingerprint, pair.against): pair for pair in found}
