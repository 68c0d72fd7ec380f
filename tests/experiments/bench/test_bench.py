"""The benchmark: its clock, its verdicts, its shelf of finished parts, and a small run."""

import json
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import pytest

import experiments.bench.__main__ as command_line
from experiments.bench import parts as bench_parts
from experiments.bench import start, time_limits
from experiments.bench.__main__ import main, options_of, parser, run
from experiments.bench.clock import Rounds, Spread, interleave, ratio
from experiments.bench.curves import exponent
from experiments.bench.options import SECTIONS, Options, quick
from experiments.bench.parts import Part, Shelf, plan
from experiments.bench.results import Results
from experiments.bench.targets import Target, doubling, targets
from experiments.bench.time_limits import Limits
from experiments.bench.wide import ASKED, ask_often
from fspn.engine.limits import TooWide


def spread(median):
    return {"median": median, "low": median, "high": median, "rounds": 3}


def test_contestants_take_turns():
    calls = []

    def one(name):
        return lambda: calls.append(name) or np.zeros(1)

    found = interleave({"a": one("a"), "b": one("b")}, Rounds(repeats=3, least=1))
    assert calls == ["a", "b"] * 3
    assert found["a"].shape == (3, 1)


def test_an_expensive_contestant_sits_out_after_its_least_rounds():
    cheap, dear = (lambda: np.zeros(1)), (lambda: np.zeros(1))
    found = interleave({"x": cheap, "y": dear}, Rounds(repeats=5, least=2, budget_seconds=0.0))
    assert [len(found[k]) for k in "xy"] == [2, 2]


def test_ratios_use_the_items_and_rounds_that_both_have():
    ours = np.array([[1.0, 1.0, 100.0], [2.0, 2.0, 100.0], [9.0, 9.0, 9.0]])
    other = np.array([[5.0, 5.0], [20.0, 20.0]])
    assert ratio(other, ours) == Spread(median=7.5, low=6.25, high=8.75, rounds=2)


def test_the_exponent_of_a_power_law_is_found():
    x = [1.0, 2.0, 4.0, 8.0]
    assert exponent(x, [3.0 * v**1.7 for v in x]) == pytest.approx(1.7)
    assert np.isnan(exponent([1.0], [1.0]))


def test_a_target_says_where_it_holds():
    high = Target("", 20, True, {"a": 19.0, "b": 21.0})
    assert (high.verdict, high.worst) == ("met on 1 of 2", 19.0)
    low = Target("", 2.3, False, {"a": 2.0, "b": 2.3})
    assert (low.verdict, low.worst) == ("met", 2.3)
    assert Target("", 1, True, {"a": 0.5}).verdict == "not met"
    assert Target("", 1, True, {}).verdict == "not measured"


def query_part(dataset, fspn_us, dag_ratio):
    row = {"batched": False, "over_fspn": spread(dag_ratio), "over_fspn_batch": 10 * dag_ratio}
    times = [
        {**row, "engine": "fspn", "microseconds": spread(fspn_us)},
        {**row, "engine": "bn_dag", "microseconds": spread(fspn_us * dag_ratio)},
    ]
    return {"dataset": dataset, "call_us": 7.0, "times": times}


def rows_points(seconds):
    sizes = [400_000 * 2**k for k in range(len(seconds))]
    return tuple(
        {
            "x": n,
            "train_seconds": spread(s),
            "query_us": spread(1.0),
            "nodes": 3,
            "peak_bytes": 480 * n,
            "data_bytes": 160 * n,
        }
        for n, s in zip(sizes, seconds, strict=True)
    )


def test_targets_are_computed_from_the_results():
    results = Results(
        queries=(
            query_part("rdc_07", 1.0, 2.0),
            query_part("rdc_21", 5.0, 25.0),
            query_part("rdc_65", 12.0, 19.0),
        ),
        training=(
            {
                "dataset": "rdc_21",
                "times": [
                    {"learner": "fspn", "seconds": spread(2.0), "over_fspn": spread(1.0)},
                    {"learner": "agrum_search", "seconds": spread(3.0), "over_fspn": spread(1.5)},
                ],
            },
        ),
        limit=(
            {
                "dataset": "rdc_21",
                "batch_us": spread(9.0),
                "read_us": spread(1.0),
                "lines_us": spread(0.5),
            },
        ),
        stock=({"dataset": "rdc_21", "seconds": 30.0, "ended": True},),
        curves={"rows": rows_points([1.0, 2.0, 5.0])},
    )
    found = {t.what: t for t in targets(results)}

    def of(start):
        (target,) = [t for what, t in found.items() if what.startswith(start)]
        return target

    dag = of("One query: pyAgrum on BN-DAG")
    assert dag.found == {"rdc_21": 25.0, "rdc_65": 19.0}  # the independent one does not count
    assert dag.verdict == "met on 1 of 2"
    assert of("Batched: pyAgrum").found["rdc_65"] == 190.0
    assert of("Flat, one by one").found == {"all datasets": 12.0}  # here it does
    assert of("A call of `probability`").verdict == "not met"
    assert of("Batched query over the time to read the bytes").verdict == "met"
    assert of("Batched query over the time to read the cache lines").verdict == "not met"
    assert of("Training: pyAgrum").found == {"rdc_21": 1.5}
    assert of("Training: SPFlow").found == {"rdc_21": 15.0}
    assert "rdc_21" in of("Training: SPFlow").note
    assert of("Doubling").found == {"800,000": 2.0, "1,600,000": 2.5}
    assert of("Doubling").verdict == "met on 1 of 2"
    assert of("Peak memory").found == {"1,600,000 rows": 3.0}
    assert of("Training over columns").verdict == "not measured"


