"""Recorded checks of Propositions 1 and 3: rows of `experiment=propositions`.

Proposition 1: two rows per network, model `bn` (the source) and `bn_as_fspn` (converted), with
`n_parameters`, and on the latter `kl_max`, the largest KL from source to conversion.
Proposition 3: two rows per dataset and learner, `<learner>` and `<learner>_em` (after one EM step
on the weights of its sum nodes), with `test_ll`, here the mean log-likelihood of training rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import pandas as pd

from experiments.report.tables.plugins import Standing

EXPERIMENT = "propositions"


@dataclass(frozen=True)
class Conversion:
    """A Bayesian network and the FSPN that it was converted to."""

    network: str
    source_parameters: float
    fspn_parameters: float
    kl: float


@dataclass(frozen=True)
class Optimum:
    """Mean training log-likelihood as learned, and after one EM step."""

    dataset: str
    learned: float
    after_em: float


@dataclass(frozen=True)
class Checks:
    """All recorded checks for one learner.

    Arguments:
        conversions: of Proposition 1.
        optima: of Proposition 3.
        plugins: of Appendix C, where the learner's plug-ins were compared.
    """

    conversions: tuple[Conversion, ...] = ()
    optima: tuple[Optimum, ...] = ()
    plugins: Standing | None = None


def read_checks(rows: pd.DataFrame, learner: str) -> Checks:
    """The checks in rows of `experiment=propositions`."""
    conversions = [
        Conversion(name, a["n_parameters"], b["n_parameters"], b["kl_max"])
        for name, a, b in _couples(rows, "bn", "bn_as_fspn")
    ]
    optima = [
        Optimum(name, a["test_ll"], b["test_ll"])
        for name, a, b in _couples(rows, learner, f"{learner}_em")
    ]
    return Checks(tuple(conversions), tuple(optima))


def _couples(
    rows: pd.DataFrame, first: str, second: str
) -> list[tuple[str, dict[str, float], dict[str, float]]]:
    """Datasets that have a finished row of both models, with the two rows' measures."""
    columns = ["n_parameters", "kl_max", "test_ll"]
    done = rows[rows["status"] == "ok"].drop_duplicates(["dataset", "model"], keep="last")
    tables = {m: done[done["model"] == m].set_index("dataset")[columns] for m in (first, second)}
    shared = sorted(set(tables[first].index) & set(tables[second].index))
    return [
        (str(name), *(dict(tables[m].loc[name].astype(float)) for m in (first, second)))  # type: ignore[misc]
        for name in shared
    ]
