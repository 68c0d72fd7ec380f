import json
import math

from experiments.report.claims.ledger import Evidence, Verdict
from experiments.report.claims.propositions import Checks
from experiments.report.claims.statements import CLAIMS
from experiments.report.numbers import Numbers
from experiments.report.tables.loglik import LogLikelihoods
from experiments.report.tables.plugins import RECIPE, plugins_table, standing, variant_of, verdict
from tests.experiments.report import fake


def row(level, kl, **params):
    text = json.dumps({"split": "greedy", "multi_leaf": "auto", "n_clusters": 2} | params)
    name = variant_of(text)
    return fake.row(
        "fspn_paper", level, experiment="plugins", label=f"{level}/{name}", kl_mean=kl, params=text
    )


def test_variants_are_named_by_what_they_change():
    assert variant_of(json.dumps({"split": "greedy", "oracle": None})) == RECIPE
    assert variant_of(json.dumps({"oracle": "corrected", "n_clusters": 3})) == (
        "oracle=corrected, n_clusters=3"
    )


def test_the_verdict_counts_the_datasets():
    rows = [row("21", 0.5), row("21", 0.4, split="kmeans_grid"), row("95", 0.1)]
    rows += [row("95", 0.2, split="kmeans_grid"), row("07", 0.1)]
    rows += [row("07", 0.1005, split="kmeans_grid")]
    table = plugins_table(fake.frame(rows))
    assert "holds in part" in table.notes[0]
    assert "1 of the 2 datasets" in table.notes[0], "where all are equal nothing is won"
    recipe, grid = table.rows
    assert recipe[0].text == RECIPE
    assert [cell.bold for cell in recipe[1::3]] == [True, False, True]
    assert [cell.bold for cell in grid[1::3]] == [True, True, False], "0.5% is a tie"


def test_a_multi_leaf_is_no_plug_in_of_the_appendix():
    rows = [row("21", 0.5), row("21", 0.1, multi_leaf="tree")]
    assert standing(fake.frame(rows)) is None
    rows += [row("21", 0.6, split="kmeans_grid"), row("21", 0.5, n_clusters=3)]
    found = standing(fake.frame(rows))
    assert (found.wins, found.datasets) == (1, 1)
    assert found.idle == ("n_clusters",)


def test_plug_ins_that_change_nothing_judge_nothing():
    rows = fake.frame([row("07", 0.1), row("07", 0.1, split="kmeans_grid")])
    assert "cannot be judged" in verdict(rows)


def test_without_variants_nothing_is_judged():
    assert "cannot be judged" in plugins_table(fake.frame([row("21", 0.5)])).notes[0]
    failed = fake.row("fspn_paper", "21", experiment="plugins", status="failed", kl_mean=math.nan)
    assert "cannot be judged" in verdict(fake.frame([failed]))


def test_the_ledger_has_the_verdict():
    grid = {"21": 0.4, "95": 0.2}
    rows = [row(level, kl, split="kmeans_grid") for level, kl in grid.items()]
    rows = fake.frame([*rows, row("21", 0.5), row("95", 0.1)])
    claim = next(claim for claim in CLAIMS if claim.id == "plug-ins")
    numbers, table1 = Numbers({}, {}), LogLikelihoods({}, {})
    checks = Checks(plugins=standing(rows))
    judged = claim.test(Evidence(numbers, "fspn_paper", table1, None, checks))
    assert judged.verdict is Verdict.IN_PART
    assert "lowest mean KL on 1 of the 2 datasets" in judged.numbers
    untested = claim.test(Evidence(numbers, "fspn", table1, None, Checks()))
    assert untested.verdict is Verdict.NOT_TESTED
