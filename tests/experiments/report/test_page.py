import html
import json
import re
import shutil
import subprocess
from contextlib import redirect_stdout
from pathlib import Path
from types import SimpleNamespace

import pytest

from experiments.records.rows import as_frame
from experiments.report import __main__ as command
from experiments.report.claims.statements import CLAIMS
from tests.experiments.report import fake

CHROMIUM = next(
    (p for p in map(shutil.which, ("chromium", "chromium-browser", "google-chrome")) if p), None
)


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """The report of invented rows that lack a model on a dataset, a family and much of Table 1."""
    folder = tmp_path_factory.mktemp("report")
    rows = [row for row in fake.study() if (row.model, row.dataset) != ("mspn", "rdc_37")]
    rows += [*fake.thresholds(), fake.benchmark("nltcs", "fspn", -6.0)]
    rows.append(fake.row(experiment="reproduce", label="csv", dataset="mine", family="csv"))
    as_frame(rows).to_csv(folder / "rows.csv", index=False)
    arguments = ["--rows", folder / "rows.csv", "--out", folder, "--results", folder]
    with (folder / "said.txt").open("w") as said, redirect_stdout(said):
        assert command.main([*map(str, arguments), "--no-tracking"]) == 0
    return folder


@pytest.fixture(scope="module")
def page(out):
    return (out / "index.html").read_text(encoding="utf-8")


def test_the_page_loads_nothing_from_outside(page):
    links = set(re.findall(r"""(?:src|href)=["']([^"'#][^"']*)""", page))
    assert links == set()
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)


def test_the_page_holds_every_claim_with_its_verdicts(page):
    assert page.count('class="claim"') == len(CLAIMS)
    for claim in CLAIMS:
        assert html.escape(claim.claim, quote=False).replace("'", "&#39;") in page
    assert len(re.findall(r'class="badge (holds|part|fails|untested)"', page)) == 3 * len(CLAIMS)


def test_every_link_within_the_page_has_its_place(page):
    links = set(re.findall(r'<a href="#([^"]+)"', page))
    assert {"figure2", "ratios_fspn", "all-runs"} <= links
    assert links <= set(re.findall(r'id="([^"]+)"', page))


def test_gaps_are_named_on_the_page(page):
    for words in (
        "MSPN on rdc_37",
        "the smooth family",
        "SPN-BTB and SPGM",
        "structure of FSPN on rdc_07, rdc_21",
        "dataset mine",
    ):
        assert words in page


def test_every_gap_says_of_which_study_or_family_it_is(out, page):
    """They stand together below the name of the main study, also those of others."""
    said = [line for line in (out / "said.txt").read_text().splitlines() if line[:4] == "gap:"]
    shown = re.findall(r"<li>(<b>.*?)</li>", page.partition('<section id="gaps">')[2])
    assert "gap: MSPN on rdc_37 of the sparse family (no row was recorded)" in said
    assert any("dataset mine, experiment=reproduce" in line for line in shown)
    assert len(said) >= 6
    assert len(shown) >= len(said)
    for line in (*said, *shown):
        assert re.search(r"\w+ family|experiment=\w+|any study", line), line


def test_all_files_are_there(out):
    tables = {path.name for path in (out / "tables").iterdir()}
    for name in ("nodes", "ratios_fspn", "ratios_fspn_paper", "table1", "claims", "runs", "kl"):
        assert {f"{name}.csv", f"{name}.tex", f"{name}.html"} <= tables
    figures = {path.name for path in (out / "figures").iterdir()}
    for name in ("figure2", "figure5", "latency_batch", "scaling"):
        assert {f"{name}.svg", f"{name}.pdf", f"{name}.png"} <= figures


@pytest.mark.usefixtures("svg_only")
def test_the_same_rows_give_the_same_page(out, page, tmp_path):
    arguments = ["--rows", out / "rows.csv", "--out", tmp_path, "--results", out, "--no-tracking"]
    command.main([*map(str, arguments)])
    again = (tmp_path / "index.html").read_text(encoding="utf-8")
    assert re.sub(r"<dd>python -m.*?</dd>", "", again) == re.sub(r"<dd>python -m.*?</dd>", "", page)


WATCH = """<script>
window.failures = [];
window.addEventListener("error", (e) => window.failures.push(String(e.message)), true);
const said = console.error;
console.error = (...words) => { window.failures.push(words.join(" ")); said(...words); };
</script>"""
PROBE = """
<script>
window.addEventListener("load", () => {
  const column = (k) => Array.from(document.querySelectorAll("#runs tbody tr"))
    .map((row) => row.cells[k].dataset.value).filter((v) => v !== undefined).map(Number);
  const heads = Array.from(document.querySelectorAll("#runs th"));
  const k = heads.findIndex((th) => th.textContent === "KL");
  const button = heads[k].querySelector("button");
  button.click();
  const rising = column(k);
  button.click();
  const falling = column(k);
  const filter = document.getElementById("filter");
  filter.value = "rdc_65 bn-tree";
  filter.dispatchEvent(new Event("input"));
  const shown = Array.from(document.querySelectorAll("#runs tbody tr")).filter((r) => !r.hidden);
  const boxes = Array.from(document.querySelectorAll("svg.figure"))
    .map((svg) => svg.getBoundingClientRect()).filter((b) => b.width > 0);
  parent.postMessage(JSON.stringify({
    rising, falling, shown: shown.length, failures: window.failures,
    figures: boxes.map((b) => [b.width, b.height, b.right]),
    page: [document.documentElement.scrollWidth, window.innerWidth],
  }), "*");
});
</script></body>"""
WRAPPER = """<body><iframe src="probe.html" style="width:{width}px;height:900px"></iframe>
<pre id="answer"></pre><script>
addEventListener("message", (e) => {{ document.getElementById("answer").textContent = e.data; }});
</script></body>"""


