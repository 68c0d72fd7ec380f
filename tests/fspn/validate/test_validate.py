"""The validator names the node and the fault; exactly the proper models pass."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fspn.model.cpt.backoff import BackoffTable, CountLevel, LinearLaw
from fspn.model.cpt.full import FullTable
from fspn.model.leaves.categorical import Categorical
from fspn.model.leaves.continuous import GaussianMixture, Histogram
from fspn.model.leaves.independent import Independent
from fspn.model.leaves.joint import SparseJoint
from fspn.model.leaves.nested import Nested
from fspn.model.nodes import Factorize, MultiLeaf, Node, Product, Split, Sum, TableSplit, UniLeaf
from fspn.schema.cells import Cells
from fspn.schema.domain import Domain, Variable
from fspn.schema.events import Codes, Interval, Region, Side, Span
from fspn.validate import ModelError, validate
from fspn.validate.tiling import tiling_fault
from tests.random_models import ModelMaker

SIZES = (3, 4, 2)
DOMAIN = Domain(
    (
        *(Variable(f"v{i}", "ordered", np.arange(size)) for i, size in enumerate(SIZES)),
        Variable("real", "continuous"),
    )
)
REAL = UniLeaf(3, GaussianMixture(np.ones(1), np.zeros(1), np.ones(1)))


def even(v: int) -> Categorical:
    return Categorical(np.full(SIZES[v], 1 / SIZES[v]))


def leaf(v: int) -> UniLeaf:
    return UniLeaf(v, even(v))


def multi(v: int) -> MultiLeaf:
    return MultiLeaf((v,), Independent((even(v),)))


def table(cpt: BackoffTable | FullTable, given: tuple[int, ...] = (0,)) -> TableSplit:
    return TableSplit(1, given, cpt)


def full(sizes: tuple[int, ...] = (3,), codes: int = 4) -> FullTable:
    return FullTable.from_probabilities(np.full((*sizes, codes), 1 / codes))


def with_right(right: Node) -> Node:
    """A model of all variables in which ``right`` is Pr(v1 | v0, v2, real)."""
    return Factorize(Product((leaf(0), leaf(2), REAL)), right)


def halves(variable: int, first: Side, second: Side) -> Split:
    return Split(({variable: first}, {variable: second}), (multi(1), multi(1)))


def level(**changes: object) -> CountLevel:
    fields = {
        "sizes": (3,),
        "keys": np.array([0, 2]),
        "start": np.array([0, 2, 3]),
        "codes": np.array([0, 3, 1]),
        "counts": np.array([5, 1, 2]),
        "alpha": 0.5,
    }
    return CountLevel(**{**fields, **changes})  # type: ignore[arg-type]


def offset(**changes: object) -> LinearLaw:
    fields = {
        "parent_values": (np.arange(3),),
        "child_values": np.arange(4),
        "coefficients": np.array([1]),
        "offsets": np.array([0, 1]),
        "noise": np.array([0.25, 0.75]),
        "epsilon": 0.1,
    }
    return LinearLaw(**{**fields, **changes})  # type: ignore[arg-type]


def cpt(*levels: CountLevel | LinearLaw, base: np.ndarray | None = None) -> BackoffTable:
    return BackoffTable(np.full(4, 0.25) if base is None else base, levels)


def joint(**changes: object) -> SparseJoint:
    fields = {
        "rows": np.array([[0, 1], [2, 0]]),
        "weights": np.array([0.5, 0.5]),
        "marginals": (even(0), even(2)),
        "epsilon": 0.1,
    }
    return SparseJoint(**{**fields, **changes})  # type: ignore[arg-type]


def with_joint(dist: SparseJoint) -> Node:
    return Product((MultiLeaf((0, 2), dist), leaf(1), REAL))


PROPER = {
    "product": Product((leaf(0), leaf(1), leaf(2), REAL)),
    "full table": with_right(table(full())),
    "two parents": with_right(table(full((3, 2)), (0, 2))),
    "count cpt": with_right(table(cpt(level()))),
    "offset cpt": with_right(table(cpt(offset(), level()))),
    "spans": with_right(halves(0, Span(0, 1), Span(2, 2))),
    "codes": with_right(halves(0, Codes(frozenset([0, 2])), Codes(frozenset([1])))),
    "reals": with_right(halves(3, Interval(-np.inf, 1.5), Interval(1.5, np.inf))),
    "nested splits": with_right(
        Split(({0: Span(0, 0)}, {0: Span(1, 2)}), (multi(1), halves(0, Span(1, 1), Span(2, 2))))
    ),
    "table inside a split": with_right(
        Split(({2: Span(0, 0)}, {2: Span(1, 1)}), (table(full()), multi(1)))
    ),
    "multi-leaf on the right": with_right(multi(1)),
    "joint": with_joint(joint()),
    "nested": Product((MultiLeaf((0, 1), Nested(Product((leaf(0), leaf(1))))), leaf(2), REAL)),
}


@pytest.mark.parametrize("name", PROPER)
def test_proper_models_pass(name: str) -> None:
    validate(PROPER[name], DOMAIN)


FAULTY: dict[str, tuple[Node, str]] = {
    "shared variable": (
        Product((leaf(0), leaf(0), leaf(1), leaf(2), REAL)),
        r"root: child 1 shares 'v0'",
    ),
    "missing variable": (Product((leaf(0), leaf(1), REAL)), r"root: .*\['v2'\] are not modelled"),
    "unknown variable": (
        Product((leaf(0), leaf(1), leaf(2), REAL, UniLeaf(9, even(0)))),
        r"root\[4\]: the variable\(s\) \[9\]",
    ),
    "sum of other scopes": (
        Product((Sum(np.array([0.5, 0.5]), (leaf(0), leaf(1))), leaf(2), REAL)),
        r"root\[0\]: child 1 is over other variables",
    ),
    "weights": (
        Product((Sum(np.array([0.5, 0.4]), (leaf(0), leaf(0))), leaf(1), leaf(2), REAL)),
        r"root\[0\]: the weights sum to 0.9",
    ),
    "zero weight": (
        Product((Sum(np.array([1.0, 0.0]), (leaf(0), leaf(0))), leaf(1), leaf(2), REAL)),
        r"root\[0\]: the weights must be positive",
    ),
    "leaf sum": (
        Product((UniLeaf(0, Categorical(np.array([0.5, 0.5, 0.1]))), leaf(1), leaf(2), REAL)),
        r"root\[0\]: the probabilities of 'v0' sum to 1.1",
    ),
    "negative probability": (
        Product((UniLeaf(0, Categorical(np.array([0.6, 0.6, -0.2]))), leaf(1), leaf(2), REAL)),
        r"root\[0\]: the probabilities of 'v0' sum to 1.2",
    ),
    "leaf length": (
        Product((UniLeaf(0, even(1)), leaf(1), leaf(2), REAL)),
        r"root\[0\]: 4 probabilities for the 3 codes of 'v0'",
    ),
    "leaf family": (
        Product((UniLeaf(0, REAL.dist), leaf(1), leaf(2), REAL)),
        r"root\[0\]: the leaf family 'gaussian_mixture' does not fit 'v0'",
    ),
    "scale": (
        Product(
            (
                leaf(0),
                leaf(1),
                leaf(2),
                UniLeaf(3, GaussianMixture(np.ones(1), np.zeros(1), np.zeros(1))),
            )
        ),
        r"root\[3\]: a Gaussian whose scale",
    ),
    "histogram": (
        Product(
            (
                leaf(0),
                leaf(1),
                leaf(2),
                UniLeaf(3, Histogram(np.arange(3.0), np.array([0.5, 0.6]), REAL.dist, 0.1)),  # type: ignore[arg-type]
            )
        ),
        r"root\[3\]: the bins of a histogram sum to 1.1",
    ),
    "factorize shares": (
        Factorize(Product((leaf(0), leaf(1), leaf(2), REAL)), multi(1)),
        r"root: left and right share 'v1'",
    ),
    "foreign condition": (
        Product((Factorize(leaf(0), table(full((2,)), (2,))), leaf(2), REAL)),
        r"root\[0\]: the right child asks for 'v2'",
    ),
    "gap": (
        with_right(halves(0, Span(0, 0), Span(2, 2))),
        r"root: .*none holds 'v0' = 1, mass is lost",
    ),
    "overlap": (
        with_right(halves(0, Span(0, 1), Span(1, 2))),
        r"root: .*2 of them hold 'v0' = 1",
    ),
    "gap of reals": (
        with_right(halves(3, Interval(-np.inf, 1.0), Interval(1.5, np.inf))),
        r"root: .*none holds 'real' in \(1, 1.5\]",
    ),
    "gap below a split": (
        with_right(
            Split(({0: Span(0, 0)}, {0: Span(1, 2)}), (multi(1), halves(2, Span(0, 0), Span(0, 0))))
        ),
        r"root: .*(none holds|2 of them hold) 'v0' = 1, 'v2' = [01]",
    ),
    "codes on reals": (with_right(halves(3, Span(0, 0), Span(1, 2))), r"root: malformed"),
    "split as root": (halves(0, Span(0, 1), Span(2, 2)), r"root: a Split stands only"),
    "split in a product": (
        Product((leaf(0), leaf(2), REAL, table(full()))),
        r"root: a TableSplit child",
    ),
    "sum on the right": (
        Factorize(Product((leaf(0), leaf(2), REAL)), Sum(np.array([0.5, 0.5]), (leaf(1), leaf(1)))),
        r"root: a Sum on the right",
    ),
    "table shape": (with_right(table(full((2,)))), r"root\.right: a table for \(2,\)"),
    "row length": (with_right(table(full((3,), 5))), r"root\.right: rows of 5 codes"),
    "full row": (
        with_right(table(FullTable(np.full((3, 3), 0.5), np.zeros(3, dtype=np.uint8)))),
        r"root\.right: a row of the table has a negative",
    ),
    "base": (
        with_right(table(cpt(level(), base=np.array([0.25, 0.25, 0.25, 0.2])))),
        r"root\.right: the probabilities that the table backs off to sum to 0.95",
    ),
    "keys out of range": (
        with_right(table(cpt(level(keys=np.array([0, 3]))))),
        r"root\.right: a table with rows outside",
    ),
    "keys unsorted": (
        with_right(table(cpt(level(keys=np.array([2, 0]))))),
        r"root\.right: a table whose rows are not sorted",
    ),
    "codes out of range": (
        with_right(table(cpt(level(codes=np.array([0, 4, 1]))))),
        r"root\.right: a table with codes outside",
    ),
    "codes unsorted": (
        with_right(table(cpt(level(codes=np.array([3, 0, 1]))))),
        r"root\.right: a table with a row whose codes",
    ),
    "rows do not cover": (
        with_right(table(cpt(level(start=np.array([0, 2, 9]))))),
        r"root\.right: a table whose rows do not cover",
    ),
    "offset noise": (
        with_right(table(cpt(offset(noise=np.array([0.5, 0.6]))))),
        r"root\.right: the noise of an integer-linear law sum to 1.1",
    ),
    "joint codes": (
        with_joint(joint(rows=np.array([[0, 1], [3, 0]]))),
        r"root\[0\]: a sparse joint table with codes outside",
    ),
    "joint order": (
        with_joint(joint(rows=np.array([[2, 1], [0, 0]]))),
        r"root\[0\]: a sparse joint table whose rows are not sorted",
    ),
    "joint weights": (
        with_joint(joint(weights=np.array([0.5, 0.6]))),
        r"root\[0\]: the weights of a sparse joint table sum to 1.1",
    ),
    "nested scope": (
        Product((MultiLeaf((0, 1), Nested(Product((leaf(0), leaf(2))))), leaf(2), REAL)),
        r"root\[0\]: the FSPN inside",
    ),
    "deep inside": (
        Product(
            (
                MultiLeaf((0, 1), Nested(Product((leaf(0), UniLeaf(1, Categorical(np.ones(4))))))),
                leaf(2),
                REAL,
            )
        ),
        r"root\[0\]\.dist\.root\[1\]: the probabilities of 'v1' sum to 4",
    ),
}


@pytest.mark.parametrize("name", FAULTY)
def test_faults_are_named(name: str) -> None:
    root, message = FAULTY[name]
    with pytest.raises(ModelError, match=message):
        validate(root, DOMAIN)


def _cells(points: list[float]) -> Cells:
    place = np.array(points)
    return Cells(place, place, np.ones(len(points)), np.arange(len(points)))


@pytest.mark.parametrize(
    ("variable", "message"),
    [
        (Variable("a", "ordered", np.array([2, 1])), "do not increase"),
        (Variable("a", "ordered"), "no values"),
        (Variable("a", "unordered", np.array(["x", "x"], dtype=object)), "occurs twice"),
        (Variable("a", "fuzzy", np.arange(2)), "unknown kind"),  # type: ignore[arg-type]
        (Variable("a", "continuous", cells=_cells([2.0, 1.0])), "not in order"),
        (Variable("a", "ordered", np.arange(2), missing=1.5), "share of missing"),
    ],
)
def test_faults_of_a_domain(variable: Variable, message: str) -> None:
    with pytest.raises(ModelError, match=f"domain: .*{message}"):
        validate(UniLeaf(0, even(2)), Domain((variable,)))


@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_random_models_are_proper(seed: int, width: int) -> None:
    maker = ModelMaker(seed, width)
    validate(maker.model(), maker.domain())


def _covered(regions: list[Region], sizes: list[int]) -> bool:
    """By enumeration: is every point in exactly one region?"""
    return all(
        sum(all(cell.mask(sizes[v])[x[v]] for v, cell in r.items()) for r in regions) == 1  # type: ignore[union-attr]
        for x in product(*(range(size) for size in sizes))
    )


@given(st.data())
def test_tiling_agrees_with_enumeration(data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    regions: list[Region] = [{}]
    for _ in range(data.draw(st.integers(0, 4))):
        regions = _cut(data, regions, sizes)
    if data.draw(st.booleans()):
        regions = _cut(data, regions, sizes, spoil=True)
    domain = Domain(tuple(Variable(i, "ordered", np.arange(size)) for i, size in enumerate(sizes)))
    assert (tiling_fault(regions, domain) is None) == _covered(regions, sizes)


def _cut(
    data: st.DataObject, regions: list[Region], sizes: list[int], spoil: bool = False
) -> list[Region]:
    """One region cut in two along a variable; spoilt: with a gap or an overlap, perhaps."""
    place = data.draw(st.integers(0, len(regions) - 1))
    v = data.draw(st.integers(0, len(sizes) - 1))
    own = regions[place].get(v, Span(0, sizes[v] - 1))
    codes = [c for c in range(sizes[v]) if own.mask(sizes[v])[c]]  # type: ignore[union-attr]
    first = frozenset(c for c in codes if data.draw(st.booleans()))
    second = frozenset(codes) - first
    if spoil:
        second = frozenset(c for c in codes if data.draw(st.booleans()))
    parts = [{**regions[place], v: Codes(side)} for side in (first, second)]
    return regions[:place] + parts + regions[place + 1 :]


def test_a_thousand_regions_are_checked_fast() -> None:
    sizes = [10, 10, 10]
    regions: list[Region] = [
        {v: Span(c, c) for v, c in enumerate(cells)} for cells in product(*map(range, sizes))
    ]
    domain = Domain(tuple(Variable(i, "ordered", np.arange(10)) for i in range(3)))
    assert tiling_fault(regions, domain) is None
    fault = tiling_fault(regions[:-1], domain)
    assert fault is not None
    assert "0 = 9, 1 = 9, 2 = 9" in fault
