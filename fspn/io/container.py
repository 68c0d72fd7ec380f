"""One file of plain data: a JSON header and arrays, compressed, with a checksum. No pickle.

Layout, little-endian: 8 bytes of magic, the format version (4 bytes), the length of the body before
compression (8), the body (LZMA2; deflate up to version 2), the SHA-256 of all that precedes it
(32). The body is the length of the header (8), the header (JSON), the arrays one after the other,
integers in the shortest coding of :mod:`fspn.io.integers`. The same contents always give the same
bytes.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import secrets
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from fspn.io.integers import RAW, decode, encode

MAGIC = b"\x89FSPN\r\n\x1a"
VERSION = 3
READABLE = (1, 2, 3)
"""Version 1 has other cells of continuous columns, and no missing values or types; up to version 2
arrays are stored as they are and the body is deflated."""

LAST_DEFLATED = 2

HEAD = struct.Struct("<8sIQ")
LENGTH = struct.Struct("<Q")
DIGEST_BYTES = 32
MAX_RATIO_DEFLATE, MAX_RATIO_LZMA = 1100, 8000
"""Deflate cannot shrink anything by more than 1,032 times, LZMA2 by about 7,000: a larger claim is
no honest file."""
FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 6, "lc": 0, "lp": 0, "pb": 0, "dict_size": 1 << 23}]
"""Bytes of numbers: neither the byte before one nor its place says anything about it."""

DTYPES = frozenset(np.dtype(code).newbyteorder("<").str for code in "?bBhHiIqQefd")
MAX_DIMENSIONS = 32


class ModelFileError(ValueError):
    """A file that is not a model, or no longer the one that was written."""


def pack(header: dict[str, Any], arrays: Sequence[np.ndarray]) -> bytes:
    """Header and arrays as the bytes of a file."""
    flat = [_little_endian(array) for array in arrays]
    coded = [encode(array) for array in flat]
    described = {
        **header,
        "arrays": [
            [array.dtype.str, list(array.shape), coding, len(data)]
            for array, (coding, data) in zip(flat, coded, strict=True)
        ],
    }
    text = json.dumps(described, sort_keys=True, separators=(",", ":")).encode("ascii")
    body = b"".join([LENGTH.pack(len(text)), text, *(data for _, data in coded)])
    content = HEAD.pack(MAGIC, VERSION, len(body)) + compress(body)
    return content + hashlib.sha256(content).digest()


def compress(body: bytes) -> bytes:
    """Bytes as a file keeps them."""
    return lzma.compress(body, format=lzma.FORMAT_RAW, filters=FILTERS)


def _little_endian(array: np.ndarray) -> np.ndarray:
    array = array.astype(array.dtype.newbyteorder("<"), copy=False)
    if array.dtype.str not in DTYPES:
        raise ModelFileError(f"an array of type {array.dtype} cannot be stored")
    return array


def unpack(content: bytes, source: str) -> tuple[dict[str, Any], list[np.ndarray]]:
    """The header and the arrays of a file's bytes; :class:`ModelFileError` if they are not sound.

    Arguments:
        content: The whole file.
        source: What to call it in messages.
    """
    body = _checked_body(content, source)
    try:
        (length,) = LENGTH.unpack_from(body)
        header = json.loads(body[LENGTH.size : LENGTH.size + length].decode("ascii"))
        arrays = _read_arrays(header["arrays"], memoryview(body)[LENGTH.size + length :])
    except (KeyError, TypeError, ValueError, RecursionError, struct.error) as error:
        raise ModelFileError(f"{source}: the contents are damaged ({error})") from error
    return header, arrays


def _checked_body(content: bytes, source: str) -> bytes:
    if not content.startswith(MAGIC):
        raise ModelFileError(f"{source} is not an FSPN model file")
    if len(content) < HEAD.size + DIGEST_BYTES:
        raise ModelFileError(f"{source} is truncated: only {len(content)} bytes are left of it")
    _, version, length = HEAD.unpack_from(content)
    if version not in READABLE:
        raise ModelFileError(
            f"{source} has format version {version}; this release reads versions {READABLE}"
        )
    if hashlib.sha256(content[:-DIGEST_BYTES]).digest() != content[-DIGEST_BYTES:]:
        raise ModelFileError(f"{source} is truncated or was altered: its checksum does not match")
    return _decompress(content[HEAD.size : -DIGEST_BYTES], version, length, source)


def _decompress(packed: bytes, version: int, length: int, source: str) -> bytes:
    is_deflated = version <= LAST_DEFLATED
    if length > (MAX_RATIO_DEFLATE if is_deflated else MAX_RATIO_LZMA) * len(packed):
        raise ModelFileError(f"{source}: the contents cannot be as long as {length} bytes")
    opened: Any = (
        zlib.decompressobj()
        if is_deflated
        else lzma.LZMADecompressor(format=lzma.FORMAT_RAW, filters=FILTERS)
    )
    try:
        body: bytes = opened.decompress(packed, length + 1)
    except (zlib.error, lzma.LZMAError) as error:
        raise ModelFileError(f"{source}: the contents cannot be decompressed ({error})") from error
    if len(body) != length or not opened.eof:
        raise ModelFileError(f"{source}: the contents do not have the stated length")
    return body


def _read_arrays(described: list[list[Any]], data: memoryview) -> list[np.ndarray]:
    arrays, offset = [], 0
    for name, shape, *coded in described:
        if name not in DTYPES or len(shape) > MAX_DIMENSIONS:
            raise ValueError(f"array of type {name!r} and {len(shape)} dimensions")
        if not all(type(side) is int and side >= 0 for side in shape):
            raise ValueError(f"array of shape {shape!r}")
        dtype = np.dtype(name)
        count = _count(shape)
        coding, length = coded or (RAW, count * dtype.itemsize)
        if type(length) is not int or not 0 <= length <= len(data) - offset:
            raise ValueError("an array reaches beyond the end")
        array = decode(coding, data[offset : offset + length], dtype, count).reshape(shape)
        arrays.append(array.astype(dtype.newbyteorder("=")))
        offset += length
    if offset != len(data):
        raise ValueError("there are bytes left over")
    return arrays


def _count(shape: Sequence[int]) -> int:
    count = 1
    for side in shape:
        count *= side
    return count


def write_atomically(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file whole or not at all: what was there before stays until the last moment."""
    target = Path(os.path.realpath(path))
    draft = target.with_name(f".{target.name}.{secrets.token_hex(6)}.tmp")
    try:
        with draft.open("xb") as stream:
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        draft.replace(target)
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise OSError(
            error.errno,
            f"cannot write {target} ({len(content)} bytes): {error.strerror}; "
            "a file that was there before is unchanged",
        ) from error
