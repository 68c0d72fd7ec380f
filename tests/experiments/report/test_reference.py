import csv
import io
from pathlib import Path

import pandas as pd

from experiments.records.rows import Store
from experiments.report.bench_curves import read_bench
from experiments.report.claims.ledger import claims_table, families_table
from experiments.report.freeze import as_kept, freeze
from experiments.report.page.build import judge
from experiments.report.rows import load_rows
from experiments.report.tables.writing import to_csv
from tests.experiments.report import fake

REFERENCE = Path(__file__).resolve().parents[3] / "results" / "reference"


def judged(file, paper):
    rows = load_rows(file.parent, file)
    return judge(rows, paper, read_bench(file.parents[1]))


def ledger(file, paper):
    return to_csv(claims_table(judged(file, paper)))


def lines(text):
    return list(csv.reader(io.StringIO(text)))


def test_the_committed_verdicts_follow_from_the_committed_rows(paper):
    entries = judged(REFERENCE / "rows", paper)
    for table in (claims_table(entries), families_table(entries)):
        committed = (REFERENCE / f"{table.name}.csv").read_text(encoding="utf-8")
        assert lines(to_csv(table)) == lines(committed)


def test_frozen_rows_give_the_same_ledger(tmp_path, paper):
    for row in [*fake.study(seeds=(0, 1)), *fake.thresholds()]:
        Store.of(tmp_path, row.experiment).write(row)
    rows = as_kept(load_rows(tmp_path))
    folder = freeze(rows, judge(rows, paper), tmp_path)
    kept = (folder / "claims.csv").read_text(encoding="utf-8")
    assert lines(ledger(folder / "rows", paper)) == lines(kept)
    changed = load_rows(tmp_path, folder / "rows")
    changed.table.loc[changed.table["model"] == "fspn", "kl_mean"] *= 1000
    assert to_csv(claims_table(judge(changed, paper))) != kept


def test_per_query_values_are_kept_with_them(tmp_path, paper):
    queries = pd.DataFrame({"query": ["x0 x1"], "kl": [0.123456789]})
    Store.of(tmp_path, "reproduce").write(fake.row(), queries)
    rows = as_kept(load_rows(tmp_path))
    folder = freeze(rows, judge(rows, paper), tmp_path)
    kept = pd.read_csv(folder / "queries.csv")
    assert kept["kl"].tolist() == [0.123457]
    assert kept["fingerprint"].tolist() == [fake.row().fingerprint]
    assert load_rows(tmp_path, folder / "rows").queries["model"].tolist() == ["fspn"]
