"""A picture of a model's structure, as in the paper's Figure 1."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fspn.draw.layout import Plan, Size, Spot, arrange
from fspn.draw.outline import Card, outline
from fspn.schema.domain import Domain

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FONT = 8.0
SMALL = 7.0
LINE = 0.155
PAD = 0.09
RADIUS = 0.15
MARGIN = 0.25
LEGEND = 0.42
MAX_WIDTH = 13.0


@dataclass(frozen=True)
class Style:
    """How a kind of node looks: its colour, the sign inside a round node, its shape."""

    colour: str
    sign: str
    shape: str
    text: str


STYLES = {
    "factorize": Style("#d55e00", "F", "circle", "factorize"),
    "sum": Style("#0072b2", "+", "circle", "sum"),
    "product": Style("#009e73", "×", "circle", "product"),
    "split": Style("#8e4a9e", "S", "diamond", "split"),
    "uni-leaf": Style("#dcefe8", "", "round", "uni-leaf"),
    "multi-leaf": Style("#f6dfc6", "", "double", "multi-leaf"),
    "table": Style("#efe3f3", "", "table", "table (split + multi-leaves)"),
    "chain": Style("#fbe9dc", "", "stack", "nested factorize nodes"),
    "leaves": Style("#dcefe8", "", "stack", "several leaves"),
    "folded": Style("#f2f2f2", "", "dashed", "folded subtree"),
}


def draw(
    model: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    domain: Domain | None = None,
    max_nodes: int = 30,
    title: str | None = None,
) -> Figure:
    """Draw a model's structure; needs matplotlib (``pip install fspn[draw]``).

    Arguments:
        model: A fitted :class:`fspn.FSPN` or a root node.
        path: Where to write the picture; the suffix (.svg, .png, .pdf) says in which format.
        domain: The names and values for the texts, with a root node.
        max_nodes: Models of more nodes are summarised to about this many elements.
        title: A line above the picture.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    if max_nodes < 1:
        raise ValueError(f"max_nodes must be at least 1, not {max_nodes}")
    root, domain = getattr(model, "root_", model), getattr(model, "domain_", domain)
    figure = Figure(figsize=(1, 1), dpi=150)
    ruler = _Ruler(FigureCanvasAgg(figure).get_renderer())
    plan = arrange(outline(root, domain, max_nodes), ruler.size, MAX_WIDTH)
    _Painter(figure, plan, ruler, title).paint()
    if path is not None:
        _write(figure, Path(path))
    return figure


def _write(figure: Figure, path: Path) -> None:
    """Write without dates or random identifiers, so that the same model gives the same file."""
    import matplotlib as mpl

    metadata_of: dict[str, dict[str, Any]] = {
        ".svg": {"Date": None},
        ".pdf": {"CreationDate": None},
    }
    with mpl.rc_context({"svg.hashsalt": "fspn"}):
        figure.savefig(path, metadata=metadata_of.get(path.suffix.lower()))


class _Ruler:
    """Measures texts in inches."""

    def __init__(self, renderer: Any):
        self._renderer = renderer

    def width(self, text: str, points: float) -> float:
        from matplotlib.font_manager import FontProperties

        font = FontProperties(size=points)
        width, _, _ = self._renderer.get_text_width_height_descent(text, font, ismath=False)
        return float(width) / float(self._renderer.dpi)

    def size(self, card: Card, downwards: bool) -> Size:
        """The size of a card: round nodes carry their text on the right.

        In a picture that grows downwards the sign is in the middle, so that links meet it there.
        """
        edge = self.width(card.edge, SMALL) + 0.1 if card.edge else 0.0
        link = LINE if card.edge else 0.0
        title = self.width(card.title, FONT)
        if STYLES[card.kind].sign:
            side = RADIUS + 0.06 + title
            return Size(side + (side if downwards else RADIUS), 2 * RADIUS, edge, link)
        inner = max([title, *(self.width(line, SMALL) for line in card.lines)])
        height = LINE * (1 + len(card.lines)) + 2 * PAD
        return Size(inner + 2 * PAD + 0.06, height, edge, link)


