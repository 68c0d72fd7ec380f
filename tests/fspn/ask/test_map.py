"""The most probable completion: by hand, against the whole table, and where there is none."""

from __future__ import annotations

import warnings
from itertools import product

import numpy as np
import pandas as pd
import pytest

import fspn.model.eliminate.buckets
from fspn import FSPN, bn_to_fspn
from fspn.convert import parse_bif
from fspn.model.eliminate.semiring import TooWide
from fspn.model.leaves.categorical import Categorical
from fspn.model.leaves.continuous import GaussianMixture
from fspn.model.nodes import Product, Sum, UniLeaf
from fspn.schema.domain import Domain, Variable
from tests.fspn.networks import SPRINKLER
from tests.fspn.sample_tables import PRESETS, discrete, mixed
from tests.pointwise import joint
from tests.random_models import ModelMaker


@pytest.fixture(scope="module")
def sprinkler() -> FSPN:
    return bn_to_fspn(parse_bif(SPRINKLER))


@pytest.fixture(scope="module", params=PRESETS)
def model(request: pytest.FixtureRequest) -> FSPN:
    return FSPN(preset=request.param).fit(discrete())


@pytest.fixture(scope="module", params=PRESETS)
def mixed_model(request: pytest.FixtureRequest) -> FSPN:
    return FSPN(preset=request.param).fit(mixed())


def two_groups(n_columns: int) -> FSPN:
    """A mixture whose most probable row is that of neither component."""
    columns = tuple(Variable(f"x{i}", "ordered", np.arange(3)) for i in range(n_columns))
    laws = np.array([[0.45, 0.0, 0.55], [0.45, 0.55, 0.0]])
    parts = [Product(tuple(UniLeaf(v, Categorical(law)) for v in range(n_columns))) for law in laws]
    return FSPN.from_root(Domain(columns), Sum(np.array([0.5, 0.5]), tuple(parts)))


class TestByHand:
    def test_without_evidence(self, sprinkler: FSPN) -> None:
        assignment, probability = sprinkler.map()
        assert assignment == {
            "cloudy": "yes",
            "sprinkler": "off",
            "rain": "yes",
            "wet grass": "wet",
        }
        assert probability == pytest.approx(0.5 * 0.9 * 0.8 * 0.9)

    def test_given_dry_grass(self, sprinkler: FSPN) -> None:
        assignment, probability = sprinkler.map({"wet grass": "dry"})
        assert assignment["sprinkler"] == "off"
        assert assignment["rain"] == "no"
        assert probability == pytest.approx(
            sprinkler.conditional(assignment, {"wet grass": "dry"}), abs=1e-12
        )

    def test_chosen_columns_are_summed_over_the_others(self) -> None:
        """Each path of x is improbable, but together they make x = 1 the better value."""
        x = np.array([0.4, 0.6])
        y = np.array([[0.9, 0.1, 0.0], [0.3, 0.35, 0.35]])
        model = bn_to_fspn([2, 3], [(), (0,)], [x, y], names=["x", "y"])
        assert model.map()[0] == {"x": 0, "y": 0}
        assert model.map(columns=["x"]) == ({"x": 1}, pytest.approx(0.6))
        assert model.map({"y": {1, 2}}, columns=["x"]) == ({"x": 1}, pytest.approx(0.42 / 0.46))

    def test_a_mixture_peaks_where_no_component_does(self) -> None:
        model = two_groups(3)
        assert model.map() == ({f"x{i}": 0 for i in range(3)}, pytest.approx(0.45**3))


class TestAgainstTheWholeTable:
    @pytest.mark.parametrize("seed", range(6))
    def test_random_models(self, seed: int) -> None:
        maker = ModelMaker(seed, 5)
        model = FSPN.from_root(maker.domain(), maker.model())
        table = joint(model)
        cell = np.unravel_index(table.argmax(), table.shape)
        assignment, probability = model.map()
        assert probability == pytest.approx(table[cell], abs=1e-12)
        assert model.probability(assignment) == pytest.approx(table[cell], abs=1e-12)

    def test_a_learned_mixture(self) -> None:
        rng = np.random.default_rng(0)
        kind = rng.integers(0, 3, 2000)
        laws = rng.random((3, 9))
        table = pd.DataFrame((rng.random((2000, 9)) < laws[kind]).astype(int))
        model = FSPN(n_components=3, random_state=0).fit(table)
        for fixed in ({}, {0: 1}, {1: 0, 5: 1}):
            free = [c for c in range(9) if c not in fixed]
            rows = np.zeros((2 ** len(free), 9))
            rows[:, free] = list(product((0, 1), repeat=len(free)))
            rows[:, list(fixed)] = list(fixed.values())
            scores = model.score_samples(rows)
            assignment, probability = model.map(fixed)
            expected = np.exp(scores.max()) / model.probability(fixed)
            assert probability == pytest.approx(expected, abs=1e-12)
            assert list(assignment.values()) == rows[scores.argmax()].tolist()


