r"""Conditional probability tables (CPTs) of one coded variable, as a series of back-off levels.

The multi-leaves under a split node that has one region per value of its conditioning variables
are the rows of a conditional table. Most of the cells of such a table are never seen, so a row is
smoothed towards what fewer variables (or a simple law) say:

.. math:: P_0(x) = \pi(x), \qquad
          P_\ell(x \mid u_\ell) = S_\ell(x, u_\ell)
          + T_\ell(u_\ell) \, P_{\ell-1}(x \mid u_{\ell-1})

:math:`S_\ell` is sparse, :math:`T_\ell` is the probability mass left to the level below (1 for a
row that was never seen), and :math:`u_{\ell-1}` is a prefix of :math:`u_\ell`. The reference and
the kernels both evaluate this from the bottom level up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np

from fspn.model.cpt.graded import GradedLaw
from fspn.model.cpt.rows import Rows, row_keys, shrink, tilt_faults
from fspn.model.cpt.tree import TreeLevel
from fspn.model.leaves.base import State, bytes_of
from fspn.model.leaves.checks import share_faults


@dataclass(frozen=True)
class CountLevel:
    r"""Rows of counts, smoothed towards the level below.

    .. math:: P(x \mid u) = \frac{n_{xu} + \alpha P_{below}(x)}{n_u + \alpha}

    Arguments:
        sizes: The numbers of codes of the parents in use, a prefix of the cpt's.
        keys: The sorted keys of the rows that hold data.
        start: Where each row begins; one more entry than rows.
        codes: The child's codes.
        counts: The count (or weight) of each entry.
        alpha: The strength of the smoothing.
        tilt: A factor per code of the child that its counts are multiplied by; None = 1.
    """

    sizes: tuple[int, ...]
    keys: np.ndarray
    start: np.ndarray
    codes: np.ndarray
    counts: np.ndarray
    alpha: float
    tilt: np.ndarray | None = None
    family: ClassVar[str] = "counts"

    @classmethod
    def from_cells(
        cls,
        keys: np.ndarray,
        codes: np.ndarray,
        counts: np.ndarray,
        sizes: tuple[int, ...],
        alpha: float,
    ) -> CountLevel:
        """From the filled cells of a table, sorted by key and code."""
        row_key, start = np.unique(keys, return_index=True)
        start = shrink(np.append(start, len(keys)))
        return cls(sizes, shrink(row_key), start, shrink(codes), counts, alpha)

    @property
    def width(self) -> int:
        return len(self.sizes)

    @cached_property
    def rows(self) -> Rows:
        counts = self.counts.astype(np.float64)
        if self.tilt is not None:
            counts *= self.tilt[self.codes]
        total = np.add.reduceat(counts, self.start[:-1]) + self.alpha
        share = counts / np.repeat(total, np.diff(self.start))
        return Rows(self.keys, self.start, self.codes, share, self.alpha / total)

    def refine(self, below: np.ndarray, parents: np.ndarray) -> np.ndarray:
        r""":math:`P_\ell` from :math:`P_{\ell-1}`, dense, one row per configuration."""
        keys = row_keys(list(parents.T[: self.width]), self.sizes)
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        seen = self.keys[place] == keys
        refined = below * np.where(seen, self.rows.tail[place], 1.0)[:, None]
        rows = np.flatnonzero(seen)
        first = self.start[place[rows]].astype(np.int64)
        lengths = self.start[place[rows] + 1] - first
        cells = np.arange(int(lengths.sum())) + np.repeat(
            first - (np.cumsum(lengths) - lengths), lengths
        )
        refined[np.repeat(rows, lengths), self.codes[cells]] += self.rows.share[cells]
        return refined

    @property
    def n_parameters(self) -> int:
        return len(self.counts)

    def state(self) -> State:
        return {
            "sizes": np.array(self.sizes, dtype=np.int32),
            "keys": self.keys,
            "start": self.start,
            "codes": self.codes,
            "counts": self.counts,
            "alpha": np.array([self.alpha]),
            **({} if self.tilt is None else {"tilt": self.tilt}),
        }

    @classmethod
    def from_state(cls, state: State) -> CountLevel:
        sizes = tuple(int(size) for size in state["sizes"])
        rows = state["keys"], state["start"], state["codes"], state["counts"]
        return cls(sizes, *rows, float(state["alpha"][0]), state.get("tilt"))

    def tilted(self, factors: np.ndarray) -> CountLevel:
        """With the counts of every code multiplied by a factor."""
        return replace(self, tilt=factors if self.tilt is None else self.tilt * factors)

    def faults(self, size: int) -> Iterator[str]:
        """What is wrong with the counts and how they are laid out."""
        n = len(self.codes)
        if not self.alpha >= 0 or not (self.counts >= 0).all():
            yield "negative counts or a negative strength of smoothing"
        elif len(self.start) != len(self.keys) + 1 or len(self.counts) != n or n == 0:
            yield "a table whose rows, codes and counts do not fit"
        elif (
            self.start[0] != 0
            or self.start[-1] != n
            or not (self.start[1:] > self.start[:-1]).all()
        ):
            yield "a table whose rows do not cover its entries"
        yield from tilt_faults(self.tilt, size)


@dataclass(frozen=True)
class LinearLaw:
    r"""Integer-linear law: an integer combination of the parents plus noise.

    .. math:: P(x \mid u) = (1 - \epsilon) \frac{N(x - \sum_i c_i u_i)}{Z(u)}
              + \epsilon P_{below}(x)

    with x and u the *values*, not the codes; Z sums N over the child's domain, and where Z is 0
    the level below answers alone.

    Arguments:
        parent_values: The values of each parent's codes.
        child_values: The values of the child's codes.
        coefficients: One integer per parent.
        offsets: The sorted support of the noise.
        noise: The probability of each offset.
        epsilon: The weight of the level below.
    """

    parent_values: tuple[np.ndarray, ...]
    child_values: np.ndarray
    coefficients: np.ndarray
    offsets: np.ndarray
    noise: np.ndarray
    epsilon: float
    family: ClassVar[str] = "offset"

    @property
    def width(self) -> int:
        return len(self.parent_values)

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple(len(values) for values in self.parent_values)

    @cached_property
    def rows(self) -> Rows:
        """The law, written out for every configuration of the parents."""
        keys = np.arange(int(np.prod(self.sizes)), dtype=np.int64)
        centre = self.centre(np.column_stack(np.unravel_index(keys, self.sizes)))
        codes, inside = self._codes(centre)
        mass = inside * self.noise
        total = mass.sum(axis=1)
        share = (1 - self.epsilon) * mass / np.where(total > 0, total, 1.0)[:, None]
        start = np.concatenate([[0], np.cumsum(inside.sum(axis=1))])
        tail = np.where(total > 0, self.epsilon, 1.0)
        return Rows(keys, start.astype(np.int32), codes[inside], share[inside], tail)

    def centre(self, parents: np.ndarray) -> np.ndarray:
        centre = np.zeros(len(parents), dtype=np.int64)
        for column, values, factor in zip(
            parents.T, self.parent_values, self.coefficients, strict=False
        ):
            centre += factor * values[column]
        return centre

    def _codes(self, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        targets = centre[:, None] + self.offsets
        codes = np.minimum(np.searchsorted(self.child_values, targets), len(self.child_values) - 1)
        return codes, self.child_values[codes] == targets

    def refine(self, below: np.ndarray, parents: np.ndarray) -> np.ndarray:
        r""":math:`P_\ell` from :math:`P_{\ell-1}`, dense, one row per configuration."""
        codes, inside = self._codes(self.centre(parents))
        mass = inside * self.noise
        total = mass.sum(axis=1, keepdims=True)
        refined = below * np.where(total > 0, self.epsilon, 1.0)
        share = (1 - self.epsilon) * mass / np.where(total > 0, total, 1.0)
        np.add.at(refined, (np.arange(len(parents))[:, None], codes), share)
        return refined

    @property
    def n_parameters(self) -> int:
        return len(self.noise) + len(self.coefficients)

    def state(self) -> State:
        return {
            "values": np.concatenate([*self.parent_values, self.child_values]),
            "lengths": np.array([*self.sizes, len(self.child_values)], dtype=np.int32),
            "coefficients": self.coefficients,
            "offsets": self.offsets,
            "noise": self.noise,
            "epsilon": np.array([self.epsilon]),
        }

    @classmethod
    def from_state(cls, state: State) -> LinearLaw:
        *parents, child = np.split(state["values"], np.cumsum(state["lengths"])[:-1])
        epsilon = float(state["epsilon"][0])
        return cls(
            tuple(parents), child, state["coefficients"], state["offsets"], state["noise"], epsilon
        )

    def tilted(self, factors: np.ndarray) -> LinearLaw:
        """The law as it is: its noise is per difference of values, not per code of the child."""
        return self

    def faults(self, size: int) -> Iterator[str]:
        """What is wrong with the values, the coefficients and the noise."""
        increasing = (*self.parent_values, self.child_values, self.offsets)
        if len(self.child_values) != size or len(self.coefficients) != self.width:
            yield "an integer-linear law whose values or coefficients do not fit its variables"
        elif not all((np.diff(array) > 0).all() for array in increasing):
            yield "an integer-linear law whose values are not sorted"
        elif len(self.noise) != len(self.offsets) or not 0 <= self.epsilon <= 1:
            yield "an integer-linear law whose noise or epsilon does not fit"
        else:
            yield from share_faults(self.noise, "the noise of an integer-linear law")


BackoffLevel = CountLevel | LinearLaw | GradedLaw | TreeLevel
"""The kinds of level. A new one is a class with the same methods, listed here."""


@dataclass(frozen=True)
class BackoffTable:
    """The conditional distribution of a child given its parents.

    Arguments:
        base: :math:`P_0`, the distribution that the first level backs off to.
        levels: From few parents to all of them; each uses a prefix of the parents.
    """

    base: np.ndarray
    levels: tuple[BackoffLevel, ...]

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of codes of the parents."""
        return self.levels[-1].sizes

    def table(self, parents: np.ndarray) -> np.ndarray:
        r"""The rows :math:`P(\cdot | u)` for configurations of shape (n, number of parents)."""
        table = np.tile(self.base, (len(parents), 1))
        for level in self.levels:
            table = level.refine(table, parents)
        return table

    def tilted(self, factors: np.ndarray) -> BackoffTable:
        """With base and levels multiplied by a factor per code; rows still sum to 1."""
        base = self.base * factors
        levels = tuple(level.tilted(factors) for level in self.levels)
        return BackoffTable(base / base.sum(), levels)

    @property
    def nbytes(self) -> int:
        """The bytes of the arrays that define the table."""
        return self.base.nbytes + sum(bytes_of(level.state()) for level in self.levels)

    def faults(self) -> Iterator[str]:
        """What is wrong with the base, with each level, and with the sums of its rows."""
        sizes, size = self.sizes, len(self.base)
        yield from share_faults(self.base, "the probabilities that the table backs off to")
        for level in self.levels:
            if level.sizes != sizes[: level.width]:
                yield f"a level for {level.sizes} parent codes; the parents have {sizes}"
                return
            yield from list(level.faults(size)) or level.rows.faults(level.sizes, size)

    @property
    def n_parameters(self) -> int:
        return len(self.base) - 1 + sum(level.n_parameters for level in self.levels)
