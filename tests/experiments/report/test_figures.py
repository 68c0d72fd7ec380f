import dataclasses
import math
import warnings
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest

from experiments.report.figures import paper_figures as figures
from experiments.report.figures.data_names import with_datasets_apart
from experiments.report.figures.paper_figures import (
    NARROW,
    OURS_WIDE,
    WIDE,
    figure2,
    figure_batch,
)
from experiments.report.figures.scaling import figure_scaling, fit_power, with_large
from experiments.report.figures.structures import structure_pictures
from experiments.report.figures.style import LOOKS, inline_svg
from experiments.report.figures.threshold_scale import (
    LOG_LIKELIHOOD,
    PANELS,
    SEED_SPREAD,
    scale_of,
    spread_of,
)
from experiments.report.figures.thresholds import grid_of, threshold_pictures
from experiments.report.numbers import Numbers, ours
from experiments.report.tables.gaps import study_gaps
from fspn import FSPN
from tests.experiments.report import fake

EMPTY = Numbers({}, {})


def test_a_figure_of_partial_rows_names_what_is_missing(paper, tmp_path):
    rows = fake.study(("fspn", "mspn"), ("21", "95"), engine_ms=0.01)
    numbers = ours(fake.frame(rows))
    picture = figure2(numbers, paper.numbers, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {
        f"figure2.{kind}" for kind in ("svg", "pdf", "png")
    }
    assert "BN-Tree: no KL at RDC 0.21, 0.95" in picture.gaps
    assert not any(gap.startswith("MSPN") for gap in picture.gaps)
    ET.fromstring(picture.svg)
    ET.fromstring(picture.narrow)


def test_the_lines_are_the_numbers(paper):
    numbers = ours(fake.frame(fake.study(seeds=(0, 1))))
    figure = figures._figure(numbers, paper.numbers, ("kl", "latency"), WIDE)
    axis, of_paper = figure.axes[0], figure.axes[2]
    drawn, published = (
        {tuple(np.round(line.get_ydata(), 12)) for line in a.lines if len(line.get_ydata())}
        for a in (axis, of_paper)
    )
    for source, model, lines in (
        (numbers, "mspn", drawn),
        (numbers, "true_dag", drawn),
        (paper.numbers, "spgm", published),
    ):
        means = tuple(np.round([source.mean(x, model, "kl") for x in source.levels], 12))
        assert means in lines
        assert means not in (published if lines is drawn else drawn)
    assert axis.get_yscale() == "log"
    assert axis.get_xlim() == (0, 1)
    assert axis.get_ylim()[1] >= max(max(line) for line in drawn)


def test_times_are_of_one_engine_and_own_programs_are_hollow(paper):
    numbers = ours(fake.frame(fake.study(("fspn", "mspn"), engine_ms=0.02)))
    figure = figures._figure(numbers, paper.numbers, ("kl", "engine"), WIDE)
    own = [numbers.mean(x, "mspn", "latency") for x in numbers.levels]
    fills = {tuple(line.get_ydata()): line.get_markerfacecolor() for line in figure.axes[1].lines}
    assert fills[tuple(own)] == "white"
    assert fills[(0.02,) * 6] != "white"
    named = [text.get_text() for text in figure.legends[1].get_texts()]
    assert any(words.startswith("own program") for words in named)


@pytest.mark.parametrize("draws", [1, 2])
def test_a_panel_says_what_its_bars_are(draws):
    numbers = ours(fake.frame(fake.study(seeds=range(draws))))
    words = {1: "this run, first draw", 2: "this run, 2 draws; bars: lowest and highest draw"}
    assert figures._heading(numbers, "kl") == words[draws]


@pytest.mark.usefixtures("svg_only")
def test_no_panel_is_empty_where_the_paper_has_no_values(paper, tmp_path):
    numbers = ours(fake.frame(fake.study()))
    figure = figures._figure(numbers, paper.numbers, ("latency", "latency_batch"), OURS_WIDE)
    assert len(figure.axes) == 2
    assert "paper: not measured" not in figure_batch(numbers, paper.numbers, tmp_path).svg


@pytest.mark.parametrize("shape", [WIDE, NARROW])
def test_no_text_is_cut_or_overlaps(paper, shape):
    numbers = ours(fake.frame(fake.study()))
    figure = figures._figure(numbers, paper.numbers, ("size", "train"), shape)
    figure.canvas.draw()
    renderer = figure.canvas.get_renderer()
    legends = figure.legends
    boxes = [text.get_window_extent(renderer) for one in legends for text in one.get_texts()]
    boxes += [a.yaxis.label.get_window_extent(renderer) for a in figure.axes]
    boxes += [a.xaxis.label.get_window_extent(renderer) for a in figure.axes]
    assert len(legends) == 2
    for k, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:k])
    panels = [a.get_window_extent(renderer) for a in figure.axes]
    assert not any(box.overlaps(panel) for box in boxes for panel in panels)


