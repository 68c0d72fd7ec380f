"""A Slurm cluster of one node in a temporary folder: munge, slurmctld, slurmd, on loopback."""

from __future__ import annotations

import getpass
import os
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel")
SETTINGS = """
ClusterName=fspn
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket,cred_expire=10
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
ReturnToService=2
KillWait=5
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
SchedulerParameters=sched_interval=5,bf_interval=5
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory} State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1
PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=9
"""


def missing() -> str:
    """Why there can be no cluster here; empty if there can."""
    absent = [name for name in PROGRAMS if shutil.which(name, path=_path()) is None]
    if os.geteuid() != 0:
        return "it needs root, to start slurmd"
    if absent:
        return f"{absent[0]} is not installed: apt-get install slurm-wlm munge"
    return ""


@dataclass
class SlurmCluster:
    """The daemons, started by hand and stopped by their process ids."""

    folder: Path
    daemons: list[subprocess.Popen[Any]] = field(default_factory=list)

    def __enter__(self) -> SlurmCluster:
        for name in ("munge", "state", "spool"):
            (self.folder / name).mkdir(parents=True, mode=0o700)
        key = self.folder / "munge" / "munge.key"
        key.write_bytes(secrets.token_bytes(1024))
        key.chmod(0o400)
        self._write_settings()
        try:
            self._start_all()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(Exception):  # a cluster that never came up has no jobs
            self._cancel_all()
        for daemon in reversed(self.daemons):
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(20)
            except subprocess.TimeoutExpired:
                daemon.kill()

    @property
    def environment(self) -> dict[str, str]:
        """What the commands of Slurm need to find this cluster."""
        return {"SLURM_CONF": str(self.folder / "slurm.conf"), "PATH": _path()}

    def ask(self, *command: str) -> str:
        """What a command of Slurm prints."""
        env = os.environ | self.environment
        return subprocess.run(
            command, env=env, capture_output=True, text=True, check=True, timeout=30
        ).stdout

    def states(self) -> dict[str, str]:
        """The state of every job that the controller remembers."""
        lines = self.ask("squeue", "-h", "-r", "--states=all", "--format=%i|%T").splitlines()
        return dict(line.split("|") for line in lines)

    def restarts(self, job: str) -> int:
        """How often a job was put back into the queue."""
        return int(self.ask("scontrol", "show", "job", job).partition("Restarts=")[2].split()[0])

    def preempt(self) -> None:
        """A short job of another partition takes the node from whoever has it."""
        self.ask("sbatch", "-p", "urgent", "--exclusive", "-o", "/dev/null", "--wrap", "sleep 5")

    def lose_node(self) -> None:
        """The node goes down, as if it had crashed."""
        self._set_node("DOWN")

    def resume_node(self) -> None:
        """The node is back; Slurm refuses that while it still puts jobs back into the queue."""

        def is_back() -> bool:
            with suppress(subprocess.CalledProcessError):
                self._set_node("RESUME")
            return not {"down", "drained", "draining"} & set(self.ask("sinfo", "-ho%T").split())

        wait_until(is_back, 60, "the node")

    def _set_node(self, state: str) -> None:
        node = f"NodeName={socket.gethostname()}"
        self.ask("scontrol", "update", node, f"State={state}", "Reason=test")

    def _cancel_all(self) -> None:
        """No job outlives its cluster, also after a test that failed."""
        self.ask("scancel", "--user", getpass.getuser())
        wait_until(lambda: not self.ask("squeue", "-h"), 30, "the end of all jobs")

    def _start_all(self) -> None:
        munge = self.folder / "munge"
        files = {"key-file": "munge.key", "socket": "socket", "pid-file": "pid", "log-file": "log"}
        options = [f"--{name}={munge / file}" for name, file in files.items()]
        seed = f"--seed-file={munge / 'seed'}"
        self._start("munged", "--foreground", "--force", *options, seed)
        wait_until(lambda: (munge / "socket").exists(), 20, "munged")
        settings = str(self.folder / "slurm.conf")
        self._start("slurmctld", "-D", "-f", settings)
        self._start("slurmd", "-D", "-f", settings)
        wait_until(self._is_up, 60, "slurmctld and slurmd")

    def _start(self, *command: str) -> None:
        log = (self.folder / f"{command[0]}.out").open("w")
        env = os.environ | self.environment
        self.daemons.append(subprocess.Popen(command, stdout=log, stderr=log, env=env))

    def _is_up(self) -> bool:
        try:
            return "idle" in self.ask("sinfo", "-h", "-o", "%T")
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            return False

    def _write_settings(self) -> None:
        text = SETTINGS.format(
            host=socket.gethostname(),
            ports=free_ports(2),
            folder=self.folder,
            cpus=os.cpu_count(),
            memory=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20 - 512,
        )
        (self.folder / "slurm.conf").write_text(text)


def free_ports(count: int) -> list[int]:
    """Ports of the loopback address that nobody listens on."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def wait_until(holds: Callable[[], Any], seconds: float, what: str) -> None:
    """Wait for something that must come true."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not within {seconds:g} s")
        time.sleep(0.2)


def stop(processes: Sequence[subprocess.Popen[Any]]) -> None:
    """End processes that are still there."""
    for process in processes:
        if process.poll() is None:
            process.terminate()
            process.wait(30)


def _path() -> str:
    return f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
