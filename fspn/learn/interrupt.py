"""A fit that is asked to end returns the best model so far."""

from __future__ import annotations


class Interrupt:
    """Whether the keyboard has asked to end a fit; what comes after looks no further."""

    def __init__(self) -> None:
        self.asked = False
