import math

import numpy as np
import pytest

from experiments.report.numbers import Numbers, nearest_level, ours
from tests.experiments.report import fake


def test_a_cell_is_the_mean_over_seeds_in_the_papers_unit():
    rows = [
        fake.row("fspn", seed=0, size_bytes=2048.0, train_seconds=60.0),
        fake.row("fspn", seed=1, size_bytes=4096.0, train_seconds=180.0),
    ]
    numbers = ours(fake.frame(rows))
    size = numbers.get(0.65, "fspn", "size")
    assert (size.mean, size.low, size.high) == (3.0, 2.0, 4.0)
    assert numbers.mean(0.65, "fspn", "train") == 2.0


def test_a_ratio_uses_the_seeds_that_both_models_have():
    rows = [
        fake.row("fspn", seed=0, kl_mean=0.1),
        fake.row("fspn", seed=1, kl_mean=0.3),
        fake.row("mspn", seed=1, kl_mean=0.6),
        fake.row("mspn", seed=2, kl_mean=9.0),
    ]
    numbers = ours(fake.frame(rows))
    assert numbers.ratio(0.65, "mspn", "fspn", "kl") == pytest.approx(2.0)


def test_a_failed_job_gives_no_number():
    rows = [fake.row("mspn", status="failed", error="boom")]
    assert math.isnan(ours(fake.frame(rows)).mean(0.65, "mspn", "kl"))


def test_a_timeout_without_measures_gives_no_number():
    rows = [fake.row("mspn", status="timeout", kl_mean=math.nan)]
    numbers = ours(fake.frame(rows))
    assert math.isnan(numbers.ratio(0.65, "mspn", "fspn", "kl"))
    assert numbers.mean(0.65, "mspn", "nodes") > 0


def test_cells_from_other_code_are_marked():
    rows = fake.frame([fake.row("fspn", seed=0), fake.row("fspn", seed=1), fake.row("mspn")])
    rows.loc[1, "other_code"] = True
    numbers = ours(rows)
    assert numbers.get(0.65, "fspn", "kl").other_code
    assert not numbers.get(0.65, "mspn", "kl").other_code


@pytest.mark.parametrize(
    ("target", "level"), [(0.07, 0.07), (0.66, 0.65), (0.5, None), (math.nan, None)]
)
def test_a_target_belongs_to_the_nearest_level(target, level):
    assert nearest_level(target) == level


def test_the_papers_numbers_are_all_there(paper):
    assert len(paper.numbers.cells) == 6 * 6 * 6  # the bytes once more, as those of what answers
    assert paper.numbers.mean(0.95, "mspn", "kl") == 0.1325
    assert paper.numbers.mean(0.83, "spn_btb", "size") == 1713.6
    assert paper.table1.shape == (20, 12)


def test_a_slow_model_is_compared_on_the_queries_that_it_was_timed_on():
    slow, fast = np.array([2.0, 4.0, np.nan, np.nan]), np.array([1.0, 2.0, 100.0, 100.0])
    key = (0.65, "mspn", "latency"), (0.65, "fspn", "latency"), (0.65, "bn_dag", "latency")
    never = np.full(4, np.nan)
    queries = {key[0]: {0: slow}, key[1]: {0: fast}, key[2]: {0: never}}
    numbers = Numbers({}, {}, queries)
    assert numbers.compare(0.65, "mspn", "fspn", "latency").ratio == pytest.approx(2.0)
    assert numbers.compare(0.65, "bn_dag", "fspn", "latency") is None
    low, high = numbers.interval(0.65, "mspn", "latency")
    assert 2.0 <= low <= high <= 4.0
    assert numbers.interval(0.65, "bn_dag", "latency") is None