def ask_chromium(folder, page, width):
    """Open the page in a frame of this width, without a network, and read what it says."""
    watched = page.replace("<head>", f"<head>{WATCH}", 1).replace("</body>", PROBE)
    (folder / "probe.html").write_text(watched, encoding="utf-8")
    (folder / "wrapper.html").write_text(WRAPPER.format(width=width), encoding="utf-8")
    arguments = [
        *(CHROMIUM, "--headless=new", "--no-sandbox", "--disable-gpu", "--dump-dom"),
        *("--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=20000"),
        *(f"--user-data-dir={folder / 'profile'}", "--window-size=1400,1000"),
    ]
    done = subprocess.run(
        [*arguments, (folder / "wrapper.html").as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    found = re.search(r'<pre id="answer">(.+?)</pre>', done.stdout, re.DOTALL)
    assert found, done.stderr[-2000:]
    return json.loads(html.unescape(found[1]))


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium or google-chrome is installed")
@pytest.mark.parametrize("width", [390, 1200])
def test_in_a_real_browser_figures_render_and_sorting_works(tmp_path, page, width):
    answer = ask_chromium(tmp_path, page, width)
    assert answer["rising"] == sorted(answer["rising"])
    assert answer["falling"] == answer["rising"][::-1] != answer["rising"]
    assert answer["shown"] == 1
    assert answer["failures"] == []
    assert len(answer["figures"]) == page.count("<figure") > 5
    for wide, high, right in answer["figures"]:
        assert wide > 250
        assert high > 120
        assert right <= width
    assert answer["page"][0] <= answer["page"][1], "the page is wider than the screen"


@pytest.mark.skipif(CHROMIUM is None, reason="no chromium or google-chrome is installed")
def test_an_error_in_the_page_does_not_go_unseen(tmp_path, page):
    broken = page.replace("</body>", "<script>console.error('told');absent();</script></body>")
    failures = ask_chromium(tmp_path, broken, 1200)["failures"]
    assert any("told" in words for words in failures)
    assert any("absent" in words for words in failures)


def test_a_wrong_file_is_a_clear_error(tmp_path, capsys):
    assert command.main(["--rows", str(tmp_path / "absent.csv")]) == 2
    assert "no rows at" in capsys.readouterr().err


def test_a_part_of_the_rows_is_never_kept_as_all_of_them(tmp_path, capsys):
    assert command.main(["--rows", str(tmp_path), "--freeze", "--results", str(tmp_path)]) == 2
    assert "leave --rows out" in capsys.readouterr().err


@pytest.mark.usefixtures("svg_only")
def test_nothing_recorded_still_gives_a_page_that_says_so(tmp_path):
    assert command.main(["--results", str(tmp_path), "--no-tracking"]) == 0
    page = tmp_path / "report" / "index.html"
    assert "no recorded rows" in page.read_text(encoding="utf-8")


def test_a_users_report_replaces_nothing_that_is_committed(tmp_path):
    assert command._default_out(tmp_path, "smoke") == tmp_path / "smoke"
    assert command._default_out(tmp_path, "reproduce") == tmp_path / "report"
    assert command._default_out(tmp_path, "reproduce", frozen=True) == tmp_path
    ignored = (Path(__file__).parents[3] / ".gitignore").read_text().split()
    assert {"results/smoke/", "results/report/", "results/runs/"} <= set(ignored)


def test_the_report_is_logged_where_the_runs_are(out, tmp_path, monkeypatch, capsys):
    logged = []

    class Tracker:
        def log_files(self, experiment, name, files):
            logged.append((experiment, name, {path.name for path in files}))

    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setattr("experiments.records.tracking.tracker", lambda uri, folder: Tracker())
    report = SimpleNamespace(study="reproduce")
    sources = SimpleNamespace(results_dir=tmp_path, out=out, figures=out / "figures")
    command._log(report, sources)
    assert logged == []
    assert "not logged to MLflow" in capsys.readouterr().out
    (tmp_path / "mlflow.db").touch()
    command._log(report, sources)
    (run,) = logged
    assert run[:2] == ("report", "report of reproduce")
    assert {"index.html", "figure2.svg", "claims.csv"} <= run[2]
