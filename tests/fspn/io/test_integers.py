"""Integers in a file: every array comes back the same, and damaged bytes are refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fspn.io.integers import GAPS, RAW, VARINT, decode, encode

TYPES = ["<i2", "<u2", "<i4", "<u4", "<i8", "<u8"]


@given(st.data())
def test_every_array_of_integers_comes_back(data: st.DataObject) -> None:
    dtype = np.dtype(data.draw(st.sampled_from(TYPES)))
    ends = np.iinfo(dtype)
    numbers = st.integers(ends.min, ends.max) | st.integers(0, 300)
    array = np.array(data.draw(st.lists(numbers, max_size=30)), dtype=dtype)
    if data.draw(st.booleans()):
        array = np.sort(array)
    coding, written = encode(array)
    assert len(written) <= array.nbytes
    found = decode(coding, memoryview(written), dtype, len(array))
    assert found.dtype == dtype
    assert np.array_equal(found, array)


def test_each_coding_is_taken_where_it_is_the_shortest() -> None:
    assert encode(np.array([5, 3, 100], dtype="<i8"))[0] == VARINT
    assert encode(np.arange(10**6, 10**6 + 50, dtype="<i8"))[0] == GAPS
    assert encode(np.array([-1, 2], dtype="<i8"))[0] == RAW
    assert encode(np.array([0.5]))[0] == RAW
    assert len(encode(np.arange(1000, dtype="<i8"))[1]) == 1000


def test_gaps_up_to_the_largest_number_come_back() -> None:
    array = np.array([2**63 - 2, 2**63 - 1, 2**63 - 1], dtype="<i8")
    _, written = encode(array)
    assert encode(array)[0] == GAPS
    assert np.array_equal(decode(GAPS, memoryview(written), array.dtype, 3), array)


@pytest.mark.parametrize(
    ("coding", "data", "dtype", "count"),
    [
        (VARINT, b"\x01\x02", "<i4", 3),
        (VARINT, b"\x01\x82", "<i4", 1),
        (VARINT, b"\x01", "<i4", 0),
        (VARINT, b"\x80" * 10 + b"\x01", "<i8", 1),
        (VARINT, b"\xff\xff\x7f", "<u2", 1),
        (GAPS, b"\xff\x7f" * 5, "<u2", 5),
        (GAPS, (b"\xff" * 8 + b"\x7f") * 2, "<i8", 2),
        (GAPS, b"\xff" * 8 + b"\x7f\x01", "<u8", 2),
        (VARINT, b"\x01", "<f8", 1),
        ("zip", b"\x01", "<i4", 1),
        (RAW, b"\x01\x02", "<i4", 1),
        (RAW, b"\x01\x02\x03\x04\x05", "<i4", 1),
        (RAW, b"\x01", "<i4", 0),
    ],
)
def test_damaged_numbers_are_refused(coding: str, data: bytes, dtype: str, count: int) -> None:
    with pytest.raises(ValueError):
        decode(coding, memoryview(data), np.dtype(dtype), count)
