"""PostgreSQL: the estimated rows of its planner, the real server."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from baselines.base import Footprint
from baselines.estimators.base import Estimator, Question
from baselines.estimators.database import TABLE, create_table, nullable, quoted, sql_of
from baselines.estimators.dependent import dependent_groups
from baselines.estimators.postgres_server import PostgresServer

MAX_TARGET = 10_000


class Postgres(Estimator):
    """EXPLAIN's estimate after ANALYZE.

    Extended statistics (most common combinations, functional dependencies, distinct combinations)
    are made for groups of columns that are strongly dependent in pairs.

    Arguments:
        statistics_target: most common values and histogram bounds per column, 100 by default.
        extended: whether there are extended statistics.
        groups: pairs of columns with extended statistics, at most, beside the largest group.
    """

    name: ClassVar[str] = "postgres"
    in_process = False
    engine = "PostgreSQL EXPLAIN"

    def __init__(
        self, statistics_target: int = 100, extended: bool = False, groups: int = 20
    ) -> None:
        if not 1 <= statistics_target <= MAX_TARGET:
            raise ValueError(f"statistics_target must be 1 to {MAX_TARGET}")
        self.statistics_target, self.extended, self.groups = statistics_target, extended, groups

    def fit(self, table: pd.DataFrame, domains: Mapping[str, Any], seed: int = 0) -> Self:
        """Starts a server, loads the table and analyses it; the analysis is what is timed."""
        self.close()
        self._server = PostgresServer()
        self._connection = self._server.connect()
        version = self._connection.execute("SHOW server_version").fetchone()[0]
        self.engine = f"PostgreSQL {version.split()[0]} EXPLAIN"
        self._load(table)
        groups = dependent_groups(table, self.groups, seed) if self.extended else []
        started = time.perf_counter()
        self._analyse(groups)
        self.learning_seconds = time.perf_counter() - started
        self._n_rows = len(table)
        return self

    def _load(self, table: pd.DataFrame) -> None:
        self._connection.execute(create_table(table, "DOUBLE PRECISION"))
        with self._connection.cursor().copy(f"COPY {TABLE} FROM STDIN (FORMAT csv)") as copy:
            for first in range(0, len(table), 50_000):
                part = nullable(table.iloc[first : first + 50_000])
                copy.write(part.to_csv(index=False, header=False))

    def _analyse(self, groups: Sequence[Sequence[str]]) -> None:
        execute = self._connection.execute
        execute(f"SET default_statistics_target = {self.statistics_target}")
        for number, group in enumerate(groups):
            columns = ", ".join(quoted(name) for name in group)
            execute(
                f"CREATE STATISTICS s{number} (mcv, dependencies, ndistinct) "
                f"ON {columns} FROM {TABLE}"
            )
        execute(f"ANALYZE {TABLE}")

    def selectivity(self, questions: Sequence[Question]) -> np.ndarray:
        """Estimated rows over all rows; the planner never says less than one row."""
        rows = [self._estimate(sql_of(each)) for each in questions]
        return np.array(rows) / self._n_rows

    def _estimate(self, condition: str) -> float:
        query = f"EXPLAIN (FORMAT json) SELECT 1 FROM {TABLE} WHERE {condition}"
        plan = self._connection.execute(query).fetchone()[0]
        return float(plan[0]["Plan"]["Plan Rows"])

    @property
    def footprint(self) -> Footprint:
        """The bytes of the statistics of this table in the catalogue."""
        sizes = self._connection.execute(
            "SELECT (SELECT coalesce(sum(pg_column_size(s.*)), 0) FROM pg_statistic s"
            f"  WHERE starelid = '{TABLE}'::regclass) +"
            " (SELECT coalesce(sum(pg_column_size(d.*)), 0) FROM pg_statistic_ext_data d)"
        ).fetchone()
        return Footprint(1, 0, int(sizes[0]))

    def close(self) -> None:
        """Takes the server down."""
        connection, server = (self.__dict__.pop(k, None) for k in ("_connection", "_server"))
        if connection is not None:
            connection.close()
        if server is not None:
            server.close()
