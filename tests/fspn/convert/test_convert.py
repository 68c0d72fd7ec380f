"""Appendix A: converted networks answer as their source does, and are no larger."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from fspn import FSPN
from fspn.convert import BayesNet, bn_to_fspn, network_nodes, network_of, parse_bif, read_bif
from fspn.model.nodes import Factorize, Product, TableSplit, UniLeaf, count_parameters, walk
from fspn.model.size import size_bytes
from fspn.validate import validate
from tests.fspn.networks import SPRINKLER, shipped

EXACT = 1e-10
KNOWN = ["asia", "cancer", "earthquake", "survey", "sachs", "alarm", "child", "hailfinder"]


def as_pyagrum(network: BayesNet) -> Any:
    """The same network in pyAgrum, from its tables."""
    import pyagrum

    net = pyagrum.BayesNet()
    names = [str(name) for name in network.names]
    for name, values in zip(names, network.values, strict=True):
        net.add(pyagrum.LabelizedVariable(name, name, [str(value) for value in values]))
    for v, own in enumerate(network.parents):
        for p in own:
            net.addArc(names[p], names[v])
    for v, own in enumerate(network.parents):
        axes = [names[p] for p in own] + [names[v]]
        table = network.cpts[v] / network.cpts[v].sum(axis=-1, keepdims=True)
        order = [axes.index(name) for name in reversed(net.cpt(names[v]).names)]
        net.cpt(names[v]).fillWith(np.transpose(table, order).ravel().tolist())
    return net


def exact_table(net: Any, query: list[str], evidence: dict[str, str]) -> np.ndarray:
    """P(Q | E) by pyAgrum's junction tree, axes in the order of the query, values as declared."""
    import pyagrum

    engine = pyagrum.LazyPropagation(net)
    engine.setEvidence(evidence)
    engine.addJointTarget(set(query))
    engine.makeInference()
    posterior = engine.jointPosterior(set(query))
    axes = list(reversed(posterior.names))
    return np.transpose(posterior.toarray(), [axes.index(name) for name in query])


def check_answers(network: BayesNet, model: FSPN, n_queries: int, seed: int) -> None:
    """Tables of two variables given four values of a row that can occur."""
    rng = np.random.default_rng(seed)
    net = as_pyagrum(network)
    rows = model.sample(n_queries, random_state=seed)
    for _, row in rows.iterrows():
        chosen = rng.permutation(len(network.names))[:6]
        query = [network.names[v] for v in chosen[:2]]
        evidence = {network.names[v]: row[network.names[v]] for v in chosen[2:]}
        answer = model.conditional_table(query, evidence)
        stated = {str(name): str(value) for name, value in evidence.items()}
        expected = exact_table(net, [str(name) for name in query], stated)
        places = [_sorted_places(network.values[v]) for v in chosen[:2]]
        np.testing.assert_allclose(answer, expected[np.ix_(*places)], atol=EXACT, rtol=0)


def _sorted_places(values: tuple[Any, ...]) -> list[int]:
    return sorted(range(len(values)), key=lambda i: values[i])


def network_bytes(network: BayesNet) -> int:
    """Dense tables of doubles; 4 bytes per node, per variable and per parent, as for FSPN nodes."""
    tables = sum(8 * cpt.size for cpt in network.cpts)
    return tables + 4 * sum(2 + len(own) for own in network.parents)


def random_network(seed: int) -> BayesNet:
    """Random structure, domains of 1 to 4 values, and zeros in the tables."""
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 9))
    sizes = rng.integers(1, 5, size=m)
    shuffled = rng.permutation(m)
    parents: list[tuple[int, ...]] = [()] * m
    for place, v in enumerate(shuffled):
        count = min(place, int(rng.integers(0, 4)))
        parents[v] = tuple(int(p) for p in rng.permutation(shuffled[:place])[:count])
    cpts = []
    for v, own in enumerate(parents):
        table = rng.dirichlet(np.ones(sizes[v]), size=tuple(sizes[list(own)]))
        table = np.where(rng.random(table.shape) < 0.25, 0.0, table)
        table[..., 0] += (table.sum(axis=-1) == 0).astype(float)
        cpts.append(table / table.sum(axis=-1, keepdims=True))
    values = tuple(tuple(range(int(size))) for size in sizes)
    return BayesNet(tuple(f"v{i}" for i in range(m)), values, tuple(parents), tuple(cpts))


@pytest.mark.parametrize("name", KNOWN)
def test_known_networks(name: str) -> None:
    network = read_bif(shipped(name))
    domain, root = network_nodes(network)
    validate(root, domain)
    check_answers(network, bn_to_fspn(shipped(name)), n_queries=12, seed=3)


