"""FSPN itself behind the protocol: the default learner and the paper's own recipe."""

from __future__ import annotations

from typing import Any, ClassVar

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
        max_parents: Conditioning variables per table, at most: the study's bound for all models,
            which holds anyway where there are no tables.
        n_components: Children of the root sum node.
        oracle: The independence oracle.
        group: How a highly correlated group is modelled.
        offsets: Whether a table may be an integer combination of its parents plus noise.
        graded: Whether the location of an ordered column may follow its parents by a law.
        trees: Whether a table may be a decision tree over its parents.
        split: The split method.
        multi_leaf: The family of multi-leaves.
        n_clusters: Children of a sum node.
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
        graded: bool = True,
        trees: bool = True,
        split: str = "greedy",
        multi_leaf: str = "auto",
        n_clusters: int = 2,
    ) -> None:
        has_tables = group != "split" and not (tau_high is not None and tau_high > 1)
        self.settings: dict[str, Any] = {
            "tau_low": tau_low,
            "tau_high": tau_high,
            "min_rows": min_rows,
            "alpha": alpha,
            "max_parents": max_parents if has_tables else None,
            "n_components": n_components,
            "oracle": oracle,
            "group": group,
            "offsets": offsets,
            "graded": graded,
            "trees": trees,
            "split": split,
            "multi_leaf": multi_leaf,
            "n_clusters": n_clusters,
        }

    def _fit(self, codes: np.ndarray, seed: int) -> None:
        columns = list(self.encoder.columns)
        self.__dict__.pop("_values", None)
        self.model = FSPN(
            **self.settings,
            preset=self.preset,
            kinds={
                column: "ordered" if domain.dtype.kind in "iu" else "unordered"
                for column, domain in zip(columns, self.encoder.domains, strict=True)
            },
            random_state=seed,
        ).fit(self._decoded(codes), domains=dict(zip(columns, self._values, strict=True)))

    @property
    def fitted_params(self) -> dict[str, Any]:
        """The thresholds, the preset's own among them."""
        low, high = self.model.thresholds_
        return {"tau_low": low, "tau_high": high}


class FSPNPaper(FSPNModel):
    """The paper's learner: RDC, k-means row clusters, greedy splitting, Dirichlet multi-leaves.

    Arguments:
        tau_low: Below this RDC two columns count as independent.
        tau_high: From this RDC on they count as highly correlated.
        min_rows: Slices of fewer rows are not partitioned any further.
        alpha: Strength of the smoothing.
        oracle: Another independence oracle.
        split: The split method, one of the two of Appendix C.
        multi_leaf: Another family of multi-leaves.
        n_clusters: Children of a sum node.
    """

    name: ClassVar[str] = "fspn_paper"
    preset: ClassVar[str] = "paper"

    def __init__(
        self,
        tau_low: float | None = None,
        tau_high: float | None = None,
        min_rows: int | None = None,
        alpha: float | None = None,
        oracle: str | None = None,
        split: str = "greedy",
        multi_leaf: str = "auto",
        n_clusters: int = 2,
    ) -> None:
        super().__init__(
            tau_low,
            tau_high,
            min_rows,
            alpha,
            oracle=oracle,
            split=split,
            multi_leaf=multi_leaf,
            n_clusters=n_clusters,
        )
