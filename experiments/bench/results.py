"""A whole run, read from its records: what tables, verdicts and pictures are made from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Found = Mapping[str, Any]
PLAIN = (
    "start", "queries", "training", "limit", "stock", "tables", "completions", "wide", "threads",
)  # fmt: skip
"""Sections that are no curves."""


@dataclass(frozen=True)
class Results:
    """Records by section; a section that was not run is empty."""

    start: tuple[Found, ...] = ()
    queries: tuple[Found, ...] = ()
    training: tuple[Found, ...] = ()
    limit: tuple[Found, ...] = ()
    stock: tuple[Found, ...] = ()
    tables: tuple[Found, ...] = ()
    completions: tuple[Found, ...] = ()
    wide: tuple[Found, ...] = ()
    threads: tuple[Found, ...] = ()
    curves: Mapping[str, tuple[Found, ...]] | None = None

    @classmethod
    def of(cls, records: Iterable[Found]) -> Results:
        """The results of a run's records; points of one curve are put together."""
        plain: dict[str, list[Found]] = {k: [] for k in PLAIN}
        curves: dict[str, list[Found]] = {}
        for record in records:
            found = record["found"]
            if record["section"] in plain:
                plain[record["section"]].append(found)
            else:
                curves.setdefault(found["name"], []).extend(
                    {**point, "about": found["about"]} for point in found["points"]
                )
        points = {k: tuple(sorted(v, key=lambda p: p["x"])) for k, v in curves.items()}
        return cls(**{k: tuple(v) for k, v in plain.items()}, curves=points)

    def curve(self, name: str) -> tuple[Found, ...]:
        """The points of a curve in growing order; none if it was not measured."""
        return (self.curves or {}).get(name, ())


def time_of(part: Found, engine: str, batched: bool = False) -> Found | None:
    """An engine's times on one dataset."""
    for row in part["times"]:
        if row["engine"] == engine and row["batched"] == batched:
            return dict(row)
    return None


def learner_of(part: Found, learner: str) -> Found | None:
    """A learner's times on one dataset."""
    return next((row for row in part["times"] if row["learner"] == learner), None)
