"""What is too large to be computed."""

from __future__ import annotations

from fspn.model.eliminate.semiring import TooWide

__all__ = ["TooWide"]
