"""FSPN: the scikit-learn style face of the library."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, DensityMixin

from fspn.ask.describe import Description, describe
from fspn.ask.questions import AllQuestions
from fspn.engine.compile import NotCompilable, compile_fspn
from fspn.engine.engine import Engine
from fspn.learn.fit import learn_model, row_codes, storable
from fspn.learn.gains import Gains
from fspn.learn.parameters import Parameters, thresholds_of
from fspn.model.counting import Census, census
from fspn.model.nodes import Node, count_parameters
from fspn.model.query_cost import query_cost
from fspn.model.size import size_bytes
from fspn.schema.domain import Domain, as_table
from fspn.schema.events import Events

Domains = Mapping[Hashable, Iterable[Any]] | Sequence[Iterable[Any] | None] | None


class FSPN(AllQuestions, DensityMixin, BaseEstimator):
    r"""A factorize-split-sum-product network over the columns of a table.

    .. math:: \Pr(X) = \Pr(W) \cdot \Pr(H \mid W)

    for highly correlated variables H, products and sums for the rest (Wu, Zhu et al.). ``fit``
    refuses a parameter that would do nothing, and says which preset or other setting uses it.

    Arguments:
        tau_low: Below this dependence two columns count as independent. None = the preset's.
        tau_high: From this dependence on they count as highly correlated; above 1 switches
            factorize off, which leaves a tree-structured sum-product network.
        preset: ``"default"``, the learner of ``docs/learning.md``, or ``"paper"``, the paper's
            own recipe to the letter (``docs/paper.md``): RDC, 0.3 / 0.7, k-means, greedy splitting,
            multi-dimensional Dirichlets and Gaussian mixtures.
        min_rows: Slices of fewer rows are not partitioned any further; None = 1%, at least 50.
        alpha: Strength of the smoothing; None = by leave-one-out likelihood where possible.
        oracle: ``"rdc"``, ``"corrected"`` or an object with a ``matrix`` method.
        cluster: ``"kmeans"`` or a function.
        split: ``"greedy"``, ``"kmeans_grid"`` or a function.
        group: ``"tables"`` or ``"split"``, how a highly correlated group is modelled.
        multi_leaf: ``"auto"``, the preset's own, or ``"joint"``, ``"tree"`` or ``"mixture"``.
        uni_leaf: How a column of reals is fitted in the paper's recipe: None = a Gaussian mixture,
            ``"auto"`` = the lowest BIC of all registered families, or the name of one.
        n_clusters: Children of a sum node; 1 = no sum nodes.
        max_parents: Conditioning variables per table, at most. None = 4, and 16 in the small
            networks that many columns of few values get.
        max_cells: Cells of an intermediate result of a query on tables, at most. None = 300,000,
            and 65,536 in the small networks that many columns of few values get.
        max_query_cost: Cells of all intermediate results of a query together, at most, over all
            components: the handle on latency (``docs/learning.md`` has the curve). It takes the
            place of ``max_cells`` where that is None. ``query_cost_`` tells what was used.
        max_bins: Cells of a column, at most; a column of no more values has one cell per value.
            None = 128 values, and 64 cells for reals and for columns of more values.
        n_components: Children of the root sum node, learned by EM (fewer where a child is left
            with too few rows); None = chosen by evidence and held-out rows.
        offsets: Whether a table may be an integer combination of its parents plus noise; never
            in the paper's preset.
        graded: Whether the location of an ordered column may follow its parents by a law of a few
            parameters; never in the paper's preset.
        trees: Whether rows may be split by values: a table may be a decision tree over its parents,
            and the components of the root the regions of one column; never in the paper's preset.
        kinds: The kind of a column (``"ordered"``, ``"unordered"``, ``"boolean"``,
            ``"continuous"``, ``"mixed"``, ``"datetime"``) where its type does not tell.
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
        uni_leaf: str | None = None,
        n_clusters: int = 2,
        max_parents: int | None = None,
        max_cells: int | None = None,
        max_query_cost: int | None = None,
        max_bins: int | None = None,
        n_components: int | None = None,
        offsets: bool = True,
        graded: bool = True,
        trees: bool = True,
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
        self.uni_leaf = uni_leaf
        self.n_clusters = n_clusters
        self.max_parents = max_parents
        self.max_cells = max_cells
        self.max_query_cost = max_query_cost
        self.max_bins = max_bins
        self.n_components = n_components
        self.offsets = offsets
        self.graded = graded
        self.trees = trees
        self.kinds = kinds
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # ------------------------------------------------------------------ fitting

    def fit(self, X: Any, y: Any = None, *, domains: Domains = None) -> FSPN:
        """Learn structure and parameters.

        Arguments:
            X: A DataFrame, or a two-dimensional array (its columns are named 0, 1, 2, ...).
            y: Ignored: scikit-learn passes targets here.
            domains: Per discrete column, values beyond those seen in ``X``: a dictionary, or a
                list with one entry (values or None) per column.
        """
        if isinstance(y, Mapping):
            raise TypeError("the second argument of fit is y; write fit(X, domains={...})")
        table = as_table(X)
        gains = Gains()
        domain, root = learn_model(table, domains, Parameters.of(self), gains)
        self._adopt(domain, root, as_frame=isinstance(X, pd.DataFrame))
        self.n_rows_ = len(table)
        self.gains_ = gains.per_row(len(table))
        return self

    def update(self, X: Any) -> FSPN:
        """Let the parameters follow new rows; structure, cells and smoothing stay as they are.

        Counts of the new rows are added to those of the rows before, so that the order of rows
        does not matter where there is no sum node. A number between or beyond the cells of its
        column counts for the nearest; any other value that the model has no cell for is an error:
        name values to come with ``fit(X, domains={...})``.

        Arguments:
            X: The new rows, with the columns of the training table.
        """
        self._check_fitted()
        if not self.n_rows_:
            raise ValueError("this model does not know how many rows it stands for; fit it anew")
        from fspn.learn.update import add_rows

        columns = row_codes(self.domain_, as_table(X, self.domain_.names))
        root = add_rows(self.root_, columns, self.n_rows_)
        self._adopt(self.domain_, root, self.as_frame_)
        self.n_rows_ += len(columns[0])
        return self

    @classmethod
    def from_root(cls, domain: Domain, root: Node, **params: Any) -> FSPN:
        """A fitted model from nodes, built by hand or converted."""
        model = cls(**params)
        model._adopt(domain, root, as_frame=True)
        model.n_rows_, model.gains_ = 0, {}
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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _build_engine(self) -> None:
        self.__dict__.pop("_engine", None)
        try:
            program = compile_fspn(self.root_, [v.size for v in self.domain_.variables])
            self._compiled: Engine | None = Engine(program, self.domain_, self.n_jobs)
        except NotCompilable:
            self._compiled = None

    def compile_kernels(self) -> FSPN:
        """Compile what answers questions now, rather than beside the first of them.

        About a minute where numba's cache is empty, next to nothing otherwise.
        """
        self._check_fitted()
        if self._compiled is not None:
            self._compiled.compile_kernels()
        return self

    def __getstate__(self) -> dict[str, Any]:
        rebuilt = ("_compiled", "_engine", "_tables", "_readers")
        return {k: v for k, v in super().__getstate__().items() if k not in rebuilt}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        if "root_" in state:
            self._build_engine()

    # ------------------------------------------------------------------ questions in SQL

    def _sql_probability(self, texts: Any) -> Any:
        from fspn.sql import probabilities, read_condition

        conditions = [read_condition(text) for text in _listed(texts)]
        values = probabilities(self.domain_, conditions, self._log_probability)
        return float(values[0]) if isinstance(texts, str) else values

    # ------------------------------------------------------------------ files and sizes

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to one file, with its parameters except plug-ins that are objects."""
        from fspn.io.model_file import save_model

        self._check_fitted()
        save_model(path, self.domain_, self.root_, self._kept_params())

    def _kept_params(self) -> dict[str, Any]:
        """What a file keeps beside the model itself."""
        params = storable(self.get_params(deep=False))
        facts = {"as_frame_": self.as_frame_, "n_rows_": self.n_rows_, "gains_": self.gains_}
        return {**params, **facts}

    @classmethod
    def load(cls, path: str | PathLike[str]) -> FSPN:
        """Read a model that :meth:`save` wrote."""
        from fspn.io.model_file import load_model

        domain, root, params = load_model(path)
        as_frame = bool(params.pop("as_frame_", True))
        n_rows = int(params.pop("n_rows_", 0))
        gains = dict(params.pop("gains_", {}))
        known = {k: v for k, v in params.items() if k in cls._get_param_names()}
        model = cls(**known)
        model._adopt(domain, root, as_frame)
        model.n_rows_, model.gains_ = n_rows, gains
        return model

    @property
    def thresholds_(self) -> tuple[float, float]:
        """tau_low and tau_high as they were used."""
        return thresholds_of(self.preset, self.tau_low, self.tau_high)

    def describe(self) -> Description:
        """Kinds of nodes and what they gained, columns, strongest dependences, to be printed."""
        self._check_fitted()
        free = Events(1, {})
        return describe(
            self.root_,
            self.domain_,
            self.size_bytes_,
            lambda v, u: self._joint_table([v, u], free),
            self.gains_,
        )

    @property
    def n_nodes_(self) -> int:
        """The number of nodes; see :func:`fspn.model.counting.census`."""
        return self.census_.n_nodes

    @property
    def census_(self) -> Census:
        """How many nodes, factorize nodes and multi-leaves the model has, and how deep it is."""
        return census(self.root_)

    @property
    def compiled_bytes_(self) -> int:
        """The bytes of the compiled form; 0 where the model is answered by the reference."""
        if self._compiled is None:
            return 0
        program = self._compiled.program
        return sum(array.nbytes for array in (*program.pools, program.dense))

    @property
    def query_cost_(self) -> float:
        """The cells that one query touches at most; see :func:`fspn.model.query_cost.query_cost`.

        Evidence, and columns that a query leaves out, make it cheaper.
        """
        return query_cost(self.root_, [v.size for v in self.domain_.variables])

    @property
    def n_parameters_(self) -> int:
        """The number of free parameters."""
        return count_parameters(self.root_)

    @property
    def size_bytes_(self) -> int:
        """The size of parameters and structure; see :func:`fspn.model.size.size_bytes`."""
        return size_bytes(self.root_) + sum(v.nbytes for v in self.domain_.variables)

    @property
    def file_bytes_(self) -> int:
        """The size of the file that :meth:`save` writes."""
        from fspn.io.model_file import model_bytes

        self._check_fitted()
        return len(model_bytes(self.domain_, self.root_, self._kept_params()))


def _listed(texts: str | Sequence[str]) -> Sequence[str]:
    return [texts] if isinstance(texts, str) else texts
