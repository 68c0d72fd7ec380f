"""The room of remembered answers: given back to the C library, not to the system.

It is some 10 MB, of which an event touches a few; the system would clear the pages of these for
every call anew. The C library of Linux keeps what is freed once a block of that size was freed
before; others do as they like.
"""

from __future__ import annotations

from functools import cache

import numpy as np

BYTES = 31 << 20
"""Just below the largest block that counts (32 MB)."""


@cache
def keep_pages() -> None:
    """Free a large block, once per process: its pages are never touched."""
    np.empty(BYTES, dtype=np.uint8)
