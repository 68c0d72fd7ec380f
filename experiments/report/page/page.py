"""One self-contained page: everything inline, nothing loaded from anywhere."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from importlib import resources

from jinja2 import Environment as Templates
from jinja2 import StrictUndefined
from markupsafe import Markup

from experiments.report.claims.ledger import Entry, Verdict
from experiments.report.figures.style import Picture
from experiments.report.names import label
from experiments.report.tables.gaps import Gap
from experiments.report.tables.runs import Environment
from experiments.report.tables.writing import Table, to_html


@dataclass(frozen=True)
class Section:
    """A part of the page.

    Arguments:
        id: its anchor.
        title: its heading.
        intro: a sentence or two.
        pictures: drawn first.
        tables: below them.
        gaps: what is missing.
    """

    id: str
    title: str
    intro: str
    pictures: tuple[Picture, ...] = ()
    tables: tuple[Table, ...] = ()
    gaps: tuple[Gap, ...] = ()


@dataclass(frozen=True)
class Report:
    """Everything that the page shows."""

    study: str
    sections: tuple[Section, ...]
    entries: tuple[Entry, ...]
    runs: Table
    environment: Environment
    gaps: tuple[Gap, ...]


CSS_NAMES = {
    Verdict.HOLDS: "holds",
    Verdict.IN_PART: "part",
    Verdict.FAILS: "fails",
    Verdict.NOT_TESTED: "untested",
}


def render(report: Report) -> str:
    """The page as HTML."""
    templates = Templates(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    templates.filters["table"] = lambda table: Markup(to_html(table))
    templates.filters["sortable"] = lambda table: Markup(to_html(table, sortable=True))
    templates.filters["raw"] = Markup
    templates.filters["label"] = label
    templates.filters["css_name"] = CSS_NAMES.__getitem__
    return templates.from_string(_asset("page.html.j2")).render(
        report=report,
        css=Markup(_asset("page.css")),
        js=Markup(_asset("page.js")),
        tally=tally(report.entries),
        anchors=anchors(report),
        verdicts=list(Verdict),
    )


def anchors(report: Report) -> frozenset[str]:
    """Where a claim's evidence may be: the figures and tables of the page, and all runs."""
    pictures = {picture.name for section in report.sections for picture in section.pictures}
    return frozenset(pictures | {t.name for s in report.sections for t in s.tables} | {"all-runs"})


def tally(entries: tuple[Entry, ...]) -> dict[str, Counter[Verdict]]:
    """How many claims have which verdict, by whose numbers."""
    return {
        "the paper's own numbers": Counter(entry.paper.verdict for entry in entries),
        "FSPN here": Counter(entry.fspn.verdict for entry in entries),
        "the paper's recipe here": Counter(entry.fspn_paper.verdict for entry in entries),
    }


def _asset(name: str) -> str:
    folder = resources.files("experiments.report.page") / "assets"
    return (folder / name).read_text(encoding="utf-8")
