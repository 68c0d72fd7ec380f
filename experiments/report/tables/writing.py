"""One table, written three ways: CSV for machines, booktabs for papers, HTML for the page."""

from __future__ import annotations

import csv
import html
import io
import math
from dataclasses import dataclass
from pathlib import Path

OTHER_CODE = "†"
OTHER_NODE = "‡"


@dataclass(frozen=True)
class Cell:
    """What stands in one place of a table.

    Arguments:
        text: as a reader sees it.
        value: the number behind it, for sorting and for the CSV; None for plain text.
        bold: whether it is the best of its row.
        mark: a sign after the text (another code version, significance).
    """

    text: str
    value: float | None = None
    bold: bool = False
    mark: str = ""


@dataclass(frozen=True)
class Table:
    """A table with a caption; `numeric` columns are set flush right.

    Arguments:
        name: file name without its ending.
        title: its heading.
        caption: how to read it.
        header: one heading per column.
        rows: cells, as many per row as there are headings.
        notes: gaps and signs, below the table.
        folded: whether the page shows it only when asked to.
    """

    name: str
    title: str
    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    folded: bool = False

    def is_numeric(self, column: int) -> bool:
        """Whether a column holds numbers."""
        return any(row[column].value is not None for row in self.rows)


def text(value: object) -> Cell:
    """A cell of words."""
    return Cell(str(value))


def number(value: float, digits: int = 3, *, bold: bool = False, mark: str = "") -> Cell:
    """A cell with a number in a few significant digits; a gap where it is missing."""
    if value is None or not math.isfinite(value):
        return Cell("–", None, mark=mark)
    return Cell(readable(value, digits), value, bold, mark)


def fixed(value: float, decimals: int = 2, *, bold: bool = False, mark: str = "") -> Cell:
    """A cell with a fixed number of decimals."""
    if value is None or not math.isfinite(value):
        return Cell("–", None, mark=mark)
    return Cell(f"{value:.{decimals}f}".replace("-", "\u2212"), value, bold, mark)


def whole(value: float, *, mark: str = "") -> Cell:
    """A cell with a count; means over seeds are rounded."""
    if value is None or not math.isfinite(value):
        return Cell("–", None, mark=mark)
    return Cell(f"{value:,.0f}", value, mark=mark)


def times(value: float, mark: str = "") -> Cell:
    """A cell with a factor."""
    cell = number(value, 3, mark=mark)
    return cell if cell.value is None else Cell(cell.text + "×", value, mark=mark)


def readable(value: float, digits: int = 3) -> str:
    """A number with `digits` significant digits, thousands separated, no needless exponent."""
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if size < -4 or size > 8:
        mantissa = round(value / 10.0**size, digits - 1)
        return f"{mantissa:g}e{size}"
    rounded = round(value, digits - 1 - size)
    return f"{rounded:,.{max(digits - 1 - size, 0)}f}"


def write(table: Table, folder: Path) -> None:
    """Write `<name>.csv`, `<name>.tex` and `<name>.html`."""
    folder.mkdir(parents=True, exist_ok=True)
    for kind, content in (
        ("csv", to_csv(table)),
        ("tex", to_latex(table)),
        ("html", to_html(table)),
    ):
        (folder / f"{table.name}.{kind}").write_text(content, encoding="utf-8")


def to_csv(table: Table) -> str:
    """Plain values, full precision; an empty field is a gap."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(table.header)
    for row in table.rows:
        writer.writerow([_plain(cell) for cell in row])
    return out.getvalue()


def _plain(cell: Cell) -> str:
    if cell.value is not None:
        return f"{cell.value:.10g}"
    return "" if cell.text == "–" else cell.text


def to_latex(table: Table) -> str:
    """A booktabs table, as one pastes it into a paper."""
    columns = "".join("r" if table.is_numeric(k) else "l" for k in range(len(table.header)))
    lines = [
        "% needs \\usepackage{booktabs}",
        "\\begin{table}",
        "\\centering",
        f"\\caption{{{_tex(table.title)}. {_tex(table.caption)}}}",
        f"\\label{{tab:{table.name.replace('_', '-')}}}",
        f"\\begin{{tabular}}{{{columns}}}",
        "\\toprule",
        " & ".join(_tex(name) for name in table.header) + r" \\",
        "\\midrule",
        *(" & ".join(_tex_cell(cell) for cell in row) + r" \\" for row in table.rows),
        "\\bottomrule",
        "\\end{tabular}",
        *(f"\n\\smallskip\\footnotesize {_tex(note)}" for note in table.notes),
        "\\end{table}",
    ]
    return "\n".join(lines) + "\n"


SIGNS = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "_": r"\_",
    "$": r"\$",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"$<$",
    ">": r"$>$",
    "|": r"$|$",
    "×": r"$\times$",
    "†": r"$^\dagger$",
    "‡": r"$^\ddagger$",
    "*": r"$^{*}$",
    "\u2212": r"$-$",
    "–": "--",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "τ": r"$\tau$",
    "·": r"$\cdot$",
}


def _tex(words: str) -> str:
    return "".join(SIGNS.get(sign, sign) for sign in words)


def _tex_cell(cell: Cell) -> str:
    body = _tex(cell.text)
    return (f"\\textbf{{{body}}}" if cell.bold else body) + _tex(cell.mark)


def to_html(table: Table, *, sortable: bool = False) -> str:
    """A table element; sortable ones carry the plain value of each cell."""
    right = [table.is_numeric(k) for k in range(len(table.header))]
    kind = ' class="sortable"' if sortable else ""
    head = "".join(_th(name, is_right) for name, is_right in zip(table.header, right, strict=True))
    body = "\n".join(
        "<tr>" + "".join(_td(cell, r) for cell, r in zip(row, right, strict=True)) + "</tr>"
        for row in table.rows
    )
    return (
        f'<table id="{table.name}"{kind}>\n<thead><tr>{head}</tr></thead>\n'
        f"<tbody>\n{body}\n</tbody>\n</table>"
    )


def _th(name: str, right: bool) -> str:
    return f'<th scope="col"{_align(right)}>{html.escape(name)}</th>'


def _td(cell: Cell, right: bool) -> str:
    body = html.escape(cell.text)
    body = f"<b>{body}</b>" if cell.bold else body
    mark = f"<sup>{html.escape(cell.mark)}</sup>" if cell.mark else ""
    value = f' data-value="{cell.value:.10g}"' if cell.value is not None else ""
    return f"<td{_align(right)}{value}>{body}{mark}</td>"


def _align(right: bool) -> str:
    return ' class="n"' if right else ""
