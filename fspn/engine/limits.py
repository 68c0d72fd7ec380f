"""What is too large to be computed."""

from __future__ import annotations

from fspn.model.eliminate.semiring import TooWide

__all__ = ["MAX_BUFFER", "TooWide"]

MAX_BUFFER = 1 << 27
"""Numbers of a workspace, at most: 1 GB."""
