"""Arrays by their addresses.

Every array that a call hands to compiled code costs a tenth of a microsecond, and a compiled model
is a dozen of them. They never change, so their addresses and lengths are written down once, in one
array of *handles*. Whoever writes them keeps the arrays alive.
"""

# mypy: allow-untyped-defs, allow-incomplete-defs

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np
from numba import carray
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

# The rows of the handles: the three pools, sizes and needs of a program, the four arrays of the
# coding of values, the buffer and the scratch words of a thread, and where it evaluates regions;
# then a number, where the buffer is free.
INTS, TABLES, NUMBERS, SIZES, NEEDED = range(5)
VALUES, STARTS, EDGES, OTHERS = range(5, 9)
BUFFER, SCRATCH, ARENA, LINKS, VECTORS, FREE = range(9, 15)


def handles_of(arrays: Sequence[np.ndarray], free: int) -> np.ndarray:
    """Address and length of every array, in the order above, and where the buffer is free."""
    assert all(array.flags.carray for array in arrays)
    places = [(array.ctypes.data, array.size) for array in arrays]
    return np.array([*places, (free, 0)], dtype=np.int64)


def _array_at(handles, row, kind, dtype):
    address, length = (int(entry) for entry in handles[row])
    memory = (kind * length).from_address(address)
    return np.frombuffer(memory, dtype=dtype, count=length) if length else np.empty(0, dtype)


def words_at(handles, row):
    """The array of int64 of a row of the handles."""
    return _array_at(handles, row, ctypes.c_int64, np.int64)


def codes_at(handles, row):
    """The array of int32 of a row of the handles."""
    return _array_at(handles, row, ctypes.c_int32, np.int32)


def numbers_at(handles, row):
    """The array of float64 of a row of the handles."""
    return _array_at(handles, row, ctypes.c_double, np.float64)


@intrinsic
def _pointer(typing, address):  # pragma: no cover - compiled
    def codegen(context, builder, signature, arguments):
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(types.int64), codegen


@overload(words_at)
def _compiled_words(handles, row):
    return lambda handles, row: carray(_pointer(handles[row, 0]), (handles[row, 1],), np.int64)


@overload(codes_at)
def _compiled_codes(handles, row):
    return lambda handles, row: carray(_pointer(handles[row, 0]), (handles[row, 1],), np.int32)


@overload(numbers_at)
def _compiled_numbers(handles, row):
    return lambda handles, row: carray(_pointer(handles[row, 0]), (handles[row, 1],), np.float64)
