import pytest

from experiments.report.figures import style
from experiments.report.page.build import judge
from experiments.report.paper import load_paper
from experiments.report.rows import Rows
from tests.experiments.report import fake


@pytest.fixture(scope="session")
def paper():
    return load_paper()


@pytest.fixture
def rows():
    """Rows from a list of invented ones."""

    def make(found, study="reproduce"):
        return Rows(fake.frame(found), study)

    return make


@pytest.fixture
def entries(rows, paper):
    """The ledger of invented rows, by claim."""

    def make(found):
        return {entry.claim.id: entry for entry in judge(rows(found), paper)}

    return make


@pytest.fixture
def svg_only(monkeypatch):
    """Figures without PDF and PNG, two thirds of the time: for tests that do not look at files."""
    monkeypatch.setattr(style, "METADATA", {"svg": style.METADATA["svg"]})
