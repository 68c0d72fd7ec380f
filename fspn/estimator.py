"""FSPN: the scikit-learn style face of the library."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from fspn.compile import NotCompilable, compile_fspn
from fspn.domain import Domain, as_table
from fspn.engine import Engine
from fspn.event import CodeRange, Events
from fspn.fitting import learn_model, plain_params
from fspn.infer import log_probability
from fspn.joint_table import enumerate_logs
from fspn.measure import size_bytes
from fspn.nodes import Node, count_nodes, count_parameters
from fspn.query import (
    Question,
    box_events,
    dict_events,
    in_cells,
    intersect_events,
    plain_pairs,
    row_events,
)
from fspn.sample import sample_columns

Domains = Mapping[Hashable, Iterable[Any]] | Sequence[Iterable[Any] | None] | None


class FSPN(DensityMixin, BaseEstimator):
    r"""A factorize-split-sum-product network over the columns of a table.

    .. math:: \Pr(X) = \Pr(W) \cdot \Pr(H \mid W)

    for highly correlated variables H, products and sums for the rest (Wu, Zhu et al.).

    Arguments:
        tau_low: Below this dependence two columns count as independent. None = the preset's.
        tau_high: From this dependence on they count as highly correlated; above 1 switches
            factorize off, which leaves a tree-structured sum-product network.
        preset: ``"default"``, the learner of ``docs/learning.md``, or ``"paper"``, the paper's
            own recipe: RDC, 0.3 / 0.7, k-means, greedy splitting.
        min_rows: Slices of fewer rows are not partitioned any further; None = 1%, at least 50.
        alpha: Strength of the smoothing; None = by leave-one-out likelihood where possible.
        oracle: ``"rdc"``, ``"corrected"`` or an object with a ``matrix`` method.
        cluster: ``"kmeans"`` or a function.
        split: ``"greedy"``, ``"kmeans_grid"`` or a function.
        group: ``"tables"`` or ``"split"``, how a highly correlated group is modelled.
        multi_leaf: ``"auto"``, ``"joint"``, ``"tree"`` or ``"mixture"``.
        n_clusters: Children of a sum node; 1 = no sum nodes.
        max_parents: Conditioning variables per table, at most. None = 4, and 8 where all columns
            have two values.
        max_cells: Cells of an intermediate result of a query on tables, at most. None = 2,000,000,
            and 4,096 where all columns have two values.
        n_components: Children of the root sum node, learned by EM, where all columns have two
            values; None = chosen on held-out rows.
        offsets: Whether a table may be an integer combination of its parents plus noise.
        kinds: The kind of a column (``"ordered"``, ``"unordered"``, ``"continuous"``) where its
            type does not tell.
        n_jobs: Threads that share a batch of queries.
        random_state: The seed of everything random.
        verbose: Whether to show progress while fitting.

    Example:
        >>> import pandas as pd
        >>> from fspn import FSPN
        >>> table = pd.DataFrame({"rain": [0, 0, 1, 1] * 50, "wet": [0, 0, 1, 1] * 50})
        >>> model = FSPN(random_state=0).fit(table)
        >>> round(model.conditional({"wet": 1}, {"rain": 1}), 2)
        1.0
    """

    def __init__(
        self,
        tau_low: float | None = None,
        tau_high: float | None = None,
        *,
        preset: str = "default",
        min_rows: int | None = None,
        alpha: float | None = None,
        oracle: Any = None,
        cluster: Any = "kmeans",
        split: Any = "greedy",
        group: str | None = None,
        multi_leaf: str = "auto",
        n_clusters: int = 2,
        max_parents: int | None = None,
        max_cells: int | None = None,
        n_components: int | None = None,
        offsets: bool = True,
        kinds: Mapping[Hashable, Any] | None = None,
        n_jobs: int = 1,
        random_state: Any = 0,
        verbose: bool = False,
    ):
        self.tau_low = tau_low
        self.tau_high = tau_high
        self.preset = preset
        self.min_rows = min_rows
        self.alpha = alpha
        self.oracle = oracle
        self.cluster = cluster
        self.split = split
        self.group = group
        self.multi_leaf = multi_leaf
        self.n_clusters = n_clusters
        self.max_parents = max_parents
        self.max_cells = max_cells
        self.n_components = n_components
        self.offsets = offsets
        self.kinds = kinds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # ------------------------------------------------------------------ fitting

    def fit(self, X: Any, domains: Domains = None, y: Any = None) -> FSPN:
        """Learn structure and parameters.

        Arguments:
            X: A DataFrame, or a two-dimensional array (its columns are named 0, 1, 2, ...).
            domains: Per discrete column, values beyond those seen in ``X``: a dictionary, or a
                list with one entry (values or None) per column.
            y: Ignored; scikit-learn passes it, also in the place of ``domains``.
        """
        table = as_table(X)
        domain, root = learn_model(table, domains, self.get_params(deep=False))
        self._adopt(domain, root, as_frame=isinstance(X, pd.DataFrame))
        return self

    @classmethod
    def from_root(cls, domain: Domain, root: Node, **params: Any) -> FSPN:
        """A fitted model from nodes, built by hand or converted."""
        model = cls(**params)
        model._adopt(domain, root, as_frame=True)
        return model

    def _adopt(self, domain: Domain, root: Node, as_frame: bool) -> None:
        self.domain_ = domain
        self.root_ = root
        self.as_frame_ = as_frame
        self.n_features_in_ = len(domain)
        if as_frame and all(isinstance(name, str) for name in domain.names):
            self.feature_names_in_ = np.array(domain.names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self._build_engine()

    def _build_engine(self) -> None:
        try:
            program = compile_fspn(self.root_, [v.size for v in self.domain_.variables])
            self._engine: Engine | None = Engine(program, self.domain_, self.n_jobs)
        except NotCompilable:
            self._engine = None

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in super().__getstate__().items() if k != "_engine"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "root_" in state:
            self._build_engine()

    # ------------------------------------------------------------------ questions

    def probability(self, lower: Any, upper: Any = None) -> Any:
        """The probability of events.

        Arguments:
            lower: One dictionary ``{column: value, (low, high) or {values}}``, a list of them, or
                the lower sides of closed boxes, an array of shape (n, m) or (m,).
            upper: The upper sides, where ``lower`` is an array. NaN or an infinity = no constraint.
        """
        self._check_fitted()
        if upper is not None and self._engine is not None and self._engine.takes_boxes:
            low, high, single = self._boxes(lower, upper)
            values = np.exp(self._engine.box_log_probability(low, high))
            return float(values[0]) if single else values
        events, single = self._events(lower if upper is None else (lower, upper))
        values = np.exp(self._log_probability(events))
        return float(values[0]) if single else values

    def conditional(self, query: Any, evidence: Any, strict: bool = False) -> Any:
        """The probability of ``query`` given ``evidence``, in the forms of :meth:`probability`.

        Boxes are given as a pair ``(lower, upper)``. One value of a continuous column is evidence
        by its density. Evidence of probability zero gives NaN and a warning, or an error where
        ``strict`` is set.
        """
        self._check_fitted()
        answers = self._plain_conditional(query, evidence)
        if answers is None:
            values, single, impossible = self._any_conditional(query, evidence)
        else:
            values, impossible = answers
            single = len(values) == 1 and not isinstance(query, list)
        if impossible:
            self._impossible_evidence(strict)
        return float(values[0]) if single else values

    def _plain_conditional(self, query: Any, evidence: Any) -> tuple[np.ndarray, bool] | None:
        """Dictionaries of plain values (a pair, or lists of them), without a detour over events."""
        if self._engine is None:
            return None
        if type(query) is dict and type(evidence) is dict:
            query, evidence = [query], [evidence]
        pairs = plain_pairs(self.domain_, query, evidence)
        if pairs is None:
            return None
        return self._engine.conditionals(pairs, max(len(query), len(evidence)))

    def _any_conditional(self, query: Any, evidence: Any) -> tuple[np.ndarray, bool, bool]:
        """The answers, whether a single one was meant, and whether any evidence is impossible."""
        given, given_single = self._events(evidence, points=True)
        asked, asked_single = self._events(query)
        whole = self._log_probability(given)
        both = self._log_probability(intersect_events(asked, given))
        with np.errstate(invalid="ignore"):
            values = np.exp(both - whole)
        return values, given_single and asked_single, bool(np.isneginf(whole).any())

    def conditional_table(
        self, query: Sequence[Hashable], evidence: Question | None = None, strict: bool = False
    ) -> np.ndarray:
        """The whole table of the query columns given the evidence, normalised.

        Arguments:
            query: Discrete columns: the axes of the table, each in the order of its sorted domain.
            evidence: A dictionary, as in :meth:`conditional`.
            strict: Whether evidence of probability zero is an error rather than NaN.
        """
        self._check_fitted()
        if not isinstance(evidence, Mapping | None):
            raise TypeError("the evidence of a table is one dictionary {column: value}")
        axes = [self.domain_.index(name) for name in query]
        self._check_axes(query, axes, evidence or {})
        given, _ = self._events(evidence or {}, points=True)
        table = self._joint_table(axes, given)
        total = table.sum()
        if not total > 0:
            self._impossible_evidence(strict)
            return np.full(table.shape, np.nan)
        return table / total

    def log_probability_of_codes(self, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """The log-probability of boxes of codes, shape (n, m): for callers that keep codes.

        Code k is the k-th value of a column's sorted domain; discrete columns only.
        """
        self._check_fitted()
        if self._engine is not None:
            low, high = (np.ascontiguousarray(side, dtype=np.int64) for side in (lower, upper))
            return self._engine.run_boxes_of_codes(low, high)
        sides = zip(np.asarray(lower).T, np.asarray(upper).T, strict=True)
        constraints = {v: CodeRange(first, last) for v, (first, last) in enumerate(sides)}
        return self._log_probability(Events(len(lower), constraints))

    def score_samples(self, X: Any) -> np.ndarray:
        """The log-likelihood of every row; a missing cell is summed out."""
        self._check_fitted()
        table = as_table(X, self.domain_.names)
        columns = self.domain_.encode(table)
        extra = np.zeros(len(table))
        for variable in self.domain_.variables:
            if variable.bins is not None:
                values = table[variable.name].to_numpy(dtype=np.float64, na_value=np.nan)
                known = ~np.isnan(values)
                extra[known] += variable.bins.log_density(values[known])
        return self._score_columns(columns, len(table)) + extra

    def score(self, X: Any, y: Any = None) -> float:
        """The mean log-likelihood of the rows."""
        return float(self.score_samples(X).mean())

    def sample(self, n_samples: int = 1, random_state: Any = None) -> Any:
        """Rows drawn from the model, as a DataFrame (an array if it was fitted on one)."""
        self._check_fitted()
        rng = np.random.default_rng(check_random_state(random_state).randint(2**31))
        columns = sample_columns(self.root_, n_samples, rng)
        frame = pd.DataFrame(
            {
                variable.name: variable.realise(columns[v], rng)
                for v, variable in enumerate(self.domain_.variables)
            }
        )
        return frame if self.as_frame_ else frame.to_numpy()

    # ------------------------------------------------------------------ files and sizes

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to one file, with its parameters except plug-ins that are objects."""
        from fspn.storage import save_model

        self._check_fitted()
        params = plain_params(self.get_params(deep=False))
        save_model(path, self.domain_, self.root_, {**params, "as_frame_": self.as_frame_})

    @classmethod
    def load(cls, path: str | PathLike[str]) -> FSPN:
        """Read a model that :meth:`save` wrote."""
        from fspn.storage import load_model

        domain, root, params = load_model(path)
        as_frame = bool(params.pop("as_frame_", True))
        known = {k: v for k, v in params.items() if k in cls._get_param_names()}
        model = cls(**known)
        model._adopt(domain, root, as_frame)
        return model

    @property
    def n_nodes_(self) -> int:
        """The number of nodes; see :func:`fspn.nodes.count_nodes`."""
        return count_nodes(self.root_)

    @property
    def n_parameters_(self) -> int:
        """The number of free parameters."""
        return count_parameters(self.root_)

    @property
    def size_bytes_(self) -> int:
        """The size of parameters and structure; see :func:`fspn.measure.size_bytes`."""
        return size_bytes(self.root_) + sum(
            v.bins.cuts.nbytes + sum(a.nbytes for a in v.bins.shape.state().values())
            for v in self.domain_.variables
            if v.bins is not None
        )

    # ------------------------------------------------------------------ inside

    def _check_fitted(self) -> None:
        # scikit-learn's own check takes as long as a query.
        if not hasattr(self, "root_"):
            check_is_fitted(self, "root_")

    def _log_probability(self, events: Events) -> np.ndarray:
        events = in_cells(self.domain_, events)
        if self._engine is not None:
            return self._engine.log_probability(events)
        return log_probability(self.root_, events)

    def _events(self, asked: Any, points: bool = False) -> tuple[Events, bool]:
        """Events from any of the forms, and whether a single one was meant."""
        if isinstance(asked, Mapping):
            return dict_events(self.domain_, [asked], points), True
        if isinstance(asked, tuple) and len(asked) == 2:
            low, high, single = self._boxes(*asked)
            return box_events(self.domain_, low, high), single
        if isinstance(asked, Sequence) and all(isinstance(each, Mapping) for each in asked):
            return dict_events(self.domain_, asked, points), False
        raise TypeError(
            "ask with a dictionary {column: value}, a list of them, or a pair of arrays "
            "(lower, upper)"
        )

    def _boxes(self, lower: Any, upper: Any) -> tuple[np.ndarray, np.ndarray, bool]:
        low, high = np.asarray(lower, dtype=np.float64), np.asarray(upper, dtype=np.float64)
        single = low.ndim == 1
        if single:
            low, high = low[None, :], high[None, :]
        if low.shape != high.shape or low.ndim != 2 or low.shape[1] != len(self.domain_):
            raise ValueError(
                f"boxes of shape {np.shape(lower)} and {np.shape(upper)} do not fit a model of "
                f"{len(self.domain_)} columns; both sides are of shape (n, {len(self.domain_)})"
            )
        return low, high, single

    def _score_columns(self, columns: list[np.ndarray], n: int) -> np.ndarray:
        """Rows with the same missing reals are scored together, without those variables."""
        reals = [v for v, variable in enumerate(self.domain_.variables) if not variable.is_coded]
        if not reals:
            return self._log_probability(row_events(self.domain_, columns))
        missing = np.column_stack([np.isnan(columns[v]) for v in reals])
        scores = np.empty(n)
        patterns, which = np.unique(missing, axis=0, return_inverse=True)
        for pattern in range(len(patterns)):
            rows = np.flatnonzero(which.ravel() == pattern)
            events = row_events(self.domain_, [column[rows] for column in columns])
            scores[rows] = self._log_probability(events)
        return scores

    def _check_axes(self, query: Sequence[Hashable], axes: list[int], evidence: Question) -> None:
        if not axes:
            raise ValueError("the query names no column")
        if len(set(axes)) < len(axes):
            raise ValueError(f"the query {list(query)} names a column twice")
        for name, v in zip(query, axes, strict=True):
            if self.domain_[v].kind == "continuous":
                raise ValueError(
                    f"column {name!r} is continuous and has no finite table; ask for the "
                    "probability of intervals with conditional()"
                )
            if name in evidence:
                raise ValueError(f"column {name!r} is both in the query and in the evidence")

    def _joint_table(self, axes: list[int], given: Events) -> np.ndarray:
        if self._engine is not None:
            return self._engine.joint_table(axes, in_cells(self.domain_, given))
        sizes = [self.domain_[v].size for v in axes]
        logs = enumerate_logs(axes, sizes, given, self._log_probability)
        top = logs.max()
        return np.exp(logs - top) if np.isfinite(top) else np.zeros(sizes)

    @staticmethod
    def _impossible_evidence(strict: bool) -> None:
        message = "the evidence has probability zero, so nothing can be said given it"
        if strict:
            raise ValueError(message)
        warnings.warn(message + "; the answer is NaN", RuntimeWarning, stacklevel=3)
