r"""Answers over open variables: arithmetic on a stack of tensors in one buffer.

An answer is :math:`e^{scale} \cdot factor \cdot T[x_1, ..., x_d]`, one number per combination of
codes of d variables inside the event, the last one fastest. ``entries`` holds per answer where its
tensor begins, its number of cells, its number of dimensions, which of them were opened for it
(bits), and the variables; ``logs`` its scale and factor. Tensors lie one behind the other in
``buffer``.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

from math import exp, log

import numpy as np

from fspn.engine.answer_kernels import FACTOR, SCALE, scale_by
from fspn.engine.kernels import MAX_DIMS, compiled, kernel
from fspn.engine.workspace import TensorStack

START, CELLS, N_DIMS, OPENED, FIRST_DIM = range(5)
ENTRY = FIRST_DIM + MAX_DIMS
MOST_CELLS = 1 << 22
"""Larger tensors are not written out; the tree kernels answer instead."""

TOO_LARGE = -1
LEAST_SCALE = 1e-200


@compiled()
def new_stack(n_variables, n_slots):
    """A stack for ``n_slots`` answers."""
    return TensorStack(
        np.empty((n_slots, ENTRY), dtype=np.int64),
        np.empty((n_slots, 2)),
        np.empty((4, MAX_DIMS + 1), dtype=np.int64),
        np.zeros(n_variables, dtype=np.bool_),
    )


@kernel()
def end_of(s, entries, first):
    """The end of the buffer in use, behind the top answer."""
    return first if s < 0 else entries[s, START] + entries[s, CELLS]


@kernel()
def push_one(s, scale, factor, start, entries, logs, buffer):
    """A new answer without dimensions on top."""
    s += 1
    entries[s, START], entries[s, CELLS], entries[s, N_DIMS], entries[s, OPENED] = start, 1, 0, 0
    logs[s, SCALE], logs[s, FACTOR] = scale, factor
    buffer[start] = 1.0
    return s


@kernel()
def scale_down(s, entries, logs, buffer):
    """Divide the top tensor by its largest entry, so that products stay near one."""
    start, end = entries[s, START], entries[s, START] + entries[s, CELLS]
    top = 0.0
    for c in range(start, end):
        top = max(top, buffer[c])
    if top <= 0.0:
        logs[s, FACTOR] = 0.0
        return 0.0
    inverse = 1.0 / top
    for c in range(start, end):
        buffer[c] *= inverse
    logs[s, SCALE] += log(top)
    return top


@kernel()
def outer(s, entries, logs, buffer):
    """The product of the two top answers, which have no variable in common, in place of both.

    Returns 0, the size that the buffer needs where it is too small, or TOO_LARGE where that exceeds
    the limit.
    """
    logs[s - 1, SCALE] += logs[s, SCALE]
    scale_by(logs, s - 1, logs[s, FACTOR])
    n, m = entries[s - 1, CELLS], entries[s, CELLS]
    d, e = entries[s - 1, N_DIMS], entries[s, N_DIMS]
    left, right = entries[s - 1, START], entries[s, START]
    if e == 0:
        scale_by(logs, s - 1, buffer[right])
        return 0
    if d + e > MAX_DIMS or n * m > MOST_CELLS:
        return TOO_LARGE
    copy = max(left + n * m, right + m)
    if copy + m > len(buffer):
        return copy + m
    for j in range(m):
        buffer[copy + j] = buffer[right + j]
    for i in range(n - 1, -1, -1):
        factor = buffer[left + i]
        for j in range(m):
            buffer[left + i * m + j] = factor * buffer[copy + j]
    for j in range(e):
        entries[s - 1, FIRST_DIM + d + j] = entries[s, FIRST_DIM + j]
    entries[s - 1, N_DIMS], entries[s - 1, CELLS] = d + e, n * m
    return 0


@kernel()
def strides_in(s, dims, n, entries, lo, hi, steps, row):
    """The strides of n variables in a tensor; 0 for those that it does not have."""
    for j in range(n):
        steps[row, j] = 0
        stride = 1
        for k in range(entries[s, N_DIMS] - 1, -1, -1):
            v = entries[s, FIRST_DIM + k]
            if v == dims[j]:
                steps[row, j] = stride
            stride *= hi[v] - lo[v] + 1


@kernel()
def add_top(s, weight, entries, logs, buffer, lo, hi, steps):
    """Add the top answer, times ``exp(weight)``, to the one below it."""
    if logs[s, FACTOR] <= 0.0:
        return
    scale = logs[s, SCALE] + weight + log(logs[s, FACTOR])
    mine, total, n = entries[s, START], entries[s - 1, START], entries[s, N_DIMS]
    if logs[s - 1, SCALE] == -np.inf:
        logs[s - 1, SCALE], logs[s - 1, FACTOR] = scale, 1.0
        for c in range(entries[s, CELLS]):
            buffer[total + c] = buffer[mine + c]
        for field in range(CELLS, FIRST_DIM + n):
            entries[s - 1, field] = entries[s, field]
        return
    top = max(scale, logs[s - 1, SCALE])
    a, b = exp(logs[s - 1, SCALE] - top), exp(scale - top)
    logs[s - 1, SCALE] = top
    same = True
    for d in range(n):
        same &= entries[s, FIRST_DIM + d] == entries[s - 1, FIRST_DIM + d]
    if same:
        for c in range(entries[s, CELLS]):
            buffer[total + c] = a * buffer[total + c] + b * buffer[mine + c]
        return
    dims = steps[0]
    for d in range(n):
        dims[d] = entries[s - 1, FIRST_DIM + d]
        steps[1, d] = 0
    strides_in(s, dims, n, entries, lo, hi, steps, 2)
    for c in range(entries[s, CELLS]):
        buffer[total + c] = a * buffer[total + c] + b * buffer[mine]
        for d in range(n - 1, -1, -1):
            v = dims[d]
            steps[1, d] += 1
            mine += steps[2, d]
            if steps[1, d] <= hi[v] - lo[v]:
                break
            mine -= steps[2, d] * steps[1, d]
            steps[1, d] = 0


@kernel()
def join(s, entries, logs, buffer, lo, hi, steps):
    r"""A message times the base's answer, summed over the variables that the message opened.

    .. math:: T[r] = \sum_x M[r, x] \, B[r, x]

    takes the place of both; r are the other variables of either one. Returns as :func:`outer`.
    """
    dims, n = steps[0], 0
    for t in (s, s - 1):
        for d in range(entries[t, N_DIMS]):
            if t == s and _is_in(s - 1, entries[s, FIRST_DIM + d], entries):
                continue
            if t == s - 1 and (entries[t, OPENED] >> d) & 1:
                continue
            if n == MAX_DIMS:
                return TOO_LARGE
            dims[n] = entries[t, FIRST_DIM + d]
            n += 1
    n_left, cells = n, 1
    for d in range(n):
        cells *= hi[dims[d]] - lo[dims[d]] + 1
    for d in range(entries[s - 1, N_DIMS]):
        if (entries[s - 1, OPENED] >> d) & 1:
            if n == MAX_DIMS:
                return TOO_LARGE
            dims[n] = entries[s - 1, FIRST_DIM + d]
            n += 1
    summed = 1
    for d in range(n_left, n):
        summed *= hi[dims[d]] - lo[dims[d]] + 1
    start = end_of(s, entries, 0)
    if cells > MOST_CELLS:
        return TOO_LARGE
    if start + cells > len(buffer):
        return start + cells
    strides_in(s - 1, dims, n, entries, lo, hi, steps, 2)
    strides_in(s, dims, n, entries, lo, hi, steps, 3)
    for d in range(n):
        steps[1, d] = 0
    _sum_products(n, cells, summed, start, s, entries, buffer, lo, hi, steps)
    logs[s - 1, SCALE] += logs[s, SCALE]
    scale_by(logs, s - 1, logs[s, FACTOR])
    for c in range(cells):
        buffer[entries[s - 1, START] + c] = buffer[start + c]
    for d in range(n_left):
        entries[s - 1, FIRST_DIM + d] = dims[d]
    entries[s - 1, CELLS], entries[s - 1, N_DIMS], entries[s - 1, OPENED] = cells, n_left, 0
    return 0


@kernel()
def _is_in(s, v, entries):
    """Whether a tensor has a variable."""
    found = False
    for d in range(entries[s, N_DIMS]):
        found |= entries[s, FIRST_DIM + d] == v
    return found


@kernel()
def _sum_products(n, cells, summed, start, s, entries, buffer, lo, hi, steps):
    """Walk over all cells of n variables, the summed ones fastest, and add up the products."""
    one, other = entries[s - 1, START], entries[s, START]
    width = 1 if n == 0 else hi[steps[0, n - 1]] - lo[steps[0, n - 1]] + 1
    run = width if summed > 1 else 1
    by_one = steps[2, n - 1] if run > 1 else 0
    by_other = steps[3, n - 1] if run > 1 else 0
    # The last variable is the inner loop where it is summed; the others are counted.
    counted = n - 1 if run > 1 else n
    for c in range(cells):
        total = 0.0
        for _ in range(summed // run):
            for x in range(run):
                total += buffer[one + x * by_one] * buffer[other + x * by_other]
            for d in range(counted - 1, -1, -1):
                v = steps[0, d]
                steps[1, d] += 1
                one += steps[2, d]
                other += steps[3, d]
                if steps[1, d] <= hi[v] - lo[v]:
                    break
                one -= steps[2, d] * steps[1, d]
                other -= steps[3, d] * steps[1, d]
                steps[1, d] = 0
        buffer[start + c] = total
