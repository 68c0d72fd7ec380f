"""Seeds hashed from the axes they belong to, and digests of parameters."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np


def digest_of(*parts: Any) -> str:
    """The first 16 hex digits of the SHA-256 of the canonical JSON of `parts`."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def generator(*axes: str | int | float) -> np.random.Generator:
    """A random generator of its own for every combination of axes.

    >>> bool(generator("train", 0).random() == generator("train", 0).random())
    True
    >>> bool(generator("train", 0).random() == generator("valid", 0).random())
    False
    """
    return np.random.default_rng(int(digest_of(*axes), 16))
