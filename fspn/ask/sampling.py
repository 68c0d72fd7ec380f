"""Rows drawn from the model, unconditionally or given evidence."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils import check_random_state

from fspn.ask.methods import Questions
from fspn.ask.parse import in_cells
from fspn.ask.values import drawn_values
from fspn.model.eliminate.descend import Columns, Descent, random_choice
from fspn.model.eliminate.elimination import Elimination
from fspn.model.sample import sample_columns
from fspn.schema.events import Events
from fspn.schema.refusals import refuse_sample_sizes

CHUNK = 1 << 15


class SampleQuestions(Questions):
    """Sampling."""

    def sample(self, n_samples: int = 1, random_state: Any = None, given: Any = None) -> Any:
        r"""Rows drawn from the model, as a DataFrame (an array if it was fitted on one).

        .. math:: x \sim \Pr(X \mid E)

        Arguments:
            n_samples: How many rows.
            random_state: The seed, or a generator as scikit-learn takes it.
            given: Evidence E in the forms of :meth:`conditional`, values, ranges and sets alike;
                all columns are returned. A list of evidences gives a list of tables.
        """
        self._check_fitted()
        refuse_sample_sizes(n_samples)
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
        if given is None:
            columns = sample_columns(self.root_, n_samples, rng)
            return self._table(
                [variable.realise(columns[v], rng) for v, variable in enumerate(self.domain_)]
            )
        asked, single = self._events(given, points=True)
        if np.isneginf(self._log_probability(asked)).any():
            raise ValueError("the evidence has probability zero, so nothing can be drawn given it")
        found = [
            self._sample_given(asked.take(np.array([event])), n_samples, rng)
            for event in range(asked.n)
        ]
        return found[0] if single else found

    def _sample_given(self, asked: Events, n: int, rng: np.random.Generator) -> Any:
        elimination = Elimination(self._elimination_tables())
        events = in_cells(self.domain_, asked)
        columns: Columns = {v: np.empty(n) for v in range(len(self.domain_))}
        for start in range(0, n, CHUNK):
            count = min(CHUNK, n - start)
            descent = Descent(elimination, random_choice(rng), count, rng)
            descent.go(self.root_, events, np.arange(count), np.zeros(count, dtype=np.int64))
            for v, column in descent.columns.items():
                columns[v][start : start + count] = column
        return self._table(
            [
                drawn_values(variable, columns[v], asked.constraints.get(v), rng)
                for v, variable in enumerate(self.domain_)
            ]
        )

    def _table(self, drawn: list[pd.Series]) -> Any:
        frame = pd.concat(drawn, axis=1, keys=self.domain_.names)
        frame.columns = pd.Index(self.domain_.names, tupleize_cols=False)
        return frame if self.as_frame_ else frame.to_numpy()
