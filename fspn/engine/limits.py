"""What is too large to be computed."""

from __future__ import annotations

MAX_BUFFER = 1 << 27
"""Numbers of a workspace, at most: 1 GB."""


class TooWide(MemoryError):
    """An exact answer needs a larger intermediate result than is allowed."""
