"""The paper's published numbers, as the project keeps them in `data/paper/`, and anchors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from experiments.report.numbers import Numbers, published

FOLDER = Path(__file__).resolve().parents[2] / "data" / "paper"
HCLT = Path(__file__).resolve().parents[2] / "data" / "anchors" / "hclt_loglik.csv"
TABLE1_NAMES = {
    "nltcs": "NLTCS",
    "msnbc": "MSNBC",
    "kdd": "KDD",
    "plants": "Plants",
    "baudio": "Audio",
    "jester": "Jester",
    "bnetflix": "Netflix",
    "accidents": "Accidents",
    "tretail": "Retail",
    "pumsb_star": "Pumsb-star",
    "dna": "DNA",
    "kosarek": "Kosarak",
    "msweb": "MSWeb",
    "book": "Book",
    "tmovie": "EachMovie",
    "cwebkb": "WebKB",
    "cr52": "Reuters-52",
    "c20ng": "20 Newsgrp",
    "bbc": "BBC",
    "ad": "AD",
}


@dataclass(frozen=True)
class Paper:
    """What the paper published.

    Arguments:
        numbers: Figures 2 and 5 and the node counts; empty if its file is missing.
        table1: test log-likelihoods, one row per dataset; empty if its file is missing.
        missing: names of files that are not there.
        hclt: test log-likelihoods of hidden Chow-Liu trees by dataset, which the paper has not.
    """

    numbers: Numbers
    table1: pd.DataFrame
    missing: tuple[str, ...] = ()
    hclt: Mapping[str, float] = field(default_factory=dict)


def load_paper(folder: Path = FOLDER) -> Paper:
    """Read the published numbers; a missing file leaves a named gap."""
    synthetic, table1 = folder / "synthetic.csv", folder / "table1_loglik.csv"
    missing = tuple(str(path) for path in (synthetic, table1) if not path.is_file())
    return Paper(
        published(pd.read_csv(synthetic)) if synthetic.is_file() else Numbers({}, {}),
        pd.read_csv(table1) if table1.is_file() else pd.DataFrame(columns=["dataset"]),
        missing,
        _read_hclt() if HCLT.is_file() else {},
    )


def _read_hclt() -> dict[str, float]:
    table = pd.read_csv(HCLT)
    return dict(zip(table["dataset"], table["HCLT"].astype(float), strict=True))
