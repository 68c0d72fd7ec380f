"""What is too large to be computed."""

from __future__ import annotations


class TooWide(MemoryError):
    """An exact answer needs a larger intermediate result than is allowed."""
