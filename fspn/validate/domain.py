"""What can be wrong with the columns, and with a table that does not fit them.

Leaf families and conditional tables check their own arrays (``faults``). Beyond the probabilities
these checks cover every bound that the kernels rely on, so that a model from a file cannot make
them read outside its arrays.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fspn.model.nodes import TableSplit
from fspn.schema.cells import Cells
from fspn.schema.domain import Domain
from fspn.schema.variable import KINDS, Variable

MAX_LEVELS = 256


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
    elif len(node.cpt.levels) > MAX_LEVELS:
        yield f"a table of {len(node.cpt.levels)} back-off levels; there may be {MAX_LEVELS}"
    elif node.cpt.sizes != sizes:
        yield f"a table for {node.cpt.sizes} parent codes; the parents have {sizes}"
    else:
        yield from node.cpt.faults()
