"""What can be wrong with a column or a conditional table: a sentence per fault.

Leaf families check themselves (:func:`fspn.model.leaves.base.leaf_faults`). Beyond the
probabilities these functions check every bound that the kernels rely on, so that a model from a
file cannot make them read outside its arrays.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fspn.model.cpt.backoff import BackoffLevel, BackoffTable, CountLevel, LinearLaw
from fspn.model.cpt.full import FullTable
from fspn.model.cpt.graded import GradedLaw
from fspn.model.cpt.rows import Rows
from fspn.model.cpt.tree import TreeLevel
from fspn.model.leaves.checks import TOLERANCE, share_faults
from fspn.model.nodes import TableSplit
from fspn.schema.cells import Cells
from fspn.schema.domain import Domain
from fspn.schema.variable import KINDS, Variable


def domain_faults(domain: Domain) -> Iterator[str]:
    """The faults of the variables themselves."""
    if len(set(domain.names)) < len(domain) or len(domain) == 0:
        yield "no columns, or two columns of the same name"
    for variable in domain.variables:
        yield from _variable_faults(variable)


def _variable_faults(variable: Variable) -> Iterator[str]:
    name, values, cells = variable.name, variable.values, variable.cells
    line = variable.line_values
    if variable.kind not in KINDS:
        yield f"column {name!r} is of the unknown kind {variable.kind!r}"
    elif variable.missing is not None and not 0 <= variable.missing <= 1:
        yield f"the share of missing values of column {name!r} is not in [0, 1]"
    elif variable.is_coded and variable.size == 0:
        yield f"column {name!r} has no values"
    elif not variable.has_labels and not (np.diff(line) > 0).all():
        yield f"the values of the ordered column {name!r} do not increase"
    elif len(set(values.tolist())) < len(values):
        yield f"a value of column {name!r} occurs twice"
    elif cells is not None:
        yield from (f"column {name!r}: {fault}" for fault in cells.faults())
        if not cells.faults() and not variable.is_ordered and not _holds_labels(cells, values):
            yield f"the cells of column {name!r} do not hold its labels"


def _holds_labels(cells: Cells, labels: np.ndarray) -> bool:
    return cells.is_discrete and np.array_equal(cells.left, np.arange(len(labels)))


def table_faults(node: TableSplit, domain: Domain) -> Iterator[str]:
    """The faults of a conditional table: its shape, its bounds, the sum of every row."""
    size = domain[node.variable].size
    sizes = tuple(domain[v].size for v in node.given)
    if 0 in (size, *sizes):
        yield "a table that names a continuous variable without cells"
    elif not sizes:
        yield "a table without conditioning variables; a uni-leaf says the same"
    elif len(node.cpt.base) != size:
        yield f"rows of {len(node.cpt.base)} codes for a variable of {size}"
    elif node.cpt.sizes != sizes:
        yield f"a table for {node.cpt.sizes} parent codes; the parents have {sizes}"
    elif isinstance(node.cpt, FullTable):
        yield from _full_faults(node.cpt)
    else:
        yield from _cpt_faults(node.cpt, sizes)


def _full_faults(table: FullTable) -> Iterator[str]:
    if table.free.shape[:-1] != table.top.shape:
        yield "a full table whose parts do not fit"
    elif not ((table.top >= 0) & (table.top < len(table.base))).all():
        yield "a full table that leaves out a code outside the domain"
    elif not (table.probabilities >= 0).all():
        yield "a row of the table has a negative probability, or sums to more than 1"


def _cpt_faults(cpt: BackoffTable, sizes: tuple[int, ...]) -> Iterator[str]:
    yield from share_faults(cpt.base, "the probabilities that the table backs off to")
    for level in cpt.levels:
        if level.sizes != sizes[: level.width]:
            yield f"a level for {level.sizes} parent codes; the parents have {sizes}"
            return
        faults = list(_level_faults(level, len(cpt.base)))
        yield from faults or _row_faults(level.rows, sizes[: level.width], len(cpt.base))


def _level_faults(level: BackoffLevel, size: int) -> Iterator[str]:
    if isinstance(level, LinearLaw):
        yield from _offset_faults(level, size)
    elif isinstance(level, GradedLaw):
        yield from _graded_faults(level, size)
    elif isinstance(level, TreeLevel):
        yield from _tree_faults(level, size)
    elif not level.alpha >= 0 or not (level.counts >= 0).all():
        yield "negative counts or a negative strength of smoothing"
    else:
        yield from _layout_faults(level)
    tilt = getattr(level, "tilt", None)
    if tilt is not None and not (len(tilt) == size and (tilt > 0).all()):
        yield "a tilt that does not fit the codes, or is not positive"


def _layout_faults(level: CountLevel) -> Iterator[str]:
    n = len(level.codes)
    if len(level.start) != len(level.keys) + 1 or len(level.counts) != n or n == 0:
        yield "a table whose rows, codes and counts do not fit"
    elif level.start[0] != 0 or level.start[-1] != n or not (np.diff(level.start) > 0).all():
        yield "a table whose rows do not cover its entries"


def _offset_faults(level: LinearLaw, size: int) -> Iterator[str]:
    sorted_arrays = (*level.parent_values, level.child_values, level.offsets)
    if len(level.child_values) != size or len(level.coefficients) != level.width:
        yield "an offset law whose values or coefficients do not fit its variables"
    elif not all((np.diff(array) > 0).all() for array in sorted_arrays):
        yield "an offset law whose values are not sorted"
    elif len(level.noise) != len(level.offsets) or not 0 <= level.epsilon <= 1:
        yield "an offset law whose noise or share does not fit"
    else:
        yield from share_faults(level.noise, "the noise of an offset law")


def _graded_faults(level: GradedLaw, size: int) -> Iterator[str]:
    locations = (*level.effects, level.deviation)
    if len(level.cuts) != size - 1 or len(level.deviation) not in (0, np.prod(level.sizes)):
        yield "a graded law whose cuts or deviations do not fit its variables"
    elif not (np.diff(level.cuts) > 0).all() or not np.isfinite(level.cuts).all():
        yield "a graded law whose cuts do not grow"
    elif not all(np.isfinite(part).all() for part in locations) or not 0 <= level.epsilon <= 1:
        yield "a graded law whose locations or share do not fit"


def _tree_faults(level: TreeLevel, size: int) -> Iterator[str]:
    tests, n = level.tests, len(level.tests)
    inner = np.flatnonzero(tests[:, 0] >= 0)
    below = tests[inner, 3:]
    if (tests[inner, 0] >= level.width).any() or (below <= inner[:, None]).any():
        yield "a decision tree whose tests do not fit its parents, or do not lead down"
    elif sorted(below.ravel().tolist()) != list(range(1, n)):
        yield "a decision tree with a node that no test, or more than one, leads to"
    elif level.n_leaves != n - len(inner) or level.start[-1] != len(level.codes):
        yield "a decision tree whose leaves and counts do not fit"
    elif not (level.codes < size).all() or not (level.counts > 0).all() or not level.alpha >= 0:
        yield "a decision tree with codes outside the domain, or negative counts"


def _row_faults(rows: Rows, sizes: tuple[int, ...], size: int) -> Iterator[str]:
    keys, codes = rows.keys.astype(np.int64), rows.codes.astype(np.int64)
    place = np.repeat(np.arange(len(keys)), np.diff(rows.start))
    total = np.bincount(place, rows.share, len(keys)) + rows.tail
    if (keys < 0).any() or (keys >= np.prod([float(s) for s in sizes])).any():
        yield "a table with rows outside the domain of its parents"
    elif not (np.diff(keys) > 0).all():
        yield "a table whose rows are not sorted"
    elif (codes < 0).any() or (codes >= size).any():
        yield "a table with codes outside the domain"
    elif not (np.diff(place * size + codes) > 0).all():
        yield "a table with a row whose codes are not sorted"
    elif not ((rows.share >= 0).all() and (rows.tail >= 0).all()):
        yield "a table with negative probabilities"
    elif not (np.abs(total - 1.0) <= TOLERANCE).all():
        worst = int(np.nanargmax(np.abs(total - 1.0)))
        yield f"row {int(keys[worst])} of the table sums to {total[worst]:.12g}, not 1"
