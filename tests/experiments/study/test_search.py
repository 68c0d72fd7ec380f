import math
import time

import pytest

from experiments.study.coarse import search_coarse_to_fine
from experiments.study.config import SearchConfig
from experiments.study.edges import at_edge
from experiments.study.search import SearchError, open_grid, search, settings
from experiments.study.trial import time_limit
from tests.experiments.tiny import Fragile, dataset, fragile

DATA = dataset()


def test_settings_is_the_whole_product_without_impossible_thresholds():
    grid = {"tau_low": [0.1, 0.5], "tau_high": [0.3, 0.7], "alpha": [1, 2]}
    found = settings(grid)
    assert len(found) == 6
    assert all(p["tau_low"] <= p["tau_high"] for p in found)
    assert settings({}) == [{}]
    assert settings({"model.tau_low": [0.9], "model.tau_high": [0.2]}) == []


def test_the_best_setting_on_validation_rows_wins():
    alphas = [1e-3, 1.0, 100.0, 1e5]
    result = search(fragile, {"alpha": alphas}, DATA, seed=0)
    truth = {
        a: Fragile(a).fit(DATA.train, DATA.domains).score_samples(DATA.valid).mean() for a in alphas
    }
    best = max(truth, key=truth.__getitem__)
    assert result.best.params == {"alpha": best}
    assert result.model.alpha == best
    assert [t.valid_ll for t in result.trials] == pytest.approx(list(truth.values()))
    assert result.seconds >= result.best.train_seconds > 0


def test_a_small_search_is_spread_over_the_grid():
    grid = {"alpha": [1.0, 2.0, 3.0, 4.0, 5.0]}
    tried = search(fragile, grid, DATA, 0, max_settings=2).trials
    assert [t.params["alpha"] for t in tried] == [1.0, 3.0]
    assert len(search(fragile, grid, DATA, 0, max_settings=9).trials) == 5


def test_a_tie_goes_to_the_earlier_setting():
    assert search(fragile, {"alpha": [2.0, 2]}, DATA, 0).best.number == 0


def test_a_failed_trial_is_recorded_and_the_rest_goes_on():
    seen = []
    grid = {"fails": [True, False]}
    result = search(fragile, grid, DATA, seed=0, report=seen.append)
    assert [t.status for t in seen] == ["failed", "ok"]
    assert "told to fail" in seen[0].error
    assert math.isnan(seen[0].valid_ll)
    assert result.n_failed == 1
    assert result.best.params == {"fails": False}


def test_all_failed_is_an_error_that_says_why():
    with pytest.raises(SearchError, match=r"all 1 settings failed.*told to fail"):
        search(fragile, {"fails": [True]}, DATA, seed=0)


def test_every_trial_takes_its_turn():
    turns = []

    class Turn:
        def __enter__(self):
            turns.append("in")

        def __exit__(self, *_):
            turns.append("out")

    search(fragile, {"alpha": [1.0, 2.0]}, DATA, seed=0, turn=Turn)
    assert turns == ["in", "out"] * 3


def test_a_fit_over_its_limit_is_a_timeout():
    small = dataset(rows=300)
    started = time.monotonic()
    with pytest.raises(TimeoutError, match=r"limit of 0\.05 s"):
        search(lambda p: SlowOn(len(small.train), **p), {}, small, 0, limit_seconds=0.05)
    assert time.monotonic() - started < 3
    with time_limit(None):
        pass


class SlowOn(Fragile):
    def __init__(self, rows, **params):
        super().__init__(**params)
        self.rows = rows

    def fit(self, table, domains, seed=0):
        if len(table) == self.rows:
            time.sleep(5)
        return super().fit(table, domains, seed)


def test_a_second_search_starts_from_what_the_first_chose():
    first, second = {"sleeps": [0.0, 0.001]}, {"alpha": [1.0, 1e-3, 100.0]}
    result = search(fragile, first, DATA, 0, then=second)
    tried = [t.params for t in result.trials]
    assert tried[:2] == [{"sleeps": 0.0}, {"sleeps": 0.001}]
    assert tried[2:] == [{"sleeps": 0.0, "alpha": a} for a in second["alpha"]]
    assert [t.number for t in result.trials] == list(range(5))


