"""Expectations given evidence: means, variances, quantiles, entropies, mutual information."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from fspn.ask.laws import CellLaw, ColumnLaw, DiscreteLaw, RealLaw, cut_pieces
from fspn.ask.methods import Questions
from fspn.ask.parse import in_cells
from fspn.ask.values import allowed_ranges
from fspn.model.eliminate.semiring import TooWide
from fspn.schema.events import CodeRange, CodeWeights, Events, RealPoint, RealRange
from fspn.schema.refusals import refuse_no_values

MAX_TABLE = 1 << 22
MICROSECONDS = 1e6


class ExpectationQuestions(Questions):
    """Summary statistics of columns under the model, given evidence."""

    def mean(self, column: Hashable, given: Any = None, strict: bool = False) -> Any:
        r""":math:`E[X \mid E]` of a column of numbers, dates or booleans.

        Missing values are excluded; probability beyond the training range counts at its ends.

        Arguments:
            column: The column; the mean of datetimes is a datetime.
            given: Evidence in the forms of :meth:`conditional`.
            strict: Whether evidence of probability zero is an error rather than NaN.
        """
        law, single = self._law(column, given, strict, moments=True)
        mean = law.moments()[0]
        variable = self.domain_[self.domain_.index(column)]
        if variable.kind == "datetime":
            dates = variable.restore(mean)
            return dates.iloc[0] if single else dates.to_numpy()
        return float(mean[0]) if single else mean

    def variance(self, column: Hashable, given: Any = None, strict: bool = False) -> Any:
        r""":math:`E[X^2 \mid E] - E[X \mid E]^2`, as in :meth:`mean`; of datetimes in seconds^2."""
        law, single = self._law(column, given, strict, moments=True)
        variance = law.moments()[1]
        if self.domain_[self.domain_.index(column)].kind == "datetime":
            variance = variance / MICROSECONDS**2
        return float(variance[0]) if single else variance

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
        line = law.quantiles(shares)
        variable = self.domain_[self.domain_.index(column)]
        found = variable.restore(line.ravel()).to_numpy().reshape(line.shape)
        found = found[:, 0] if np.ndim(q) == 0 else found
        return _scalar(found[0]) if single else found

    def entropy(
        self, columns: Sequence[Hashable] | Hashable, given: Any = None, strict: bool = False
    ) -> Any:
        r""":math:`-E[\ln p(X \mid E)]` of columns together, in nats.

        A sum over the values of discrete columns and an integral of the density over reals, as in
        :meth:`score_samples`. Missing is a state like any other.

        Arguments:
            columns: A column, or a list of columns for their joint entropy.
            given: Evidence in the forms of :meth:`conditional`.
            strict: Whether evidence of probability zero is an error rather than NaN.
        """
        axes = self._axes(_listed(columns))
        asked, single = self._given(given, strict)
        found = np.empty(asked.n)
        for event, table in enumerate(self._tables_given(axes, asked)):
            found[event] = _entropy(table)
            for place, v in enumerate(axes):
                rest = tuple(a for a in range(len(axes)) if a != place)
                found[event] += table.sum(axis=rest) @ self._entropies_inside(v, asked, event)
        return float(found[0]) if single else found

    def _entropies_inside(self, v: int, asked: Events, event: int) -> np.ndarray:
        """The entropy within cells: what remains once the cell of a column is known."""
        variable = self.domain_[v]
        found = np.zeros(variable.size)
        if variable.cells is not None:
            lower, upper = allowed_ranges(asked.constraints.get(v), asked.n)
            pieces = cut_pieces(variable.cells, lower[event], upper[event])
            found[: variable.n_values] = pieces.entropies(variable.n_values)
        return found

    def mutual_information(
        self,
        a: Sequence[Hashable] | Hashable,
        b: Sequence[Hashable] | Hashable,
        given: Any = None,
        strict: bool = False,
    ) -> Any:
        r""":math:`I(A; B \mid E) = H(A \mid E) + H(B \mid E) - H(A, B \mid E)`, in nats.

        Continuous columns enter by their cells. Within its cell a value is independent of all other
        columns, so nothing is lost. Missing is a state like any other.

        Arguments:
            a: A column, or a list of columns.
            b: Another column, or a list of others.
            given: Evidence in the forms of :meth:`conditional`.
            strict: Whether evidence of probability zero is an error rather than NaN.
        """
        first, second = _listed(a), _listed(b)
        axes = self._axes([*first, *second])
        asked, single = self._given(given, strict)
        of_a, of_b = tuple(range(len(first))), tuple(range(len(first), len(axes)))
        found = np.array(
            [
                max(_entropy(t.sum(axis=of_b)) + _entropy(t.sum(axis=of_a)) - _entropy(t), 0.0)
                if np.isfinite(t).all()
                else np.nan
                for t in self._tables_given(axes, asked)
            ]
        )
        return float(found[0]) if single else found

    # ------------------------------------------------------------------ one column

    def _given(self, given: Any, strict: bool) -> tuple[Events, bool]:
        """The evidence as events, and whether it was a single one; warns if it is impossible."""
        asked, single = self._events({} if given is None else given, points=True)
        if np.isneginf(self._log_probability(asked)).any():
            self._impossible_evidence(strict)
        return asked, single

    def _law(
        self, column: Hashable, given: Any, strict: bool, moments: bool = False
    ) -> tuple[ColumnLaw, bool]:
        """The distribution of one column given each evidence, missing values excluded."""
        self._check_fitted()
        v = self.domain_.index(column)
        variable = self.domain_[v]
        numeric = not variable.has_labels or variable.kind == "boolean"
        if not (numeric if moments else variable.is_ordered):
            raise ValueError(
                f"column {column!r} is {'labels' if variable.is_ordered else 'unordered'}: its "
                f"values have no {'mean or variance' if moments else 'quantiles'}; ask for its "
                "probabilities with conditional_table()"
            )
        refuse_no_values(variable)
        asked, single = self._given(given, strict)
        constraint = asked.constraints.get(v)
        if not variable.is_coded:
            return RealLaw(self._distribution(v, asked), asked.n), single
        shares = self._shares(v, in_cells(self.domain_, asked))
        if variable.cells is None:
            return DiscreteLaw(variable.line_values, shares), single
        return CellLaw(variable.cells, shares, constraint), single

    def _distribution(self, v: int, asked: Events) -> Callable[[int, np.ndarray], np.ndarray]:
        """The distribution function of a column of reals given each event."""
        own, known = asked.constraints.get(v), self._log_probability(asked)

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
        """The probability of every cell given each event and no missing value, (n, cells)."""
        size, n = self.domain_[v].n_values, events.n
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

    def _axes(self, names: Sequence[Hashable]) -> list[int]:
        """The positions of the named columns, which must be distinct and have cells."""
        self._check_fitted()
        if not names:
            raise ValueError("no column is named")
        axes = [self.domain_.index(name) for name in names]
        if len(set(axes)) < len(axes):
            raise ValueError(f"a column is named twice in {list(names)}")
        for name, v in zip(names, axes, strict=True):
            if not self.domain_[v].is_coded:
                raise ValueError(f"column {name!r} is continuous and has no finite table of cells")
        cells = float(np.prod([float(self.domain_[v].size) for v in axes]))
        if cells > MAX_TABLE:
            raise TooWide(
                f"the columns {list(names)} have {cells:.0f} cells together, more than "
                f"{MAX_TABLE}; ask for fewer columns"
            )
        return axes

    def _tables_given(self, axes: list[int], asked: Events) -> Iterator[np.ndarray]:
        """The table of cells of some columns given each event."""
        for event in range(asked.n):
            table = self._joint_table(axes, asked.take(np.array([event])))
            total = table.sum()
            yield table / (total if total > 0 else np.nan)


def _listed(columns: Any) -> list[Hashable]:
    return list(columns) if isinstance(columns, list | tuple | set | np.ndarray) else [columns]


def _entropy(table: np.ndarray) -> float:
    if np.isnan(table).any():
        return np.nan
    some = table[table > 0]
    return float(-(some * np.log(some)).sum())


def _scalar(value: Any) -> Any:
    """A numpy scalar as Python's own type, a datetime as a pandas Timestamp."""
    if isinstance(value, np.datetime64):
        return pd.Timestamp(value)
    return value.item() if isinstance(value, np.generic) else value
