"""A tree-structured sum-product network in the manner of LearnSPN: FSPN with factorize off."""

from __future__ import annotations

from typing import ClassVar

from baselines.fspn_model import FSPNModel

NEVER = 2.0


class SPNTree(FSPNModel):
    """Row clusters and independent groups of columns in turn (Gens, Domingos 2013).

    No dependence reaches `tau_high`, so the learner never factorizes. Columns are independent
    where a G-test finds nothing, or nothing of at least `tau_low`.

    Arguments:
        tau_low: Below this dependence two columns count as independent.
        min_rows: Slices of fewer rows are not partitioned any further.
        alpha: Pseudo-count per value of a leaf.
    """

    name: ClassVar[str] = "spn_tree"

    def __init__(
        self,
        tau_low: float = 0.0,
        min_rows: int | None = None,
        alpha: float | None = None,
    ) -> None:
        super().__init__(
            tau_low=tau_low, tau_high=NEVER, min_rows=min_rows, alpha=alpha, oracle="corrected"
        )