@pytest.mark.usefixtures("svg_only")
def test_without_any_numbers_a_figure_is_still_drawn(tmp_path):
    picture = figure2(EMPTY, EMPTY, tmp_path)
    assert "<svg" in picture.svg


def test_models_are_told_apart_without_colour():
    assert len({look.marker for look in LOOKS.values()}) == len(LOOKS)


def test_ids_of_inline_drawings_do_not_clash():
    svg = '<?xml?><svg width="9pt"><path id="a"/><use xlink:href="#a" clip-path="url(#a)"/></svg>'
    out = inline_svg(svg, "x")
    assert 'id="x-a"' in out
    assert 'xlink:href="#x-a"' in out
    assert "url(#x-a)" in out


@pytest.mark.usefixtures("svg_only")
def test_the_threshold_grid_is_in_place(tmp_path):
    rows = fake.frame(fake.thresholds())
    grid = grid_of(rows, "kl_mean")
    assert grid.loc[0.3, 0.7] == pytest.approx(0.01 * 1.3 / 0.7)
    assert list(grid.index) == sorted(grid.index, reverse=True)
    pictures = threshold_pictures(rows, tmp_path)
    assert [picture.name for picture in pictures] == [
        "thresholds_kl_fspn_paper",
        "thresholds_lines_fspn_paper",
        "thresholds_rdc_95_fspn_paper",
    ]


def test_a_cell_that_was_run_on_more_draws_shows_the_draw_of_the_others():
    rows = fake.frame(fake.thresholds())
    more = rows[(rows["tau_low"] == 0.3) & (rows["tau_high"] == 0.7)].assign(seed=1, kl_mean=9.0)
    both = pd.concat([rows, more], ignore_index=True)
    pd.testing.assert_frame_equal(grid_of(both, "kl_mean"), grid_of(rows, "kl_mean"))


def test_threshold_maps_share_a_scale_over_all_datasets():
    rows = fake.frame([*fake.thresholds("95"), *fake.thresholds("65")])
    rows.loc[rows["dataset"] == "rdc_65", "kl_mean"] *= 100
    kl = scale_of(rows, PANELS[0])
    values = rows["kl_mean"].to_numpy()
    assert (kl.low, kl.high) == (values.min(), values.max())
    shades = kl.shades(values)
    assert shades.min() == 0
    assert shades.max() == 1
    assert shades[rows["dataset"] == "rdc_65"].min() > shades[rows["dataset"] == "rdc_95"].max()
    assert scale_of(rows.assign(kl_mean=math.nan), PANELS[0]) is None


def test_the_bar_has_the_colours_of_the_map():
    nodes = next(panel for panel in PANELS if panel.column == "n_nodes")
    alike = fake.frame(fake.thresholds()).assign(n_nodes=7.0)
    assert scale_of(alike, nodes).norm()(7.0) == 0
    norm = scale_of(fake.frame(fake.thresholds()), nodes).norm()
    ends = scale_of(fake.frame(fake.thresholds()), nodes).ticks()
    assert norm(ends[0]) == 0
    assert norm(ends[-1]) > 240


