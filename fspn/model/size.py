"""The size of a model, by one rule: the bytes of the arrays that define it, plus its structure."""

from __future__ import annotations

from fspn.model.dispatch import ByKind
from fspn.model.nodes import (
    Factorize,
    MultiLeaf,
    Node,
    Product,
    Split,
    Sum,
    TableSplit,
    UniLeaf,
    walk,
)
from fspn.schema.events import Codes, Region

POINTER = 4
NUMBER = 8


def size_bytes(root: Node) -> int:
    """Bytes of parameters and structure: 4 per child or variable named, 8 per border of a region.

    Parameters count at the precision in which the model stores them.
    """
    return sum(OWN_BYTES(node) + POINTER * (1 + len(node.children)) for node in walk(root))


def _region_bytes(region: Region) -> int:
    return sum(
        POINTER * (1 + len(side.codes)) if isinstance(side, Codes) else POINTER + 2 * NUMBER
        for side in region.values()
    )


OWN_BYTES: ByKind[int] = ByKind(
    "size",
    {
        UniLeaf: lambda node: POINTER + node.dist.size_bytes,
        MultiLeaf: lambda node: POINTER * len(node.variables) + node.dist.size_bytes,
        TableSplit: lambda node: POINTER * (1 + len(node.given)) + node.cpt.nbytes,
        Split: lambda node: sum(_region_bytes(region) for region in node.regions),
        Sum: lambda node: node.weights.nbytes,
        Product: lambda node: 0,
        Factorize: lambda node: 0,
    },
)
