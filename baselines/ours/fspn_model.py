"""FSPN itself behind the protocol: the default learner and the paper's own recipe."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from baselines.compiled import Compiled
from fspn import FSPN


class FSPNModel(Compiled):
    """Adapter of `fspn.FSPN`; None leaves a setting to the preset.

    Arguments:
        tau_low: Below this dependence two columns count as independent.
        tau_high: From this dependence on they count as highly correlated.
        min_rows: Slices of fewer rows are not partitioned any further.
        alpha: Strength of the smoothing.
        max_parents: Conditioning variables per table, at most.
        n_components: Children of the root sum node, where all columns have two values.
        oracle: The independence oracle.
        group: How a highly correlated group is modelled.
        offsets: Whether a table may be an integer combination of its parents plus noise.
    """

    name: ClassVar[str] = "fspn"
    preset: ClassVar[str] = "default"

    def __init__(
        self,
        tau_low: float | None = None,
        tau_high: float | None = None,
        min_rows: int | None = None,
        alpha: float | None = None,
        max_parents: int | None = None,
        n_components: int | None = None,
        oracle: str | None = None,
        group: str | None = None,
        offsets: bool = True,
    ) -> None:
        self.tau_low, self.tau_high = tau_low, tau_high
        self.min_rows, self.alpha, self.max_parents = min_rows, alpha, max_parents
        self.n_components = n_components
        self.oracle, self.group, self.offsets = oracle, group, offsets

    def _fit(self, codes: np.ndarray, seed: int) -> None:
        columns = list(self.encoder.columns)
        self.__dict__.pop("_values", None)
        self.model = FSPN(
            self.tau_low,
            self.tau_high,
            preset=self.preset,
            min_rows=self.min_rows,
            alpha=self.alpha,
            max_parents=self.max_parents,
            n_components=self.n_components,
            oracle=self.oracle,
            group=self.group,
            offsets=self.offsets,
            kinds={
                column: "ordered" if domain.dtype.kind in "iu" else "unordered"
                for column, domain in zip(columns, self.encoder.domains, strict=True)
            },
            random_state=seed,
        ).fit(self._decoded(codes), dict(zip(columns, self._values, strict=True)))


class FSPNPaper(FSPNModel):
    """The paper's learner: RDC, k-means row clusters, greedy splitting."""

    name: ClassVar[str] = "fspn_paper"
    preset: ClassVar[str] = "paper"
