"""Names that tell datasets apart which rows call alike: every user's table is `csv` there."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd

from experiments.report.rows import TABLES_OF_USERS

SETTING = re.compile(r"\bdataset\.(\w+)=(.*?)(?=,[\w./]+=|$)")
"""A setting of the dataset in a label; the next one begins after a comma."""
DIGITS = 6
"""Of a digest: enough to tell a handful of tables apart."""


def with_datasets_apart(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with a name of its own for each dataset.

    A table has its file's stem, or the whole path where two files share a stem, or a digest where
    a file has changed between two rows. Other settings of a dataset follow its name.
    """
    paths = rows["label"].map(_path)
    names = pd.Series(
        [_name(*row) for row in zip(rows["dataset"], rows["label"], paths, strict=True)],
        rows.index,
        dtype=object,
    )
    names = names.where(~_differ(paths, [names]), names + " (" + paths + ")")
    digests = rows["dataset_digest"]
    changed = _differ(digests, [names, rows["seed"]]) & rows["family"].isin(TABLES_OF_USERS)
    return rows.assign(dataset=names.where(~changed, names + " " + digests.str[:DIGITS]))


def _name(dataset: str, label: str, path: str) -> str:
    """What a row's dataset is called before names are compared."""
    own = Path(path).stem if dataset in TABLES_OF_USERS and path else dataset
    others = sorted((k, v) for k, v in SETTING.findall(label) if k not in ("path", "name"))
    return ", ".join([own, *(f"{key}={value}" for key, value in others)])


def _path(label: str) -> str:
    """The file that a label names; empty where it names none."""
    return str(dict(SETTING.findall(label)).get("path", "")).strip("'\"")


def _differ(values: pd.Series, of: list[pd.Series]) -> pd.Series:
    """Where rows that agree in `of` have more than one value."""
    return values.groupby(of).transform("nunique") > 1
