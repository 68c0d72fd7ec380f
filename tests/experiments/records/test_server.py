"""The tracking server: refusals are clear and early, strangers are turned away, jobs record."""

import http.server
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import pytest

from experiments import sync as sync_command
from experiments.records.journal import Recorder
from experiments.records.rows import ResultRow, Store
from experiments.records.tracking import TrackingError, _refusal, tracker
from experiments.server import Server
from tests.experiments.tiny import ROOT, finish, start

NAME = "login-node.example"


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """The folder in which the server is started."""
    return tmp_path_factory.mktemp("checkout")


@pytest.fixture(scope="module")
def server(tmp_path_factory, empty_store, checkout):
    """The server of the docs, on the loopback address and a free port."""
    folder = tmp_path_factory.mktemp("mlflow")
    (folder / "mlflow.db").write_bytes(empty_store.read_bytes())
    port = free_port()
    command = [sys.executable, "-m", "experiments.server", "--folder", str(folder)]
    process = subprocess.Popen(
        [*command, "--port", str(port), "--name", NAME],
        cwd=checkout,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=(folder / "log").open("w"),
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    served = Server(folder, port=port)
    try:
        wait_for(served.address, process, folder / "log")
        yield served
    finally:
        os.killpg(process.pid, 15)
        process.wait(30)


def wait_for(address, process, log):
    deadline = time.monotonic() + 150
    while process.poll() is None and time.monotonic() < deadline:
        try:
            urllib.request.urlopen(f"{address}/health", timeout=5)
            return
        except OSError:
            time.sleep(0.2)
    pytest.fail(log.read_text())


def ask(address, host):
    """Status of a request that names the server as `host`."""
    url = f"{address}/api/2.0/mlflow/experiments/search?max_results=1"
    request = urllib.request.Request(url, headers={"Host": host})
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request, timeout=30)
    return refused.value.code


def test_strangers_are_turned_away(server, tmp_path, monkeypatch):
    for name in server.client():
        monkeypatch.delenv(name, raising=False)
    assert ask(server.address, NAME) == 401
    anonymous = tracker(server.address, tmp_path)
    with pytest.raises(TrackingError, match=r"asks for a login.*MLFLOW_TRACKING_USERNAME"):
        anonymous.check()
    monkeypatch.setenv("MLFLOW_TRACKING_USERNAME", "fspn")
    monkeypatch.setenv("MLFLOW_TRACKING_PASSWORD", "guessed")
    with pytest.raises(TrackingError, match="asks for a login"):
        anonymous.check()
    for action in (anonymous.recover, lambda: anonymous.log_files("e", "r", [])):
        with pytest.raises(Exception, match=r"401|authenticated"):
            action()


def test_the_named_host_is_served_and_others_are_not(server):
    assert ask(server.address, f"{NAME}:{server.port}") == 401
    assert ask(server.address, "evil.example") == 403


def test_jobs_with_a_login_record(server, tmp_path, monkeypatch):
    for name, value in server.client().items():
        monkeypatch.setenv(name, value)
    finish(start(tmp_path, "tracking=server"))
    found = tracker(server.address, tmp_path / "results")
    runs = found._client.search_runs([found._experiment("single")], "attributes.status='FINISHED'")
    parents = [r for r in runs if "mlflow.parentRunId" not in r.data.tags]
    assert [r.info.run_name for r in parents] == ["independent/rdc_07/0"]
    assert len(runs) == 3
    files = {f.path for f in found._client.list_artifacts(parents[0].info.run_id)}
    assert files == {"config.yaml", "queries.csv"}


def test_the_command_logs_what_is_missing(server, tmp_path, monkeypatch, capsys):
    for name, value in server.client().items():
        monkeypatch.setenv(name, value)
    who = {"dataset": "d", "family": "f", "seed": 0, "model": "m", "started_at": "2026-01-01"}
    row = ResultRow("missed", "e", "l", **who)
    store = Store.of(tmp_path, "e")
    Recorder(tracker(server.address, tmp_path), store, row, {}, live=False).record(row, None)
    assert sync_command.main(["--results", str(tmp_path)]) == 0
    assert capsys.readouterr().out == "0 runs of killed jobs closed, 1 jobs logged\n"
    assert store.read("missed").run_id


def test_secrets_are_their_owners_alone(server):
    modes = {f.name: f.stat().st_mode & 0o777 for f in server.folder.iterdir()}
    assert server.folder.stat().st_mode & 0o777 == 0o700
    assert {modes[n] for n in ("client.env", "password.secret", "key.secret")} == {0o600}


def test_the_server_leaves_nothing_where_it_was_started(server, checkout):
    assert ask(server.address, NAME) == 401
    assert list(checkout.iterdir()) == []
    assert {"mlflow.db", "users.db"} <= {f.name for f in server.folder.iterdir()}


def test_the_server_listens_on_its_own_address_only(server):
    """Every address in 127/8 is this machine: one that listens on all of them answers there."""
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", server.port), timeout=10)


class Refusing(http.server.BaseHTTPRequestHandler):
    """A server of MLflow's older or stricter kinds."""

    def do_GET(self):
        code, text = self.server.answer
        self.send_response(code)
        self.end_headers()
        self.wfile.write(text)

    def do_POST(self):
        self.do_GET()

    def log_message(self, *_):
        pass


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ((403, b"Invalid Host header - possible DNS rebinding attack detected"), "allowed-hosts"),
        ((401, b"You are not authenticated."), "asks for a login"),
        ((500, b"broken"), "does not answer"),
    ],
)
def test_a_refusal_is_understood(tmp_path, answer, message):
    fake = http.server.HTTPServer(("127.0.0.1", 0), Refusing)
    fake.answer = answer
    threading.Thread(target=fake.serve_forever, daemon=True).start()
    try:
        with pytest.raises(TrackingError, match=message):
            tracker(f"http://127.0.0.1:{fake.server_port}", tmp_path).check()
    finally:
        fake.shutdown()
        fake.server_close()


def test_a_port_is_not_taken_for_a_status():
    address = "http://127.0.0.1:34011"
    assert "does not answer" in _refusal(address, f"no connection to {address} at 0x7f401a")
    assert "asks for a login" in _refusal(address, "failed with error code 401 != 200")


@pytest.mark.parametrize(
    ("uri", "message"), [("", "export MLFLOW_TRACKING_URI"), ("down", "does not answer")]
)
def test_a_server_that_is_down_or_unnamed_is_noticed_before_any_job(
    tmp_path, monkeypatch, uri, message
):
    address = f"http://127.0.0.1:{free_port()}" if uri else ""
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    process = start(
        tmp_path, "seed=0,1", "tracking=server", "executor=submitit_local", flags=("-m",)
    )
    output, _ = process.communicate(timeout=120)
    assert process.returncode != 0
    assert message in output
    assert "Traceback" not in output
    assert not list(tmp_path.rglob("submitted"))


def test_a_server_that_is_down_is_noticed_by_a_single_job_before_it_computes(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"http://127.0.0.1:{free_port()}")
    process = start(tmp_path, "tracking=server")
    output, _ = process.communicate(timeout=120)
    assert process.returncode != 0
    assert "does not answer" in output
    assert not list(tmp_path.rglob("*.parquet"))
