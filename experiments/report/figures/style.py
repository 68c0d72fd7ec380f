"""How figures look: serif, the Okabe-Ito colours, told apart by marker and line as well."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

RC: dict[str, Any] = {
    "font.family": "STIXGeneral",
    "mathtext.fontset": "stix",
    "font.size": 9.5,
    "axes.labelsize": 10,
    "axes.titlesize": 10,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "lines.linewidth": 1.6,
    "lines.markersize": 5.5,
    "xtick.direction": "out",
    "ytick.direction": "out",
    "savefig.dpi": 200,
    "svg.fonttype": "path",
    "svg.hashsalt": "fspn",
    "pdf.fonttype": 42,
}
PIXELS_PER_POINT = 1.6
# Fixed, so that the same rows give the same bytes.
METADATA: dict[str, dict[str, Any]] = {
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
    "png": {},
}


@dataclass(frozen=True)
class Look:
    """Colour, marker and marker size of a model."""

    color: str
    marker: str
    size: float = 5.5


LOOKS = {
    "mspn": Look("#b3508f", "^"),
    "mspn_stock": Look("#7a2e5e", ">"),
    "spn_bt": Look("#666666", "<"),
    "spn_btb": Look("#000000", "+", 7.0),
    "spgm": Look("#0072b2", "v"),
    "bn_dag": Look("#e69f00", "s"),
    "bn_tree": Look("#009e73", "*", 8.0),
    "fspn": Look("#c83200", "o", 6.5),
    "fspn_laws": Look("#56b4e9", "d", 6.0),
    "fspn_paper": Look("#7f1d00", "D", 4.8),
    "fspn_ensemble": Look("#6a3d9a", "P", 6.5),
    "spn_tree": Look("#0072b2", "p", 6.0),
    "mixture_trees": Look("#009e73", "h", 6.0),
    "chow_liu": Look("#e69f00", "X", 5.5),
    "ecnet": Look("#b3508f", "H", 6.0),
    "tree_network": Look("#8c6d1f", "1", 7.5),
}
OTHER = Look("#666666", "x")
LINES = {"true_dag": ("#333333", (0, (1, 1.2))), "independent": ("#888888", (0, (5, 1.5, 1, 1.5)))}


@dataclass(frozen=True)
class Picture:
    """A figure, ready for the page and on disk.

    Arguments:
        name: file name without its ending.
        title: its heading.
        caption: what is shown and how to read it.
        svg: the drawing, for the page.
        narrow: the same for a phone, where it needs another shape.
        gaps: what is missing in it.
    """

    name: str
    title: str
    caption: str
    svg: str
    narrow: str = ""
    gaps: tuple[str, ...] = ()


def look(model: str) -> Look:
    """How a model is drawn."""
    return LOOKS.get(model, OTHER)


@contextmanager
def paper_style() -> Iterator[None]:
    """The style of all figures."""
    with mpl.rc_context(RC):
        yield


def save(figure: Any, folder: Path, name: str) -> str:
    """Write SVG, PDF and PNG; returns the SVG to be put inline."""
    from matplotlib import pyplot as plt

    folder.mkdir(parents=True, exist_ok=True)
    for kind, metadata in METADATA.items():
        path = folder / f"{name}.{kind}"
        figure.savefig(path, metadata=metadata, bbox_inches="tight", pad_inches=0.04)
    plt.close(figure)
    return inline_svg((folder / f"{name}.svg").read_text(encoding="utf-8"), name)


def draw_inline(figure: Any, name: str) -> str:
    """The SVG of a figure that is needed on the page only."""
    from matplotlib import pyplot as plt

    out = io.StringIO()
    figure.savefig(
        out, format="svg", metadata=METADATA["svg"], bbox_inches="tight", pad_inches=0.04
    )
    plt.close(figure)
    return inline_svg(out.getvalue(), name)


def inline_svg(text: str, name: str) -> str:
    """An SVG that can stand in a page beside others: no prolog, its ids made its own."""
    body = text[text.index("<svg") :]
    body = re.sub(r'\bid="([^"]+)"', rf'id="{name}-\1"', body)
    body = re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", body)
    body = re.sub(r'xlink:href="#([^"]+)"', rf'xlink:href="#{name}-\1"', body)
    head, rest = body.split(">", 1)
    width = re.search(r'\swidth="([\d.]+)pt"', head)
    limit = f' style="max-width: {PIXELS_PER_POINT * float(width[1]):.0f}px"' if width else ""
    head = re.sub(r'\s(width|height)="[^"]*"', "", head)
    return f'{head} role="img" class="figure"{limit}>{rest}'
