"""What a fitted model can be asked."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from math import exp
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from fspn.ask.parse import (
    Question,
    box_events,
    dict_events,
    in_cells,
    intersect_events,
    row_events,
)
from fspn.ask.quick import Columns, QuestionList
from fspn.engine.cold_start import answer_meanwhile
from fspn.engine.engine import Engine
from fspn.engine.joint_table import enumerate_logs
from fspn.model.eliminate.elimination import Elimination
from fspn.model.eliminate.tables import Tables
from fspn.model.infer import log_probability
from fspn.model.nodes import Node
from fspn.schema.caution import warn_caller
from fspn.schema.cells import OUTSIDE
from fspn.schema.domain import Domain, as_table
from fspn.schema.events import CodeRange, Events
from fspn.schema.refusals import refuse_evidence, refuse_one_name
from fspn.schema.variable import UNKNOWN, Variable

MISSING_CELLS = ("auto", "state", "sum_out")

# Probabilities, whether a single one was meant, whether any evidence is impossible.
Answers = tuple[np.ndarray, bool, bool]


class ReadyEngine:
    """The compiled engine; None where the model cannot be compiled or kernels are not ready.

    Once ready it becomes an attribute of the instance, which is found before this descriptor: a
    property would cost a tenth of a simple question on every call.
    """

    def __get__(self, model: Questions, owner: type) -> Engine | None:
        engine = model._compiled
        if engine is None or not engine.is_ready:
            return None
        model.__dict__["_engine"] = engine
        return engine


class Questions:
    """The questions of :class:`fspn.FSPN`, once it has a domain, a root and perhaps an engine."""

    domain_: Domain
    root_: Node
    as_frame_: bool
    n_features_in_: int
    _compiled: Engine | None
    _sql_probability: Callable[[Any], Any]  # The estimator knows how to read conditions in SQL.

    _engine = ReadyEngine()

    def probability(self, event: Any = None, upper: Any = None, *, lower: Any = None) -> Any:
        """The probability of events; also of SQL conditions, ``"age > 30 AND sex = 'F'"``.

        Arguments:
            event: One dictionary ``{column: value, (low, high) or {values}}``, a list of them, or
                the lower sides of closed boxes, an array of shape (n, m) or (m,). None asks for
                missing values, ``fspn.NOT_MISSING`` for all others; a value or a range never
                includes missing ones. Or SQL: a condition, a ``SELECT count(*)``, a list of them.
            upper: The upper sides of the boxes. NaN or an infinity = no constraint.
            lower: The lower sides of boxes by keyword, in place of ``event``.
        """
        self._check_fitted()
        if type(event) is dict and upper is None and lower is None:
            value = self._quick(event, {})
            if value is not None:
                return value
        refuse_evidence(upper)
        lower = _one_of(event, lower, upper)
        engine = None if upper is None else self._engine
        if engine is not None and engine.takes_boxes:
            low, high, single = self._boxes(lower, upper)
            logs = engine.box_log_probability(low, high)
            return exp(logs[0]) if single else np.exp(logs, out=logs)
        if upper is None:
            if _is_sql(lower):
                return self._sql_probability(lower)
            found = self._quick(lower, {}) if type(lower) is list else None
            if found is not None:
                return found
        events, single = self._events(lower if upper is None else (lower, upper))
        values = np.exp(self._log_probability(events))
        return float(values[0]) if single else values

    def conditional(self, query: Any, evidence: Any, strict: bool = False) -> Any:
        """The probability of ``query`` given ``evidence``, in the forms of :meth:`probability`.

        Boxes are given as a pair ``(lower, upper)``, SQL as two conditions. A single value of a
        continuous column as evidence conditions on its density. Evidence of probability zero gives
        NaN and a warning, or an error if ``strict`` is set.
        """
        self._check_fitted()
        found = self._quick(query, evidence)
        if found is None:
            values, single, impossible = (
                self._box_conditional(query, evidence)
                or self._sql_conditional(query, evidence)
                or self._any_conditional(query, evidence)
            )
            found = float(values[0]) if single else values
        else:
            total = found if type(found) is float else found.sum()
            impossible = total != total
        if impossible:
            self._impossible_evidence(strict)
        return found

    # Ways to the answers; all but the last return None where they do not apply.

    def _box_conditional(self, query: Any, evidence: Any) -> Answers | None:
        """Query and evidence as pairs of arrays (lower, upper), answered in one pass."""
        if type(query) is not tuple or type(evidence) is not tuple or self._engine is None:
            return None
        if not (self._engine.takes_boxes and len(query) == len(evidence) == 2):
            return None
        low, high, single = self._boxes(*query)
        given_low, given_high, given_single = self._boxes(*evidence)
        n = len(low)
        if n != len(given_low):
            return None
        # A side without a constraint is NaN: fmax and fmin take the other one.
        lower = np.concatenate([np.fmax(low, given_low), given_low])
        upper = np.concatenate([np.fmin(high, given_high), given_high])
        logs = self._engine.box_log_probability(lower, upper)
        return _ratio(logs[:n], logs[n:], single and given_single)

    def _quick(self, query: Any, evidence: Any) -> Any:
        """A probability by dictionaries, or an array of them by lists, without building events.

        NaN given impossible evidence; None where only the general path can read a question.
        """
        engine = self._engine
        if engine is None:
            return None
        found = QuestionList(self._columns())
        if type(query) is dict and type(evidence) is dict:
            if not found.add(query, evidence):
                return None
            return float(engine.questions(found.listed, 1)[0])
        asked, given = (side if type(side) is list else [side] for side in (query, evidence))
        n = len(asked) if len(given) == 1 else len(given)
        if not n or len(asked) not in (1, n):
            return None
        asked, given = (side * n if len(side) == 1 else side for side in (asked, given))
        for one, other in zip(asked, given, strict=True):
            if not found.add(one, other):
                return None
        return engine.questions(found.listed, n)

    def _columns(self) -> Columns:
        """The readers of the columns of questions; rebuilt when the domain changes."""
        known: tuple[Domain, Columns] | None = self.__dict__.get("_readers")
        if known is None or known[0] is not self.domain_:
            known = self._readers = (self.domain_, Columns(self.domain_))
        return known[1]

    def _sql_conditional(self, query: Any, evidence: Any) -> Answers | None:
        """Query and evidence as two conditions in SQL."""
        if not (isinstance(query, str) and isinstance(evidence, str)):
            return None
        both, given = self._sql_probability([f"({query}) AND ({evidence})", evidence])
        return np.array([both / given if given > 0 else np.nan]), True, not given > 0

    def _any_conditional(self, query: Any, evidence: Any) -> Answers:
        """Query and evidence in any form."""
        given, given_single = self._events(evidence, points=True)
        asked, asked_single = self._events(query)
        whole = self._log_probability(given)
        both = self._log_probability(intersect_events(asked, given))
        return _ratio(both, whole, given_single and asked_single)

    def conditional_table(
        self, query: Sequence[Hashable], evidence: Question | None = None, strict: bool = False
    ) -> np.ndarray:
        """The whole table of the query columns given the evidence, normalised.

        Arguments:
            query: The axes of the table, each in the order of the column's sorted domain, the
                missing state last; for reals, the column's cells. ``domain_[v].axis`` lists them.
            evidence: A dictionary, as in :meth:`conditional`.
            strict: Whether evidence of probability zero is an error rather than NaN.
        """
        self._check_fitted()
        if not isinstance(evidence, Mapping | None):
            raise TypeError("the evidence of a table is one dictionary {column: value}")
        refuse_one_name(query)
        axes = [self.domain_.index(name) for name in query]
        self._check_axes(query, axes, evidence or {})
        given, _ = self._events(evidence or {}, points=True)
        table = self._joint_table(axes, given)
        for position, v in enumerate(axes):
            table = _spread(table, position, self.domain_[v])
        total = table.sum()
        if not total > 0:
            self._impossible_evidence(strict)
            return np.full(table.shape, np.nan)
        return table / total

    def log_probability_of_codes(self, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """The log-probability of boxes of codes, shape (n, m) or (m,), for callers that hold codes.

        Code k is the k-th value of a column's sorted domain; discrete columns only.
        """
        self._check_fitted()
        lower, upper = np.atleast_2d(lower), np.atleast_2d(upper)
        if self._engine is not None:
            low, high = _c_array(lower, np.int64), _c_array(upper, np.int64)
            self._check_boxes(low, high)
            return self._engine.run_boxes_of_codes(low, high)
        sides = zip(lower.T, upper.T, strict=True)
        constraints = {v: CodeRange(first, last) for v, (first, last) in enumerate(sides)}
        return self._log_probability(Events(len(lower), constraints))

    def score_samples(self, X: Any, missing: str = "auto") -> np.ndarray:
        """The log-likelihood of every row.

        A density with respect to counting measure on the values of discrete columns, the atoms of
        mixed ones and the missing state, and to Lebesgue measure on all other reals.

        Arguments:
            X: The rows.
            missing: How a missing cell is read: ``"state"``, as a state of its own (impossible
                where the column had no missing values in training); ``"sum_out"``, as unknown;
                ``"auto"``, as the state where the column has one, otherwise as unknown.
        """
        self._check_fitted()
        if missing not in MISSING_CELLS:
            raise ValueError(f"missing={missing!r} is not one of {MISSING_CELLS}")
        table = as_table(X, self.domain_.names)
        extra = np.zeros(len(table))
        columns = []
        for variable in self.domain_.variables:
            line = variable.places(table[variable.name])
            columns.append(_score_codes(variable, line, missing))
            extra += variable.log_density(line)
        if missing == "state":
            extra += _no_reals_missing(self.domain_, columns)
        scores = self._score_columns(columns, len(table))
        return np.where(np.isneginf(scores), -np.inf, scores + extra)

    def score(self, X: Any, y: Any = None) -> float:
        """The mean log-likelihood of the rows."""
        return float(self.score_samples(X).mean())

    def _check_fitted(self) -> None:
        # scikit-learn's own check takes as long as a query.
        if not hasattr(self, "root_"):
            check_is_fitted(self, "root_")

    def _elimination_tables(self) -> Tables:
        """What eliminations share between questions; rebuilt when the root changes."""
        known: tuple[Node, Tables] | None = getattr(self, "_tables", None)
        if known is None or known[0] is not self.root_:
            known = (self.root_, Tables([variable.size for variable in self.domain_.variables]))
            self._tables = known
        return known[1]

    def _log_probability(self, events: Events) -> np.ndarray:
        events = in_cells(self.domain_, events)
        engine = self._compiled
        if engine is None:
            return log_probability(self.root_, events)
        if engine.is_ready:
            return engine.log_probability(events)
        slowly = partial(Elimination(self._elimination_tables()).logs, self.root_)
        return answer_meanwhile(events, slowly, engine.log_probability, lambda: engine.is_ready)

    def _events(self, asked: Any, points: bool = False) -> tuple[Events, bool]:
        """Events from any of the accepted forms, and whether a single one was given."""
        if isinstance(asked, Mapping):
            return dict_events(self.domain_, [asked], points), True
        if isinstance(asked, tuple) and len(asked) == 2:
            low, high, single = self._boxes(*asked)
            return box_events(self.domain_, low, high), single
        if isinstance(asked, Sequence) and all(isinstance(each, Mapping) for each in asked):
            return dict_events(self.domain_, asked, points), False
        raise TypeError(
            "ask with a dictionary {column: value}, a list of them, or a pair of arrays "
            "(lower, upper)"
        )

    def _boxes(self, lower: Any, upper: Any) -> tuple[np.ndarray, np.ndarray, bool]:
        low = _c_array(lower, np.float64)
        high = low if upper is lower else _c_array(upper, np.float64)
        self._check_boxes(low, high)
        single = low.ndim == 1
        if single:
            low, high = low[None, :], high[None, :]
        return low, high, single

    def _check_boxes(self, low: np.ndarray, high: np.ndarray) -> None:
        m = self.n_features_in_
        if low.shape != high.shape or low.ndim not in (1, 2) or low.shape[-1] != m:
            raise ValueError(
                f"boxes of shape {low.shape} and {high.shape} do not fit a model of {m} columns; "
                f"both sides are of shape (n, {m}), or ({m},) for one box"
            )

    def _score_columns(self, columns: list[np.ndarray], n: int) -> np.ndarray:
        """Score rows that lack the same reals together, with those variables left out."""
        reals = [v for v, variable in enumerate(self.domain_.variables) if not variable.is_coded]
        if not reals:
            return self._log_probability(row_events(self.domain_, columns))
        missing = np.column_stack([np.isnan(columns[v]) for v in reals])
        scores = np.empty(n)
        patterns, which = np.unique(missing, axis=0, return_inverse=True)
        for pattern in range(len(patterns)):
            rows = np.flatnonzero(which.ravel() == pattern)
            events = row_events(self.domain_, [column[rows] for column in columns])
            scores[rows] = self._log_probability(events)
        return scores

    def _check_axes(self, query: Sequence[Hashable], axes: list[int], evidence: Question) -> None:
        if not axes:
            raise ValueError("the query names no column")
        if len(set(axes)) < len(axes):
            raise ValueError(f"the query {list(query)} names a column twice")
        for name, v in zip(query, axes, strict=True):
            if not self.domain_[v].is_coded:
                raise ValueError(
                    f"column {name!r} is continuous and has no finite table; ask for the "
                    "probability of intervals with conditional()"
                )
            if name in evidence:
                raise ValueError(f"column {name!r} is both in the query and in the evidence")

    def _joint_table(self, axes: list[int], given: Events) -> np.ndarray:
        if self._engine is not None:
            return self._engine.joint_table(axes, in_cells(self.domain_, given))
        sizes = [self.domain_[v].size for v in axes]
        logs = enumerate_logs(axes, sizes, given, self._log_probability)
        top = logs.max()
        return np.exp(logs - top) if np.isfinite(top) else np.zeros(sizes)

    @staticmethod
    def _impossible_evidence(strict: bool) -> None:
        message = "the evidence has probability zero, so nothing can be said given it"
        if strict:
            raise ValueError(message)
        warn_caller(message + "; the answer is NaN")


def _one_of(event: Any, lower: Any, upper: Any) -> Any:
    """The lower sides, given by position or by keyword."""
    if (event is None) == (lower is None):
        raise TypeError("probability takes one event: a dictionary, or boxes (lower, upper)")
    if lower is not None and upper is None:
        raise TypeError("boxes have two sides: probability(lower=..., upper=...)")
    return event if lower is None else lower


def _score_codes(variable: Variable, line: np.ndarray, missing: str) -> np.ndarray:
    """The codes (or reals) of a column's values, missing ones read as ``missing`` says."""
    if not variable.is_coded:
        return line
    code = variable.missing_code
    if missing == "sum_out":
        code = UNKNOWN
    elif missing == "state" and code == UNKNOWN:
        code = OUTSIDE
    return variable.codes(line, code)


