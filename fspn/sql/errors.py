"""What is said about a condition that cannot be taken."""

from __future__ import annotations


class UnsupportedSQL(ValueError):
    """A part of a condition that no event of a model stands for; the message shows it."""

    def __init__(self, part: str, reason: str) -> None:
        super().__init__(f"cannot take {part!r}: {reason}")
