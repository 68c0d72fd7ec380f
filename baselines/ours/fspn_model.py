"""FSPN itself behind the protocol: the default learner and the paper's own recipe."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from baselines.base import DensityModel, Footprint, ImpossibleEvidence, Point
from baselines.encoding import FREE
from fspn import FSPN


class FSPNModel(DensityModel):
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
        split: The split method.
        multi_leaf: The family of multi-leaves.
        n_clusters: Children of a sum node.
    """

    name: ClassVar[str] = "fspn"
    preset: ClassVar[str] = "default"
    engine = "fspn numba"

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
        split: str = "greedy",
        multi_leaf: str = "auto",
        n_clusters: int = 2,
    ) -> None:
        self.settings: dict[str, Any] = {
            "tau_low": tau_low,
            "tau_high": tau_high,
            "min_rows": min_rows,
            "alpha": alpha,
            "max_parents": max_parents,
            "n_components": n_components,
            "oracle": oracle,
            "group": group,
            "offsets": offsets,
            "split": split,
            "multi_leaf": multi_leaf,
            "n_clusters": n_clusters,
        }

    def _fit(self, codes: np.ndarray, seed: int) -> None:
        columns = list(self.encoder.columns)
        # The learner may use what the integers mean, so it is given them rather than codes.
        self._values = [
            d if d.dtype.kind in "iu" else np.arange(len(d)) for d in self.encoder.domains
        ]
        self._knows_values = all(d.dtype.kind in "iu" for d in self.encoder.domains)
        self.model = FSPN(
            **self.settings,
            preset=self.preset,
            kinds={
                column: "ordered" if domain.dtype.kind in "iu" else "unordered"
                for column, domain in zip(columns, self.encoder.domains, strict=True)
            },
            random_state=seed,
        ).fit(self._decoded(codes), domains=dict(zip(columns, self._values, strict=True)))

    def _decoded(self, codes: np.ndarray) -> pd.DataFrame:
        columns = zip(self.encoder.columns, self._values, codes.T, strict=True)
        return pd.DataFrame({name: values[column] for name, values, column in columns})

    def _log_score(self, codes: np.ndarray) -> np.ndarray:
        return self.model.score_samples(self._decoded(codes))

    def _boxes(self, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        """The compiled model works on codes itself, so they go straight to its engine."""
        return np.exp(self.model.log_probability_of_codes(first, last))

    def _table(self, target: tuple[int, ...], given: np.ndarray) -> np.ndarray:
        columns, values = self.encoder.columns, self._values
        fixed = np.flatnonzero(given != FREE)
        evidence: dict[Hashable, int] = {columns[i]: int(values[i][given[i]]) for i in fixed}
        table = self.model.conditional_table([columns[i] for i in target], evidence)
        if np.isnan(table).any():
            raise ImpossibleEvidence(f"{self.name}: the evidence has probability zero")
        return table

    def conditional(self, query: Sequence[Point], evidence: Sequence[Point]) -> np.ndarray:
        """The library's own call, where it knows the values as they are."""
        if not self._knows_values:
            return super().conditional(query, evidence)
        if any(q.keys() & e.keys() for q, e in zip(query, evidence, strict=True)):
            raise ValueError("a column is both in a query and in its evidence")
        if not query:
            return np.empty(0)
        return np.asarray(self.model.conditional(list(query), list(evidence)))

    def _conditional(self, asked: np.ndarray, given: np.ndarray) -> np.ndarray:
        codes = np.concatenate([np.where(asked == FREE, given, asked), given])
        free = codes == FREE
        last = np.where(free, self.encoder.cards - 1, codes)
        part, whole = np.split(self._boxes(np.where(free, 0, codes), last), 2)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(whole > 0, part / whole, np.nan)

    def save(self, path: Path) -> None:
        """Writes the fitted FSPN; `FSPN.load` reads it."""
        self.model.save(path)

    @property
    def fitted_params(self) -> dict[str, Any]:
        """The thresholds, the preset's own among them."""
        low, high = self.model.thresholds_
        return {"tau_low": low, "tau_high": high}

    def _footprint(self) -> Footprint:
        model, census = self.model, self.model.census_
        return Footprint(
            census.n_nodes,
            model.n_parameters_,
            model.size_bytes_,
            census.n_factorize,
            census.n_multi_leaves,
            census.depth,
            model.compiled_bytes_,
        )


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
