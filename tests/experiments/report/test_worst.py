"""The worst queries: the error is traced to the fewest predicates that cause it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from experiments.report.row_counts.worst import smallest_part
from fspn import FSPN


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    a = rng.integers(0, 5, 4000)
    return pd.DataFrame({"a": a, "b": a, "c": rng.integers(0, 3, 4000)})


@pytest.fixture(scope="module")
def independent(table: pd.DataFrame) -> FSPN:
    """A model that lacks the dependence of a and b."""
    shuffled = table.assign(b=table["b"].sample(frac=1, random_state=1).to_numpy())
    return FSPN(random_state=0).fit(shuffled)


def test_a_missed_dependence_is_traced_to_its_pair(table: pd.DataFrame, independent: FSPN) -> None:
    part = smallest_part("a = 1 AND b = 2 AND c <= 2", 160.0, table, independent)
    assert part is not None
    assert part.columns == ("a", "b")
    assert part.rows == 0
    assert part.estimate == pytest.approx(160, rel=0.2)
    assert "a, b alone: 0 rows" in str(part)


def test_an_error_of_all_predicates_has_no_smaller_part(
    table: pd.DataFrame, independent: FSPN
) -> None:
    assert smallest_part("a = 1 AND b = 2", 160.0, table, independent) is None
    assert smallest_part("a = 1", 1.0, table, independent) is None
    assert smallest_part("a = 1 OR c = 2", 9.0, table, independent) is None
