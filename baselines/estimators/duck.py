"""DuckDB: the estimate of its optimiser, and an exact count for comparison."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from baselines.base import Footprint
from baselines.estimators.base import Estimator, Question, Unavailable
from baselines.estimators.database import TABLE, create_table, nullable, sql_of

CARDINALITY = "Estimated Cardinality"


class DuckDB(Estimator):
    """The cardinality that EXPLAIN shows; one thread.

    Its statistics (minimum, maximum, distinct values per column) are kept with the table; their
    bytes are not offered and count as zero.
    """

    name: ClassVar[str] = "duckdb"
    in_process = False

    def __init__(self) -> None:
        try:
            import duckdb
        except ImportError as error:
            raise Unavailable("DuckDB is not installed: pip install 'fspn[tables]'") from error
        self.engine = f"DuckDB {duckdb.__version__} EXPLAIN"

    def fit(self, table: pd.DataFrame, domains: Mapping[str, Any], seed: int = 0) -> Self:
        """Loads the table and lets the database analyse it."""
        import duckdb

        self.close()
        self._connection = duckdb.connect(config={"threads": 1})
        self._connection.execute(create_table(table, "DOUBLE"))
        self._connection.register("frame", nullable(table))
        self._connection.execute(f"INSERT INTO {TABLE} SELECT * FROM frame")
        self._connection.unregister("frame")
        started = time.perf_counter()
        self._connection.execute("ANALYZE")
        self.learning_seconds = time.perf_counter() - started
        self._n_rows = len(table)
        return self

    def selectivity(self, questions: Sequence[Question]) -> np.ndarray:
        """Estimated rows over all rows."""
        rows = [self._estimate(sql_of(each)) for each in questions]
        return np.array(rows) / self._n_rows

    def count(self, question: Question) -> int:
        """The true number of rows."""
        query = f"SELECT count(*) FROM {TABLE} WHERE {sql_of(question)}"
        row = self._connection.execute(query).fetchone()
        assert row is not None
        return int(row[0])

    def _estimate(self, condition: str) -> float:
        query = f"EXPLAIN (FORMAT json) SELECT * FROM {TABLE} WHERE {condition}"
        plan = json.loads(self._connection.execute(query).fetchall()[0][1])[0]
        return _cardinality(plan)

    @property
    def footprint(self) -> Footprint:
        """Nothing that could be counted."""
        return Footprint(1, 0, 0)

    def close(self) -> None:
        """Closes the database."""
        connection = self.__dict__.pop("_connection", None)
        if connection is not None:
            connection.close()


def _cardinality(plan: Mapping[str, Any]) -> float:
    """The estimate of the topmost operator that has one; an empty result has none at all."""
    if CARDINALITY in plan.get("extra_info", {}):
        return float(re.sub(r"[^\d.]", "", str(plan["extra_info"][CARDINALITY])))
    children = [_cardinality(child) for child in plan.get("children", [])]
    return max(children, default=0.0)
