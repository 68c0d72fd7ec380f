"""Lines of sums over one variable of products of factors: the arithmetic of dense blocks."""

# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

import numpy as np

from fspn.engine.kernels import REORDER, kernel
from fspn.engine.vector_kernels import (
    LANES,
    eight_products,
    eight_sums,
    eight_sums_of_two,
    no_unroll,
)

# Columns of P are the factors of one step: their number in G, their place, and their strides of the
# variable that is summed out, of the innermost dimension of the result and of the one around it.
FACTOR, PLACE, DOWN, ALONG, ACROSS = range(5)

CONTRACT = {"contract"}


@kernel(forceinline=True)
def _multiply(p, down, q, fall, extent, at, buffer):
    """The product of two vectors; up to seven numbers behind it may be overwritten."""
    if (down == 1) & (fall == 1):
        for y in range(0, extent, LANES):
            no_unroll()
            eight_products(buffer, p + y, q + y, at + y)
        return
    for y in range(extent):
        no_unroll()
        value = buffer[np.uintp(p + y * down)] * buffer[np.uintp(q + y * fall)]
        buffer[np.uintp(at + y)] = value


@kernel(forceinline=True)
def multiply_vectors(P, first, n, extent, at, buffer):
    """The product of the vectors first .. n - 1, at least two, over the summed-out variable."""
    p, down = P[PLACE, first], P[DOWN, first]
    for i in range(first + 1, n):
        no_unroll()
        _multiply(p, down, P[PLACE, i], P[DOWN, i], extent, at, buffer)
        p, down = at, 1


@kernel(fastmath=REORDER, forceinline=True)
def sum_to_number(P, n, extent, free, buffer):
    """The sum over a variable of a product of vectors; scratch space begins at ``free``."""
    total = 0.0
    first, step = P[PLACE, 0], P[DOWN, 0]
    if n == 1:
        for y in range(extent):
            no_unroll()
            total += buffer[np.uintp(first + y * step)]
    elif n == 2:
        second, other = P[PLACE, 1], P[DOWN, 1]
        odd = 0.0
        for _ in range(extent >> 1):
            no_unroll()
            total += buffer[np.uintp(first)] * buffer[np.uintp(second)]
            odd += buffer[np.uintp(first + step)] * buffer[np.uintp(second + other)]
            first, second = first + 2 * step, second + 2 * other
        total += odd
        if extent & 1:
            total += buffer[np.uintp(first)] * buffer[np.uintp(second)]
    else:
        second, other = P[PLACE, 1], P[DOWN, 1]
        third, last = P[PLACE, 2], P[DOWN, 2]
        if n > 3:
            multiply_vectors(P, 2, n, extent, free, buffer)
            third, last = free, 1
        odd = 0.0
        for _ in range(extent >> 1):
            no_unroll()
            value = buffer[np.uintp(first)] * buffer[np.uintp(second)]
            total += value * buffer[np.uintp(third)]
            value = buffer[np.uintp(first + step)] * buffer[np.uintp(second + other)]
            odd += value * buffer[np.uintp(third + last)]
            first, second, third = first + 2 * step, second + 2 * other, third + 2 * last
        total += odd
        if extent & 1:
            value = buffer[np.uintp(first)] * buffer[np.uintp(second)]
            total += value * buffer[np.uintp(third)]
    return total


# Eight sums at a time stay in registers. Lines that are no multiple of eight long end in a block
# that overlaps the one before; lines shorter than eight read and write a little beyond their end,
# where nothing is kept yet. Of lines that are spread out in memory four sums are under way at a
# time, the last of them again and again where the line ends.


@kernel(fastmath=CONTRACT, forceinline=True)
def line_of_one(P, b, step, extent, start, length, buffer):
    """The line of sums of b[y] A[y, j]."""
    p, down, along = P[PLACE, 0], P[DOWN, 0], P[ALONG, 0]
    if along == 1:
        for block in range(0, length, LANES):
            no_unroll()
            j = max(min(block, length - LANES), 0)
            eight_sums(buffer, b, step, extent, p + j, down, start + j)
        return
    last = length - 1
    for j in range(0, length, 4):
        no_unroll()
        j1, j2, j3 = min(j + 1, last), min(j + 2, last), min(j + 3, last)
        p0, p1, p2, p3 = p + j * along, p + j1 * along, p + j2 * along, p + j3 * along
        s0 = s1 = s2 = s3 = 0.0
        at = b
        for _ in range(extent):
            no_unroll()
            factor = buffer[np.uintp(at)]
            s0 += factor * buffer[np.uintp(p0)]
            s1 += factor * buffer[np.uintp(p1)]
            s2 += factor * buffer[np.uintp(p2)]
            s3 += factor * buffer[np.uintp(p3)]
            at, p0, p1, p2, p3 = at + step, p0 + down, p1 + down, p2 + down, p3 + down
        buffer[np.uintp(start + j)] = s0
        buffer[np.uintp(start + j1)] = s1
        buffer[np.uintp(start + j2)] = s2
        buffer[np.uintp(start + j3)] = s3


@kernel(fastmath=CONTRACT, forceinline=True)
def line_of_two(P, second, b, step, extent, start, length, buffer):
    """The line of sums of b[y] A[y, j] C[y, j], with C in column ``second`` of P."""
    p, down, along = P[PLACE, 0], P[DOWN, 0], P[ALONG, 0]
    q, fall, other = P[PLACE, second], P[DOWN, second], P[ALONG, second]
    if along == 1 and other == 1:
        for block in range(0, length, LANES):
            no_unroll()
            j = max(min(block, length - LANES), 0)
            eight_sums_of_two(buffer, b, step, extent, p + j, down, q + j, fall, start + j)
        return
    last = length - 1
    for j in range(0, length, 2):
        no_unroll()
        j1 = min(j + 1, last)
        p0, p1, q0, q1 = p + j * along, p + j1 * along, q + j * other, q + j1 * other
        s0 = s1 = 0.0
        at = b
        for _ in range(extent):
            no_unroll()
            factor = buffer[np.uintp(at)]
            s0 += factor * (buffer[np.uintp(p0)] * buffer[np.uintp(q0)])
            s1 += factor * (buffer[np.uintp(p1)] * buffer[np.uintp(q1)])
            at, p0, p1, q0, q1 = at + step, p0 + down, p1 + down, q0 + fall, q1 + fall
        buffer[np.uintp(start + j)] = s0
        buffer[np.uintp(start + j1)] = s1


@kernel(forceinline=True)
def multiply_lines(P, first, n, extent, at, length, buffer):
    """The product of the matrices first .. n - 1, at least two, line by line."""
    for y in range(extent):
        no_unroll()
        p, along = P[PLACE, first] + y * P[DOWN, first], P[ALONG, first]
        for i in range(first + 1, n):
            no_unroll()
            q = P[PLACE, i] + y * P[DOWN, i]
            _multiply(p, along, q, P[ALONG, i], length, at, buffer)
            p, along = at, 1
        at += length