class TestForms:
    def test_a_list_is_its_entries(self, model: FSPN) -> None:
        evidences = [{}, {"a": 3}, {"a": 3, "c": {0, 1}}, {"b": (3, 6)}, {"a": 5, "d": 1}] * 3
        assignments, probabilities = model.map(evidences)
        for evidence, assignment, probability in zip(
            evidences, assignments, probabilities, strict=True
        ):
            assert model.map(evidence)[0] == assignment
            assert probability == pytest.approx(model.conditional(assignment, evidence), abs=1e-12)

    def test_boxes(self, model: FSPN) -> None:
        low = np.array([[3, np.nan, np.nan, np.nan], [np.nan, 3, np.nan, 1]])
        high = np.array([[5, np.nan, np.nan, np.nan], [np.nan, 6, np.nan, 1]])
        found = model.map((low, high))
        assert list(found[0]) == model.map([{"a": (3, 5)}, {"b": (3, 6), "d": 1}])[0]
        assert model.map((low[0], high[0]))[0] == found[0][0]

    def test_evidence_is_kept(self, model: FSPN) -> None:
        assert model.map({"a": 9, "d": 0})[0].items() >= {"a": 9, "d": 0}.items()
        assert model.map({"a": {2, 9}, "b": 9})[0]["a"] == 9

    def test_the_answer_is_the_maximum(self, model: FSPN) -> None:
        found = model.map({"a": 2})
        assert found.bound == pytest.approx(found[1])

    def test_an_empty_list(self, model: FSPN) -> None:
        assignments, probabilities = model.map([])
        assert assignments == []
        assert probabilities.shape == (0,)


class TestWhatCannotBeDone:
    def test_impossible_evidence(self, model: FSPN) -> None:
        with pytest.warns(RuntimeWarning, match="probability zero"):
            assignment, probability = model.map({"a": 4})
        assert assignment == dict.fromkeys("abcd")
        assert np.isnan(probability)
        with pytest.raises(ValueError, match="probability zero"):
            model.map({"a": 4}, strict=True)

    def test_unknown_columns(self, model: FSPN) -> None:
        with pytest.raises(KeyError, match="unknown column 'z'"):
            model.map({"z": 4})
        with pytest.raises(KeyError, match="unknown column 'z'"):
            model.map({}, columns=["z"])
        with pytest.raises(ValueError, match="None asks for all"):
            model.map({}, columns=[])
        with pytest.raises(TypeError, match="list of column names"):
            model.map({}, columns="a")

    def test_too_wide(self, monkeypatch: pytest.MonkeyPatch) -> None:
        model = FSPN().fit(discrete())
        monkeypatch.setattr(fspn.model.eliminate.buckets, "MAX_CELLS", 3)
        with pytest.raises(TooWide, match="constrain more variables, ask for fewer columns"):
            model.map()

    def test_a_batch_too_large_for_memory_is_halved(self, monkeypatch: pytest.MonkeyPatch) -> None:
        model = FSPN().fit(discrete())
        evidences = [{"d": d} for d in (0, 1, 0, 1, 1)]
        whole = model.map(evidences)
        monkeypatch.setattr(fspn.model.eliminate.buckets, "MAX_CELLS", 100)
        assert model.map(evidences)[0] == whole[0]

    def test_out_of_time(self) -> None:
        model = two_groups(12)
        with pytest.warns(RuntimeWarning, match="time limit of 0.0 s .* times as probable"):
            found = model.map(time_limit=0.0)
        best = model.map()
        assert found[1] <= best[1] <= found.bound
        assert best.bound == pytest.approx(best[1])


