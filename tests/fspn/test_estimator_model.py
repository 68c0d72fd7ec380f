"""What a fitted model is: its columns, its domain, its nodes and sizes, its file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from fspn import FSPN
from fspn.model.nodes import Factorize, MultiLeaf, Product, Split, TableSplit, UniLeaf, expand, walk
from tests.fspn.sample_tables import PRESETS, discrete
from tests.pointwise import joint

TABLE = discrete()


@pytest.fixture(scope="module", params=PRESETS)
def model(request: pytest.FixtureRequest) -> FSPN:
    return FSPN(preset=request.param, random_state=0).fit(TABLE)


class TestArrays:
    def test_columns_are_numbered(self) -> None:
        model = FSPN().fit(TABLE.to_numpy())
        named = FSPN().fit(TABLE)
        assert model.domain_.names == [0, 1, 2, 3]
        assert model.probability({0: 3, 2: (0, 1)}) == named.probability({"a": 3, "c": (0, 1)})
        np.testing.assert_array_equal(
            model.conditional_table([2, 0], {3: 1}), named.conditional_table(["c", "a"], {"d": 1})
        )

    def test_lists_of_rows(self) -> None:
        model = FSPN().fit(TABLE.to_numpy().tolist())
        assert model.score(TABLE.to_numpy()) == FSPN().fit(TABLE).score(TABLE)

    def test_samples_have_the_form_of_the_training_data(self) -> None:
        assert isinstance(FSPN().fit(TABLE.to_numpy()).sample(3), np.ndarray)
        drawn = FSPN().fit(TABLE).sample(3)
        assert isinstance(drawn, pd.DataFrame)
        assert list(drawn.columns) == list("abcd")

    def test_the_array_is_not_changed(self) -> None:
        before = TABLE.to_numpy().copy()
        data = before.copy()
        FSPN().fit(data).score(data)
        np.testing.assert_array_equal(data, before)


class TestDomains:
    @pytest.mark.parametrize("preset", PRESETS)
    def test_unseen_values_are_possible(self, preset: str) -> None:
        model = FSPN(preset=preset).fit(TABLE, domains={"a": [2, 4, 7], "d": range(3)})
        assert model.domain_[0].values.tolist() == [2, 3, 4, 5, 7, 9]
        assert model.probability({"a": 4}) > 0
        assert model.probability({"a": 4, "b": 9, "c": 0, "d": 2}) > 0
        assert model.probability({}) == pytest.approx(1.0, abs=1e-12)
        assert joint(model).min() > 0
        assert model.conditional_table(["a"], {"d": 2}).shape == (6,)

    def test_a_list_holds_one_entry_per_column(self) -> None:
        named = FSPN().fit(TABLE, domains={"a": [2, 4, 7], "d": range(3)})
        listed = FSPN().fit(TABLE, domains=[[2, 4, 7], None, None, range(3)])
        assert [v.values.tolist() for v in listed.domain_.variables] == [
            v.values.tolist() for v in named.domain_.variables
        ]
        assert listed.probability({"a": 4}) == named.probability({"a": 4}) > 0

    @pytest.mark.parametrize("kind", [list, np.array, pd.Series])
    def test_targets_are_ignored(self, kind: Any) -> None:
        model = FSPN().fit(TABLE, kind([1] * len(TABLE)))
        assert joint(model).sum() == pytest.approx(1.0)

    def test_domains_in_the_place_of_targets_are_refused(self) -> None:
        with pytest.raises(TypeError, match=r"domains=\{"):
            FSPN().fit(TABLE, {"a": [2, 4, 7]})

    def test_every_combination_in_the_domain_is_possible(self, model: FSPN) -> None:
        assert joint(model).min() > 0

    def test_alpha_is_the_strength_of_smoothing(self) -> None:
        columns = TABLE[["a"]]
        weak, strong = (
            FSPN(alpha=alpha).fit(columns, domains={"a": [0]}).probability({"a": 0})
            for alpha in (0.1, 10.0)
        )
        assert weak == pytest.approx(0.1 / (len(TABLE) + 0.5))
        assert strong == pytest.approx(10.0 / (len(TABLE) + 50.0))


class TestAttributes:
    def test_counts_are_those_of_the_nodes(self, model: FSPN) -> None:
        nodes = list(walk(model.root_))
        tables = [node for node in nodes if isinstance(node, TableSplit)]
        regions = sum(len(expand(node).children) for node in tables)
        assert model.n_nodes_ == len(nodes) + regions
        assert model.census_.n_factorize == sum(isinstance(n, Factorize) for n in nodes)
        leaves = sum(isinstance(n, MultiLeaf) for n in nodes)
        assert model.census_.n_multi_leaves == regions + leaves
        assert model.n_parameters_ > 0
        assert model.size_bytes_ > model.n_parameters_

    def test_an_independent_model_by_hand(self) -> None:
        rng = np.random.default_rng(0)
        table = pd.DataFrame(rng.integers(0, 2, (400, 3)))
        model = FSPN().fit(table)
        assert isinstance(model.root_, Product)
        assert model.n_nodes_ == 4
        assert model.n_parameters_ == 3
        # Six numbers of 8 bytes; a pointer of 4 per node, per child and per variable.
        assert model.size_bytes_ == 6 * 8 + 4 * (4 + 3 + 3)

    def test_the_node_types_of_the_presets(self) -> None:
        found = {
            preset: {type(node) for node in walk(FSPN(preset=preset).fit(TABLE).root_)}
            for preset in PRESETS
        }
        assert found["default"] & {Factorize, TableSplit} == {Factorize, TableSplit}
        assert found["paper"] & {Factorize, MultiLeaf} == {Factorize, MultiLeaf}
        assert TableSplit not in found["paper"]
        assert Split not in found["default"]
        assert UniLeaf in found["default"] & found["paper"]

    def test_preset_paper_is_the_papers_recipe(self) -> None:
        spelled = FSPN(
            0.3,
            0.7,
            preset="default",
            oracle="rdc",
            cluster="kmeans",
            split="greedy",
            group="split",
        )
        same = spelled.fit(TABLE).score_samples(TABLE)
        np.testing.assert_array_equal(FSPN(preset="paper").fit(TABLE).score_samples(TABLE), same)

    def test_save_and_load(self, model: FSPN, tmp_path: Path) -> None:
        model.save(tmp_path / "model.fspn")
        loaded = FSPN.load(tmp_path / "model.fspn")
        assert (loaded.n_nodes_, loaded.n_parameters_, loaded.size_bytes_) == (
            model.n_nodes_,
            model.n_parameters_,
            model.size_bytes_,
        )
        np.testing.assert_array_equal(joint(loaded), joint(model))
        np.testing.assert_array_equal(loaded.score_samples(TABLE), model.score_samples(TABLE))
        pd.testing.assert_frame_equal(
            loaded.sample(20, random_state=3), model.sample(20, random_state=3)
        )

    def test_verbose_shows_progress(self, capsys: pytest.CaptureFixture[str]) -> None:
        FSPN().fit(TABLE)
        assert capsys.readouterr().out == ""
        FSPN(verbose=True).fit(TABLE)
        assert "100%" in capsys.readouterr().out

    def test_threads_give_the_same_answers(self) -> None:
        one, two = FSPN(n_jobs=1).fit(TABLE), FSPN(n_jobs=2).fit(TABLE)
        np.testing.assert_array_equal(one.score_samples(TABLE), two.score_samples(TABLE))