def test_doubling_skips_steps_that_are_not_twofold():
    points = rows_points([1.0, 2.0])
    odd = ({**points[0], "x": 300_000}, points[1])
    assert doubling(odd) == {}


@dataclass(frozen=True)
class Answer:
    value: int


@pytest.fixture
def options(tmp_path):
    return quick(tmp_path / "cache")


def test_a_finished_part_is_not_measured_again(options):
    calls = []
    part = Part("limit", "x", lambda: calls.append(1) or Answer(len(calls)))
    assert Shelf(options, fresh=False).get(part)["found"] == {"value": 1}
    assert Shelf(options, fresh=False).get(part)["found"] == {"value": 1}
    assert Shelf(options, fresh=True).get(part)["found"] == {"value": 2}
    assert len(calls) == 2


def test_a_part_that_was_ended_leaves_nothing(options):
    def fails():
        raise KeyboardInterrupt

    shelf, part = Shelf(options, fresh=False), Part("limit", "x", fails)
    with pytest.raises(KeyboardInterrupt):
        shelf.get(part)
    assert not shelf.has(part)


def test_other_options_are_other_parts(options, tmp_path):
    part = Part("limit", "x", lambda: Answer(1))
    Shelf(options, fresh=False).get(part)
    assert not Shelf(Options(cache_dir=tmp_path / "cache"), fresh=False).has(part)


def test_every_section_is_planned(options):
    assert {part.section for part in plan(options, SECTIONS)} == set(SECTIONS)