class _Painter:
    def __init__(self, figure: Figure, plan: Plan, ruler: _Ruler, title: str | None):
        self._plan, self._title = plan, title
        kinds = {spot.card.kind for spot in plan.spots}
        self._entries = [(kind, style) for kind, style in STYLES.items() if kind in kinds]
        self._widths = [ruler.width(style.text, SMALL) + 0.62 for _, style in self._entries]
        head = 0.3 if title else 0.0
        title_width = ruler.width(title, FONT + 3) if title else 0.0
        self._rows = self._legend_rows(max(plan.width, 4.0))
        legend_width = max(sum(self._widths[i] for i in row) for row in self._rows)
        width = max(plan.width, legend_width, title_width) + 2 * MARGIN
        height = plan.height + 2 * MARGIN + head + LEGEND + 0.24 * (len(self._rows) - 1)
        figure.set_size_inches(width, height)
        self._axes = figure.add_axes((0, 0, 1, 1))
        self._axes.set(xlim=(0, width), ylim=(height, 0))
        self._axes.axis("off")
        self._left = (width - plan.width) / 2
        self._top = MARGIN + head
        self._width, self._height = width, height

    def _legend_rows(self, available: float) -> list[list[int]]:
        rows: list[list[int]] = [[]]
        for index, width in enumerate(self._widths):
            if rows[-1] and sum(self._widths[i] for i in rows[-1]) + width > available:
                rows.append([])
            rows[-1].append(index)
        return rows

    def paint(self) -> None:
        for spot in self._plan.spots:
            if spot.parent is not None:
                self._link(spot, spot.parent)
        for spot in self._plan.spots:
            self._card(spot)
            self._edge_text(spot)
        self._legend()
        if self._title:
            self._text(self._width / 2, MARGIN, self._title, FONT + 3, ha="center")

    def _text(self, x: float, y: float, text: str, points: float, **options: Any) -> None:
        settings = {"ha": "center", "va": "center", "parse_math": False, "zorder": 4, **options}
        self._axes.text(x, y, text, fontsize=points, **settings)

    def _at(self, spot: Spot) -> tuple[float, float]:
        return self._left + spot.x, self._top + spot.y

    def _link(self, spot: Spot, parent: Spot) -> None:
        (x0, y0), (x1, y1) = self._at(parent), self._at(spot)
        if self._plan.downwards:
            y0 += parent.size.height / 2
            y1 -= spot.size.height / 2
        else:
            x0 += parent.size.width / 2 + (0.04 if STYLES[parent.card.kind].sign else 0.0)
            x1 -= spot.size.width / 2
        self._axes.plot([x0, x1], [y0, y1], color="#7a7a7a", lw=0.9, zorder=1)

    def _edge_text(self, spot: Spot) -> None:
        if not spot.card.edge:
            return
        x, y = self._at(spot)
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.8}
        if self._plan.downwards:
            y -= spot.size.height / 2 + LINE * 0.75
            self._text(x, y, spot.card.edge, SMALL, bbox=box, zorder=3)
        else:
            x -= spot.size.width / 2 + 0.06
            self._text(x, y, spot.card.edge, SMALL, bbox=box, zorder=3, ha="right")

    def _card(self, spot: Spot) -> None:
        x, y = self._at(spot)
        style, size = STYLES[spot.card.kind], spot.size
        if style.sign:
            x += 0.0 if self._plan.downwards else RADIUS - size.width / 2
            self._round(x, y, style)
            self._text(x + RADIUS + 0.06, y, spot.card.title, FONT, ha="left")
            return
        self._box(x, y, size.width, size.height, style)
        first = y - size.height / 2 + PAD + LINE / 2
        self._text(x, first, spot.card.title, FONT)
        for index, line in enumerate(spot.card.lines, 1):
            self._text(x, first + index * LINE, line, SMALL, color="#444444")

    def _round(self, x: float, y: float, style: Style) -> None:
        from matplotlib.patches import Circle, RegularPolygon

        look: dict[str, Any] = {"facecolor": style.colour, "edgecolor": "#333333", "lw": 0.8}
        if style.shape == "circle":
            self._axes.add_patch(Circle((x, y), RADIUS, zorder=2, **look))
        else:
            self._axes.add_patch(RegularPolygon((x, y), 4, radius=RADIUS * 1.2, zorder=2, **look))
        self._text(x, y, style.sign, FONT + 2, color="white", weight="bold")

    def _box(self, x: float, y: float, width: float, height: float, style: Style) -> None:
        left, top = x - width / 2, y - height / 2
        look = {"facecolor": style.colour, "edgecolor": "#555555", "lw": 0.8}
        if style.shape == "stack":
            for shift in (0.06, 0.03):
                self._rectangle(left + shift, top + shift, width, height, 0.03, 1.5, **look)
        if style.shape == "dashed":
            look["linestyle"] = "--"
        rounding = {"round": 0.08, "double": 0.0, "table": 0.0}.get(style.shape, 0.03)
        self._rectangle(left, top, width, height, rounding, 2, **look)
        if style.shape == "double":
            inner = {"facecolor": "none", "edgecolor": "#555555", "lw": 0.6}
            self._rectangle(left + 0.03, top + 0.03, width - 0.06, height - 0.06, 0.0, 3, **inner)
        if style.shape == "table":
            border = top + min(PAD + LINE, height * 0.55)
            self._axes.plot([left, left + width], [border] * 2, color="#999999", lw=0.6, zorder=3)

    def _rectangle(
        self,
        left: float,
        top: float,
        width: float,
        height: float,
        rounding: float,
        zorder: float,
        **look: Any,
    ) -> None:
        from matplotlib.patches import FancyBboxPatch

        style = f"round,pad=0,rounding_size={rounding}" if rounding else "square,pad=0"
        patch = FancyBboxPatch((left, top), width, height, boxstyle=style, zorder=zorder, **look)
        self._axes.add_patch(patch)

    def _legend(self) -> None:
        y = self._height - MARGIN - 0.24 * (len(self._rows) - 1)
        for row in self._rows:
            x = (self._width - sum(self._widths[i] for i in row)) / 2
            for index in row:
                style = self._entries[index][1]
                if style.sign:
                    self._round(x + 0.2, y, style)
                else:
                    self._box(x + 0.2, y, 0.3, 0.18, style)
                self._text(x + 0.44, y, style.text, SMALL, ha="left")
                x += self._widths[index]
            y += 0.24
