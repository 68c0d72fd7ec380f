"""The recorded rows that a report is drawn from, and which study they belong to."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from experiments.records.fingerprint import code_version
from experiments.records.reference import FOLDER, RowsError, committed, read_rows
from experiments.records.rows import collect, collect_queries, without_variants
from experiments.report.job_queries import STUDIES, Kls, as_queries, kl_by_job
from experiments.report.names import LAWS, LEVELLESS
from experiments.report.numbers import Numbers, ours
from experiments.study.plan import conf_dir

# Studies that can be the main one; `reproduce` first, as all its jobs are measured in one go.
MAIN_STUDIES = ("reproduce", "smoke", "single")
# The same models on more draws of the same datasets: what is no time is taken from there.
DRAWS = "draws"
MANY_DRAWS = MAIN_STUDIES[0]
UNTIMED = (
    *("kl_mean", "kl_median", "kl_p95", "kl_max", "kl_se", "kl_sampling_se", "kl_floored"),
    *("size_bytes", "n_nodes", "compiled_bytes", "test_ll", "test_ll_se"),
)
TIMED = ("latency_single_ms", "engine_ms", "latency_batch_ms", "engine_batch_ms", "train_seconds")
# Studies that add a section of their own and never are the main one.
SUPPLEMENTS = frozenset(
    {"thresholds", "plugins", "smooth", "nodes", "table1", "propositions", "tables"}
    | {"costs", "hidden", "dense", "context", "node_kinds", "query_cost"}
)
CHECKS = frozenset({"costs", "propositions"})
"""Studies of what the paper proves or says of costs, with models of their own making."""
OWN_STUDIES = ("smooth", "hidden", "dense", "context")
"""Families of datasets with a study of their own."""
TABLES_OF_USERS = frozenset({"csv", "table"})
"""Families of tables that the paper says nothing of: any file that somebody has."""
COMPARED = frozenset({*MAIN_STUDIES, DRAWS, *OWN_STUDIES})
"""Studies in which models compete, so that FSPN with and without laws are two models."""
JOB = ["experiment", "dataset", "model", "seed"]
DRAW = JOB[1:]


@dataclass(frozen=True)
class Rows:
    """Rows with three more columns: `source`, `other_code` and `other_node`.

    Arguments:
        table: the columns of `ResultRow`, `source` (where a row came from), `other_code` (whether
            by other code than here), `other_node` (whether on another node type than most rows
            of its study, so that its times do not compare with theirs).
        study: the experiment that the figures and the claims are about.
        queries: values of single queries of the main study, of the rows that have them.
        kls: the KL of single queries of studies that keep no more than that.
    """

    table: pd.DataFrame
    study: str
    queries: pd.DataFrame = field(default_factory=pd.DataFrame)
    kls: Kls = field(default_factory=dict)
    _numbers: dict[str, Numbers] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def main(self, family: str) -> pd.DataFrame:
        """The rows of one family of datasets in the main study.

        A family that the main study leaves out is taken from the study of its own name. Further
        draws of the same datasets are added, without their times.
        """
        of_family = self.table[self.table["family"] == family]
        for study in (self.study, family):
            found = without_variants(of_family[of_family["experiment"] == study])
            if len(found):
                return with_draws(found, self._drawn(family, study))
        return of_family.iloc[:0]

    def at_other_settings(self, family: str) -> pd.DataFrame:
        """The draws that `main` leaves out, since the settings were chosen anew after them."""
        main = self.main(family)
        drawn = self._drawn(family, self.study)
        return drawn[at_other_settings(main[main["experiment"] != DRAWS], drawn)]

    def further_draws(self) -> pd.DataFrame:
        """The draws of families with a study of their own, at the settings of its first one."""
        found = []
        for family in OWN_STUDIES:
            main = without_variants(self.of(family))
            drawn = self._drawn(family, family)
            found.append(drawn[~at_other_settings(main, drawn)])
        return pd.concat(found, ignore_index=True)

    def numbers(self, family: str) -> Numbers:
        """The numbers of `main` with their queries, computed once."""
        if family not in self._numbers:
            rows = self.main(family)
            queries, levelless = self.queries_of(rows), family in LEVELLESS
            self._numbers[family] = ours(rows, queries, levelless=levelless)
        return self._numbers[family]

    def _drawn(self, family: str, study: str) -> pd.DataFrame:
        """Further draws of a family; of the main study's datasets or of the family's own."""
        table = self.table
        if study not in (MANY_DRAWS, family):
            return table.iloc[:0]
        return without_variants(table[(table["family"] == family) & (table["experiment"] == DRAWS)])

    def queries_of(self, rows: pd.DataFrame) -> pd.DataFrame | None:
        """The queries of rows of `main`; None where there are none."""
        own = _of_jobs(self.queries, rows)
        here = set(own["fingerprint"]) if len(own) else set()
        rest = rows[~rows["fingerprint"].isin(here)]
        found = pd.concat([own, as_queries(rest, self.kls)], ignore_index=True)
        return found if len(found) else None

    @property
    def judged(self) -> pd.DataFrame:
        """The rows that may bear on a claim of the paper: all but those of a user's own tables."""
        return self.table[~self.table["family"].isin(TABLES_OF_USERS)]

    def of(self, experiment: str) -> pd.DataFrame:
        """The rows of another experiment."""
        return self.table[self.table["experiment"] == experiment]


