r"""The climb within the width bound, compiled: every move needs a greedy elimination of its own.

A network is an index into a list of scored parent sets for every variable. Costs of the
elimination are sums of logarithms,

.. math:: c(v) = \ln |v| + \sum_{u \in N(v)} \ln |u|

as in :func:`fspn.model.graph.greedy_order`, which checks the result.
"""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def take_moves(
    moves: np.ndarray,
    flat: np.ndarray,
    child_of: np.ndarray,
    values: np.ndarray,
    logs: np.ndarray,
    chosen: np.ndarray,
    bound: float,
    single: float,
    max_cost: float,
    max_checks: int,
) -> tuple[int, int]:
    """Go once through some moves and take those that gain and keep to the bound.

    Returns how many were taken, and how many elimination orders were tried.

    Arguments:
        moves: Indices of sets, the largest gain first.
        flat: The parent sets, -1 behind the last parent.
        child_of: The variable that a set is for.
        values: The scores of the sets.
        logs: The logarithm of every variable's number of values.
        chosen: The set of every variable, changed in place.
        bound: The logarithm of the bound on the cells of a product.
        single: The logarithm of how many times as many the table of a single parent may have.
        max_cost: The bound on the cells of all products together.
        max_checks: Elimination orders that may be tried.
    """
    m = len(logs)
    near, degree = np.empty((m, m), dtype=np.int32), np.empty(m, dtype=np.int64)
    taken, checks = 0, 0
    for index in moves:
        v = child_of[index]
        if values[index] <= values[chosen[v]] + 1e-9 or _makes_cycle(flat, chosen, index, v):
            continue
        if checks == max_checks:
            break
        before = chosen[v]
        chosen[v] = index
        checks += 1
        if is_narrow_sets(flat, chosen, logs, bound, single, max_cost, near, degree):
            taken += 1
        else:
            chosen[v] = before
    return taken, checks


@njit(cache=True, nogil=True)
def _makes_cycle(flat: np.ndarray, chosen: np.ndarray, index: int, child: int) -> bool:
    """Whether one of a set's members is below the child."""
    m = len(chosen)
    seen, pending = np.zeros(m, dtype=np.bool_), np.empty(m, dtype=np.int64)
    n = 0
    for p in flat[index]:
        if p >= 0:
            seen[p] = True
            pending[n] = p
            n += 1
    while n > 0:
        n -= 1
        v = pending[n]
        if v == child:
            return True
        for p in flat[chosen[v]]:
            if p >= 0 and not seen[p]:
                seen[p] = True
                pending[n] = p
                n += 1
    return False


@njit(cache=True, nogil=True)
def is_narrow_sets(
    flat: np.ndarray,
    chosen: np.ndarray,
    logs: np.ndarray,
    bound: float,
    single: float,
    max_cost: float,
    near: np.ndarray,
    degree: np.ndarray,
) -> bool:
    """Whether the greedy elimination keeps to the bound; ``near`` and ``degree`` are room."""
    m = len(chosen)
    degree[:] = 0
    most = bound
    for v in range(m):
        n = 0
        for p in flat[chosen[v]]:
            n += p >= 0
        if n == 1:
            most = max(most, logs[v] + logs[flat[chosen[v], 0]])
        for i in range(n):
            p = flat[chosen[v], i]
            _join(near, degree, v, p)
            for j in range(i):
                _join(near, degree, p, flat[chosen[v], j])
    if most > bound + single + 1e-9:
        return False
    return _eliminates(near, degree, logs, most + 1e-9, max_cost * (1 + 1e-9))


@njit(cache=True, nogil=True)
def _join(near: np.ndarray, degree: np.ndarray, u: int, v: int) -> None:
    """An edge between two variables, if there is none yet."""
    for i in range(degree[u]):
        if near[u, i] == v:
            return
    near[u, degree[u]], near[v, degree[v]] = v, u
    degree[u] += 1
    degree[v] += 1


@njit(cache=True, nogil=True)
def _eliminates(
    near: np.ndarray, degree: np.ndarray, logs: np.ndarray, most: float, max_cost: float
) -> bool:
    """Whether the greedy elimination keeps to both bounds; the graph is used up."""
    m, total = len(logs), 0.0
    gone, cost = np.zeros(m, dtype=np.bool_), np.empty(m)
    for v in range(m):
        cost[v] = _cost(near, degree, logs, v)
    for _ in range(m):
        v = -1
        for u in range(m):
            if not gone[u] and (v < 0 or cost[u] < cost[v]):
                v = u
        total += np.exp(cost[v])
        if cost[v] > most or total > max_cost:
            return False
        gone[v] = True
        for i in range(degree[v]):
            _drop(near, degree, near[v, i], v)
        for i in range(degree[v]):
            for j in range(i):
                _join(near, degree, near[v, i], near[v, j])
        for i in range(degree[v]):
            cost[near[v, i]] = _cost(near, degree, logs, near[v, i])
    return True


@njit(cache=True, nogil=True)
def _cost(near: np.ndarray, degree: np.ndarray, logs: np.ndarray, v: int) -> float:
    total = logs[v]
    for i in range(degree[v]):
        total += logs[near[v, i]]
    return total


@njit(cache=True, nogil=True)
def _drop(near: np.ndarray, degree: np.ndarray, u: int, v: int) -> None:
    """Take v off the neighbours of u."""
    for i in range(degree[u]):
        if near[u, i] == v:
            degree[u] -= 1
            near[u, i] = near[u, degree[u]]
            return
