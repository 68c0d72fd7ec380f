"""Reading Bayesian networks from BIF, the interchange format of the public network collections."""

from __future__ import annotations

import gzip
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import NoReturn

import numpy as np

from fspn.convert.tables import BayesNet

TOKEN = re.compile(r'"(?P<quoted>[^"]*)"|(?P<sign>[{}()\[\],;|])|(?P<word>[^\s{}()\[\],;|"]+)')
COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


class BifError(ValueError):
    """A text that is not a BIF network; the message names the line."""


def read_bif(path: str | os.PathLike[str]) -> BayesNet:
    """A network from a BIF file (``.bif``, or compressed: ``.bif.gz``)."""
    content = Path(path).read_bytes()
    if content.startswith(b"\x1f\x8b"):
        content = gzip.decompress(content)
    try:
        return parse_bif(content.decode("utf-8"))
    except (BifError, UnicodeDecodeError) as error:
        raise BifError(f"{path}: {error}") from error


def parse_bif(text: str) -> BayesNet:
    """A network from the text of a BIF file."""
    return _Parser(text).network()


@dataclass
class _Table:
    """One ``probability`` entry: the variables, and the numbers that the text gives."""

    line: int
    child: str
    parents: list[str]
    whole: list[float] | None = None
    default: list[float] | None = None
    rows: dict[tuple[str, ...], list[float]] = field(default_factory=dict)


class _Parser:
    def __init__(self, text: str):
        blank = COMMENT.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
        self._tokens = list(_tokens(blank))
        self._place = 0
        self._values: dict[str, tuple[str, ...]] = {}
        self._tables: dict[str, _Table] = {}

    def network(self) -> BayesNet:
        while self._place < len(self._tokens):
            keyword = self._next()
            if keyword == "network":
                self._skip_block()
            elif keyword == "variable":
                self._variable()
            elif keyword == "probability":
                self._probability()
            else:
                self._fail(f"expected network, variable or probability, found {keyword!r}")
        return self._assemble()

    def _line(self) -> int:
        place = min(max(self._place - 1, 0), len(self._tokens) - 1)
        return self._tokens[place][0] if self._tokens else 1

    def _fail(self, message: str, line: int | None = None) -> NoReturn:
        raise BifError(f"line {self._line() if line is None else line}: {message}")

    def _next(self) -> str:
        if self._place == len(self._tokens):
            self._fail("the text ends too early")
        self._place += 1
        return self._tokens[self._place - 1][1]

    def _expect(self, sign: str) -> None:
        found = self._next()
        if found != sign:
            self._fail(f"expected {sign!r}, found {found!r}")

    def _until(self, end: str) -> list[str]:
        """The words up to a punctuation mark, which is consumed; commas are skipped."""
        words = []
        while (word := self._next()) != end:
            if word != ",":
                words.append(word)
        return words

    def _skip_block(self) -> None:
        self._until("{")
        depth = 1
        while depth:
            depth += {"{": 1, "}": -1}.get(self._next(), 0)

    def _variable(self) -> None:
        name = self._next()
        if name in self._values:
            self._fail(f"the variable {name!r} is declared twice")
        self._expect("{")
        while (word := self._next()) != "}":
            if word == "type":
                self._values[name] = self._type(name)
            elif word == "property":
                self._until(";")
            else:
                self._fail(f"unexpected {word!r} in the variable {name!r}")
        if name not in self._values:
            self._fail(f"the variable {name!r} has no type")

    def _type(self, name: str) -> tuple[str, ...]:
        kind = self._next()
        if kind != "discrete":
            self._fail(f"the variable {name!r} is {kind}; only discrete ones are read")
        self._expect("[")
        size = self._until("]")
        self._expect("{")
        values = self._until("}")
        self._expect(";")
        if size != [str(len(values))]:
            self._fail(f"the variable {name!r} states {' '.join(size)} values, has {len(values)}")
        return tuple(values)

    def _probability(self) -> None:
        line = self._line()
        self._expect("(")
        words = self._until(")")
        child, *parents = [word for word in words if word != "|"] or [""]
        if child in self._tables:
            self._fail(f"a second table of {child!r}")
        table = self._tables[child] = _Table(line, child, parents)
        self._expect("{")
        while (word := self._next()) != "}":
            if word == "(":
                row = tuple(self._until(")"))
                table.rows[row] = self._numbers()
            elif word == "table":
                table.whole = self._numbers()
            elif word == "default":
                table.default = self._numbers()
            elif word == "property":
                self._until(";")
            else:
                self._fail(f"unexpected {word!r} in the table of {child!r}")

    def _numbers(self) -> list[float]:
        numbers = []
        for word in self._until(";"):
            try:
                numbers.append(float(word))
            except ValueError:
                self._fail(f"{word!r} is not a number")
        return numbers

    def _assemble(self) -> BayesNet:
        names = tuple(self._values)
        index = {name: i for i, name in enumerate(names)}
        if not names:
            self._fail("no variable")
        for name in names:
            if name not in self._tables:
                self._fail(f"the variable {name!r} has no table")
        for table in self._tables.values():
            unknown = [v for v in (table.child, *table.parents) if v not in index]
            if unknown:
                self._fail(f"the table of {table.child!r} names unknown {unknown}", table.line)
        parents = tuple(tuple(index[p] for p in self._tables[name].parents) for name in names)
        cpts = tuple(self._dense(self._tables[name]) for name in names)
        return BayesNet(names, tuple(self._values.values()), parents, cpts)

    def _dense(self, table: _Table) -> np.ndarray:
        sizes = [len(self._values[p]) for p in table.parents]
        size = len(self._values[table.child])
        if table.whole is not None:
            if len(table.whole) != size * int(np.prod(sizes)):
                self._fail(
                    f"the table of {table.child!r} has {len(table.whole)} numbers", table.line
                )
            # In a whole table the child's value changes slowest.
            return np.moveaxis(np.array(table.whole).reshape(size, *sizes), 0, -1)
        rows = [self._row(table, key) for key in product(*(self._values[p] for p in table.parents))]
        if len(table.rows) > len(rows):
            self._fail(f"the table of {table.child!r} has rows of unknown values", table.line)
        return np.array(rows).reshape(*sizes, size)

    def _row(self, table: _Table, key: tuple[str, ...]) -> list[float]:
        row = table.rows.get(key, table.default)
        if row is None:
            self._fail(f"the table of {table.child!r} lacks the row {key}", table.line)
        if len(row) != len(self._values[table.child]):
            self._fail(f"the row {key} of {table.child!r} has the wrong length", table.line)
        return row


def _tokens(text: str) -> Iterator[tuple[int, str]]:
    """Line numbers and words, without quotation marks."""
    line, last = 1, 0
    for match in TOKEN.finditer(text):
        line += text.count("\n", last, match.start())
        last = match.start()
        yield line, match[match.lastgroup or 0]
