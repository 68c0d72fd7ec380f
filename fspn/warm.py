"""``python -m fspn.warm``: compile all kernels into numba's cache, so that no later call waits.

Small models are learned and asked, in every way that has a kernel of its own.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path


def warm() -> None:
    """Compile the kernels, those of questions first."""
    os.environ["FSPN_KERNELS"] = "wait"
    import numpy as np
    import pandas as pd

    from fspn import FSPN

    rng = np.random.default_rng(0)
    base = rng.integers(0, 5, size=(400, 2))
    noise = rng.integers(0, 2, size=400)
    columns = {"a": base[:, 0], "b": base[:, 1], "c": base.sum(axis=1) + noise}
    numbers = pd.DataFrame(columns | {"d": columns["c"] * base[:, 0] // 2})
    small = FSPN().fit(numbers[["a"]])
    small.compile_kernels()
    small.conditional_table(["a"])
    labels = numbers.assign(e=[f"{code}" for code in noise], f=rng.normal(size=400))
    FSPN().fit(numbers)
    FSPN().fit(labels)
    FSPN().fit((numbers > 2).astype(int))
    FSPN(preset="paper").fit(numbers)


@contextmanager
def alone() -> Iterator[None]:
    """Wait for other processes that warm the same files; they leave nothing to do."""
    try:
        import fcntl
    except ImportError:
        yield
        return
    place = sha256(str(Path(__file__).resolve()).encode()).hexdigest()[:16]
    file = Path(tempfile.gettempdir()) / f"fspn-warm-{os.getuid()}-{place}.lock"
    with file.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    with alone():
        warm()
