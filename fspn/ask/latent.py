"""The latent reading (Section 7): a root sum node is a hidden variable with its components."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fspn.ask.methods import Questions
from fspn.ask.parse import row_events
from fspn.model.eliminate.elimination import Elimination
from fspn.model.eliminate.evidence import patterns
from fspn.model.leaves.base import log_of
from fspn.model.marginals import NoMarginals, marginals
from fspn.model.nodes import Node, Sum
from fspn.schema.domain import as_table
from fspn.schema.events import Events
from fspn.schema.variable import UNKNOWN

CHUNK = 1024


@dataclass(frozen=True)
class Difference:
    """How a component's marginal of one column differs from the whole model's.

    Arguments:
        column: The column.
        distance: Half the sum of the absolute differences of probabilities, 0 to 1.
        value: The value whose probability exceeds the overall one by most, in words.
        here: Its probability in the component.
        overall: Its probability in the model.
    """

    column: Hashable
    distance: float
    value: str
    here: float
    overall: float

    def __str__(self) -> str:
        return f"{self.column} = {self.value}: {self.here:.0%} (overall {self.overall:.0%})"


@dataclass(frozen=True)
class Component:
    """A component of the root sum node.

    Arguments:
        weight: The fraction of the rows that belong to it.
        differences: The columns that differ most from the whole model, most different first.
    """

    weight: float
    differences: tuple[Difference, ...]

    def __str__(self) -> str:
        told = "; ".join(str(each) for each in self.differences) or "no column differs"
        return f"{self.weight:.0%} of the rows: {told}"


class LatentQuestions(Questions):
    """What the components of the root sum node stand for."""

    def responsibilities(self, X: Any) -> np.ndarray:
        r"""The probability of every component of the root sum node given each row.

        .. math:: r_k(x) = w_k \Pr\nolimits_k(x) / \sum_j w_j \Pr\nolimits_j(x)

        A missing cell counts as the missing state where the column has it, and is summed out
        elsewhere. A model without a sum node at its root has one component; a
        row of probability zero gets NaN.

        Arguments:
            X: A table as in :meth:`score_samples`.

        Returns:
            An array of shape (rows, components).
        """
        self._check_fitted()
        columns = self.domain_.encode(as_table(X, self.domain_.names))
        weights, children = self._components()
        elimination = Elimination(self._elimination_tables())
        logs = np.empty((len(columns[0]), len(children)))
        for rows, events in self._row_batches(columns):
            for k, child in enumerate(children):
                logs[rows, k] = elimination.logs(child, events)
        logs += log_of(weights)
        top = logs.max(axis=1, keepdims=True)
        shares = np.exp(logs - np.where(np.isneginf(top), np.nan, top))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))

    def describe_components(self, n_columns: int = 3) -> list[Component]:
        """What distinguishes each component of the root sum node, in words.

        Columns are compared by the total variation between their marginals in the component and in
        the whole model.

        Arguments:
            n_columns: How many columns to name per component.

        Returns:
            The components in the order of :meth:`responsibilities`; each prints as a sentence.
        """
        self._check_fitted()
        weights, children = self._components()
        of_children = [self._marginals(child) for child in children]
        found: list[list[Difference]] = [[] for _ in children]
        for v, variable in enumerate(self.domain_.variables):
            if variable.size == 0:
                continue
            shares = np.stack([of_child[v] for of_child in of_children])
            overall = weights @ shares
            for k, marginal in enumerate(shares):
                code = int((marginal - overall).argmax())
                distance = 0.5 * float(np.abs(marginal - overall).sum())
                told = variable.describe(code)
                chances = float(marginal[code]), float(overall[code])
                found[k].append(Difference(variable.name, distance, told, *chances))
        ranked = [sorted(each, key=lambda d: -d.distance)[:n_columns] for each in found]
        return [
            Component(float(weight), tuple(d for d in each if d.distance > 1e-12))
            for weight, each in zip(weights, ranked, strict=True)
        ]

    def _marginals(self, root: Node) -> dict[int, np.ndarray]:
        """The marginals of all coded columns: in one pass on networks, otherwise one by one."""
        try:
            return marginals(root)
        except NoMarginals:
            elimination, free = Elimination(self._elimination_tables()), Events(1, {})
            coded = [v for v in root.scope if self.domain_[v].size]
            return {v: np.exp(elimination.factor(root, free, (v,))[0]) for v in coded}

    def _components(self) -> tuple[np.ndarray, tuple[Node, ...]]:
        if isinstance(self.root_, Sum):
            return self.root_.weights, self.root_.children
        return np.ones(1), (self.root_,)

    def _row_batches(self, columns: list[np.ndarray]) -> list[tuple[np.ndarray, Events]]:
        """Batches of rows that lack the same cells."""
        missing = np.column_stack([_is_missing(column) for column in columns])
        found = []
        for mine in patterns(missing):
            events = row_events(self.domain_, [column[mine] for column in columns])
            known = frozenset(np.flatnonzero(~missing[mine[0]]).tolist())
            for start in range(0, len(mine), CHUNK):
                part = np.arange(start, min(start + CHUNK, len(mine)))
                found.append((mine[part], events.restrict(known).take(part)))
        return found


def _is_missing(column: np.ndarray) -> np.ndarray:
    return np.isnan(column) if column.dtype.kind == "f" else column == UNKNOWN