def with_draws(main: pd.DataFrame, drawn: pd.DataFrame) -> pd.DataFrame:
    """The main study, and what is no time of the draws that it has not.

    Times are those of the main study alone, taken one by one on a quiet machine. Draws at other
    settings than the main study's are left out: settings are chosen once, on the first draw.
    """
    done = main[main["status"] != "failed"]
    known = set(done[DRAW].itertuples(index=False, name=None))
    new = [job not in known for job in drawn[DRAW].itertuples(index=False, name=None)]
    added = drawn[np.array(new, dtype=bool) & ~at_other_settings(main, drawn)]
    if added.empty:
        return main
    return pd.concat([main, added.assign(**dict.fromkeys(TIMED, np.nan))], ignore_index=True)


def at_other_settings(main: pd.DataFrame, drawn: pd.DataFrame) -> np.ndarray:
    """Which draws were learned at another setting than the main study chose on its first one."""
    who = ["dataset", "model"]
    first = main[(main["status"] != "failed") & (main["seed"] == main["seed"].min())]
    chosen = {
        tuple(job): params
        for *job, params in first[[*who, "params"]].itertuples(index=False, name=None)
    }
    found = drawn[[*who, "params"]].itertuples(index=False, name=None)
    same = [same_setting(chosen.get(tuple(job), params), params) for *job, params in found]
    return ~np.array(same, dtype=bool)


def same_setting(first: str, second: str) -> bool:
    """Whether two settings agree in the hyper-parameters that both name.

    >>> same_setting('{"alpha": 1, "prior": "flat"}', '{"alpha": 1}')
    True
    """
    one, two = (json.loads(params or "{}") for params in (first, second))
    return all(one[key] == two[key] for key in one.keys() & two.keys())


def on_shared_draws(rows: pd.DataFrame) -> pd.DataFrame:
    """The measures on the draws that most models of a dataset have, so that means compare.

    Times are taken on the draws that have times. A model without these draws has no value.
    """
    for columns, told in ((UNTIMED, "kl_mean"), (TIMED, "train_seconds")):
        shown = _is_shared(rows[rows[told].notna()])
        silent = ~shown.reindex(rows.index, fill_value=False)
        rows = rows.assign(**{name: rows[name].mask(silent) for name in columns})
    return rows


def _is_shared(rows: pd.DataFrame) -> pd.Series:
    """Which rows are of the draws that most models of their dataset have, if their model has all.

    Where some draws are common to all models, these are the ones.
    """
    models = rows.groupby(["dataset", "seed"])["model"].transform("nunique")
    chosen = models == models.groupby(rows["dataset"]).transform("max")
    own = rows[chosen].groupby(["dataset", "model"])["seed"].nunique()
    wanted = rows[chosen].groupby("dataset")["seed"].nunique()
    who = rows[["dataset", "model"]].itertuples(index=False, name=None)
    complete = [own.get((dataset, model), 0) == wanted.get(dataset) for dataset, model in who]
    return chosen & pd.Series(complete, rows.index, dtype=bool)


def load_rows(results_dir: Path, file: Path | None = None, study: str | None = None) -> Rows:
    """Read the rows of a results folder, or those that a file or folder of files holds.

    Without one, the rows under `runs/` count first; those under `reference/rows/` fill in the
    jobs that were not run here.
    """
    if file is None:
        table = _read_folder(results_dir)
    else:
        table = laws_apart(read_rows(file).assign(source=file.name))
    table = table.drop_duplicates(["experiment", "label"], keep="last")
    table["other_code"] = is_other_code(table)
    table = with_nodes(table)
    table = table.sort_values(["experiment", "dataset", "model", "seed"], kind="stable")
    main = _main_study(table, study)
    queries = _read_queries(results_dir, file, table[table["experiment"] == main])
    kept = table[table["experiment"].isin(STUDIES)]
    kls = kl_by_job(kept, results_dir, None if file is None else file.parent)
    return Rows(table.reset_index(drop=True), main, queries, kls)