def test_times_within_their_spread_share_a_colour():
    latency = next(panel for panel in PANELS if panel.column == "latency_single_ms")
    rows = fake.frame(fake.thresholds("95")).assign(latency_single_iqr_ms=math.nan)
    rows["latency_single_ms"] = 1.0 + 0.05 * np.linspace(0, 1, len(rows))
    assert len(set(scale_of(rows, latency).shades(rows["latency_single_ms"].to_numpy()))) > 5
    rows["latency_single_iqr_ms"] = 0.1
    shades = scale_of(rows, latency).shades(rows["latency_single_ms"].to_numpy())
    assert set(shades) == {0.0}, "a spread of ten percent hides a difference of five"


def test_the_spread_of_training_is_that_of_its_seeds():
    rows = fake.frame(fake.thresholds("95"))
    assert spread_of(rows, "train_seconds") == SEED_SPREAD
    again = rows.assign(seed=1, train_seconds=rows["train_seconds"] * 1.5)
    both = pd.concat([rows, again], ignore_index=True)
    assert spread_of(both, "train_seconds") == pytest.approx(0.5)
    assert spread_of(both, "n_nodes") == 0.0


@pytest.mark.usefixtures("svg_only")
def test_a_failed_cell_of_the_grid_is_named(tmp_path):
    rows = fake.thresholds()
    bad = fake.row(
        "fspn_paper",
        experiment="thresholds",
        level="95",
        label="rdc_95/fspn_paper/0/model.tau_high=0.7,model.tau_low=0.01",
        tau_low=math.nan,  # as a fit that fails records it
        tau_high=math.nan,
        status="failed",
        error="boom",
        kl_mean=math.nan,
    )
    *_, picture = threshold_pictures(fake.frame([*rows, bad]), tmp_path)
    assert picture.gaps == ("tau_low 0.01, tau_high 0.7: failed boom",)


@pytest.mark.usefixtures("svg_only")
def test_a_sweep_on_a_table_without_truth_has_maps_of_the_other_measures(tmp_path):
    rows = fake.frame(fake.thresholds()).assign(kl_mean=math.nan)
    (picture,) = threshold_pictures(rows, tmp_path)
    assert picture.name == "thresholds_rdc_95_fspn_paper"
    part = fake.frame(fake.thresholds())
    part.loc[part["tau_high"] == 0.9, "kl_mean"] = math.nan
    assert len(threshold_pictures(part, tmp_path)) == 3


def own_sweep(path, **changes):
    """A sweep on a user's table, as it is recorded: the dataset is `csv`, its file in the label."""
    found = []
    for number, row in enumerate(fake.thresholds()):
        taus = f"model.tau_high={row.tau_high},model.tau_low={row.tau_low}"
        own = {
            "dataset": "csv",
            "family": "csv",
            "label": f"csv/fspn_paper/0/dataset.path={path},{taus}",
            "fingerprint": f"own-{path}-{number}",
            "kl_mean": math.nan,
            "test_ll": -10.0 - row.tau_low,
            "dataset_digest": f"digest of {path}",
        }
        found.append(dataclasses.replace(row, **{**own, **changes}))
    return found


@pytest.mark.usefixtures("svg_only")
def test_two_tables_have_a_map_each(tmp_path):
    rows = [*own_sweep("mine.csv"), *own_sweep("my/bees.csv", n_nodes=900.0)]
    pictures = threshold_pictures(fake.frame(rows), tmp_path)
    names = [picture.name for picture in pictures]
    assert names == ["thresholds_bees_fspn_paper", "thresholds_mine_fspn_paper"]
    apart = with_datasets_apart(fake.frame(rows))
    assert set(grid_of(apart[apart["dataset"] == "bees"], "n_nodes").stack()) == {900.0}
    assert 900.0 not in set(grid_of(apart[apart["dataset"] == "mine"], "n_nodes").stack())


@pytest.mark.parametrize(
    ("first", "second", "names"),
    [
        ({"path": "a/my.csv"}, {"path": "b/my.csv"}, {"my (a/my.csv)", "my (b/my.csv)"}),
        ({"path": "my.csv,dataset.max_values=9"}, {"path": "my.csv"}, {"my", "my, max_values=9"}),
        (
            {"path": "my.csv", "dataset_digest": "0123456789"},
            {"path": "my.csv", "dataset_digest": "abcdefghij", "seed": 0},
            {"my 012345", "my abcdef"},
        ),
        ({"path": "my.csv"}, {"path": "my.csv", "seed": 1, "dataset_digest": "other"}, {"my"}),
        ({"path": "my.csv", "dataset": "bees"}, {"path": "my.csv"}, {"bees", "my"}),
    ],
)
def test_different_data_have_different_names(first, second, names):
    rows = fake.frame([*own_sweep(**first), *own_sweep(**second)])
    assert set(with_datasets_apart(rows)["dataset"]) == names


