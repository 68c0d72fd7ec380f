"""FSPN as a scikit-learn estimator."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import KBinsDiscretizer
from sklearn.utils.estimator_checks import parametrize_with_checks

from fspn import FSPN
from tests.fspn.sample_tables import PRESETS, chain, discrete, mixed

EXPECTED_FAILURES = {
    "check_dtype_object": "a column of objects that are neither strings nor numbers is a "
    "ValueError that names the column, like every other bad column",
}


def expected_failures(estimator: FSPN) -> dict[str, str]:
    return EXPECTED_FAILURES


@parametrize_with_checks([FSPN(), FSPN(preset="paper")], expected_failed_checks=expected_failures)
def test_scikit_learns_own_checks(estimator: FSPN, check: Any) -> None:
    check(estimator)


def test_get_and_set_params() -> None:
    model = FSPN(0.2, 0.6, preset="paper", min_rows=30, alpha=0.5)
    params = model.get_params()
    assert (params["tau_low"], params["tau_high"], params["preset"]) == (0.2, 0.6, "paper")
    assert model.set_params(tau_low=0.1).tau_low == 0.1
    with pytest.raises(ValueError, match="Invalid parameter 'tau'"):
        model.set_params(tau=1)


def test_clones_are_not_fitted_and_learn_the_same() -> None:
    table = discrete(300)
    model = FSPN(random_state=3, kinds={"a": "unordered"}).fit(table)
    copy = clone(model)
    assert copy.get_params() == model.get_params()
    assert not hasattr(copy, "root_")
    np.testing.assert_array_equal(copy.fit(table).score_samples(table), model.score_samples(table))


@pytest.mark.parametrize("table", [discrete(200), mixed(200)], ids=["discrete", "mixed"])
@pytest.mark.parametrize("preset", PRESETS)
def test_pickling(preset: str, table: pd.DataFrame) -> None:
    model = FSPN(preset=preset).fit(table)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.score_samples(table), model.score_samples(table))


def test_grid_search_finds_the_dependence() -> None:
    """At tau_low = 1 every column is alone; the held-out rows tell that this is worse."""
    search = GridSearchCV(
        FSPN(tau_high=1.0), {"tau_low": [0.1, 1.0], "alpha": [0.1, 1.0]}, cv=KFold(3)
    )
    search.fit(chain(600, 4, keep=0.8))
    assert search.best_params_["tau_low"] == 0.1
    assert search.best_estimator_.n_features_in_ == 4
    spread = search.cv_results_["mean_test_score"]
    assert spread.max() - spread.min() > 0.5


def test_cross_validation_on_arrays_and_with_y() -> None:
    table = chain(300, 3)
    frames = cross_val_score(FSPN(), table, cv=3)
    np.testing.assert_array_equal(cross_val_score(FSPN(), table.to_numpy(), cv=3), frames)
    np.testing.assert_array_equal(cross_val_score(FSPN(), table, np.zeros(300), cv=3), frames)


def test_in_a_pipeline() -> None:
    values = np.random.default_rng(0).normal(size=(300, 2))
    bins = KBinsDiscretizer(4, encode="ordinal", quantile_method="averaged_inverted_cdf")
    pipeline = make_pipeline(bins, FSPN()).fit(values)
    # Four bins of equal frequency per column: ln(1/16) for independent columns.
    assert pipeline.score(values) == pytest.approx(np.log(1 / 16), abs=0.1)


def test_feature_names() -> None:
    assert FSPN().fit(discrete(50)).feature_names_in_.tolist() == list("abcd")
    assert not hasattr(FSPN().fit(discrete(50).to_numpy()), "feature_names_in_")
    refitted = FSPN().fit(discrete(50)).fit(discrete(50).to_numpy())
    assert not hasattr(refitted, "feature_names_in_")


def test_fitting_again_forgets_the_first_table() -> None:
    model = FSPN().fit(discrete(200)).fit(chain(200, 3))
    fresh = FSPN().fit(chain(200, 3))
    assert model.domain_.names == ["x0", "x1", "x2"]
    assert model.score(chain(200, 3)) == fresh.score(chain(200, 3))
