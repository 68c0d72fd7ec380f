"""The bootstrap and Holm's correction against cases whose answer is known."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from experiments.report.claims.rules import Pair, Pairs
from experiments.report.numbers import ours
from experiments.report.statistics import Comparison, compare, holm, mean_interval
from tests.experiments.report import fake


def draws(n, queries, ratio, noise, seed=0):
    """Draws in which the other model's values are `ratio` times the subject's, with noise."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        subject = rng.lognormal(0.0, 0.5, queries)
        found.append((subject * ratio * rng.lognormal(0.0, noise, queries), subject))
    return found


def test_a_clear_difference_is_seen_and_an_equal_pair_is_tied():
    clear = compare(draws(5, 200, 2.0, 0.1))
    assert clear.low > 1.8 and clear.high < 2.2 and clear.p < 0.01 and clear.draws == 5  # noqa: PT018
    same = draws(5, 200, 1.0, 0.0)
    tied = compare(same)
    assert (tied.ratio, tied.low, tied.high, tied.p) == (1.0, 1.0, 1.0, 1.0)


def test_pairing_matters():
    """Queries differ by orders of magnitude; the ratio within a query hardly does."""
    rng = np.random.default_rng(1)
    subject = rng.lognormal(0.0, 3.0, 300)
    other = subject * 1.1
    paired, broken = compare([(other, subject)]), compare([(rng.permutation(other), subject)])
    assert paired.p < 0.01 < broken.p


def test_one_query_that_carries_the_mean_gives_a_wide_interval():
    subject = np.ones(100)
    other = np.full(100, 0.9)
    other[0] = 50.0
    found = compare([(other, subject)])
    assert found.ratio > 1.3
    assert found.low < 1.0 < found.high
    assert found.p > 0.05


def test_draws_that_disagree_give_a_wider_interval_than_one_draw():
    rng = np.random.default_rng(2)
    several = [(np.full(50, float(r)), np.ones(50)) for r in rng.lognormal(0.3, 1.0, 6)]
    assert compare(several).p > 0.01
    one = compare([several[0]])
    assert one.low == pytest.approx(one.high)


def test_the_interval_covers_as_often_as_it_says():
    """95% intervals for the ratio of means of paired normals, 200 times."""
    rng = np.random.default_rng(3)
    covered = 0
    for seed in range(200):
        subject = rng.normal(5.0, 1.0, 80)
        other = 1.2 * subject + rng.normal(0.0, 1.0, 80)
        found = compare([(other, subject)], rounds=400, seed=seed)
        covered += found.low <= 1.2 <= found.high
    low = 200 * 0.95 + norm.ppf(1e-4) * np.sqrt(200 * 0.95 * 0.05)
    assert low - 4 <= covered
    assert covered < 200, "an interval that always holds the truth is too wide"


def test_no_ratio_without_positive_means():
    assert compare([(np.zeros(3), np.ones(3))]) is None


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.9, 0.8]) == pytest.approx([1.0, 1.0])
    assert len(holm([])) == 0


def test_ten_pairs_need_smaller_p_values_than_one():
    pair = Pair(0.5, "mspn", 1.2, Comparison(1.2, 1.01, 1.4, 0.02, 3))
    assert Pairs((pair,), ()).better == [pair]
    assert Pairs((pair,) * 10, ()).better == []
    assert Pairs((pair,) * 10, ()).draws == (3,)


def test_without_an_interval_one_percent_counts_as_equal():
    found = Pairs((Pair(0.5, "a", 1.005), Pair(0.5, "b", 1.02), Pair(0.5, "c", 0.9)), ())
    assert [p.model for p in found.better] == ["b"]
    assert [p.model for p in found.worse] == ["c"]


def test_the_interval_of_a_mean_is_wider_with_few_draws_that_differ():
    rng = np.random.default_rng(0)
    alike = [rng.exponential(1.0, 500) for _ in range(8)]
    apart = [values * scale for values, scale in zip(alike, (1, 5) * 4, strict=True)]
    low, high = mean_interval(alike)
    assert low < 1.0 < high
    assert high - low < 0.25
    wide = mean_interval(apart)
    assert wide[1] - wide[0] > 4 * (high - low)


def test_fits_to_one_draw_count_as_their_mean():
    rows = fake.frame([fake.row(label=f"{k}", kl_mean=k) for k in (1.0, 3.0)])
    who = {"experiment": "reproduce", "dataset": "rdc_65", "model": "fspn", "seed": 0}
    queries = pd.DataFrame({"kl": [0.0, 2.0, 4.0, 6.0], **who})
    numbers = ours(rows, queries)
    assert numbers.mean(0.65, "fspn", "kl") == 2.0
    assert numbers.queries[0.65, "fspn", "kl"][0].tolist() == [2.0, 4.0]
    assert numbers.interval(0.65, "fspn", "kl") == (2.0, 4.0)


def test_digits_that_are_not_kept_decide_nothing():
    values = np.random.default_rng(0).random(100)
    assert compare([(values * (1 - 1e-7), values)]).p == 1.0
    assert compare([(values * (1 - 1e-3), values)]).p < 0.01


def test_few_draws_must_agree():
    rng = np.random.default_rng(0)
    far = [(100 * (b := rng.gamma(2.0, size=80)), b) for _ in range(2)]
    near = rng.gamma(2.0, size=80)
    against = (0.5 * near, near)
    assert compare(far).p < 0.01
    assert compare([*far, against]).p == 1.0, "one of three is the other way"
    assert compare([*far * 3, against]).p < 0.05, "of seven draws one may be"
