"""Whether regions tile a domain: every point lies in exactly one of them.

The borders of all regions cut each variable into elementary cells, inside which nothing changes.
Going through the variables one by one, the regions that hold an elementary cell are sent on to
the next variable. Where no variable is left that tells them apart, exactly one region must
remain. This is exact for codes and for reals, and finds a witness where it fails.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fspn.schema.domain import Domain
from fspn.schema.events import Interval, Region, Side

Witness = dict[int, int]


def tiling_fault(regions: Sequence[Region], domain: Domain) -> str | None:
    """What is wrong with a tiling, with a place where it is; None where nothing is."""
    grids = {v: _Grid(v, regions, domain) for v in sorted({v for r in regions for v in r})}
    members = tuple(
        i for i, region in enumerate(regions) if all(grids[v].inside[i].any() for v in region)
    )
    pending: list[tuple[tuple[int, ...], frozenset[int], Witness]] = [
        (members, frozenset(grids), {})
    ]
    done = set()
    while pending:
        members, variables, where = pending.pop()
        mentioned = {v: sum(v in regions[i] for i in members) for v in sorted(variables)}
        mentioned = {v: count for v, count in mentioned.items() if count}
        if len(members) == 0 or (not mentioned and len(members) > 1):
            return _describe(len(members), [grids[v].label(c) for v, c in sorted(where.items())])
        if not mentioned:
            continue
        v = max(mentioned, key=lambda u: mentioned[u])
        for cell, subset in grids[v].groups(members):
            if (subset, variables - {v}) not in done:
                done.add((subset, variables - {v}))
                pending.append((subset, variables - {v}, {**where, v: cell}))
    return None


class _Grid:
    """The elementary cells of one variable, and which region holds which of them."""

    def __init__(self, variable: int, regions: Sequence[Region], domain: Domain):
        self._described = domain[variable]
        sides = [region.get(variable) for region in regions]
        self.borders = np.empty(0)
        if not self._described.is_coded:
            ends = [e for s in sides if isinstance(s, Interval) for e in (s.lower, s.upper)]
            self.borders = np.unique([-np.inf, *ends, np.inf])
        self.inside = np.array([self._mask(side) for side in sides])

    def _mask(self, side: Side | None) -> np.ndarray:
        if self._described.is_coded:
            size = self._described.size
            if isinstance(side, Interval):
                raise TypeError(f"a region of reals for the coded {self._described.name!r}")
            return np.ones(size, dtype=bool) if side is None else side.mask(size)
        if side is None:
            return np.ones(len(self.borders) - 1, dtype=bool)
        if not isinstance(side, Interval):
            raise TypeError(f"a region of codes for the continuous {self._described.name!r}")
        return (self.borders[:-1] >= side.lower) & (self.borders[1:] <= side.upper)

    def groups(self, members: tuple[int, ...]) -> list[tuple[int, tuple[int, ...]]]:
        """Each distinct subset of the members that shares an elementary cell, with such a cell."""
        columns, first = np.unique(self.inside[list(members)], axis=1, return_index=True)
        chosen = np.array(members)
        return [
            (int(cell), tuple(chosen[column].tolist()))
            for cell, column in zip(first, columns.T, strict=True)
        ]

    def label(self, cell: int) -> str:
        """An elementary cell in the user's terms."""
        name = self._described.name
        if not self._described.is_coded:
            return f"{name!r} in ({self.borders[cell]:g}, {self.borders[cell + 1]:g}]"
        if self._described.cells is not None or cell == self._described.missing_code:
            return f"{name!r} in {self._described.describe(cell)}"
        return f"{name!r} = {self._described.values[cell : cell + 1].tolist()[0]!r}"


def _describe(count: int, where: list[str]) -> str:
    place = ", ".join(where) or "the whole domain"
    if count == 0:
        return f"the regions do not tile the domain: none holds {place}, mass is lost"
    return f"the regions do not tile the domain: {count} of them hold {place}"
