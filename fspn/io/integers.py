"""Integers in as few bytes as they need: seven bits a byte, the eighth says that more follow.

An array that never falls is written as its gaps. Small numbers and small gaps take one byte each,
whatever the type of the array.
"""

from __future__ import annotations

import numpy as np

RAW, VARINT, GAPS = "raw", "varint", "gaps"
CODINGS = (RAW, VARINT, GAPS)
MOST_BYTES = 9
"""Of one number: nine times seven bits hold every int64 that is not negative."""


def encode(array: np.ndarray) -> tuple[str, bytes]:
    """The shortest coding of an array (little-endian), and its bytes."""
    raw = array.tobytes()
    if array.dtype.kind not in "iu" or array.itemsize == 1 or array.size == 0:
        return RAW, raw
    flat = array.ravel()
    if int(flat.min()) < 0 or int(flat.max()) >= 2**63:
        return RAW, raw
    numbers = flat.astype(np.int64)
    found = [(RAW, raw), (VARINT, _write(numbers))]
    gaps = np.diff(numbers, prepend=0)
    if (gaps >= 0).all():
        found.append((GAPS, _write(gaps)))
    return min(found, key=lambda coded: len(coded[1]))


def decode(coding: str, data: memoryview, dtype: np.dtype, count: int) -> np.ndarray:
    """The numbers that :func:`encode` wrote; ``ValueError`` if the bytes are not sound."""
    if coding == RAW:
        if len(data) != count * dtype.itemsize:
            raise ValueError("another number of bytes than the numbers take")
        return np.frombuffer(data, dtype, count)
    if coding not in CODINGS or dtype.kind not in "iu":
        raise ValueError(f"numbers of type {dtype} in the coding {coding!r}")
    numbers = _read(np.frombuffer(data, np.uint8), count)
    if coding == GAPS:
        numbers = np.cumsum(numbers)
    # No gap reaches 2^63, so the first sum that does comes out negative.
    if count and (numbers.min() < 0 or int(numbers.max()) > np.iinfo(dtype).max):
        raise ValueError("numbers that are too large for their type")
    return numbers.astype(dtype)


def _write(numbers: np.ndarray) -> bytes:
    lengths = np.ones(len(numbers), dtype=np.int64)
    for k in range(1, MOST_BYTES):
        lengths += numbers >> (7 * k) > 0
    first = np.cumsum(lengths) - lengths
    data = np.empty(int(lengths.sum()), dtype=np.uint8)
    for k in range(int(lengths.max())):
        long = lengths > k
        more = np.where(lengths[long] > k + 1, 0x80, 0)
        data[first[long] + k] = (numbers[long] >> (7 * k)) & 0x7F | more
    return data.tobytes()


def _read(data: np.ndarray, count: int) -> np.ndarray:
    last = np.flatnonzero(data < 0x80)
    if len(last) != count or (count and last[-1] != len(data) - 1) or (not count and len(data)):
        raise ValueError("another number of integers than stated")
    lengths = np.diff(last, prepend=-1)
    if (lengths > MOST_BYTES).any():
        raise ValueError("an integer of too many bytes")
    first = last - lengths + 1
    numbers = np.zeros(count, dtype=np.int64)
    for k in range(int(lengths.max(initial=0))):
        long = lengths > k
        numbers[long] |= (data[first[long] + k] & 0x7F).astype(np.int64) << (7 * k)
    return numbers
