"""The decision tree as a level of a table: routing, smoothing along the way, rows, storage."""

from __future__ import annotations

import numpy as np
import pytest

from fspn.model.cpt.backoff import BackoffTable
from fspn.model.cpt.dense import dense_table
from fspn.model.cpt.tree import TreeLevel

BASE = np.array([0.5, 0.25, 0.25])


def tree() -> TreeLevel:
    """Parent 0 at most 1? No: leaf of codes 2. Yes: is parent 1 equal to 2?"""
    tests = np.array([[0, 1, 0, 1, 2], [1, 2, 1, 3, 4], *[[-1, 0, 0, 0, 0]] * 3])
    # Leaves in the order of the nodes: 2, 3, 4.
    codes, counts = np.array([2, 0, 1, 0]), np.array([6, 3, 1, 2])
    return TreeLevel((4, 3), tests, np.array([0, 1, 3, 4]), codes, counts, 2.0)


def test_every_configuration_has_its_leaf() -> None:
    found = tree().route(np.array([[2, 0], [3, 2], [0, 2], [1, 2], [1, 1]]))
    assert found.tolist() == [0, 0, 1, 1, 2]


def test_a_leaf_is_smoothed_towards_the_nodes_above_it() -> None:
    root = (np.array([5.0, 1, 6]) + 2 * BASE) / 14
    inner = (np.array([5.0, 1, 0]) + 2 * root) / 8
    leaf = (np.array([3.0, 1, 0]) + 2 * inner) / 6
    found = BackoffTable(BASE, (tree(),)).table(np.array([[0, 2]]))[0]
    assert found == pytest.approx(leaf, abs=1e-15)


def test_rows_of_the_kernels_are_the_table() -> None:
    table = BackoffTable(BASE, (tree(),))
    dense = dense_table(table).reshape(12, 3)
    assert np.abs(dense - table.table(np.indices((4, 3)).reshape(2, -1).T)).max() < 1e-15
    assert dense.sum(axis=1) == pytest.approx(np.ones(12), abs=1e-14)


def test_survives_its_state() -> None:
    again = TreeLevel.from_state(tree().state())
    assert np.array_equal(again.rows.share, tree().rows.share)
    assert again.n_parameters == tree().n_parameters == 4 + 4
