"""Figure 1 of the paper is learned from its table, and drawn."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest

from fspn import validate
from fspn.model.nodes import Factorize, MultiLeaf, Product, Split, Sum, UniLeaf

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "figure1.py"
X1, X2, X3, X4 = range(4)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_recipe_finds_the_structure_of_figure_1(seed: int) -> None:
    script = runpy.run_path(str(SCRIPT))
    table = script["make_table"](seed=seed)
    model = script["learn"](table, seed)
    n1 = model.root_
    assert isinstance(n1, Factorize)
    n2, n3 = n1.left, n1.right
    assert isinstance(n2, Sum)
    assert sorted(n2.weights) == pytest.approx([0.3, 0.7], abs=0.03)
    for product in n2.children:
        assert isinstance(product, Product)
        assert [type(leaf) for leaf in product.children] == [UniLeaf, UniLeaf]
        assert product.scope == {X3, X4}
    assert isinstance(n3, Split)
    assert [type(leaf) for leaf in n3.children] == [MultiLeaf, MultiLeaf]
    assert n3.scope == {X1, X2}
    ends = [
        model.domain_[X3].values[cell.upper] for region in n3.regions for cell in region.values()
    ]
    assert [set(region) for region in n3.regions] == [{X3}, {X3}]
    assert ends == [5, 8], "split on whether X3 is greater than 5"
    validate(model.root_, model.domain_)
    both = ((table.X1 >= 1) & (table.X1 <= 7) & (table.X3 <= 6)).mean()
    assert model.probability({"X1": (1, 7), "X3": (3, 6)}) == pytest.approx(both, abs=0.01)


def test_the_script_draws_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "figure1.svg"
    monkeypatch.setattr(sys, "argv", [str(SCRIPT), "--out", str(out)])
    runpy.run_path(str(SCRIPT), run_name="__main__")
    assert "<svg" in out.read_text(encoding="utf-8")
    assert "drawn to" in capsys.readouterr().out
