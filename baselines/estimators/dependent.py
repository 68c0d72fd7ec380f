"""Groups of columns that depend on each other: where extended statistics are worth making."""

from __future__ import annotations

import numpy as np
import pandas as pd

from baselines.contingency import pairwise_mutual_information

MAX_COLUMNS = 5
"""Columns of one CREATE STATISTICS, at most: the server allows 8, whose analysis takes minutes."""
ROWS = 20_000
CELLS = 32


def dependent_groups(table: pd.DataFrame, pairs: int, seed: int) -> list[list[str]]:
    r"""The most dependent pairs, and the group of up to five columns grown from the first.

    Dependence is \(I(X; Y) / \min(H(X), H(Y))\) in coarse cells on a sample of the rows.
    """
    rows = np.random.default_rng(seed).permutation(len(table))[:ROWS]
    codes = np.column_stack([_coarse(table[name].iloc[rows]) for name in table.columns])
    strength = _strength(codes)
    names = [str(name) for name in table.columns]
    left, right = np.triu_indices(len(names), 1)
    order = np.argsort(-strength[left, right], kind="stable")[:pairs]
    found = [[names[left[k]], names[right[k]]] for k in order]
    group = _grown(strength, int(left[order[0]]), int(right[order[0]])) if len(order) else []
    return found if len(group) < 3 else [[names[c] for c in group], *found]


def _coarse(column: pd.Series) -> np.ndarray:
    """At most `CELLS` cells of about equal frequency, and one for missing."""
    codes, values = pd.factorize(column, sort=True)
    counts = np.bincount(codes[codes >= 0], minlength=len(values))
    if len(values) > CELLS:
        share = (np.cumsum(counts) - counts) / max(counts.sum(), 1)
        codes = np.where(codes >= 0, (CELLS * share).astype(np.int64)[codes], -1)
    return codes + 1


def _strength(codes: np.ndarray) -> np.ndarray:
    cards = codes.max(axis=0) + 1
    information = pairwise_mutual_information(codes, cards)
    shares = [np.bincount(column) / len(column) for column in codes.T]
    entropy = np.array([-np.sum(p[p > 0] * np.log(p[p > 0])) for p in shares])
    return information / np.maximum(np.minimum.outer(entropy, entropy), 1e-9)


def _grown(strength: np.ndarray, first: int, second: int) -> list[int]:
    """Columns added one by one, each the most dependent on those already there."""
    group = [first, second]
    while len(group) < min(MAX_COLUMNS, len(strength)):
        gain = strength[group].sum(axis=0)
        gain[group] = -1.0
        group.append(int(np.argmax(gain)))
    return sorted(group)