def test_the_command_line_cuts_curves():
    given = parser().parse_args(["--max-rows", "100000", "--max-columns", "40"])
    options = options_of(given)
    assert max(options.row_counts) <= 100_000
    assert max(options.column_counts) == 40
    assert {b // a for a, b in zip(options.row_counts, options.row_counts[1:], strict=False)} == {2}


def test_a_small_run_writes_everything_and_goes_on_where_it_was(tmp_path, capsys):
    command = ["--quick", "--sections", "limit", "columns"]
    command += ["--out", str(tmp_path / "out"), "--cache", str(tmp_path / "cache")]
    main(command)
    written = {path.name for path in (tmp_path / "out").iterdir()}
    assert {"bench.json", "bench.md", "times.csv", "limit.svg", "limit.png"} <= written
    whole = json.loads((tmp_path / "out" / "bench.json").read_text())
    assert [r["section"] for r in whole["records"]] == ["limit", "columns"]
    assert whole["about"]["options"]["seed"] == 0
    assert "--quick" in whole["about"]["command"]
    assert "not measured" in (tmp_path / "out" / "bench.md").read_text()
    capsys.readouterr()
    main(command)
    assert capsys.readouterr().out.count("done before") == 2


def test_parts_are_kept_when_a_curve_is_cut_shorter(options):
    part = Part("limit", "x", lambda: Answer(1))
    Shelf(options, fresh=False).get(part)
    shorter = replace(options, row_counts=options.row_counts[:1], column_counts=(5,))
    assert Shelf(shorter, fresh=False).has(part)
    names = [{p.name for p in plan(o, ("columns",))} for o in (options, shorter)]
    assert not names[0] & names[1]  # a curve that is measured as a whole is another part
    assert not Shelf(replace(options, batch=7), fresh=False).has(part)


def test_a_part_that_takes_too_long_is_left_out_and_named(options, capsys):
    def slow():
        while True:
            pass

    parts = [Part("limit", "slow", slow), Part("limit", "fast", lambda: Answer(1))]
    records = run(parts, Shelf(options, fresh=False), Limits(60, 0.05))
    assert [record["name"] for record in records] == ["fast"]
    assert "limit slow left out: ended after" in capsys.readouterr().out


def test_no_part_begins_after_the_time_of_the_run_but_finished_ones_are_shown(options, capsys):
    done, later = (Part("limit", name, lambda: Answer(1)) for name in ("done", "later"))
    Shelf(options, fresh=False).get(done)
    records = run([done, later], Shelf(options, fresh=False), Limits(-1, 60))
    assert [record["name"] for record in records] == ["done"]
    assert "limit later left out: the run has taken" in capsys.readouterr().out


def test_waiting_for_the_machine_takes_no_time_from_a_run(options, monkeypatch):
    class Busy:
        now = 0.0

        @classmethod
        def local(cls, who):
            return cls()

        @contextmanager
        def alone(self):
            time.sleep(0.3)
            Busy.now += 1000
            yield

    monkeypatch.setattr(bench_parts, "Machine", Busy)
    monkeypatch.setattr(time_limits.time, "monotonic", lambda: Busy.now)
    shelf = Shelf(replace(options, share_machine=False), fresh=False)
    parts = [Part("limit", name, lambda: Answer(1)) for name in "ab"]
    records = run(parts, shelf, Limits(60, 0.2))
    assert [record["name"] for record in records] == ["a", "b"]


@pytest.mark.parametrize("asked", [False, True])
def test_results_are_committed_only_on_demand(tmp_path, monkeypatch, asked):
    found = {"library": spread(1.0), "warm": spread(2.0), "cold": spread(6.0)}
    record = {"section": "start", "name": "python", "load_before": 0.1, "found": found}
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(command_line, "RECORDED", tmp_path / "recorded")
    monkeypatch.setattr(command_line, "run", lambda *_: [record])
    main(["--quick", "--sections", "start", *(["--record"] if asked else [])])
    (written,) = tmp_path.rglob("bench.json")
    assert str(written.parent.relative_to(tmp_path)) == ("recorded" if asked else "outputs/bench")


def test_a_cold_start_ends_before_its_compiler_is_ended(tmp_path, monkeypatch):
    path = tmp_path / "killed"
    kill = "\nimport time\ntime.sleep(0.2)\n"
    kill += f"open({str(path)!r}, 'w').write(str(time.monotonic_ns()))"
    monkeypatch.setattr(start, "END_COMPILER", kill)
    before = time.monotonic_ns()
    seconds = start._seconds("", True)
    assert before + 1e9 * seconds < int(path.read_text())


def test_the_first_minute_has_targets():
    part = {"library": spread(1.0), "warm": spread(2.0), "cold": spread(6.0)}
    found = {t.what: t.verdict for t in targets(Results(start=(part,))) if t.found}
    assert list(found.values()) == ["met", "not met"]


def test_every_target_that_was_measured_is_printed_with_its_verdict(tmp_path, capsys):
    main(
        [
            "--quick",
            "--sections",
            "wide",
            "--out",
            str(tmp_path),
            "--cache",
            str(tmp_path / "cache"),
        ]
    )
    printed = capsys.readouterr().out
    assert "met: Wide models: questions that end in `TooWide`" in printed
    assert "12 columns 0" in printed
    assert "1 of 1 targets met" in printed
    assert "`conditional_table` of 2 columns given 4" in (tmp_path / "bench.md").read_text()


def test_a_line_says_verdict_bound_and_figures():
    target = Target("A count, ms", 0.1, False, {"flights": 0.62, "stops": 0.08})
    assert target.line() == "met on 1 of 2: A count, ms, at most 0.1: flights 0.62, stops 0.08"


def test_questions_that_are_too_wide_are_counted_not_raised():
    def never(_rng):
        raise TooWide("no")

    found = ask_often("x", never, np.random.default_rng(0))
    assert (found.too_wide, found.asked) == (found.asked, ASKED)
    assert np.isnan(found.milliseconds)


def test_targets_of_real_tables_compare_with_their_neighbours():
    def row(engine, us, per_second, error):
        return {
            "engine": engine,
            "microseconds": [us] * 4,
            "per_second": per_second,
            "q_error": [error] * 4,
        }

    times = [row("fspn", 90.0, 8e3, 2.0), row("sample", 500.0, 2e3, 50.0)]
    times += [row("duckdb", 1e3, 1e3, 1.0)]
    found = {t.what: t for t in targets(Results(tables=({"table": "stops", "times": times},)))}
    assert found["Real tables: one count by dictionary, ms, median"].found == {"stops": 0.09}
    speed = found["Real tables: estimates per second over DuckDB's counts per second"]
    assert speed.found == {"stops": 8.0}
    assert found["Real tables: 95% q-error of a 1% sample over FSPN's"].found == {"stops": 25.0}
