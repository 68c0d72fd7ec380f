"""SPFlow trees as FSPNs: the same tree, the same answers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fspn.convert import spn_nodes, spn_to_fspn
from fspn.model.nodes import Product, Sum, UniLeaf, walk
from fspn.validate import validate

EXACT = 1e-10


def mixed_tree() -> Any:
    """Hand-built: two branches over a categorical, a Bernoulli, a Gaussian, two histograms."""
    from spn.structure.Base import Product as Times
    from spn.structure.Base import Sum as Plus
    from spn.structure.Base import assign_ids, rebuild_scopes_bottom_up
    from spn.structure.leaves.histogram.Histograms import Histogram
    from spn.structure.leaves.parametric.Parametric import Bernoulli, Categorical, Gaussian
    from spn.structure.StatisticalTypes import MetaType

    def branch(p: list[float], q: float, mean: float, low: float) -> Any:
        bars = [low, 0.5 - low, 0.5]
        reals = Histogram([0.0, 0.5, 1.0, 3.0], [0.4, 0.8, 0.2], [0.2, 0.7, 2], 4)
        reals.meta_type = MetaType.REAL
        return Times(
            [
                Categorical(p=p, scope=0),
                Bernoulli(p=q, scope=1),
                Gaussian(mean=mean, stdev=1.5, scope=2),
                Histogram([2, 3, 4, 5], bars, [2, 3, 4], 3, meta_type=MetaType.DISCRETE),
                reals,
            ]
        )

    first, second = branch([0.2, 0.3, 0.5], 0.4, 0.0, 0.1), branch([0.6, 0.4], 0.9, 2.0, 0.3)
    root = Plus([0.25, 0.75], [first, second])
    assign_ids(root)
    rebuild_scopes_bottom_up(root)
    return root


def rows() -> np.ndarray:
    rng = np.random.default_rng(0)
    n = 60
    return np.column_stack(
        [
            rng.integers(0, 2, n),
            rng.integers(0, 2, n),
            rng.normal(1, 2, n),
            rng.integers(2, 5, n),
            rng.uniform(0.01, 2.99, n),
        ]
    )


def test_a_hand_built_tree_has_the_same_log_likelihoods() -> None:
    from spn.algorithms.Inference import log_likelihood

    source, table = mixed_tree(), rows()
    domain, root = spn_nodes(source)
    validate(root, domain)
    model = spn_to_fspn(source, names=list("abcde"))
    np.testing.assert_allclose(
        model.score_samples(table), log_likelihood(source, table).ravel(), rtol=0, atol=EXACT
    )
    table[:, [1, 4]] = np.nan
    np.testing.assert_allclose(
        model.score_samples(table), log_likelihood(source, table).ravel(), rtol=0, atol=EXACT
    )


def test_the_tree_is_the_same() -> None:
    domain, root = spn_nodes(mixed_tree())
    kinds = [type(node) for node in walk(root)]
    assert kinds == [Sum, *([Product, *([UniLeaf] * 5)] * 2)]
    assert [v.kind for v in domain.variables] == ["ordered"] * 2 + [
        "continuous",
        "ordered",
        "continuous",
    ]
    assert domain[0].values.tolist() == [0, 1, 2]
    assert domain[3].values.tolist() == [2, 3, 4]


def test_a_learned_tree_answers_as_spflow_does() -> None:
    from spn.algorithms.Inference import log_likelihood
    from spn.algorithms.LearningWrappers import learn_mspn
    from spn.structure.Base import Context
    from spn.structure.StatisticalTypes import MetaType

    rng = np.random.default_rng(1)
    hidden = rng.integers(0, 2, 600)
    table = np.column_stack([hidden + rng.integers(0, 3, 600) for _ in range(3)]).astype(float)
    context = Context(meta_types=[MetaType.DISCRETE] * 3)
    context.add_domains(table)
    source = learn_mspn(table, context, min_instances_slice=200, threshold=0.3, cpus=1)
    model = spn_to_fspn(source)
    expected = log_likelihood(source, table).ravel()
    np.testing.assert_allclose(model.score_samples(table), expected, rtol=0, atol=EXACT)
    assert model.probability({}) == pytest.approx(1.0, abs=1e-12)


def test_histograms_without_mass_one_are_an_error_unless_normalised() -> None:
    source = mixed_tree()
    source.children[0].children[4].densities = [0.4, 0.8, 0.3]
    with pytest.raises(ValueError, match=r"column 4 has the total mass 1\.2.*normalize=True"):
        spn_to_fspn(source)
    assert spn_to_fspn(source, normalize=True).probability({4: (0, 3)}) == pytest.approx(1.0)


def test_unknown_leaves_are_named() -> None:
    from spn.structure.leaves.parametric.Parametric import Poisson

    source = mixed_tree()
    source.children[0].children[0] = Poisson(mean=2.0, scope=0)
    with pytest.raises(TypeError, match=r"column 0 has leaves \['Poisson'\]"):
        spn_to_fspn(source)
    with pytest.raises(ValueError, match="2 names for the 5 columns"):
        spn_to_fspn(mixed_tree(), names=["a", "b"])