def _no_reals_missing(domain: Domain, columns: list[np.ndarray]) -> np.ndarray:
    """Minus infinity for rows that lack a real of a column without a missing state."""
    reals = [np.isnan(c) for v, c in zip(domain, columns, strict=True) if not v.is_coded]
    lacking = np.any(reals, axis=0) if reals else np.zeros(len(columns[0]), dtype=bool)
    return np.where(lacking, -np.inf, 0.0)


def _spread(table: np.ndarray, position: int, variable: Variable) -> np.ndarray:
    """Expand an axis of cells to one of values, by their shares, where the column is discrete."""
    if variable.cells is None or not variable.cells.is_discrete:
        return table
    cell, share = variable.cells.support_shares
    if variable.missing is not None:
        cell, share = np.append(cell, variable.n_values), np.append(share, 1.0)
    shape = [1] * table.ndim
    shape[position] = len(share)
    return np.take(table, cell, axis=position) * share.reshape(shape)


def _c_array(side: Any, dtype: Any) -> np.ndarray:
    """A C-contiguous array of the kernels' type; any other would trigger a new compilation."""
    array = np.asarray(side, dtype=dtype)
    return array if array.flags.carray else array.copy(order="C")


def _is_sql(asked: Any) -> bool:
    """Whether a question is one SQL text or a list of them."""
    if isinstance(asked, list | tuple):
        return bool(asked) and all(isinstance(each, str) for each in asked)
    return isinstance(asked, str)


def _ratio(both: np.ndarray, given: np.ndarray, single: bool) -> Answers:
    """Answers from the log-probabilities of query and evidence, and of the evidence alone."""
    impossible = bool(given.min(initial=0.0) == -np.inf)
    if impossible:
        both = np.where(np.isneginf(given), np.nan, both)
    return np.exp(both - given), single, impossible
