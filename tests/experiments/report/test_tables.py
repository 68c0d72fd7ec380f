import csv
import io
import math

import pytest

from experiments.report.numbers import Numbers, ours
from experiments.report.tables.comparison import (
    best_ratios_table,
    kl_table,
    nodes_table,
    ratios_frame,
    ratios_table,
)
from experiments.report.tables.writing import (
    Table,
    fixed,
    number,
    readable,
    text,
    times,
    to_csv,
    to_html,
    to_latex,
    write,
)
from tests.experiments.report import fake

EMPTY = Numbers({}, {})


def small():
    rows = ((text("a_b & <c>"), number(1234.5), fixed(-2.5, bold=True, mark="*")),)
    gap = ((text("gap"), number(math.nan), times(3.0)),)
    return Table("t", "Title", "100% caption", ("name", "x", "y"), rows + gap, ("see τ",))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (0, "0"),
        (0.000152, "0.000152"),
        (0.0000152, "1.52e-5"),
        (12.345, "12.3"),
        (1713.6, "1,710"),
        (9.999, "10.00"),
        (-0.5, "-0.500"),
    ],
)
def test_numbers_are_readable(value, words):
    assert readable(value) == words


def test_csv_holds_plain_values():
    lines = list(csv.reader(io.StringIO(to_csv(small()))))
    assert lines == [["name", "x", "y"], ["a_b & <c>", "1234.5", "-2.5"], ["gap", "", "3"]]


def test_latex_is_booktabs_and_escaped():
    tex = to_latex(small())
    assert r"\toprule" in tex
    assert r"\begin{tabular}{lrr}" in tex
    assert r"a\_b \& $<$c$>$ & 1,230 & \textbf{$-$2.50}$^{*}$ \\" in tex
    assert r"100\% caption" in tex


def test_html_is_escaped_and_carries_values():
    page = to_html(small(), sortable=True)
    assert "a_b &amp; &lt;c&gt;" in page
    assert '<td class="n" data-value="-2.5"><b>\u22122.50</b><sup>*</sup></td>' in page
    assert 'class="sortable"' in page


def test_a_table_is_written_three_ways(tmp_path):
    write(small(), tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"t.csv", "t.tex", "t.html"}


def column(table, name):
    k = table.header.index(name)
    return {tuple(cell.text for cell in row[:2]): row[k].value for row in table.rows}


def test_the_ratios_by_hand(paper):
    rows = [
        fake.row("fspn", "95", kl_mean=0.002, latency_single_ms=0.5, latency_batch_ms=0.1),
        fake.row("mspn", "95", kl_mean=0.03, latency_single_ms=10.0, latency_batch_ms=7.0),
    ]
    table = ratios_table(ours(fake.frame(rows)), paper.numbers, "fspn")
    at = ("0.95", "MSPN")
    assert column(table, "KL")[at] == pytest.approx(15.0)
    assert column(table, "latency")[at] == pytest.approx(20.0)
    assert column(table, "latency, batched")[at] == pytest.approx(70.0)
    assert column(table, "KL, paper")[at] == pytest.approx(0.1325 / 0.00092)
    assert column(table, "latency, paper")[at] == pytest.approx(53.35 / 0.55)
    assert column(table, "KL")[("0.95", "SPGM")] is None
    assert column(table, "KL")[("0.21", "MSPN")] is None


def test_times_of_different_node_types_are_not_compared_without_a_mark(paper):
    rows = [
        fake.row("fspn", "95", node_type="A, 64 cores"),
        fake.row("mspn", "95", node_type="B, 8 cores"),
        fake.row("bn_tree", "95", node_type="A, 64 cores"),
    ]
    numbers = ours(fake.frame(rows))
    for table in (f(numbers, paper.numbers, "fspn") for f in (ratios_table, best_ratios_table)):
        marks = {
            (row[table.header.index("against")].text, name)
            for row in table.rows
            for k, name in enumerate(table.header)
            if row[k].mark
        }
        times_of = {"latency", "latency, batched", "training"}
        assert marks == {("MSPN", name) for name in times_of}
        assert any("node types" in note for note in table.notes)
    same = ours(fake.frame(rows[::2]))
    assert not any("node types" in n for n in ratios_table(same, paper.numbers, "fspn").notes)


def test_the_papers_quoted_maxima(paper):
    table = best_ratios_table(EMPTY, paper.numbers, "fspn")
    found = {row[0].text: [cell.value for cell in row] for row in table.rows}
    quoted = {
        ("MSPN", "KL"): 144,
        ("BN-Tree", "KL"): 82,
        ("BN-DAG", "latency"): 680,
        ("SPN-BTB", "latency"): 261,
        ("BN-Tree", "latency"): 206,
        ("MSPN", "size"): 27,
        ("SPN-BTB", "size"): 116,
        ("MSPN", "nodes"): 126,
        ("SPN-BTB", "nodes"): 73,
        ("SPGM", "nodes"): 17,
    }
    for (model, measure), factor in quoted.items():
        value = found[model][table.header.index(f"{measure}, paper")]
        assert value == pytest.approx(factor, abs=1.0), (model, measure)


def test_the_long_form_says_the_same_as_the_table(paper):
    numbers = ours(fake.frame(fake.study(seeds=(0, 1))))
    long = ratios_frame(numbers, paper.numbers, "fspn").set_index(["rdc", "against", "measure"])
    table = ratios_table(numbers, paper.numbers, "fspn")
    assert long.loc[(0.65, "bn_dag", "size"), "ratio"] == pytest.approx(
        column(table, "size")[("0.65", "BN-DAG")]
    )


def test_node_counts_stand_beside_the_papers(paper):
    numbers = ours(fake.frame([fake.row("fspn", "95", n_nodes=44.0)]))
    table = nodes_table(numbers, paper.numbers)
    last = dict(zip(table.header, table.rows[-1], strict=True))
    assert last["FSPN"].value == 44
    assert last["FSPN, paper"].value == 33
    assert last["SPN-BTB"].text == "–"
    assert "MSPN: no rows in this study" in table.notes


def test_the_lowest_kl_of_a_learned_model_is_bold():
    rows = fake.frame(
        [
            fake.row("true_dag", kl_mean=0.1),
            fake.row("fspn", kl_mean=0.2),
            fake.row("mspn", kl_mean=0.3),
        ]
    )
    bold = {row[1].text for row in kl_table(rows).rows if row[3].bold}
    assert bold == {"FSPN"}