def test_the_studys_datasets_keep_their_names():
    rows = fake.frame([*fake.thresholds("95"), *fake.thresholds("65")])
    pd.testing.assert_series_equal(
        with_datasets_apart(rows)["dataset"], rows["dataset"], check_dtype=False
    )


@pytest.mark.usefixtures("svg_only")
def test_without_truth_the_test_log_likelihood_is_drawn(tmp_path):
    rows = fake.frame(own_sweep("mine.csv"))
    (picture,) = threshold_pictures(rows, tmp_path)
    drawn = (tmp_path / "thresholds_mine_fspn_paper.svg").read_text(encoding="utf-8")
    assert "Test Log-Likelihood" in drawn
    assert "KL-divergence" not in drawn
    assert "over this dataset" in picture.caption


def test_a_higher_log_likelihood_is_lighter():
    rows = fake.frame(own_sweep("mine.csv"))
    scale = scale_of(rows, LOG_LIKELIHOOD)
    shades = scale.shades(rows["test_ll"].to_numpy())
    assert shades[rows["test_ll"].argmax()] == 0
    assert shades[rows["test_ll"].argmin()] == 1
    equal = rows.assign(test_ll=np.linspace(-10.0, -9.9999, len(rows)))
    assert scale_of(equal, LOG_LIKELIHOOD).shades(equal["test_ll"].to_numpy()).max() < 0.02
    assert scale_of(rows.assign(test_ll=math.nan), LOG_LIKELIHOOD) is None


@pytest.mark.usefixtures("svg_only")
def test_a_users_table_changes_no_map_of_the_study(tmp_path):
    """Nor do maps of the study stretch the colours of the user's."""
    study, own = fake.thresholds(), own_sweep("mine.csv", n_nodes=1e6)
    apart, together = tmp_path / "apart", tmp_path / "together"
    threshold_pictures(fake.frame(study), apart)
    threshold_pictures(fake.frame(own), apart)
    threshold_pictures(fake.frame([*study, *own]), together)
    files = sorted(path.name for path in together.iterdir())
    assert files == sorted(path.name for path in apart.iterdir())
    assert len(files) == 4
    for name in files:
        assert (together / name).read_bytes() == (apart / name).read_bytes()


@pytest.mark.usefixtures("svg_only")
@pytest.mark.parametrize("cells", [1, 2, 16])
def test_maps_of_a_users_table_warn_of_nothing(tmp_path, cells):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = [*fake.thresholds(), *own_sweep("mine.csv")[:cells]]
        assert len(threshold_pictures(fake.frame(rows), tmp_path)) == 4


def test_no_threshold_rows_no_pictures(tmp_path):
    assert threshold_pictures(fake.frame([]), tmp_path) == []


@pytest.mark.usefixtures("svg_only")
def test_a_model_without_varied_nodes_is_a_named_gap(tmp_path):
    picture = figure_scaling({"fspn": ()}, (), tmp_path)
    assert picture.gaps[0].startswith("FSPN: no rows")


def test_large_models_have_a_line_of_their_own(tmp_path):
    nodes = np.array([10.0, 100.0, 1_000.0, 2_000.0, 4_000.0, 8_000.0])
    fits = with_large(fit_power(nodes, nodes**2, "experiment=query_cost"))
    figure_scaling({"fspn": fits}, (), tmp_path)
    drawn = (tmp_path / "scaling.svg").read_text(encoding="utf-8")
    assert "FSPN, 4 of 1,000 nodes or more" in drawn


