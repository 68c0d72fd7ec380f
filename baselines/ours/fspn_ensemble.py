"""An average of FSPNs that differ in their random start, or in the rows they saw."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from baselines.ours.fspn_model import FSPNModel
from fspn import FSPN
from fspn.model.ensemble import average


class FSPNEnsemble(FSPNModel):
    """One FSPN whose root is a sum node over separately learned ones.

    Arguments:
        n_members: How many are learned.
        n_components: Children of each one's own sum node. With 1 there is no random start to
            differ in, so each member sees its own bootstrap sample of the rows.
        max_parents: Conditioning variables per table, at most.
    """

    name: ClassVar[str] = "fspn_ensemble"

    def __init__(
        self, n_members: int = 10, n_components: int = 12, max_parents: int | None = None
    ) -> None:
        super().__init__(n_components=n_components, max_parents=max_parents)
        if n_members < 1:
            raise ValueError(f"n_members={n_members!r} must be at least 1")
        self.n_members = n_members

    def _fit(self, codes: np.ndarray, seed: int) -> None:
        rng = np.random.default_rng(seed)
        roots = []
        for _ in range(self.n_members):
            own = int(rng.integers(2**31))
            rows = codes
            if self.settings["n_components"] == 1 and self.n_members > 1:
                rows = codes[rng.integers(len(codes), size=len(codes))]
            super()._fit(rows, own)
            roots.append(self.model.root_)
        self.model = FSPN.from_root(self.model.domain_, average(roots))
