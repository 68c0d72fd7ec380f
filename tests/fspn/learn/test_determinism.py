"""The same data, parameters and random_state give the same bytes, whatever the threads."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fspn import FSPN
from tests.fspn.sample_tables import chain, discrete, mixed

SETTINGS: dict[str, dict[str, Any]] = {
    "default": {},
    "paper": {"preset": "paper"},
    "grid": {"preset": "paper", "split": "kmeans_grid", "min_rows": 60},
    "tree": {"tau_low": 0.2, "tau_high": 1.1},
    "mixture": {"tau_low": 0.1, "tau_high": 0.5, "group": "split", "multi_leaf": "mixture"},
}


def binary() -> pd.DataFrame:
    """Twenty columns that depend on one another equally, some of them twice: ties everywhere."""
    rng = np.random.default_rng(0)
    hidden = rng.integers(0, 2, (1000, 1))
    table = (hidden ^ (rng.random((1000, 20)) < 0.25)).astype(int)
    return pd.DataFrame(np.column_stack([table, table[:, :5], table[:, :5]]))


TABLES = {"discrete": discrete(500), "mixed": mixed(400), "binary": binary()}

SCRIPT = """
import sys
from pathlib import Path
from fspn import FSPN
from tests.fspn.learn.test_determinism import SETTINGS, TABLES, digest
for table in TABLES:
    for setting in SETTINGS:
        print(table, setting, digest(table, setting, Path(sys.argv[1]), n_jobs=int(sys.argv[2])))
"""


def digest(table: str, setting: str, folder: Path, **params: Any) -> str:
    """The fingerprint of a saved model."""
    path = folder / "model.fspn"
    model = FSPN(**SETTINGS[setting], random_state=7, **params).fit(TABLES[table])
    model.set_params(n_jobs=1).save(path)
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize("setting", SETTINGS)
@pytest.mark.parametrize("table", TABLES)
def test_fitting_twice(table: str, setting: str, tmp_path: Path) -> None:
    assert digest(table, setting, tmp_path) == digest(table, setting, tmp_path)


def run(folder: Path, threads: int, hash_seed: int) -> list[str]:
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    root = Path(__file__).parents[3]
    env = {**os.environ, **dict.fromkeys(names, str(threads)), "PYTHONHASHSEED": str(hash_seed)}
    env["PYTHONPATH"] = str(root)
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(folder), str(threads)],
        env=env, cwd=root, capture_output=True, text=True, check=True, timeout=300,
    )  # fmt: skip
    return done.stdout.splitlines()


def test_threads_and_hash_seeds_do_not_matter(tmp_path: Path) -> None:
    one, two = run(tmp_path, 1, 1), run(tmp_path, 2, 2)
    assert len(one) == len(TABLES) * len(SETTINGS)
    assert one == two


def test_the_seed_matters_where_there_is_chance() -> None:
    table = chain(600, 5)
    models = [FSPN(0.1, 1.1, n_clusters=4, random_state=seed).fit(table) for seed in range(4)]
    assert len({model.score(table) for model in models}) > 1


def test_fit_leaves_the_global_state_alone() -> None:
    np.random.seed(1)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    FSPN(preset="paper").fit(TABLES["mixed"])
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_the_kind_of_seed_does_not_matter() -> None:
    table = TABLES["mixed"]
    number = FSPN(preset="paper", random_state=5).fit(table)
    state = FSPN(preset="paper", random_state=np.random.RandomState(5)).fit(table)
    assert number.score(table) == state.score(table)


def test_the_order_of_the_rows_does_not_change_tables() -> None:
    """Counts do not depend on the order; nothing is drawn at random on a small table."""
    table = chain(800, 4)
    turned = table.sample(frac=1.0, random_state=0)
    first, second = FSPN().fit(table), FSPN().fit(turned)
    np.testing.assert_allclose(first.score_samples(table), second.score_samples(table), rtol=1e-12)


def test_samples_repeat_by_their_own_seed() -> None:
    model = FSPN(preset="paper").fit(TABLES["mixed"])
    pd.testing.assert_frame_equal(
        model.sample(50, random_state=1), model.sample(50, random_state=1)
    )
    assert not model.sample(50, random_state=1).equals(model.sample(50, random_state=2))
