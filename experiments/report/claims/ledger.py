"""The ledger: what the paper says, what tests it, and whether it holds.

Every claim is judged by the paper's own published numbers and by ours; a verdict is always the
result of a function of the numbers, never typed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum

import pandas as pd

from experiments.report.claims.propositions import Checks
from experiments.report.figures.scaling import PowerFit
from experiments.report.names import LEVELS, label
from experiments.report.numbers import Numbers
from experiments.report.tables.loglik import LogLikelihoods
from experiments.report.tables.writing import Cell, Table, text

ONE_DRAW = "one draw of each dataset"
"""The gap of numbers that may be otherwise on another draw."""


class Verdict(Enum):
    """How a claim stands against the numbers."""

    HOLDS = "holds"
    IN_PART = "holds in part"
    FAILS = "does not hold"
    NOT_TESTED = "no evidence yet"


@dataclass(frozen=True)
class Finding:
    """What one set of numbers says about a claim.

    Arguments:
        verdict: computed by the claim's test.
        numbers: the figures that it rests on, in words.
        gaps: what the claim speaks of and the numbers do not have.
        other_code: the number of rows behind it that other code than the present one recorded.
    """

    verdict: Verdict
    numbers: str
    gaps: tuple[str, ...] = ()
    other_code: int = 0

    @property
    def reservations(self) -> tuple[str, ...]:
        """The gaps, and how many rows are of other code."""
        rows = f"of other code: {self.other_code} row{'s' * (self.other_code > 1)}"
        return (*self.gaps, *([rows] if self.other_code else []))

    @property
    def words(self) -> str:
        """The verdict, qualified where part of what the claim speaks of was not measured."""
        if self.verdict is Verdict.NOT_TESTED:
            return self.verdict.value
        unmeasured = ", as far as tested" if set(self.gaps) - {ONE_DRAW} else ""
        return self.verdict.value + unmeasured + (", on one draw" if ONE_DRAW in self.gaps else "")


@dataclass(frozen=True)
class Evidence:
    """One set of numbers: the paper's, or ours with one of the two learners as FSPN.

    Arguments:
        numbers: of the synthetic study.
        subject: the model that is called FSPN in it.
        table1: test log-likelihoods of that model beside the published ones.
        scaling: query time over node count of that model, per source of points a fit to all and
            one to large models.
        checks: results of the checks of Propositions 1 and 3.
        rows: all recorded rows, of every study; none for the paper.
        main: those behind `numbers`.
        instead: measures that statements are judged by in place of their own.
    """

    numbers: Numbers
    subject: str
    table1: LogLikelihoods
    scaling: tuple[PowerFit, ...]
    checks: Checks
    rows: pd.DataFrame = field(default_factory=pd.DataFrame)
    main: pd.DataFrame = field(default_factory=pd.DataFrame)
    instead: Mapping[str, str] = field(default_factory=dict)

    def of(self, experiment: str) -> pd.DataFrame:
        """The finished rows of an experiment."""
        if self.rows.empty:
            return self.rows
        return self.rows[(self.rows["experiment"] == experiment) & (self.rows["status"] == "ok")]

    @property
    def levels(self) -> tuple[float, ...]:
        """The levels that a statement about every dataset speaks of."""
        return tuple(self.numbers.levels) if self.numbers.names else LEVELS

    def measured_by(self, measure: str) -> str:
        """What a statement about `measure` is judged by: a latency by models in one engine.

        Where no such time of FSPN is there, as in the paper, by each model's own program.
        """
        if measure in self.instead:
            return self.instead[measure]
        timed = any((x, self.subject, "engine") in self.numbers.cells for x in self.numbers.levels)
        return "engine" if measure == "latency" and timed else measure


Test = Callable[[Evidence], Finding]


@dataclass(frozen=True)
class Claim:
    """A checkable statement of the paper.

    Arguments:
        id: short and stable.
        claim: in our own words.
        place: where the paper says it.
        measurement: what tests it, and by which rule.
        test: numbers to finding.
        figure: the figure or table, or else the rows, that show its evidence; a path below
            `results`.
        families: further families of datasets that it is judged on.
    """

    id: str
    claim: str
    place: str
    measurement: str
    test: Test
    figure: str
    families: tuple[str, ...] = ()

    @property
    def anchor(self) -> str:
        """Where the page shows `figure`."""
        folder, _, name = self.figure.rpartition("/")
        return name.partition(".")[0] if folder in ("figures", "tables") else "all-runs"


@dataclass(frozen=True)
class Elsewhere:
    """What a further family of datasets says about a claim, with one of the two learners."""

    family: str
    subject: str
    finding: Finding


@dataclass(frozen=True)
class Entry:
    """A claim with what each set of numbers says about it."""

    claim: Claim
    paper: Finding
    fspn: Finding
    fspn_paper: Finding
    elsewhere: tuple[Elsewhere, ...] = ()


Further = Mapping[tuple[str, str], Evidence]
"""Numbers of further families, by family and learner."""


def ledger(
    claims: Iterable[Claim],
    paper: Evidence,
    fspn: Evidence,
    fspn_paper: Evidence,
    further: Further,
) -> tuple[Entry, ...]:
    """Test every claim on the three sets of numbers, and on the families that it speaks of."""
    return tuple(
        Entry(c, c.test(paper), c.test(fspn), c.test(fspn_paper), _elsewhere(c, further))
        for c in claims
    )


def _elsewhere(claim: Claim, further: Further) -> tuple[Elsewhere, ...]:
    """The findings on further families, of those that have rows."""
    found = (
        Elsewhere(family, subject, claim.test(evidence))
        for (family, subject), evidence in further.items()
        if family in claim.families
    )
    return tuple(one for one in found if one.finding.verdict is not Verdict.NOT_TESTED)


def claims_table(entries: Iterable[Entry]) -> Table:
    """The ledger as a table."""
    rows = tuple(
        (
            text(entry.claim.id),
            text(entry.claim.claim),
            text(entry.claim.place),
            text(entry.claim.measurement),
            text(entry.claim.figure),
            *_cells(entry.paper),
            *_cells(entry.fspn),
            *_cells(entry.fspn_paper),
        )
        for entry in entries
    )
    judges = ("paper's own numbers", "FSPN here", "paper's recipe here")
    judged = [f"{who}: {what}" for who in judges for what in ("verdict", "numbers")]
    header = ("id", "claim", "place", "measurement", "figure", *judged)
    caption = "Every verdict is computed from the rows and from the paper's published numbers."
    return Table("claims", "Claims of the paper", caption, header, rows)


def families_table(entries: Iterable[Entry]) -> Table:
    """The verdicts on further families, a line per claim, family and learner that has rows."""
    rows = tuple(
        (
            text(entry.claim.id),
            text(entry.claim.claim),
            text(one.family),
            text(label(one.subject)),
            *_cells(one.finding),
        )
        for entry in entries
        for one in entry.elsewhere
    )
    caption = "The claims by the same rules on further families of datasets, where rows exist."
    header = ("id", "claim", "family", "model", "verdict", "numbers")
    return Table("claims_families", "Claims on further families", caption, header, rows)


def _cells(finding: Finding) -> tuple[Cell, Cell]:
    gaps = f" (gap: {'; '.join(finding.reservations)})" if finding.reservations else ""
    return text(finding.words), text(finding.numbers + gaps)
