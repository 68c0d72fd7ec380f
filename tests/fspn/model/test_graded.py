"""The graded law: rows written out, stored and read back, and its tails."""

from __future__ import annotations

import numpy as np
import pytest

from fspn.model.cpt.backoff import BackoffTable
from fspn.model.cpt.dense import dense_table
from fspn.model.cpt.graded import GradedLaw, graded_rows

BASE = np.array([0.1, 0.2, 0.3, 0.4])


def law(epsilon: float = 0.1) -> GradedLaw:
    effects = (np.array([0.0, 1.0]), np.array([-1.0, 0.5, 2.0]))
    return GradedLaw(effects, np.array([0.0, 0, 0, 0, 0, 3]), np.array([-1.0, 0, 2]), epsilon)


def sigmoid(z: float) -> float:
    return 1 / (1 + np.exp(-z))


def test_one_row_by_hand() -> None:
    found = BackoffTable(BASE, (law(),)).table(np.array([[1, 2]]))[0]
    location = 1.0 + 2.0 + 3.0
    below = [0.0, *(sigmoid(cut - location) for cut in (-1, 0, 2)), 1.0]
    assert found == pytest.approx(0.9 * np.diff(below) + 0.1 * BASE, abs=1e-15)


def test_rows_of_the_kernels_are_the_table() -> None:
    table = BackoffTable(BASE, (law(),))
    configurations = np.indices((2, 3)).reshape(2, -1).T
    dense = dense_table(table).reshape(6, 4)
    assert np.abs(dense - table.table(configurations)).max() < 1e-15
    assert dense.sum(axis=1) == pytest.approx(np.ones(6), abs=1e-14)


def test_survives_its_state() -> None:
    again = GradedLaw.from_state(law().state())
    assert again.sizes == (2, 3)
    assert np.array_equal(again.rows.share, law().rows.share)


def test_both_tails_keep_their_digits() -> None:
    cuts = np.array([-40.0, 0.0, 40.0])
    first, last = graded_rows(np.array([-100.0, 100.0]), cuts)
    assert last[0] == pytest.approx(np.exp(-140.0), rel=1e-9)
    assert first[-1] == pytest.approx(np.exp(-140.0), rel=1e-9)


def test_counts_its_free_parameters() -> None:
    assert law().n_parameters == 3 + (1 + 2) + 6