def test_a_missing_or_foreign_model_file_is_a_gap(tmp_path):
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "rdc_65-fspn.fspn").write_bytes(b"not a model")
    pictures, gaps = structure_pictures([tmp_path], ["rdc_07", "rdc_65"], tmp_path)
    assert pictures == []
    assert [gap.what.rpartition(" ")[2] for gap in gaps] == ["rdc_07", "rdc_65"]


def test_a_saved_model_is_drawn(tmp_path):
    model = FSPN(random_state=0).fit(np.random.default_rng(0).integers(0, 3, (200, 3)))
    (tmp_path / "models").mkdir()
    model.save(tmp_path / "models" / "rdc_65-fspn.fspn")
    (picture,), gaps = structure_pictures(
        [tmp_path / "absent", tmp_path], ["rdc_65"], tmp_path / "figures"
    )
    assert gaps == []
    ET.fromstring(picture.svg)
    assert (tmp_path / "figures" / "structure_rdc_65.png").stat().st_size > 1000


def test_a_recipe_is_drawn_beside_the_default(tmp_path):
    model = FSPN(preset="paper").fit(np.random.default_rng(0).integers(0, 3, (200, 3)))
    (tmp_path / "models").mkdir()
    model.save(tmp_path / "models" / "rdc_21-fspn_paper.fspn")
    (picture,), gaps = structure_pictures([tmp_path], ["rdc_21"], tmp_path, "fspn_paper")
    assert gaps == []
    assert "recipe" in picture.caption
    assert (tmp_path / "structure_rdc_21_fspn_paper.png").is_file()


def test_gaps_of_a_study_say_which_and_why():
    rows = [row for row in fake.study() if (row.model, row.dataset) != ("mspn", "rdc_37")]
    rows = [row for row in rows if row.model != "bn_dag"]
    rows.append(fake.row("bn_dag", "07", status="timeout", error="limit 600 s"))
    found = {gap.what: gap.why for gap in study_gaps(fake.frame(rows), "sparse", "rdc")}
    assert found["MSPN on rdc_37 of the sparse family"] == "no row was recorded"
    others = "rdc_21, rdc_37, rdc_65, rdc_83, rdc_95"
    assert found[f"BN-DAG on {others} of the sparse family"] == "no row was recorded"
    assert found["BN-DAG on rdc_07, seed 0, experiment=reproduce"] == "timeout: limit 600 s"
    assert found["SPGM on all six datasets of the sparse family"] == "no row was recorded"
    assert len(found) == 6


def test_the_size_figure_shows_both_bytes(paper):
    rows = fake.frame(fake.study(("fspn",))).assign(compiled_bytes=lambda t: 3 * t["size_bytes"])
    figure = figures._figure(ours(rows), paper.numbers, ("size", "train"), WIDE)
    drawn = {tuple(np.round(line.get_ydata(), 9)) for line in figure.axes[0].lines}
    by_level = rows.sort_values("target_rdc")
    for column in ("size_bytes", "compiled_bytes"):
        assert tuple(np.round(by_level[column] / 1024, 9)) in drawn
    assert figure.axes[0].get_ylim()[1] > by_level["compiled_bytes"].max() / 1024


def test_no_line_crosses_a_level_that_was_not_measured(paper):
    rows = [row for row in fake.study() if (row.model, row.dataset) != ("mspn", "rdc_37")]
    figure = figures._figure(ours(fake.frame(rows)), paper.numbers, ("kl", "latency"), WIDE)
    lines = [line.get_ydata() for line in figure.axes[0].lines]
    broken = [y for y in lines if len(y) == 6 and np.isnan(y[2])]
    assert broken
    assert not [y for y in lines if len(y) == 5], "a line that leaves the level out crosses it"


def test_bars_are_intervals_over_queries(paper):
    frame = fake.frame([fake.row("fspn", "65", kl_mean=2.0), fake.row("fspn", "95")])
    who = {"experiment": "reproduce", "dataset": "rdc_65", "model": "fspn", "seed": 0}
    numbers = ours(frame, pd.DataFrame({"kl": np.linspace(1.0, 3.0, 50), **who}))
    _, mean, low, high = figures._series(numbers, "fspn", "kl")
    assert 1.5 < low[0] < mean[0] == 2.0 < high[0] < 2.5
    assert low[1] == mean[1] == high[1]
