"""Many questions about single values in one call."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fspn import FSPN


def test_questions_with_the_same_evidence_are_answered_as_one_by_one() -> None:
    """Its probability is computed once in a row of equal ones; neighbours must not take it over."""
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 3, (2, 400))
    model = FSPN(random_state=0).fit(pd.DataFrame({"a": a, "b": (a + b) % 3, "c": b}))
    asked = [{"a": 0}, {"a": 1}, {"a": 1, "c": 2}, {"a": 1}, {"c": 1}, {"c": 1}, {"a": 2}]
    given = [{"b": 0}, {"b": 0}, {"b": 0}, {"b": 1}, {"b": 1, "a": 0}, {"b": 0, "a": 1}, {"b": 0}]
    singly = [model.conditional(q, e) for q, e in zip(asked, given, strict=True)]
    np.testing.assert_allclose(model.conditional(asked, given), singly, rtol=1e-12)
    assert len(set(np.round(singly, 9))) >= 5
