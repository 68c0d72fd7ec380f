"""An MLflow server with a login: `python -m experiments.server --folder ~/fspn-mlflow`.

Everything that it writes is in that folder: runs, artifacts, users, and `client.env`, which holds
the address and the login for whoever may read the folder (its owner). It listens on the loopback
address unless it is told otherwise; `docs/cluster.md` shows both ways.
"""

from __future__ import annotations

import argparse
import os
import secrets
import shlex
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

USER = "fspn"
LOOPBACK = ("127.0.0.1", "localhost")
AUTH = """[mlflow]
default_permission = NO_PERMISSIONS
database_uri = sqlite:///{folder}/users.db
admin_username = {user}
authorization_function = mlflow.server.auth:authenticate_request_basic_auth
auth_cache_ttl_seconds = 60
"""


@dataclass(frozen=True)
class Server:
    """What is served where.

    Arguments:
        folder: everything the server keeps.
        host, port: where it listens.
        names: further names under which clients reach it.
    """

    folder: Path
    host: str = "127.0.0.1"
    port: int = 5000
    names: tuple[str, ...] = ()

    @property
    def address(self) -> str:
        """What clients set MLFLOW_TRACKING_URI to."""
        return f"http://{(*self.names, self.host)[0]}:{self.port}"

    def command(self) -> list[str]:
        """`mlflow server` with its options."""
        hosts = dict.fromkeys([*self.names, self.host, *LOOPBACK])
        allowed = ",".join(name for host in hosts for name in (host, f"{host}:{self.port}"))
        return [
            *(sys.executable, "-m", "mlflow", "server", "--app-name", "basic-auth"),
            *("--host", self.host, "--port", str(self.port), "--allowed-hosts", allowed),
            *("--backend-store-uri", f"sqlite:///{self.folder}/mlflow.db", "--workers", "1"),
            *("--artifacts-destination", str(self.folder / "artifacts")),
        ]

    def environment(self) -> dict[str, str]:
        """Secrets and switches of the server; the login is made once and kept."""
        password = self._secret("password")
        return {
            "MLFLOW_AUTH_CONFIG_PATH": str(self.folder / "auth.ini"),
            "MLFLOW_AUTH_ADMIN_PASSWORD": password,
            "MLFLOW_FLASK_SERVER_SECRET_KEY": self._secret("key"),
            "MLFLOW_DISABLE_TELEMETRY": "true",
            "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
        }

    def client(self) -> dict[str, str]:
        """What a client needs to record here."""
        return {
            "MLFLOW_TRACKING_URI": self.address,
            "MLFLOW_TRACKING_USERNAME": USER,
            "MLFLOW_TRACKING_PASSWORD": self._secret("password"),
        }

    def prepare(self) -> Path:
        """Write the settings of server and clients; returns the file that clients source."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        (self.folder / "auth.ini").write_text(AUTH.format(folder=self.folder, user=USER))
        path = self.folder / "client.env"
        _write_secret(path, _exports(self.client()))
        return path

    def _secret(self, name: str) -> str:
        path = self.folder / f"{name}.secret"
        if not path.is_file():
            _write_secret(path, secrets.token_urlsafe(24))
        return path.read_text(encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Prepare the folder and become the server."""
    options = _parser().parse_args(arguments)
    folder = options.folder.expanduser().resolve()
    server = Server(folder, options.host, options.port, tuple(options.name))
    path = server.prepare()
    print(f"MLflow server {server.address}, files in {folder}")
    print(f"clients: source {path}", flush=True)
    os.chdir(folder)
    command = server.command()
    os.execve(command[0], command, os.environ | server.environment())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m experiments.server", description=__doc__)
    add = parser.add_argument
    add("--folder", type=Path, required=True, help="where the server keeps everything")
    add("--host", default="127.0.0.1", help="address to listen on (0.0.0.0: all interfaces)")
    add("--port", type=int, default=5000)
    add("--name", action="append", default=[], help="name by which clients on other machines call")
    return parser


def _exports(values: Mapping[str, str]) -> str:
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in values.items())


def _write_secret(path: Path, text: str) -> None:
    """A file that its owner alone can read, from its first byte on."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)


if __name__ == "__main__":
    main()
