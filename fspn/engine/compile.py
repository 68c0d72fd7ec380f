"""Flattening an FSPN to the pools of numbers that the kernels read.

Only models whose variables are all coded are compiled (a continuous variable is coded once it has
cells); the others are answered by :mod:`fspn.model.infer`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, product
from typing import ClassVar, NoReturn

import numpy as np

from fspn.engine.compile_block import (
    Block,
    NotCompilable,
    gather_block,
    is_table_part,
    is_tabular,
    write_block,
)
from fspn.engine.compile_dense import fits_dense, write_dense_block
from fspn.engine.compile_messages import message_instructions
from fspn.engine.compile_regions import instructions
from fspn.engine.memo_kernels import MAX_HEADS, MIN_HEADS
from fspn.engine.pools import Pools, PoolWriter
from fspn.engine.program import (
    BLOCK,
    FACTORIZE,
    JOINT,
    MEMO,
    PRODUCT,
    SUM,
    UNI_LEAF,
    BlockRecord,
    BoxRecord,
    FactorizeRecord,
    JointRecord,
    LeafRecord,
    MemoRecord,
    Needs,
    ProductRecord,
    SideRecord,
    SumRecord,
    open_ended,
)
from fspn.model.dispatch import ByKind
from fspn.model.leaves.base import Univariate, log_of
from fspn.model.leaves.joint import SparseJoint
from fspn.model.nodes import (
    Factorize,
    MultiLeaf,
    Node,
    Product,
    Split,
    Sum,
    TableSplit,
    UniLeaf,
    leaves_of,
    table_of,
)
from fspn.schema.events import Codes, Interval, Region

MIN_INDEXED_ROWS = 32


@dataclass(frozen=True)
class Program:
    """A compiled model.

    Arguments:
        root: The offset of the root's record in ``ints``.
        pools: Structure, codes and row indices, probabilities.
        dense: The small tables, cell by cell: the head of every buffer.
        sizes: The number of codes of every variable.
        needs: What an evaluation needs (:class:`fspn.engine.program.Needs`).
    """

    root: int
    pools: Pools
    dense: np.ndarray
    sizes: np.ndarray
    needs: np.ndarray


def compile_fspn(root: Node, sizes: Sequence[int]) -> Program:
    """The program of a model; :class:`NotCompilable` where a part of it has no kernel."""
    if not all(size > 0 for size in sizes):
        raise NotCompilable("continuous variables without cells")
    writer = _Writer(np.asarray(sizes, dtype=np.int64))
    place = writer.node(root)
    frames = writer.deepest
    sides = frames * 3 * (writer.widest + 1)
    by_regions, slots = writer.regions(place)
    by_messages = writer.messages(place)
    needs = Needs(
        frames, sides, writer.longest, writer.n_heads, place, by_regions, slots, *by_messages
    )
    pool = writer.pool
    return Program(place, pool.pools(), pool.dense(), pool.sizes, np.array(needs, dtype=np.int64))


class _Writer:
    def __init__(self, sizes: np.ndarray):
        self.pool = PoolWriter(sizes)
        self._level = 0
        self.deepest = 1
        self.widest = 1
        self.longest = 1
        self._n_memos = 0
        # The variables whose ranges can differ from one question to the present node to the next.
        self._cut: frozenset[int] = frozenset()

    @property
    def n_heads(self) -> int:
        """How many chains of remembered answers there are to be; a power of two."""
        wanted = min(max(16 * self._n_memos, MIN_HEADS), MAX_HEADS)
        return 1 << (wanted - 1).bit_length() if self._n_memos else 0

    def _record(self, *entries: int) -> int:
        return self.pool.record(*entries)

    def _numbers_at(self, values: np.ndarray) -> int:
        return self.pool.numbers_at(values)

    def _scope(self, node_scope: frozenset[int]) -> tuple[int, int]:
        return self.pool.scope(node_scope)

    def node(self, node: Node) -> int:
        """Write a node and all below it; returns the offset of its record.

        A memo precedes it where some variables that distinguish the questions to its parent are not
        in its scope: then the node is asked the same question more than once.
        """
        level, above = self._level, self._cut
        self._cut = above & node.scope
        shared = self._cut != above and is_worth_a_memo(node)
        self._level += 1 + shared
        self.deepest = max(self.deepest, self._level + 1)
        place = self._RECORDS.of(node)(self, node)
        if shared:
            place = self._memo(place, node.scope, self._cut)
        self._level, self._cut = level, above
        return place

    def regions(self, root: int) -> tuple[int, int]:
        """Write the instructions for regions; returns their offset (-1: none) and stack size."""
        code = instructions(self.pool.ints, root, self.deepest, self.pool.sizes.tolist())
        return (-1, 0) if code is None else (self._record(*code), 3 * self.deepest + 8)

    def messages(self, root: int) -> tuple[int, int]:
        """Write the instructions for messages; returns their offset (-1: none) and stack size."""
        code = message_instructions(self.pool.ints, root, self.deepest)
        return (-1, 0) if code is None else (self._record(*code), 3 * self.deepest + 8)

    def _memo(self, place: int, scope: frozenset[int], cut: frozenset[int]) -> int:
        self._n_memos += 1
        head = (MEMO, *self._scope(scope), place, len(cut))
        return self._record(*open_ended(MemoRecord, *head, rest=sorted(cut)))

    def _conditional(self, node: Node) -> NoReturn:
        raise NotCompilable(f"a {type(node).__name__} node outside a factorize node")

    def _sum(self, node: Sum) -> int:
        children = [self.node(child) for child in node.children]
        weights = self._numbers_at(log_of(node.weights))
        scope = self._scope(node.scope)
        head = (SUM, *scope, len(children), weights)
        return self._record(*open_ended(SumRecord, *head, rest=children))

    def _uni_leaf(self, node: UniLeaf) -> int:
        return self._leaf(node.variable, node.dist)

    def _leaf(self, variable: int, dist: Univariate) -> int:
        pmf = dist.pmf()
        if pmf is None:
            raise NotCompilable(f"a leaf of the family {dist.family!r}")
        scope = self._scope(frozenset([variable]))
        cumulative = self._numbers_at(np.concatenate([[0.0], np.cumsum(pmf)]))
        place = self._numbers_at(pmf)
        return self._record(*LeafRecord(UNI_LEAF, *scope, variable, len(pmf), place, cumulative))

    def _product(self, node: Product) -> int:
        """A few small tables and leaves make one block; otherwise each tabular child is a block."""
        if is_tabular(node) and not all(isinstance(child, UniLeaf) for child in node.children):
            block = gather_block(node)
            if fits_dense(self.pool, block):
                return self._write(block, node.scope)
        return self._product_of([self.node(child) for child in node.children], node.scope)

    def _product_of(self, children: list[int], node_scope: frozenset[int]) -> int:
        head = (PRODUCT, *self._scope(node_scope), len(children))
        return self._record(*open_ended(ProductRecord, *head, rest=children))

    def _multi_leaf(self, node: MultiLeaf) -> int:
        inside = node.dist.as_node(node.variables)
        if inside is not None:
            return self.node(inside)
        parts, joint = node.dist.as_independent(), node.dist.as_joint()
        if parts is not None:
            return self._product_of(list(map(self._leaf, node.variables, parts)), node.scope)
        if joint is not None:
            return self._joint(node, joint)
        raise NotCompilable(f"a multi-leaf of the family {node.dist.family!r}")

    def _joint(self, node: MultiLeaf, dist: SparseJoint) -> int:
        scope = self._scope(node.scope)
        variables = self._record(*node.variables)
        pmfs = [
            place
            for marginal in dist.marginals
            for place in (self._numbers_at(marginal.p), self._numbers_at(marginal.cumulative))
        ]
        marginals = self._record(*pmfs)
        rows, shares = self.pool.table_at(dist.rows), self._numbers_at(dist.weights)
        epsilon = self._numbers_at(np.array([dist.epsilon]))
        own = (len(node.variables), variables, len(dist.weights), rows, shares, epsilon, marginals)
        return self._record(*JointRecord(JOINT, *scope, *own, self._row_index(dist)))

    def _row_index(self, dist: SparseJoint) -> int:
        """Per variable the rows in its order, and where each code begins; -1 for a small table."""
        if len(dist.weights) < MIN_INDEXED_ROWS:
            return -1
        places = []
        for column, marginal in zip(dist.rows.T, dist.marginals, strict=True):
            starts = np.searchsorted(np.sort(column), np.arange(len(marginal.p) + 1))
            places += [self.pool.table_at(starts)]
            places += [self.pool.table_at(np.argsort(column, kind="stable"))]
        return self._record(*places)

    def _factorize(self, node: Factorize) -> int:
        """Nested factorize nodes, innermost first: thousands of them are too deep to recurse."""
        if table_of(node) is not None:
            return self._block(node)
        spine = [node]
        while isinstance(left := spine[-1].left, Factorize) and not is_table_part(left):
            spine.append(left)
        level, above = self._level, self._cut
        cuts = [above]
        for part in spine:
            cuts.append((cuts[-1] | cut_by(part)) & part.left.scope)
        # Every node of the spine takes two frames, the memo's and its own.
        self._level, self._cut = level + 2 * len(spine) - 1, cuts[-1]
        place = self._left(spine[-1].left, self.node(spine[-1].left), cuts[-2:])
        for i in reversed(range(len(spine))):
            self._level, self._cut = level + 2 * i, cuts[i]
            place = self._regions(spine[i], place)
            if i > 0:
                place = self._left(spine[i], place, cuts[i - 1 : i + 1])
        self._level, self._cut = level, above
        return place

    def _left(self, node: Node, place: int, cuts: list[frozenset[int]]) -> int:
        """Write a left child, behind a memo where its parent is asked more than once."""
        asked_often, cut = cuts
        return (
            self._memo(place, node.scope, cut) if asked_often and is_worth_a_memo(node) else place
        )

    def _regions(self, node: Factorize, left: int) -> int:
        """A factorize node whose left child is already written."""
        boxes = [
            self._record(*open_ended(BoxRecord, place, len(box), rest=chain(*box)))
            for region, leaf in leaves_of(node.right)
            for place in [self.node(leaf)]
            for box in self._boxes(region)
        ]
        right = self._scope(node.right.scope)
        scope = self._scope(node.scope)
        head = (FACTORIZE, *scope, left, *right, len(boxes))
        return self._record(*open_ended(FactorizeRecord, *head, rest=boxes))

    def _boxes(self, region: Region) -> list[tuple[SideRecord, ...]]:
        """A region as boxes of ranges; a set of codes is cut into its runs."""
        sides = []
        for variable, side in region.items():
            if isinstance(side, Interval):
                raise NotCompilable("a region of reals")
            runs = _runs(side.codes) if isinstance(side, Codes) else [(side.lower, side.upper)]
            sides.append([SideRecord(variable, low, high) for low, high in runs if low <= high])
        self.widest = max(self.widest, len(sides))
        return list(product(*sides))

    def _block(self, node: Factorize) -> int:
        """The longest chain of tables from here down, over a base that is not tables."""
        return self._write(gather_block(node), node.scope)

    def _write(self, block: Block, node_scope: frozenset[int]) -> int:
        place = write_block(self.pool, block)
        below = -1 if block.base is None else self._below(block.base, block.external)
        fits = fits_dense(self.pool, block)
        dense = write_dense_block(self.pool, block, place) if fits else -1
        self.widest = max(self.widest, len(block.external))
        self.longest = max(self.longest, len(block.variables))
        return self._record(*BlockRecord(BLOCK, *self._scope(node_scope), place, below, dense))

    def _below(self, base: Node, external: Sequence[int]) -> int:
        """Write the base of a block, asked once per cell of the block's external variables."""
        above = self._cut
        self._cut = (above | frozenset(external)) & base.scope
        place = self._left(base, self.node(base), [above, self._cut])
        self._cut = above
        return place

    _RECORDS: ClassVar[ByKind[int]] = ByKind(
        "compilation",
        {
            UniLeaf: _uni_leaf,
            MultiLeaf: _multi_leaf,
            Product: _product,
            Sum: _sum,
            Factorize: _factorize,
            Split: _conditional,
            TableSplit: _conditional,
        },
    )


def cut_by(node: Factorize) -> frozenset[int]:
    """The variables that the regions of a factorize node cut."""
    return frozenset(v for region, _ in leaves_of(node.right) for v in region)


def is_worth_a_memo(node: Node) -> bool:
    """Whether an answer takes longer to compute than to look up."""
    if isinstance(node, MultiLeaf):
        return node.dist.as_independent() is None
    leaves = node.children if isinstance(node, Product) and len(node.children) <= 6 else (node,)
    return not all(isinstance(leaf, UniLeaf) for leaf in leaves)


def _runs(codes: frozenset[int]) -> list[tuple[int, int]]:
    """The runs of consecutive codes in a set."""
    ordered = np.array(sorted(codes), dtype=np.int64)
    breaks = np.flatnonzero(np.diff(ordered) != 1) + 1
    return [(int(run[0]), int(run[-1])) for run in np.split(ordered, breaks) if len(run)]
