"""Lines of sums over one variable of products of factors: the arithmetic of dense blocks."""

# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

import numpy as np

from fspn.kernels import REORDER, kernel

# Columns of P are the factors of one step: their number in G, place and strides of the variable
# that is summed out and of the innermost dimension.
FACTOR, PLACE, DOWN, ALONG = range(4)

CONTRACT = {"contract"}


@kernel(fastmath=REORDER)
def sum_to_number(P, n, extent, buffer):
    """The sum over a variable of a product of vectors."""
    total = 0.0
    first, step = P[PLACE, 0], P[DOWN, 0]
    if n == 1:
        for y in range(extent):
            total += buffer[np.uintp(first + y * step)]
    elif n == 2:
        second, other = P[PLACE, 1], P[DOWN, 1]
        for y in range(extent):
            total += buffer[np.uintp(first + y * step)] * buffer[np.uintp(second + y * other)]
    else:
        for y in range(extent):
            value = buffer[np.uintp(first + y * step)]
            for i in range(1, n):
                value *= buffer[np.uintp(P[PLACE, i] + y * P[DOWN, i])]
            total += value
    return total


@kernel()
def multiply_vectors(P, first, n, extent, at, buffer):
    """The product of the vectors first .. n - 1 over the variable that is summed out."""
    if first == n:
        for y in range(extent):
            buffer[np.uintp(at + y)] = 1.0
        return
    p, down = P[PLACE, first], P[DOWN, first]
    for y in range(extent):
        buffer[np.uintp(at + y)] = buffer[np.uintp(p + y * down)]
    for i in range(first + 1, n):
        p, down = P[PLACE, i], P[DOWN, i]
        for y in range(extent):
            buffer[np.uintp(at + y)] *= buffer[np.uintp(p + y * down)]


# Eight sums at a time stay in registers. Lines that are no multiple of eight long end in a block
# that overlaps the one before; lines shorter than eight read and write a little beyond their end,
# where nothing is kept yet.


@kernel(fastmath=CONTRACT, inline="always")
def _eight(b, extent, p, down, along, target, buffer):
    """Sums of b[y] A[y, j]."""
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    for y in range(b, b + extent):
        f = buffer[np.uintp(y)]
        s0 += f * buffer[np.uintp(p)]
        s1 += f * buffer[np.uintp(p + along)]
        s2 += f * buffer[np.uintp(p + 2 * along)]
        s3 += f * buffer[np.uintp(p + 3 * along)]
        s4 += f * buffer[np.uintp(p + 4 * along)]
        s5 += f * buffer[np.uintp(p + 5 * along)]
        s6 += f * buffer[np.uintp(p + 6 * along)]
        s7 += f * buffer[np.uintp(p + 7 * along)]
        p += down
    buffer[np.uintp(target)] = s0
    buffer[np.uintp(target + 1)] = s1
    buffer[np.uintp(target + 2)] = s2
    buffer[np.uintp(target + 3)] = s3
    buffer[np.uintp(target + 4)] = s4
    buffer[np.uintp(target + 5)] = s5
    buffer[np.uintp(target + 6)] = s6
    buffer[np.uintp(target + 7)] = s7


@kernel(fastmath=CONTRACT, inline="always")
def _eight_of_two(b, extent, p, down, along, q, fall, other, target, buffer):
    """Sums of b[y] A[y, j] C[y, j]."""
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    for y in range(b, b + extent):
        f = buffer[np.uintp(y)]
        s0 += f * buffer[np.uintp(p)] * buffer[np.uintp(q)]
        s1 += f * buffer[np.uintp(p + along)] * buffer[np.uintp(q + other)]
        s2 += f * buffer[np.uintp(p + 2 * along)] * buffer[np.uintp(q + 2 * other)]
        s3 += f * buffer[np.uintp(p + 3 * along)] * buffer[np.uintp(q + 3 * other)]
        s4 += f * buffer[np.uintp(p + 4 * along)] * buffer[np.uintp(q + 4 * other)]
        s5 += f * buffer[np.uintp(p + 5 * along)] * buffer[np.uintp(q + 5 * other)]
        s6 += f * buffer[np.uintp(p + 6 * along)] * buffer[np.uintp(q + 6 * other)]
        s7 += f * buffer[np.uintp(p + 7 * along)] * buffer[np.uintp(q + 7 * other)]
        p += down
        q += fall
    buffer[np.uintp(target)] = s0
    buffer[np.uintp(target + 1)] = s1
    buffer[np.uintp(target + 2)] = s2
    buffer[np.uintp(target + 3)] = s3
    buffer[np.uintp(target + 4)] = s4
    buffer[np.uintp(target + 5)] = s5
    buffer[np.uintp(target + 6)] = s6
    buffer[np.uintp(target + 7)] = s7


@kernel(fastmath=CONTRACT)
def line_of_one(P, b, extent, start, length, buffer):
    """The line of sums of b[y] A[y, j]."""
    p, down, along = P[PLACE, 0], P[DOWN, 0], P[ALONG, 0]
    for block in range(0, length, 8):
        j = max(min(block, length - 8), 0)
        if along == 1:
            _eight(b, extent, p + j, down, 1, start + j, buffer)
        else:
            _eight(b, extent, p + j * along, down, along, start + j, buffer)


@kernel(fastmath=CONTRACT)
def line_of_two(P, second, b, extent, start, length, buffer):
    """The line of sums of b[y] A[y, j] C[y, j], with C in column ``second`` of P."""
    p, down, along = P[PLACE, 0], P[DOWN, 0], P[ALONG, 0]
    q, fall, other = P[PLACE, second], P[DOWN, second], P[ALONG, second]
    for block in range(0, length, 8):
        j = max(min(block, length - 8), 0)
        if along == 1 and other == 1:
            _eight_of_two(b, extent, p + j, down, 1, q + j, fall, 1, start + j, buffer)
        else:
            _eight_of_two(
                b, extent, p + j * along, down, along, q + j * other, fall, other, start + j,
                buffer,
            )  # fmt: skip


@kernel(fastmath=CONTRACT)
def multiply_lines(P, first, n, extent, at, length, buffer):
    """The product of the matrices first .. n - 1, written down line by line."""
    for y in range(extent):
        p, along = P[PLACE, first] + y * P[DOWN, first], P[ALONG, first]
        for j in range(length):
            buffer[np.uintp(at + j)] = buffer[np.uintp(p + j * along)]
        for i in range(first + 1, n):
            p, along = P[PLACE, i] + y * P[DOWN, i], P[ALONG, i]
            for j in range(length):
                buffer[np.uintp(at + j)] *= buffer[np.uintp(p + j * along)]
        at += length
