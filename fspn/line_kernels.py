"""Lines of sums over one variable of products of factors: the arithmetic of dense blocks."""

# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

import numpy as np

from fspn.kernels import REORDER, kernel
from fspn.vector_kernels import LANES, eight_sums, eight_sums_of_two

# Columns of P are the factors of one step: their number in G, place and strides of the variable
# that is summed out and of the innermost dimension.
FACTOR, PLACE, DOWN, ALONG = range(4)

CONTRACT = {"contract"}


@kernel(fastmath=REORDER, forceinline=True)
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


@kernel(forceinline=True)
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
# where nothing is kept yet. Lines that are spread out in memory are rare.


@kernel(fastmath=REORDER, forceinline=True)
def line_of_one(P, b, extent, start, length, buffer):
    """The line of sums of b[y] A[y, j]."""
    p, down, along = P[PLACE, 0], P[DOWN, 0], P[ALONG, 0]
    if along == 1:
        for block in range(0, length, LANES):
            j = max(min(block, length - LANES), 0)
            eight_sums(buffer, b, extent, p + j, down, start + j)
        return
    for j in range(length):
        total = 0.0
        for y in range(extent):
            total += buffer[np.uintp(b + y)] * buffer[np.uintp(p + y * down)]
        buffer[np.uintp(start + j)] = total
        p += along


@kernel(fastmath=REORDER, forceinline=True)
def line_of_two(P, second, b, extent, start, length, buffer):
    """The line of sums of b[y] A[y, j] C[y, j], with C in column ``second`` of P."""
    p, down, along = P[PLACE, 0], P[DOWN, 0], P[ALONG, 0]
    q, fall, other = P[PLACE, second], P[DOWN, second], P[ALONG, second]
    if along == 1 and other == 1:
        for block in range(0, length, LANES):
            j = max(min(block, length - LANES), 0)
            eight_sums_of_two(buffer, b, extent, p + j, down, q + j, fall, start + j)
        return
    for j in range(length):
        total = 0.0
        for y in range(extent):
            product = buffer[np.uintp(p + y * down)] * buffer[np.uintp(q + y * fall)]
            total += buffer[np.uintp(b + y)] * product
        buffer[np.uintp(start + j)] = total
        p += along
        q += other


@kernel(fastmath=CONTRACT, forceinline=True)
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