@pytest.mark.parametrize("name", KNOWN)
def test_proposition_1(name: str) -> None:
    network = read_bif(shipped(name))
    _, root = network_nodes(network)
    entries = sum(cpt.size for cpt in network.cpts)
    rows = sum(cpt.size // cpt.shape[-1] for cpt in network.cpts)
    assert count_parameters(root) == entries - rows
    assert size_bytes(root) <= network_bytes(network)
    if name in ("alarm", "child", "hailfinder", "sachs"):
        assert size_bytes(root) <= 8 * entries


@pytest.mark.parametrize("seed", range(25))
def test_random_networks_by_enumeration(seed: int) -> None:
    network = random_network(seed)
    domain, root = network_nodes(network)
    validate(root, domain)
    model = FSPN.from_root(domain, root)
    points = list(product(*network.values))
    answers = model.probability([dict(zip(network.names, x, strict=True)) for x in points])
    expected = [
        np.prod([network.cpts[v][(*(x[p] for p in own), x[v])] for v, own in _each(network)])
        for x in points
    ]
    np.testing.assert_allclose(answers, expected, atol=1e-14, rtol=1e-10)


def _each(network: BayesNet) -> list[tuple[int, tuple[int, ...]]]:
    return list(enumerate(network.parents))


@pytest.mark.parametrize("seed", [1, 2])
def test_random_networks_of_37_variables(seed: int) -> None:
    import pyagrum

    pyagrum.initRandom(seed)
    source = pyagrum.randomBN(n=37, ratio_arc=1.2, domain_size=3)
    network = network_of(source)
    check_answers(network, bn_to_fspn(source), n_queries=8, seed=seed)
    assert size_bytes(network_nodes(network)[1]) <= network_bytes(network)


def test_structure_of_the_paper() -> None:
    """Products where the network falls apart, else a factorize node over the last variable."""
    uniform = np.full((2, 2), 0.5)
    half = np.full(2, 0.5)
    network = BayesNet(
        ("a", "b", "c", "d"),
        ((0, 1),) * 4,
        ((), (), (0, 1), ()),
        (half, half, np.stack([uniform, uniform]), half),
    )
    _, root = network_nodes(network)
    assert isinstance(root, Product)
    joined, alone = root.children
    assert isinstance(alone, UniLeaf)
    assert isinstance(joined, Factorize)
    assert isinstance(joined.right, TableSplit)
    assert joined.right.given == (0, 1)
    assert isinstance(joined.left, Product)
    assert [type(node).__name__ for node in walk(joined.left)] == ["Product", "UniLeaf", "UniLeaf"]


def test_bif_texts() -> None:
    network = parse_bif(SPRINKLER)
    assert network.names == ("cloudy", "sprinkler", "rain", "wet grass")
    assert network.values[1] == ("off", "on")
    assert network.parents == ((), (0,), (0,), (1, 2))
    np.testing.assert_array_equal(network.cpts[2], [[0.8, 0.2], [0.2, 0.8]])
    expected = [[[1, 0], [0.1, 0.9]], [[0.1, 0.9], [0.01, 0.99]]]
    np.testing.assert_array_equal(network.cpts[3], expected)
    check_answers_by_hand(bn_to_fspn(network))


def check_answers_by_hand(model: FSPN) -> None:
    """P(rain | wet) = 0.4581 / 0.6471 with the textbook's numbers for this lawn."""
    assert model.probability({"wet grass": "wet"}) == pytest.approx(0.6471, abs=1e-12)
    rain = model.conditional({"rain": "yes"}, {"wet grass": "wet"})
    assert rain == pytest.approx(0.4581 / 0.6471, abs=1e-12)


@pytest.mark.parametrize("name", ["asia", "alarm", "insurance", "win95pts"])
def test_bif_files_agree_with_pgmpys_reader(name: str) -> None:
    import gzip

    from pgmpy.readwrite import BIFReader

    text = gzip.decompress(shipped(name).read_bytes()).decode()
    theirs = network_of(BIFReader(string=text).get_model())
    mine = read_bif(shipped(name))
    for v, own in enumerate(mine.names):
        u = theirs.names.index(own)
        assert mine.values[v] == theirs.values[u]
        mine_parents = [mine.names[p] for p in mine.parents[v]]
        order = [mine_parents.index(theirs.names[p]) for p in theirs.parents[u]]
        table = np.transpose(mine.cpts[v], [*order, mine.cpts[v].ndim - 1])
        np.testing.assert_allclose(table, theirs.cpts[u], atol=1e-12)


BAD_BIF = {
    "an unknown word": ("variable a { typo discrete [2] { x, y }; }", r"line 1: unexpected 'typo'"),
    "too few values": ("\nvariable a { type discrete [ 3 ] { x, y }; }", r"line 2: .*states 3"),
    "no table": ("variable a { type discrete [ 2 ] { x, y }; }", r"'a' has no table"),
    "a word": ("hello", r"line 1: expected network"),
    "an early end": ("variable a { type discrete [ 2 ] { x", r"ends too early"),
    "empty": ("", r"line 1: no variable"),
}
TWO = "variable a { type discrete [ 2 ] { x, y }; }\nvariable b { type discrete [ 2 ] { u, v }; }\n"
TABLES = {
    "a number": ("probability (a) { table 0.5, half; }", r"line 3: 'half' is not a number"),
    "wrong length": (
        "probability (a) { table 1.0; }\nprobability (b) { table 1, 0; }",
        "1 numbers",
    ),
    "a row": (
        "probability (a) { table 1, 0; }\nprobability (b | a) { (x) 0.5, 0.5; }",
        r"line 4: .*lacks the row \('y',\)",
    ),
    "unknown parent": (
        "probability (a) { table 1, 0; }\nprobability (b | c) { (x) 0.5, 0.5; }",
        r"line 4: .*unknown \['c'\]",
    ),
    "sum": (
        "probability (a) { table 1, 0; }\nprobability (b | a) { (x) 0.5, 0.4; (y) 1, 0; }",
        r"'b': its row given {'a': 'x'} sums to 0.9",
    ),
    "cycle": (
        "probability (a | b) { default 1, 0; }\nprobability (b | a) { default 1, 0; }",
        r"\['a', 'b'\] form a cycle",
    ),
}


@pytest.mark.parametrize("name", [*BAD_BIF, *TABLES])
def test_bad_bif(name: str) -> None:
    text, message = BAD_BIF[name] if name in BAD_BIF else (TWO + TABLES[name][0], TABLES[name][1])
    with pytest.raises(ValueError, match=message):
        parse_bif(text)


def test_bad_bif_files_are_named(tmp_path: Any) -> None:
    path = tmp_path / "it.bif"
    path.write_text("nonsense")
    with pytest.raises(ValueError, match=r"it\.bif: line 1"):
        bn_to_fspn(path)


def test_peer_networks_give_the_same_model() -> None:
    from pgmpy.factors.discrete import TabularCPD
    from pgmpy.models import DiscreteBayesianNetwork

    network = read_bif(shipped("asia"))
    pgm = DiscreteBayesianNetwork(
        [(network.names[p], network.names[v]) for v, own in _each(network) for p in own]
    )
    for v, own in _each(network):
        names = [network.names[u] for u in (v, *own)]
        states = {network.names[u]: list(network.values[u]) for u in (v, *own)}
        rows = np.moveaxis(network.cpts[v], -1, 0).reshape(len(network.values[v]), -1)
        sizes = [len(network.values[p]) for p in own]
        pgm.add_cpds(TabularCPD(names[0], len(rows), rows, names[1:], sizes, state_names=states))
    models = [bn_to_fspn(s) for s in (network, as_pyagrum(network), pgm)]
    query = {"lung": "yes", "tub": "no"}, {"xray": "yes", "smoke": "no"}
    expected = exact_table(as_pyagrum(network), ["lung", "tub"], query[1])[0, 1]
    for model in models:
        assert model.conditional(*query) == pytest.approx(expected, abs=EXACT)


def test_pomegranate() -> None:
    from pomegranate.bayesian_network import BayesianNetwork
    from pomegranate.distributions import Categorical, ConditionalCategorical

    a = Categorical([[0.25, 0.75]])
    c = Categorical([[0.5, 0.25, 0.25]])
    table = np.random.default_rng(0).dirichlet([1, 1], size=(2, 3)).astype(np.float32)
    b = ConditionalCategorical([table.tolist()])
    source = BayesianNetwork([a, c, b], [(a, b), (c, b)])
    model = bn_to_fspn(source, names=["a", "c", "b"])
    row = table[1, 2].astype(np.float64)
    expected = 0.75 * 0.25 * row[1] / row.sum()
    assert model.probability({"a": 1, "c": 2, "b": 1}) == pytest.approx(expected, abs=EXACT)


def test_integer_values_of_pyagrum_are_numbers() -> None:
    import pyagrum

    pyagrum.initRandom(0)
    model = bn_to_fspn(pyagrum.fastBN("low[3,7]->high[2]"))
    assert model.domain_[0].values.tolist() == [3, 4, 5, 6, 7]
    assert model.probability({"low": (3, 7)}) == pytest.approx(1.0)


BAD_TABLES: dict[str, tuple[Any, str]] = {
    "shape": (([2, 2], [(), (0,)], [np.full(2, 0.5), np.full((2, 3), 1 / 3)]), "1: .*shape"),
    "sum": (([2], [()], [np.array([0.5, 0.6])]), "0: .*sums to 1.1"),
    "negative": (([2], [()], [np.array([1.5, -0.5])]), "0: .*negative"),
    "self": (([2], [(0,)], [np.full((2, 2), 0.5)]), "0: its parents"),
    "counts": (([2, 2], [()], [np.full(2, 0.5)]), "one of each per variable"),
}


@pytest.mark.parametrize("name", BAD_TABLES)
def test_bad_tables(name: str) -> None:
    arguments, message = BAD_TABLES[name]
    with pytest.raises(ValueError, match=message):
        bn_to_fspn(*arguments)


def test_foreign_objects_are_named() -> None:
    with pytest.raises(TypeError, match="from dict"):
        bn_to_fspn({})
    with pytest.raises(ValueError, match="both parents and cpts"):
        bn_to_fspn([2], parents=[()])
