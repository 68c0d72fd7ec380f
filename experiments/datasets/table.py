"""Real tables with the questions of a database: out of packages, or the user's own file."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from experiments.datasets.cache import Arrays, cached
from experiments.datasets.config import checked_keys
from experiments.datasets.seeds import digest_of, generator
from experiments.datasets.table_chunks import read_chunks
from experiments.datasets.table_sources import SOURCES, read_source
from experiments.measures.count_workload import CountConfig, draw_counts
from experiments.measures.table_index import TableIndex
from experiments.types import CountWorkload, Dataset

FAMILY = "table"
VERSION = 1
"""Of the way in which questions are drawn: another number, other questions."""


@dataclass(frozen=True)
class RealTableConfig:
    """A real table and the questions that are asked about it.

    Arguments:
        name: a table of `table_sources`, or any name for the user's own file.
        family: always `table`.
        path: a `.csv` or `.parquet` file of the user's; empty for the table of this name.
        rows: use a random sample of so many rows; 0 for all.
        queries, empty_queries: questions that some row matches, and that none does.
        max_columns: most columns of a question.
        workload: a file with one SQL condition a line, in place of random questions.
        valid_share: share of the rows on which settings are compared.
    """

    name: str
    family: str = FAMILY
    path: str = ""
    rows: int = 0
    queries: int = 900
    empty_queries: int = 100
    max_columns: int = 6
    workload: str = ""
    valid_share: float = 0.1

    def __post_init__(self) -> None:
        if not self.path and self.name not in SOURCES:
            known = ", ".join(SOURCES)
            raise ValueError(
                f"dataset.name is {self.name!r} but must be one of {known}; or give dataset.path"
            )
        if not 0 < self.valid_share < 0.5:
            raise ValueError(f"dataset.valid_share is {self.valid_share} but must be in (0, 0.5)")
        for key, least in (("queries", 1), ("empty_queries", 0), ("max_columns", 1), ("rows", 0)):
            if getattr(self, key) < least:
                raise ValueError(
                    f"dataset.{key} is {getattr(self, key)} but must be at least {least}"
                )

    @classmethod
    def from_mapping(cls, values: Mapping[str, Any]) -> RealTableConfig:
        """Reads a plain mapping or a Hydra node; an unknown or missing key is an error."""
        return cls(**checked_keys(cls, values))


def load_real_table(config: RealTableConfig, seed: int, cache_dir: Path) -> Dataset:
    """Reads the table; its questions and their true counts come from the cache, once made."""
    table = read_real_table(config, seed)
    content = _content(table)
    if config.workload:
        counting = _from_file(Path(config.workload), table, content)
    else:
        counting = _drawn(config, table, content, seed, cache_dir)
    held_out = generator("valid", content, seed).random(len(table)) < config.valid_share
    return Dataset(
        name=config.name,
        family=FAMILY,
        target_rdc=None,
        measured_rdc=None,
        seed=seed,
        train=table,
        valid=table[held_out],
        test=table.head(0),
        domains={},
        truth=None,
        workload=None,
        digest=digest_of(content, counting.digest, config.valid_share, seed),
        counting=counting,
    )


def read_real_table(config: RealTableConfig, seed: int) -> pd.DataFrame:
    """All rows of the table, or a random sample of them in their order."""
    table = read_chunks(Path(config.path)) if config.path else read_source(config.name)
    if not config.rows or config.rows >= len(table):
        return table
    rows = generator("rows", config.name, seed).choice(len(table), config.rows, replace=False)
    return table.iloc[np.sort(rows)].reset_index(drop=True)


def _content(table: pd.DataFrame) -> str:
    hashes = pd.util.hash_pandas_object(table, index=False).to_numpy()
    return digest_of(list(table.columns), len(table), int(hashes.sum()), int(hashes[::7].sum()))


def _drawn(
    config: RealTableConfig, table: pd.DataFrame, content: str, seed: int, cache_dir: Path
) -> CountWorkload:
    settings = CountConfig(config.queries, config.empty_queries, config.max_columns)
    digest = digest_of(VERSION, content, asdict(settings), seed)

    def build() -> Arrays:
        rng = generator("counts", content, seed)
        questions, counts = draw_counts(TableIndex(table), settings, rng)
        texts = np.array([json.dumps(_to_json(where)) for where in questions])
        return {"questions": texts, "counts": counts}

    arrays = cached(cache_dir / "tables" / f"{digest}.npz", build)
    questions = tuple(_from_json(json.loads(str(text))) for text in arrays["questions"])
    return CountWorkload(questions, arrays["counts"], len(table), digest)


def _from_file(path: Path, table: pd.DataFrame, content: str) -> CountWorkload:
    """The conditions of a file; empty lines and those that start with -- are left out."""
    from fspn.sql import read_condition

    if not path.is_file():
        raise ValueError(f"dataset.workload: there is no file {path}")
    texts, counts = [], []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        text = line.strip().rstrip(";")
        if not text or text.startswith("--"):
            continue
        try:
            condition = read_condition(text)
            unknown = sorted(map(str, condition.columns - set(table.columns)))
            if unknown:
                raise ValueError(f"the table has no column {unknown[0]!r}")
            counts.append(condition.count(table))
        except ValueError as error:
            raise ValueError(f"dataset.workload: line {number} of {path}: {error}") from error
        texts.append(text)
    if not texts:
        raise ValueError(f"dataset.workload: {path} holds no condition")
    digest = digest_of(content, texts)
    return CountWorkload(tuple(texts), np.array(counts), len(table), digest)


def _to_json(where: Mapping[Hashable, Any]) -> dict[str, Any]:
    """Predicates as JSON: ["is", value], ["range", low, high], ["in", values]."""
    found: dict[str, Any] = {}
    for name, wanted in where.items():
        if isinstance(wanted, frozenset):
            found[str(name)] = ["in", sorted(wanted, key=str)]
        elif isinstance(wanted, tuple):
            found[str(name)] = ["range", *wanted]
        else:
            found[str(name)] = ["is", wanted]
    return found


def _from_json(where: Mapping[str, Any]) -> dict[Hashable, Any]:
    make = {"is": lambda v: v, "range": lambda *v: v, "in": frozenset}
    return {name: make[kind](*values) for name, (kind, *values) in where.items()}
