"""Pictures: complete up to 30 nodes, summarised above, no overlaps, the same file every time."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from matplotlib.text import Text

from experiments import appendix_b as paper_example
from fspn import FSPN
from fspn.draw import draw
from fspn.draw.outline import Card, outline
from fspn.model.leaves.categorical import Categorical
from fspn.model.nodes import Node, Product, Sum, UniLeaf, walk


def cards(top: Card) -> list[Card]:
    return [top, *(card for child in top.children for card in cards(child))]


def texts(figure: Any) -> list[Text]:
    return [text for text in figure.axes[0].texts if text.get_text()]


def mixture(branches: int, width: int) -> Node:
    leaf = Categorical(np.array([0.5, 0.5]))
    products = tuple(
        Product(tuple(UniLeaf(v, leaf) for v in range(width))) for _ in range(branches)
    )
    return Sum(np.full(branches, 1 / branches), products)


@pytest.fixture(scope="module")
def learned() -> list[FSPN]:
    rng = np.random.default_rng(0)
    n = 1500
    z = rng.integers(0, 3, n)
    table = pd.DataFrame(
        {"alpha": z + rng.integers(0, 3, n), "beta": rng.integers(0, 9, n) + 2 * z}
    )
    table["kind $x_1$"] = np.array(list("pqrs"))[(z + rng.integers(0, 2, n)) % 4]
    table["temperature_of_the_room"] = rng.normal(20 + 3 * z, 2, n)
    table["twin"] = table.alpha * 3 + rng.integers(0, 2, n)
    table["delta"] = table.beta + rng.integers(0, 5, n)
    return [
        FSPN(random_state=0).fit(table),
        FSPN(preset="paper", random_state=0, min_rows=100, tau_low=0.15).fit(table),
    ]


def test_the_papers_figure_shows_every_node() -> None:
    figure = draw(paper_example.root(), domain=paper_example.domain())
    shown = [text.get_text() for text in texts(figure)]
    assert shown.count("X1, X2, X3, X4") == 1
    assert shown.count("X3, X4") == 3
    assert shown.count("sparse table, 6 rows") == 2
    assert {"0.3", "0.7", "X3 ≤ 5", "X3 ≥ 6", "F", "+", "S"} <= set(shown)
    assert len(cards(outline(paper_example.root(), None, 30))) == 11


def _overlap(first: Any, second: Any) -> bool:
    slack = 1.0
    return bool(
        first.x0 < second.x1 - slack
        and second.x0 < first.x1 - slack
        and first.y0 < second.y1 - slack
        and second.y0 < first.y1 - slack
    )


@pytest.mark.parametrize("which", ["paper", "default", "learned paper", "wide", "deep"])
def test_no_text_is_cut_or_covers_another(which: str, learned: list[FSPN]) -> None:
    models: dict[str, Any] = {
        "paper": paper_example.root(),
        "default": learned[0],
        "learned paper": learned[1],
        "wide": mixture(2, 13),
        "deep": mixture(40, 40),
    }
    figure = draw(models[which], title="A title")
    renderer = figure.canvas.get_renderer()
    width, height = figure.canvas.get_width_height()
    boxes = [(t.get_text(), t.get_window_extent(renderer)) for t in texts(figure)]
    for text, box in boxes:
        assert box.x0 >= 0, text
        assert box.y0 >= 0, text
        assert box.x1 <= width, text
        assert box.y1 <= height, text
    for (first, one), (second, other) in combinations(boxes, 2):
        assert not _overlap(one, other), f"{first!r} over {second!r}"


def test_large_models_are_summarised() -> None:
    root = mixture(40, 40)
    shown = cards(outline(root, None, 30))
    assert len(shown) <= 31
    assert sum(1 for _ in walk(root)) == 1641
    folded = [card for card in shown if card.title == "33 more children"]
    assert folded[0].lines[0] == "1353 nodes:"
    assert any(card.title == "40 uni-leaves" for card in shown)


def test_chains_are_one_card() -> None:
    from tests.fspn.engine.test_depth import chain

    top = outline(chain("tables"), None, 30)
    assert top.title == "1599 factorize nodes with tables"
    assert top.lines[-1] == "... and 1575 more"
    assert [card.kind for card in cards(top)] == ["chain", "uni-leaf"]


def test_max_nodes() -> None:
    assert len(cards(outline(mixture(4, 4), None, 30))) == 21
    assert len(cards(outline(mixture(4, 4), None, 5))) == 5
    with pytest.raises(ValueError, match="max_nodes"):
        draw(mixture(1, 2), max_nodes=0)


@pytest.mark.parametrize("suffix", [".svg", ".png", ".pdf"])
def test_files_are_the_same_every_time(tmp_path: Path, suffix: str) -> None:
    paths = [tmp_path / f"{name}{suffix}" for name in "ab"]
    for path in paths:
        draw(paper_example.root(), path)
    assert paths[0].read_bytes() == paths[1].read_bytes()
    assert paths[0].stat().st_size > 3000
