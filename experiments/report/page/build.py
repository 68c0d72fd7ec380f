"""All parts of the report from the rows: figures and tables on disk, and the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pandas as pd

from experiments.records.rows import Store
from experiments.report.bench_curves import Fits, read_bench
from experiments.report.claims.ledger import (
    Entry,
    Evidence,
    claims_table,
    families_table,
    ledger,
)
from experiments.report.claims.propositions import EXPERIMENT, Checks, read_checks
from experiments.report.claims.statements import CLAIMS
from experiments.report.figures.benchmarks import figure_benchmarks
from experiments.report.figures.draws import figure_draws
from experiments.report.figures.node_kinds import figure_node_kinds
from experiments.report.figures.paper_figures import figure2, figure5, figure_batch
from experiments.report.figures.scaling import (
    figure_scaling,
    fit_published,
    fits_rows,
    shown_fits,
)
from experiments.report.figures.structures import structure_pictures
from experiments.report.figures.thresholds import EXPERIMENT as THRESHOLDS
from experiments.report.figures.thresholds import threshold_pictures
from experiments.report.names import FAMILIES, LEVELLESS, LEVELS, SUBJECTS, label
from experiments.report.numbers import ours
from experiments.report.page.page import Report, Section, render
from experiments.report.paper import Paper
from experiments.report.row_counts.__main__ import parts as row_count_parts
from experiments.report.row_counts.__main__ import read_kept
from experiments.report.rows import DRAWS, OWN_STUDIES, Rows, on_shared_draws
from experiments.report.tables import writing as tables
from experiments.report.tables.benchmark_pairs import benchmark_pairs_table
from experiments.report.tables.benchmarks import counts_table, differences_table, training_table
from experiments.report.tables.comparison import (
    best_ratios_table,
    kl_table,
    nodes_table,
    ratios_frame,
    ratios_table,
)
from experiments.report.tables.draws import draw_comparisons, draws_table, of_jobs, of_levels
from experiments.report.tables.families import family_tables
from experiments.report.tables.floor import floor_table
from experiments.report.tables.gaps import Gap, failed, left_out, study_gaps
from experiments.report.tables.latency import latency_table
from experiments.report.tables.loglik import (
    FAMILY,
    LogLikelihoods,
    benchmark_rows,
    by_rows,
    by_the_paper,
    models_of,
    table1,
)
from experiments.report.tables.node_kinds import EXPERIMENT as NODE_KINDS
from experiments.report.tables.node_kinds import node_kind_comparisons, node_kinds_table
from experiments.report.tables.pairs import pairs
from experiments.report.tables.plugins import EXPERIMENT as PLUGINS
from experiments.report.tables.plugins import plugins_table, standing
from experiments.report.tables.runs import environment, runs_table
from experiments.report.tables.writing import Table

PREFIXES = {"sparse": "rdc", "smooth": "smooth"}
WITH_SPLITS = "rdc_21"
"""Where the recipe has all kinds of nodes: it is drawn there."""


@dataclass(frozen=True)
class Sources:
    """What a report is made from, and where it goes."""

    rows: Rows
    paper: Paper
    results_dir: Path
    out: Path
    command: str

    @property
    def figures(self) -> Path:
        """The folder of pictures."""
        return self.out / "figures"


def build(sources: Sources) -> Report:
    """Draw and write everything under `sources.out`; the page is `index.html` there."""
    rows = sources.rows
    sections = [
        _study(sources, "sparse"),
        _draws(sources),
        _study(sources, "smooth"),
        _further(sources),
        _floor(sources),
        _scaling(sources),
        _table1(sources),
        _row_counts(sources),
        _node_kinds(sources),
        _thresholds(sources),
        _plugins(sources),
        _structures(sources),
    ]
    entries = judge(rows, sources.paper, read_bench(sources.results_dir))
    report = Report(
        rows.study,
        tuple(sections),
        entries,
        runs_table(rows.table),
        environment(rows.table, rows.study, sources.command),
        _gaps(sources, sections),
    )
    _write(report, sources)
    return report


def judge(rows: Rows, paper: Paper, bench: Fits | None = None) -> tuple[Entry, ...]:
    """The ledger: every claim by the paper's numbers and by ours.

    Arguments:
        rows: our numbers.
        paper: the published ones.
        bench: exponents of the recorded benchmark, by learner.
    """
    main, numbers = rows.main("sparse"), rows.numbers("sparse")
    benchmark = benchmark_rows(rows.table)
    published = Evidence(
        paper.numbers, "fspn", by_the_paper(paper), fit_published(paper.numbers), Checks()
    )
    default, literal = (
        Evidence(
            numbers,
            subject,
            by_rows(benchmark, subject, paper),
            (*fits_rows(rows, subject), *(bench or {}).get(subject, ())),
            _checks(rows.judged, subject),
            rows.judged,
            main,
        )
        for subject in SUBJECTS
    )
    return ledger(CLAIMS, published, default, literal, _further_evidence(rows))


def _further_evidence(rows: Rows) -> dict[tuple[str, str], Evidence]:
    """The numbers of every further family that a learner has rows of."""
    nothing = LogLikelihoods({}, {})
    found = {}
    for family in OWN_STUDIES:
        main = rows.main(family)
        for subject in (name for name in SUBJECTS if name in set(main["model"])):
            numbers = rows.numbers(family)
            found[family, subject] = Evidence(
                numbers, subject, nothing, (), Checks(), rows.judged, main
            )
    return found


def _checks(judged: pd.DataFrame, subject: str) -> Checks:
    """The recorded checks of a learner, and how it stands among its own variants."""
    checks = read_checks(judged[judged["experiment"] == EXPERIMENT], subject)
    variants = judged[(judged["experiment"] == PLUGINS) & (judged["model"] == subject)]
    return replace(checks, plugins=standing(variants))


def _study(sources: Sources, family: str) -> Section:
    """Figures 2 and 5, node counts, ratios and KL of one family of datasets."""
    rows = sources.rows.main(family)
    is_main = family == "sparse"
    title = "The synthetic study" if is_main else "A second family of datasets"
    if rows.empty and not is_main:
        gap = Gap(f"the {family} family", f"no rows of experiment={family}")
        return Section(f"study-{family}", title, "", gaps=(gap,))
    numbers = sources.rows.numbers(family)
    alike = on_shared_draws(rows)
    shown = ours(alike, sources.rows.queries_of(alike[alike["kl_mean"].notna()]))
    published = sources.paper.numbers
    suffix = "" if is_main else f"_{family}"
    draw = (figure2, figure5, figure_batch)
    intro = f"Datasets of {FAMILIES[family]}, at the paper's six levels of average RDC"
    return Section(
        f"study-{family}",
        title,
        f"{intro}; {len(rows)} rows of experiment {_experiments(rows)}. Where there are several "
        "draws of a dataset, figures show the ones that all models were learned on; ratios and "
        "verdicts are of all that both models have; times are of the first.",
        tuple(function(shown, published, sources.figures, suffix) for function in draw),
        (
            nodes_table(shown, published, suffix),
            *(best_ratios_table(numbers, published, s, suffix) for s in SUBJECTS),
            *(ratios_table(numbers, published, s, suffix) for s in SUBJECTS),
            latency_table(numbers, suffix),
            kl_table(rows, suffix),
        ),
        (
            *study_gaps(rows, family, PREFIXES[family]),
            *left_out(sources.rows.at_other_settings(family)),
        ),
    )


def _draws(sources: Sources) -> Section:
    """Several draws of each dataset: a figure of the sparse family, tables of all."""
    rows = sources.rows
    found = draw_comparisons(of_levels(rows.numbers("sparse")))
    others = draw_comparisons(of_jobs(rows.further_draws(), rows.kls))
    further = () if others.empty else (draws_table(others, "draws_families"),)
    title = "More than one draw"
    if found.empty:
        gap = Gap("several draws of each level", f"no rows with queries of experiment={DRAWS}")
        return Section("draws-section", title, "", tables=further, gaps=(gap,))
    intro = "One draw of a dataset may suit one model by chance: the same comparison on many."
    picture = figure_draws(found, sources.figures)
    return Section("draws-section", title, intro, (picture,), (draws_table(found), *further))


def _further(sources: Sources) -> Section:
    """The families that have no levels of dependence."""
    rows = {family: on_shared_draws(sources.rows.main(family)) for family in LEVELLESS}
    gaps = [
        Gap(f"the {family} family", f"no rows of experiment={family}")
        for family, found in rows.items()
        if found.empty
    ]
    return Section(
        "further-families",
        "Families that are nobody's own",
        "Neither the arithmetic of the sparse family nor the order of the smooth one helps here.",
        tables=tuple(t for family, found in rows.items() for t in family_tables(found, family)),
        gaps=(*gaps, *(gap for found in rows.values() for gap in failed(found))),
    )


def _experiments(rows: pd.DataFrame) -> str:
    names = sorted(set(rows["experiment"]))
    return ", ".join(names) or "none"


def _floor(sources: Sources) -> Section:
    table = floor_table(sources.rows.table)
    intro = "How close FSPN comes to what the true structure with fitted tables can reach."
    if not table.rows:
        gap = Gap(
            "distance to the floor",
            "no dataset of any study has rows of fspn, true_dag and another",
        )
        return Section("floor-section", "The floor", intro, gaps=(gap,))
    return Section("floor-section", "The floor", intro, tables=(table,))


def _scaling(sources: Sources) -> Section:
    fits = shown_fits(sources.rows, SUBJECTS)
    picture = figure_scaling(fits, fit_published(sources.paper.numbers), sources.figures)
    intro = "Proposition 2 says that inference takes time near linear in the number of nodes."
    return Section("scaling-section", "Near-linear inference", intro, (picture,))


def _table1(sources: Sources) -> Section:
    rows = benchmark_rows(sources.rows.table)
    paper = sources.paper
    paired = pairs(rows, sources.results_dir)
    table = table1(rows, paper, paired)
    if rows.empty:
        gap = Gap("Table 1, our columns", "no rows of experiment=table1")
        return Section("benchmarks", "Real benchmarks", "", tables=(table,), gaps=(gap,))
    return Section(
        "benchmarks",
        "Real benchmarks",
        "The 20 binary benchmarks of the paper's Table 1; tuned on the validation split, the test "
        "split read once. Values of other papers are quoted, not rerun.",
        (figure_benchmarks(rows, paper, sources.figures),),
        (
            table,
            differences_table(rows, paper),
            counts_table(rows, paper),
            training_table(rows),
            *([benchmark_pairs_table(paired, models_of(rows))] if paired else []),
        ),
        tuple(failed(rows)),
    )


def _row_counts(sources: Sources) -> Section:
    """Real tables, from what `make tables` came to here, else from the committed summary."""
    kept = read_kept(sources.out) or read_kept(sources.results_dir)
    title = "Row counts of real tables"
    if kept is None:
        gap = Gap(title, "no reference/row_counts.csv of experiment=tables: run `make tables`")
        return Section("row-counts", title, "", gaps=(gap,))
    picture, found = row_count_parts(kept, sources.figures)
    intro = "How many rows a condition holds for: FSPN beside the estimators that people have."
    return Section("row-counts", title, intro, (picture,), found)


def _node_kinds(sources: Sources) -> Section:
    """The default learner with one ingredient switched off at a time."""
    title = "What each kind of node brings"
    found = node_kind_comparisons(sources.rows.of(NODE_KINDS), sources.rows.kls)
    if found.empty:
        gap = Gap("what each node brings", f"no rows with queries of experiment={NODE_KINDS}")
        return Section("node-kinds", title, "", gaps=(gap,))
    intro = "Sums, factorize nodes, parents, laws and trees: the default learner without each."
    picture = figure_node_kinds(found, sources.figures)
    return Section("node-kinds", title, intro, (picture,), (node_kinds_table(found),))


def _thresholds(sources: Sources) -> Section:
    pictures = threshold_pictures(sources.rows.of(THRESHOLDS), sources.figures)
    gaps = () if pictures else (Gap("threshold study", f"no rows of experiment={THRESHOLDS}"),)
    intro = "What the two thresholds tau_low and tau_high do, without any other search."
    return Section("thresholds", "Thresholds", intro, tuple(pictures), gaps=gaps)


def _plugins(sources: Sources) -> Section:
    rows = sources.rows.of(PLUGINS)
    rows = rows[rows["model"] == "fspn_paper"]
    intro = "The recipe with another split method, oracle, number of clusters or multi-leaf."
    if rows.empty:
        gap = Gap("plug-ins", f"no rows of experiment={PLUGINS}")
        return Section("plugins-section", "Plug-ins", intro, gaps=(gap,))
    return Section("plugins-section", "Plug-ins", intro, tables=(plugins_table(rows),))


def _structures(sources: Sources) -> Section:
    names = [f"rdc_{round(100 * level):02d}" for level in LEVELS]
    study = Store.of(sources.results_dir, sources.rows.study).folder
    folders = (study, sources.results_dir)
    own, gaps = structure_pictures(folders, names, sources.figures)
    recipe, more = structure_pictures(folders, [WITH_SPLITS], sources.figures, "fspn_paper")
    intro = "The learned FSPNs: node kinds by shape, as in the paper's Figure 1."
    where = f"experiment={sources.rows.study}" if sources.rows.study else "any study"
    missing = tuple(replace(gap, what=f"{gap.what}, {where}") for gap in (*gaps, *more))
    return Section("structures", "Structures", intro, (*own, *recipe), gaps=missing)


def _gaps(sources: Sources, sections: Sequence[Section]) -> tuple[Gap, ...]:
    """All gaps of all sections, and the ones that concern the whole."""
    own = [Gap(path, "the paper's numbers are not there") for path in sources.paper.missing]
    if sources.rows.table.empty:
        own.append(Gap("all results", "no recorded rows: run `make reproduce` first"))
    unplaced = _unplaced(sources.rows)
    return (*own, *(gap for section in sections for gap in section.gaps), *unplaced)


def _unplaced(rows: Rows) -> list[Gap]:
    """Models and datasets that no figure has a place for; their rows are in the table of runs."""
    main = rows.of(rows.study)
    elsewhere = main[~main["family"].isin([*FAMILIES, *LEVELLESS, FAMILY])]
    why = "not at one of the paper's levels: only in the table of all runs"
    names = sorted(set(elsewhere["dataset"]))
    return [Gap(f"dataset {name}, experiment={rows.study}", why) for name in names]


def _write(report: Report, sources: Sources) -> None:
    folder = sources.out / "tables"
    found: list[Table] = [table for section in report.sections for table in section.tables]
    entries = report.entries
    for table in (*found, claims_table(entries), families_table(entries), report.runs):
        tables.write(table, folder)
    numbers = sources.rows.numbers("sparse")
    for subject in SUBJECTS:
        frame = ratios_frame(numbers, sources.paper.numbers, subject)
        frame.to_csv(folder / f"ratios_{subject}_long.csv", index=False)
    (sources.out / "index.html").write_text(render(report), encoding="utf-8")


def summary(report: Report) -> str:
    """A few lines for the terminal."""
    lines = [f"study {report.study or 'none'}: {len(report.runs.rows)} rows"]
    lines += [f"gap: {gap.what} ({gap.why})" for gap in report.gaps[:12]]
    if len(report.gaps) > 12:
        lines.append(f"... and {len(report.gaps) - 12} more gaps, see the page")
    for subject in SUBJECTS:
        verdicts = [getattr(entry, subject).verdict.value for entry in report.entries]
        counts = ", ".join(f"{verdicts.count(v)} {v}" for v in dict.fromkeys(sorted(verdicts)))
        lines.append(f"claims by {label(subject)}: {counts}")
    return "\n".join(lines)
