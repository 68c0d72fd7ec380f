"""The most probable completion of evidence, and of the missing cells of rows."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fspn.ask.methods import Questions
from fspn.ask.parse import in_cells, row_events
from fspn.ask.values import typical_values
from fspn.model.eliminate.branch import solve
from fspn.model.eliminate.descend import Columns, best_completions
from fspn.model.eliminate.elimination import Elimination
from fspn.model.eliminate.evidence import event_patterns, patterns
from fspn.model.eliminate.semiring import TooWide
from fspn.schema.caution import warn_caller
from fspn.schema.domain import as_table
from fspn.schema.events import CodeRange, Constraint, Events
from fspn.schema.missing import is_missing

SECONDS = 10.0
GAP = 2e-3
"""A completion is called the best where none is more probable by more than this share."""
CHUNK = 1024


class MostProbable(tuple[Any, Any]):
    """The pair (assignment, probability), or a list and an array of them.

    Attributes:
        bound: An upper bound on the probability of any assignment. It equals the probability of the
            answer where the maximum was found, and exceeds it where the time limit ended the
            search.
    """

    bound: Any

    def __new__(cls, assignment: Any, probability: Any, bound: Any) -> MostProbable:
        pair = super().__new__(cls, (assignment, probability))
        pair.bound = bound
        return pair


class Completions:
    """The best completions of events.

    Arguments:
        n: The number of events.
        variables: The variables that are completed.
    """

    def __init__(self, n: int, variables: frozenset[int]):
        self.log_values = np.full(n, -np.inf)
        self.log_bounds = np.full(n, -np.inf)
        self.columns = {v: np.zeros(n) for v in variables}

    def put(
        self,
        rows: np.ndarray,
        log_values: np.ndarray | float,
        log_bounds: np.ndarray | float,
        columns: Columns,
    ) -> None:
        """Store the completions of some events."""
        self.log_values[rows] = log_values
        self.log_bounds[rows] = log_bounds
        if columns:
            for v, own in self.columns.items():
                own[rows] = columns[v]

    @property
    def found(self) -> np.ndarray:
        """Which events have a completion at all."""
        return ~np.isneginf(self.log_values)

    def check_gap(self, seconds: float) -> None:
        """Warn where the time limit ended a search before the maximum was certain."""
        found = self.found
        gap = float((self.log_bounds[found] - self.log_values[found]).max(initial=0.0))
        if gap > GAP:
            warn_caller(
                f"the time limit of {seconds} s ended the search: another assignment could be up "
                f"to {np.exp(gap):.4g} times as probable; allow more with time_limit"
            )


class MapQuestions(Questions):
    """MAP and MPE."""

    def map(
        self,
        evidence: Any = None,
        columns: Sequence[Hashable] | None = None,
        *,
        time_limit: float = SECONDS,
        strict: bool = False,
    ) -> MostProbable:
        r"""The most probable values of columns given the evidence, and their probability.

        .. math:: \arg\max_q \Pr(Q = q \mid E)

        All other columns are summed out. For a column whose cells hold several values, the most
        probable *cell* is found and the median within it is returned; None stands for the missing
        state. The answer is exact, through sum nodes too (by branch and bound). Where the time
        limit ends the search first, a warning says so and ``bound`` of the answer is an upper bound
        on the probability of any other assignment.

        Arguments:
            evidence: In the forms of :meth:`conditional`: a dictionary, a list of them, or a pair
                of arrays (lower, upper).
            columns: The columns Q; None = all of them.
            time_limit: Seconds per evidence.
            strict: Whether evidence of probability zero is an error rather than NaN.

        Returns:
            A dictionary and a float; a list of dictionaries and an array for many evidences.
        """
        self._check_fitted()
        asked, single = self._events({} if evidence is None else evidence, points=True)
        chosen = self._chosen(columns)
        known = self._log_probability(asked)
        best = self._solve(in_cells(self.domain_, asked), frozenset(chosen), time_limit)
        assignments = self._assignments(best, asked, chosen)
        possible = ~np.isneginf(known)
        if not possible.all():
            self._impossible_evidence(strict)
        best.check_gap(time_limit)
        base = np.where(possible, known, np.nan)
        probabilities, limits = np.exp(best.log_values - base), np.exp(best.log_bounds - base)
        if single:
            return MostProbable(assignments[0], float(probabilities[0]), float(limits[0]))
        return MostProbable(assignments, probabilities, limits)

    def predict(self, X: Any, time_limit: float = SECONDS) -> Any:
        """The rows with their missing cells filled in, each row by its most probable completion.

        The missing cells of a row are filled jointly, so that they agree with each other.

        Arguments:
            X: A table as in :meth:`score_samples`; a missing cell is NaN or None.
            time_limit: Seconds per row, see :meth:`map`.

        Returns:
            A table of the same form and types.
        """
        self._check_fitted()
        table = as_table(X, self.domain_.names)
        filled = self._fill(table, time_limit)
        return filled if isinstance(X, pd.DataFrame) else filled.to_numpy(np.asarray(X).dtype)

    def _chosen(self, columns: Sequence[Hashable] | None) -> list[int]:
        if columns is None:
            return list(range(len(self.domain_)))
        if isinstance(columns, str) or not isinstance(columns, Sequence):
            raise TypeError(f"columns={columns!r} must be a list of column names")
        chosen = [self.domain_.index(name) for name in columns]
        if not chosen:
            raise ValueError("columns names no column; None asks for all of them")
        return chosen

    def _fill(self, table: pd.DataFrame, time_limit: float) -> pd.DataFrame:
        filled = table.copy()
        lacking = table.isna().to_numpy()
        rows = np.flatnonzero(lacking.any(axis=1))
        hopeless = 0
        for mine in (rows[group] for group in patterns(lacking[rows])):
            pattern = lacking[mine[0]]
            asked = row_events(self.domain_, self.domain_.encode(table.iloc[mine]))
            asked = self._known_cells(asked, pattern)
            best = self._solve(asked, frozenset(range(len(self.domain_))), time_limit)
            best.check_gap(time_limit)
            found = np.flatnonzero(best.found)
            hopeless += len(mine) - len(found)
            for v in np.flatnonzero(pattern).tolist() if len(found) else ():
                values = typical_values(self.domain_[v], best.columns[v][found], None)
                _put(filled, v, mine[found], values)
        if hopeless:
            warn_caller(
                f"{hopeless} row(s) have probability zero; their missing cells stay missing"
            )
        return filled

    def _known_cells(self, rows: Events, lacking: np.ndarray) -> Events:
        """The known cells of rows that lack the same ones; a missing cell is any value."""
        known = rows.restrict(frozenset(np.flatnonzero(~lacking).tolist()))
        for v in np.flatnonzero(lacking).tolist():
            if self.domain_[v].missing is not None:
                last = np.full(rows.n, self.domain_[v].n_values - 1)
                known = known.with_constraint(v, CodeRange(np.zeros_like(last), last))
        return known

    # ------------------------------------------------------------------ solving

    def _solve(self, events: Events, maxed: frozenset[int], seconds: float) -> Completions:
        """The best completion of every event; events that fix the same variables go together."""
        tables = self._elimination_tables()
        elimination = Elimination(tables, maxed)
        best = Completions(events.n, maxed)
        if not elimination.is_always_exact(self.root_):
            for i in range(events.n):
                one = events.take(np.array([i]))
                found = solve(tables, self.root_, one, maxed, seconds)
                best.put(np.array([i]), found.log_value, found.log_bound, found.columns)
            return best
        for rows in event_patterns(events):
            for start in range(0, len(rows), CHUNK):
                self._solve_chunk(elimination, events, rows[start : start + CHUNK], best)
        return best

    def _solve_chunk(
        self, elimination: Elimination, events: Events, rows: np.ndarray, best: Completions
    ) -> None:
        """Solve many events at a time; split the batch in half where its tables do not fit."""
        part = events if len(rows) == events.n else events.take(rows)
        try:
            values, columns = best_completions(elimination, self.root_, part)
        except TooWide:
            if len(rows) == 1:
                raise
            for half in np.array_split(rows, 2):
                self._solve_chunk(elimination, events, half, best)
            return
        best.put(rows, values, values, columns)

    def _assignments(
        self, best: Completions, asked: Events, chosen: list[int]
    ) -> list[dict[Hashable, Any]]:
        names = [self.domain_[v].name for v in chosen]
        columns = [self._answers(v, best, asked.constraints.get(v)) for v in chosen]
        return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]

    def _answers(self, v: int, best: Completions, constraint: Constraint | None) -> list[Any]:
        """The values of one column; None where it is missing or where there is no completion."""
        variable = self.domain_[v]
        if variable.is_coded and variable.cells is None:
            axis = variable.axis
            found = [axis[int(code)] for code in best.columns[v].tolist()]
        else:
            values = typical_values(variable, best.columns[v], constraint).tolist()
            found = [None if is_missing(value) else value for value in values]
        if best.found.all():
            return found
        return [x if kept else None for x, kept in zip(found, best.found, strict=True)]


def _put(table: pd.DataFrame, v: int, rows: np.ndarray, values: pd.Series) -> None:
    """Write values into some rows of a column, in its own type."""
    column = table.iloc[:, v]
    if isinstance(column.dtype, pd.CategoricalDtype):
        new = [x for x in values.unique() if x not in column.cat.categories]
        table.isetitem(v, column.cat.add_categories(new).array)
    table.iloc[rows, v] = values.to_numpy()
