"""Fitting leaves to a slice of the data: which family, and with which parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from fspn.learn.gains import Gains
from fspn.learn.gaussian_leaf import fit_mixture
from fspn.learn.network.cell_counts import CodedTable
from fspn.learn.network.order_search import learn_network
from fspn.learn.network.score import LocalScores
from fspn.learn.network.tables import base_row, fit_cpt
from fspn.learn.partition import some_rows
from fspn.learn.slices import Slice
from fspn.model.graph import Network
from fspn.model.leaves.base import Multivariate, Univariate
from fspn.model.leaves.categorical import Categorical
from fspn.model.leaves.independent import Independent
from fspn.model.leaves.joint import SparseJoint
from fspn.model.leaves.nested import Nested
from fspn.model.leaves.registry import learned_from_codes
from fspn.model.nodes import Factorize, MultiLeaf, Node, Product, TableSplit, UniLeaf
from fspn.model.score import row_scores

MULTI_LEAVES = ("auto", "joint", "tree", "mixture")
MAX_TREE_ROWS = 20_000


@dataclass(frozen=True)
class LeafSettings:
    """How leaves are fitted.

    Arguments:
        multi_leaf: The family of multi-leaves.
        alpha: The strength of smoothing.
        reals: The function that fits the density of a column of reals.
        offsets: Whether a table of a tree may be an integer-linear law.
    """

    multi_leaf: str
    alpha: float
    reals: Callable[[np.ndarray, float, int], Univariate]
    offsets: bool


def fit_univariate(
    data: Slice, variable: int, settings: LeafSettings, rng: np.random.Generator
) -> Univariate:
    """The uni-leaf's distribution: categorical for codes, a density for reals."""
    seed, described = int(rng.integers(2**31)), data.domain[variable]
    if described.is_coded:
        return Categorical.fit(data.values(variable), described.size, settings.alpha)
    return settings.reals(data.values(variable), settings.alpha, seed)


def fit_multi_leaf(
    data: Slice, scope: Sequence[int], settings: LeafSettings, rng: np.random.Generator
) -> MultiLeaf:
    """The multi-leaf of a group of variables.

    ``joint`` is a sparse table (a multi-dimensional Dirichlet), ``tree`` a Chow-Liu tree,
    ``mixture`` a mixture of products (the one that also takes reals); ``auto`` picks between the
    first two: the table's leave-one-out likelihood against the tree's BIC.
    """
    variables, family, alpha = tuple(scope), settings.multi_leaf, settings.alpha
    if len(variables) == 1:
        part = fit_univariate(data, variables[0], settings, rng)
        return MultiLeaf(variables, Independent((part,)))
    if family == "mixture" or not all(data.domain[v].is_coded for v in variables):
        return MultiLeaf(variables, Nested(fit_mixture(data, variables, alpha, rng)))
    if family == "joint":
        return MultiLeaf(variables, _joint(data, variables, alpha))
    if family not in MULTI_LEAVES:
        return MultiLeaf(variables, _registered(data, variables, family, alpha))
    tree = Nested(fit_tree(data, variables, alpha, rng, settings.offsets))
    if family == "tree":
        return MultiLeaf(variables, tree)
    joint = _joint(data, variables, alpha)
    price = 0.5 * tree.n_parameters * np.log(max(data.n_rows, 2)) / max(data.n_rows, 1)
    tree_score = _mean_score(tree.root, some_rows(data, MAX_TREE_ROWS, rng), variables)
    return MultiLeaf(variables, joint if joint.left_out > tree_score - price else tree)


def _mean_score(root: Node, data: Slice, scope: Sequence[int]) -> float:
    """The mean log-likelihood of the rows."""
    return float(row_scores(root, {v: data.values(v) for v in scope}).mean())


def multi_leaf_names() -> tuple[str, ...]:
    """What ``multi_leaf`` may be: the built-in names, and every registered family of codes."""
    return (*MULTI_LEAVES, *sorted(learned_from_codes()))


def _registered(data: Slice, variables: tuple[int, ...], family: str, alpha: float) -> Multivariate:
    codes = np.column_stack([data.values(v) for v in variables])
    sizes = [data.domain[v].size for v in variables]
    fitted = learned_from_codes()[family].fit_codes(codes, sizes, alpha)
    if fitted is None:
        raise ValueError(f"the leaf family {family!r} fitted nothing to {len(codes)} rows")
    return fitted


def _joint(data: Slice, variables: tuple[int, ...], alpha: float) -> SparseJoint:
    codes = np.column_stack([data.values(v) for v in variables])
    return SparseJoint.fit(codes, [data.domain[v].size for v in variables], alpha)