def _read_queries(results_dir: Path, file: Path | None, rows: pd.DataFrame) -> pd.DataFrame:
    """The queries of the main study: those beside its rows, then those of the reference."""
    folder = results_dir / FOLDER if file is None else file.parent
    own = collect_queries(results_dir, rows[rows["source"] == "runs"])
    path = folder / "queries.csv"
    if not path.is_file():
        return own
    here = set(own["fingerprint"]) if len(own) else set()
    rest = rows[~rows["fingerprint"].isin(here)]
    return pd.concat([own, _of_jobs(pd.read_csv(path), rest)], ignore_index=True)


def _of_jobs(queries: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """The queries of the jobs of `rows`, under the names that these have."""
    if queries.empty:
        return queries
    values = queries.drop(columns=JOB, errors="ignore")
    return values.merge(rows[["fingerprint", *JOB]].drop_duplicates("fingerprint"))


def laws_apart(table: pd.DataFrame) -> pd.DataFrame:
    """Rows in which `fspn` was learned with integer-linear laws, as the model `fspn_laws`.

    The generator of the sparse family is such a law, so what is called FSPN has none.
    """
    mine = (table["model"] == "fspn") & table["experiment"].isin(COMPARED)
    laws = [bool(json.loads(params or "{}").get("offsets")) for params in table["params"]]
    found = mine & np.array(laws, dtype=bool)
    labels = table["label"].str.replace("/fspn/", f"/{LAWS}/", regex=False)
    return table.assign(
        model=table["model"].mask(found, LAWS), label=table["label"].mask(found, labels)
    )


def with_nodes(table: pd.DataFrame) -> pd.DataFrame:
    """The rows with their node types, and whether each is another than its study's usual one.

    Rows from before `node_type` was recorded name their processor and cores in `machine`.
    """
    old = table["machine"].map(lambda name: name.rpartition(",")[0])
    nodes = table["node_type"].where(table["node_type"] != "", old)
    usual = {name: found.mode().iloc[0] for name, found in nodes.groupby(table["experiment"])}
    return table.assign(node_type=nodes, other_node=nodes != table["experiment"].map(usual))


def _read_folder(results_dir: Path) -> pd.DataFrame:
    runs = laws_apart(collect(results_dir, latest=True).assign(source="runs"))
    reference = committed(results_dir)
    if reference is None:
        return runs
    kept = laws_apart(reference.assign(source="reference"))
    jobs = set(zip(runs["experiment"], runs["label"], strict=True))
    new = [key not in jobs for key in zip(kept["experiment"], kept["label"], strict=True)]
    return pd.concat([runs, kept[new]], ignore_index=True)


def _main_study(table: pd.DataFrame, wanted: str | None) -> str:
    present = set(table["experiment"])
    if wanted is not None and wanted not in present:
        known = ", ".join(sorted(present)) or "none"
        raise RowsError(f"no rows of experiment {wanted!r}; there are: {known}")
    if wanted is not None and wanted not in SUPPLEMENTS | {DRAWS}:
        return wanted
    others = sorted(present - SUPPLEMENTS - {DRAWS})
    return next((name for name in (*MAIN_STUDIES, *others) if name in present), "")


def is_other_code(table: pd.DataFrame) -> list[bool]:
    """Per row whether it was measured by code that differs from what is here now."""
    keys = ["experiment", "model", "family", "params", "code_version"]
    return [_is_other(*row) for row in table[keys].itertuples(index=False, name=None)]


def _is_other(experiment: str, model: str, family: str, params: str, version: str) -> bool:
    leaf = str(json.loads(params).get("multi_leaf", "")) if isinstance(params, str) else ""
    now = _current_version(experiment, model, family, leaf)
    return bool(now) and version != now


@cache
def _current_version(experiment: str, model: str, family: str, multi_leaf: str) -> str:
    """The version of a model's code; a study's own models are in a folder of its name.

    Checks have rows of models that no settings describe: they are of FSPN's code.
    """
    for folder in (conf_dir() / "model" / experiment, conf_dir() / "model"):
        path = folder / f"{model}.yaml"
        if path.is_file():
            target = yaml.safe_load(path.read_text(encoding="utf-8"))["_target_"]
            return code_version(target, family, multi_leaf)
    return _current_version("", "fspn", family, "") if experiment in CHECKS else ""
