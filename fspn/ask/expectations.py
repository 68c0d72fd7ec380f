"""Expectations given evidence: means, variances, quantiles, entropies, mutual information."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from fspn.ask.laws import ColumnLaw, RealLaw
from fspn.ask.methods import Questions
from fspn.ask.parse import in_cells
from fspn.ask.values import law_of_cells
from fspn.model.eliminate.semiring import TooWide
from fspn.schema.events import CodeRange, CodeWeights, Events, RealPoint, RealRange

MAX_TABLE = 1 << 22


class ExpectationQuestions(Questions):
    """Numbers that sum up what a model says about columns."""

    def mean(self, column: Hashable, given: Any = None, strict: bool = False) -> Any:
        r""":math:`E[X \mid E]` of an ordered or continuous column.

        Arguments:
            column: The column.
            given: Evidence in the forms of :meth:`conditional`.
            strict: Whether evidence of probability zero is an error rather than NaN.
        """
        return self._moments(column, given, strict)[0]

    def variance(self, column: Hashable, given: Any = None, strict: bool = False) -> Any:
        r""":math:`E[X^2 \mid E] - E[X \mid E]^2` of an ordered or continuous column."""
        return self._moments(column, given, strict)[1]

    def quantile(self, column: Hashable, q: Any, given: Any = None, strict: bool = False) -> Any:
        r"""The smallest value x with :math:`\Pr(X \le x \mid E) \ge q`.

        Arguments:
            column: An ordered or continuous column.
            q: A number in [0, 1], or several of them.
            given: Evidence in the forms of :meth:`conditional`.
            strict: Whether evidence of probability zero is an error rather than NaN.

        Returns:
            A value; an array of shape (q), (evidences) or (evidences, q) where several are given.
        """
        shares = np.atleast_1d(np.asarray(q, dtype=np.float64))
        if shares.ndim != 1 or not ((shares >= 0) & (shares <= 1)).all():
            raise ValueError(f"q={q!r} must be a number in [0, 1], or a list of them")
        law, single = self._law(column, given, strict)
        found = law.quantiles(shares)
        found = found[:, 0] if np.ndim(q) == 0 else found
        return _plain(found[0]) if single else found

    def entropy(
        self, columns: Sequence[Hashable] | Hashable, given: Any = None, strict: bool = False
    ) -> Any:
        r""":math:`-\sum_x \Pr(x \mid E) \ln \Pr(x \mid E)` of discrete columns, in nats.

        Arguments:
            columns: A column, or a list of columns whose joint entropy is meant.
            given: Evidence in the forms of :meth:`conditional`.
            strict: Whether evidence of probability zero is an error rather than NaN.
        """
        names = _listed(columns)
        axes = self._axes(names, "an entropy as a sum")
        tables, single = self._tables_given(axes, given, strict)
        found = np.array([_entropy(table) for table in tables])
        return float(found[0]) if single else found

    def mutual_information(
        self,
        a: Sequence[Hashable] | Hashable,
        b: Sequence[Hashable] | Hashable,
        given: Any = None,
        strict: bool = False,
    ) -> Any:
        r""":math:`I(A; B \mid E) = H(A \mid E) + H(B \mid E) - H(A, B \mid E)`, in nats.

        Continuous columns count by their cells: inside of a cell a value depends on nothing else,
        so this is their mutual information itself.

        Arguments:
            a: A column, or a list of columns.
            b: Another column, or a list of others.
            given: Evidence in the forms of :meth:`conditional`.
            strict: Whether evidence of probability zero is an error rather than NaN.
        """
        first, second = _listed(a), _listed(b)
        axes = self._axes([*first, *second], None)
        tables, single = self._tables_given(axes, given, strict)
        of_a, of_b = tuple(range(len(first))), tuple(range(len(first), len(axes)))
        found = np.array(
            [
                max(_entropy(t.sum(axis=of_b)) + _entropy(t.sum(axis=of_a)) - _entropy(t), 0.0)
                if np.isfinite(t).all()
                else np.nan
                for t in tables
            ]
        )
        return float(found[0]) if single else found

    # ------------------------------------------------------------------ one column

    def _moments(self, column: Hashable, given: Any, strict: bool) -> tuple[Any, Any]:
        law, single = self._law(column, given, strict)
        mean, variance = law.moments()
        return (float(mean[0]), float(variance[0])) if single else (mean, variance)

    def _law(self, column: Hashable, given: Any, strict: bool) -> tuple[ColumnLaw, bool]:
        """The law of one column given every evidence."""
        self._check_fitted()
        v = self.domain_.index(column)
        if self.domain_[v].kind == "unordered":
            raise ValueError(
                f"column {column!r} is unordered: its values have no mean, variance or quantiles; "
                "ask for its probabilities with conditional_table()"
            )
        asked, single = self._events({} if given is None else given, points=True)
        known = self._log_probability(asked)
        if np.isneginf(known).any():
            self._impossible_evidence(strict)
        if self.domain_[v].size:
            shares = self._shares(v, in_cells(self.domain_, asked))
            return law_of_cells(self.domain_[v], asked.constraints.get(v), shares), single
        return RealLaw(self._distribution(v, asked, known), asked.n), single

    def _distribution(
        self, v: int, asked: Events, known: np.ndarray
    ) -> Callable[[int, np.ndarray], np.ndarray]:
        """The distribution function of a column of reals given each event."""
        own = asked.constraints.get(v)

        def cdf(event: int, points: np.ndarray) -> np.ndarray:
            if np.isneginf(known[event]):
                return np.full(len(points), np.nan)
            if isinstance(own, RealPoint):
                return (points >= own.values[event]).astype(np.float64)
            low = own.lower[event] if isinstance(own, RealRange) else -np.inf
            high = own.upper[event] if isinstance(own, RealRange) else np.inf
            upper = np.clip(points, low, high)
            events = asked.take(np.full(len(points), event))
            events = events.with_constraint(v, RealRange(np.full(len(points), low), upper))
            logs = np.where(upper > low, self._log_probability(events), -np.inf)
            return np.exp(np.minimum(logs - known[event], 0.0))

        return cdf

    def _shares(self, v: int, events: Events) -> np.ndarray:
        """The probability of every cell of a column given each event, shape (n, size)."""
        size, n = self.domain_[v].size, events.n
        own = events.constraints.get(v)
        weights = own.weights(size) if isinstance(own, CodeRange | CodeWeights) else 1.0
        codes = np.tile(np.arange(size), n)
        cells = events.take(np.repeat(np.arange(n), size))
        cells = cells.with_constraint(v, CodeRange(codes, codes))
        logs = self._log_probability(cells).reshape(n, size)
        top = logs.max(axis=1, keepdims=True)
        mass = np.exp(logs - np.where(np.isneginf(top), 0.0, top)) * weights
        total = mass.sum(axis=1, keepdims=True)
        return mass / np.where(total > 0, total, np.nan)

    # ------------------------------------------------------------------ several columns

    def _axes(self, names: Sequence[Hashable], wanted: str | None) -> list[int]:
        """The positions of different columns that have finite tables."""
        self._check_fitted()
        if not names:
            raise ValueError("no column is named")
        axes = [self.domain_.index(name) for name in names]
        if len(set(axes)) < len(axes):
            raise ValueError(f"a column is named twice in {list(names)}")
        for name, v in zip(names, axes, strict=True):
            variable = self.domain_[v]
            if variable.size == 0 or (wanted and variable.kind == "continuous"):
                raise ValueError(
                    f"column {name!r} is continuous: it has no {wanted or 'finite table of cells'}"
                )
        cells = float(np.prod([float(self.domain_[v].size) for v in axes]))
        if cells > MAX_TABLE:
            raise TooWide(
                f"the columns {list(names)} have {cells:.0f} cells together, more than "
                f"{MAX_TABLE}; ask for fewer columns"
            )
        return axes

    def _tables_given(
        self, axes: list[int], given: Any, strict: bool
    ) -> tuple[list[np.ndarray], bool]:
        asked, single = self._events({} if given is None else given, points=True)
        if np.isneginf(self._log_probability(asked)).any():
            self._impossible_evidence(strict)
        tables = []
        for event in range(asked.n):
            table = self._joint_table(axes, asked.take(np.array([event])))
            total = table.sum()
            tables.append(table / (total if total > 0 else np.nan))
        return tables, single


def _listed(columns: Any) -> list[Hashable]:
    return list(columns) if isinstance(columns, list | tuple | set | np.ndarray) else [columns]


def _entropy(table: np.ndarray) -> float:
    if np.isnan(table).any():
        return np.nan
    some = table[table > 0]
    return float(-(some * np.log(some)).sum())


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