@pytest.mark.parametrize(
    ("chosen", "edges"),
    [
        ({"alpha": 10.0, "min_rows": 100, "score": "BIC"}, ["alpha"]),
        ({"alpha": 1.0, "min_rows": 20, "score": "BIC"}, ["min_rows"]),
        ({"alpha": None, "min_rows": 1, "score": "BDeu"}, []),
    ],
)
def test_a_search_that_ends_at_an_edge_says_so(chosen, edges):
    grid = {"min_rows": [1, 20, 100, 500], "score": ["BIC", "BDeu"]}
    if chosen["min_rows"] == 20:
        grid["min_rows"].remove(1)
    found = at_edge(SearchConfig(grid, {"alpha": [None, 0.1, 1.0, 10.0]}), chosen)
    assert found == edges


def test_given_thresholds_that_contradict_each_other_leave_the_grid_to_its_check():
    grid = {"tau_low": [0.1], "tau_high": [0.7], "alpha": [1, 2]}
    given = {"tau_low": 0.9, "tau_high": 0.5}
    assert open_grid(grid, given, set(given)) == {"alpha": [1, 2]}


def test_a_coarse_search_ends_with_fits_on_all_rows():
    small, seen = dataset(rows=300), []

    class Counting(Fragile):
        def fit(self, table, domains, seed=0):
            seen.append((len(table), self.alpha))
            return super().fit(table, domains, seed)

    def build(params):
        return Counting(**params)

    alphas = [1e-3, 1.0, 100.0, 1e5]
    found = search_coarse_to_fine(build, {"alpha": alphas}, small, 0, rows=100, finalists=2)
    fits = seen[1:]  # the first is the warm-up
    scores = {t.params["alpha"]: t.valid_ll for t in found.trials[:4]}
    finalists = sorted(alphas, key=scores.__getitem__, reverse=True)[:2]
    assert fits == [(100, a) for a in alphas] + [(300, a) for a in finalists]
    assert [t.number for t in found.trials] == list(range(6))
    assert found.best in found.trials[4:]
    assert found.best.valid_ll == max(t.valid_ll for t in found.trials[4:])
    assert found.rows == 100


def test_one_setting_or_a_short_table_is_not_searched_twice():
    small = dataset(rows=300)
    one = search_coarse_to_fine(fragile, {"alpha": [1.0]}, small, 0, rows=100, finalists=2)
    short = search_coarse_to_fine(fragile, {"alpha": [1.0, 2.0]}, small, 0, rows=300, finalists=2)
    assert (len(one.trials), len(short.trials)) == (1, 2)
    assert math.isnan(one.rows)
    assert math.isnan(short.rows)


def test_finalists_that_all_fail_on_all_rows_are_an_error():
    class Short(Fragile):
        def fit(self, table, domains, seed=0):
            if len(table) > 200:
                raise ValueError("too long")
            return super().fit(table, domains, seed)

    with pytest.raises(SearchError, match=r"all 2 settings failed.*too long"):
        search_coarse_to_fine(
            lambda p: Short(**p),
            {"alpha": [1.0, 2.0]},
            dataset(rows=300),
            0,
            rows=100,
            finalists=2,
        )


def test_the_second_part_of_a_search_takes_over_what_the_first_learned():
    bases = []

    class Resuming(Fragile):
        def resume(self, earlier):
            bases.append((self.alpha, earlier.alpha))
            return 100.0

    def build(params):
        return Resuming(**params)

    found = search(build, {"alpha": [1.0]}, DATA, 0, then={"alpha": [2.0, 3.0]})
    assert bases == [(2.0, 1.0), (3.0, 1.0)]
    assert [t.train_seconds > 100 for t in found.trials] == [False, True, True]
    assert all(t.seconds < 100 for t in found.trials)


def test_settings_that_are_one_model_are_one_finalist():
    small, default = dataset(rows=300), Fragile().alpha
    grid, then = {"fails": [False]}, {"alpha": [default, 1e5]}
    found = search_coarse_to_fine(fragile, grid, small, 0, then=then, rows=100, finalists=2)
    assert found.trials[0].valid_ll == found.trials[1].valid_ll
    last = [t.params.get("alpha", default) for t in found.trials[3:]]
    assert sorted(last) == sorted([default, 1e5])