def fit_tree(
    data: Slice,
    scope: Sequence[int],
    alpha: float | None,
    rng: np.random.Generator,
    offsets: bool,
) -> Node:
    """A Chow-Liu tree (a forest where that scores better) as an FSPN."""
    strength = np.ones((len(scope), len(scope)))
    settings = NetworkSettings(max_parents=1, max_cells=10**9, alpha=alpha, offsets=offsets)
    return fit_network(data, scope, (), strength, settings, rng)


@dataclass(frozen=True)
class NetworkSettings:
    """The settings of one network of tables.

    Arguments:
        max_parents: At most so many parents per variable.
        max_cells: At most so many cells in an intermediate result of a query.
        alpha: The strength of the smoothing; None = by leave-one-out likelihood.
        max_cost: At most so many cells in all intermediate results of a query together.
        offsets: Whether a table may be an integer-linear law.
        graded: Whether a table may be a graded law.
        trees: Whether a table may be a decision tree.
    """

    max_parents: int
    max_cells: int
    alpha: float | None
    max_cost: float = np.inf
    offsets: bool = True
    graded: bool = False
    trees: bool = False


def fit_network(
    data: Slice,
    scope: Sequence[int],
    given: Sequence[int],
    strength: np.ndarray,
    settings: NetworkSettings,
    rng: np.random.Generator,
    left: Node | None = None,
    gains: Gains | None = None,
) -> Node:
    r"""Nested factorize nodes for :math:`\Pr(S \mid C)` on top of ``left``, the FSPN of C.

    One factorize node per variable, its right child the table of that variable given its parents
    (Proposition 1). Variables without parents come first, side by side under a product node.

    Arguments:
        data: The rows.
        scope: The variables S.
        given: The conditioning variables C.
        strength: How strongly the variables of S and C depend on each other; 0 = no edge.
        settings: The bounds, the smoothing and the kinds of tables.
        rng: For the starts of the search.
        left: The FSPN of C; None where there is no C.
        gains: Filled with what the tables gained.
    """
    variables = [*scope, *given]
    table = coded_table(data, variables, settings.offsets, settings.graded, settings.trees)
    scores = LocalScores(table, price=1.0 + np.log(len(table)))
    bounds = settings.max_parents, settings.max_cells
    network = learn_network(scores, strength, *bounds, rng, max_cost=settings.max_cost)
    node = network_node(scores, network, variables, len(scope), settings.alpha, left)
    if gains is not None:
        gains.add_tables({variables[v]: gain for v, gain in scores.gained.items()})
    return node


def network_node(
    scores: LocalScores,
    network: Network,
    variables: Sequence[int],
    n_own: int,
    alpha: float | None,
    left: Node | None = None,
) -> Node:
    """The nested factorize nodes of a learned structure, with fitted tables.

    Arguments:
        scores: The scores that it was learned by, on the rows that the tables are fitted to.
        network: The structure.
        variables: The variable of each place in the network; the conditioning ones come last.
        n_own: How many are modelled, not conditioned on.
        alpha: The strength of the smoothing; None = by leave-one-out likelihood.
        left: The FSPN of the conditioning variables.
    """
    table = scores.table
    roots = [v for v in network.order if v < n_own and not network.parents[v]]
    parts: list[Node] = [] if left is None else [left]
    parts += [UniLeaf(variables[v], Categorical(base_row(table, v, alpha))) for v in roots]
    node = parts[0] if len(parts) == 1 else Product(tuple(parts))
    for v in network.order:
        if network.parents[v]:
            cpt, parents = fit_cpt(table, scores, v, network.parents[v], alpha)
            right = TableSplit(variables[v], tuple(variables[p] for p in parents), cpt)
            node = Factorize(node, right)
    return node


def coded_table(
    data: Slice,
    variables: Sequence[int],
    offsets: bool = True,
    graded: bool = False,
    trees: bool = False,
) -> CodedTable:
    """The codes of some variables, with the integers behind them where they are ordered.

    Arguments:
        data: The rows.
        variables: The variables.
        offsets: Whether integer-linear laws may be used.
        graded: Whether graded laws of ordered codes may be used.
        trees: Whether a table may be a decision tree.
    """
    described = [data.domain[v] for v in variables]
    numbers = [
        d.values if offsets and d.kind == "ordered" and d.has_whole_values else None
        for d in described
    ]
    ordered = [d.has_ordered_codes and d.missing is None for d in described] if graded else []
    codes = [data.values(v) for v in variables]
    return CodedTable(codes, [d.size for d in described], numbers, ordered, trees)


def fit_product(
    data: Slice, scope: Sequence[int], settings: LeafSettings, rng: np.random.Generator
) -> Node:
    """All variables independent of each other."""
    leaves = tuple(UniLeaf(v, fit_univariate(data, v, settings, rng)) for v in scope)
    return leaves[0] if len(leaves) == 1 else Product(leaves)