class TestPredict:
    def test_cells_agree_with_the_completion(self, mixed_model: FSPN) -> None:
        rows = mixed(8, seed=1).astype({"int": float, "bool": object})
        rows.loc[0, ["int", "text"]] = np.nan, None
        rows.loc[1, ["cat", "bool"]] = None, None
        rows.loc[2, "text"] = None
        filled = mixed_model.predict(rows)
        assert not filled.isna().any().any()
        assert (filled.dtypes == rows.dtypes).all()
        pd.testing.assert_frame_equal(filled[3:], rows[3:])
        known = {c: rows.loc[0, c] for c in ("cat", "bool", "real", "near")}
        expected = mixed_model.map(known)[0]
        assert filled.loc[0, "int"] == expected["int"]
        assert filled.loc[0, "text"] == expected["text"]

    def test_the_table_is_not_changed(self, mixed_model: FSPN) -> None:
        rows = mixed(3).astype({"int": float})
        rows.loc[1, "int"] = np.nan
        before = rows.copy()
        mixed_model.predict(rows)
        pd.testing.assert_frame_equal(rows, before)

    def test_arrays(self) -> None:
        table = discrete()
        model = FSPN().fit(table.to_numpy())
        rows = table.to_numpy(float)[:5].copy()
        rows[0, 1], rows[3, 2:] = np.nan, np.nan
        filled = model.predict(rows)
        assert filled.dtype == rows.dtype
        assert not np.isnan(filled).any()
        assert filled[0, 1] == model.map({0: rows[0, 0], 2: rows[0, 2], 3: rows[0, 3]})[0][1]
        np.testing.assert_array_equal(model.predict(filled), filled)

    def test_impossible_rows_stay_as_they_are(self) -> None:
        model = FSPN().fit(discrete())
        rows = pd.DataFrame({"a": [4.0, 3.0], "b": [np.nan] * 2, "c": [0, 0], "d": [0, 0]})
        with pytest.warns(RuntimeWarning, match="1 row"):
            filled = model.predict(rows)
        assert filled["b"].isna().tolist() == [True, False]

    def test_nothing_missing(self, mixed_model: FSPN) -> None:
        rows = mixed(4)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            pd.testing.assert_frame_equal(mixed_model.predict(rows), rows)


class TestReals:
    """Densities of reals without cells, as the paper's recipe learns them."""

    @staticmethod
    def model(weights: list[float], means: list[list[float]], scales: list[float]) -> FSPN:
        columns = tuple(Variable(f"x{i}", "continuous") for i in range(len(means[0])))
        parts = [
            Product(
                tuple(
                    UniLeaf(v, GaussianMixture(np.ones(1), np.array([mean]), np.array([scale])))
                    for v, mean in enumerate(centre)
                )
            )
            for centre, scale in zip(means, scales, strict=True)
        ]
        return FSPN.from_root(Domain(columns), Sum(np.array(weights), tuple(parts)))

    def test_one_gaussian_peaks_at_its_mean(self) -> None:
        part = UniLeaf(0, GaussianMixture(np.ones(1), np.array([3.0]), np.array([0.5])))
        model = FSPN.from_root(Domain((Variable("x", "continuous"),)), part)
        assert model.map()[0]["x"] == pytest.approx(3.0, abs=1e-6)
        assert model.map({"x": (4.0, 9.0)})[0]["x"] == pytest.approx(4.0, abs=1e-6)

    def test_a_sum_of_gaussians(self) -> None:
        """Two near ones make the highest point, between their means, not the sharper third."""
        model = self.model([0.35, 0.35, 0.3], [[0, 0], [1, 1], [6, 6]], [1.0, 1.0, 0.8])
        found = model.map()
        assert [found[0][c] for c in ("x0", "x1")] == pytest.approx([0.5, 0.5], abs=1e-3)
        grid = np.linspace(-2, 8, 101)
        rows = np.array(list(product(grid, grid)))
        assert np.log(found[1]) >= model.score_samples(rows).max() - 1e-9
        assert found.bound >= found[1]
        assert np.log(found.bound / found[1]) < 2e-3
        far = model.map({"x0": (4.0, 9.0)})
        assert [far[0][c] for c in ("x0", "x1")] == pytest.approx([6.0, 6.0], abs=1e-3)
