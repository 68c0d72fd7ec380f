"""How far a lock file reaches: all machines that see its folder, this one, or none."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

MOUNTS = Path("/proc/self/mounts")
NFS = frozenset({"nfs", "nfs4"})
# File systems of several machines whose flock is seen by all of them.
CLUSTER_WIDE = frozenset({"gpfs", "beegfs", "ceph", "cifs", "smb3", "ocfs2", "gfs2", "9p"})


class NoLocksError(OSError):
    """A folder in which no file can be locked; the message says what to do."""


@dataclass(frozen=True)
class Mount:
    """A line of the kernel's table of mounts."""

    folder: Path
    kind: str
    options: frozenset[str]

    @property
    def is_shared(self) -> bool:
        """Whether other machines may see this file system too."""
        return self.kind in NFS | CLUSTER_WIDE | {"lustre"} or self.kind.startswith("fuse.")

    @property
    def only_here(self) -> bool:
        """Whether other machines see this file system, but not the locks taken here."""
        if self.kind in NFS:
            return bool(self.options & {"nolock", "local_lock=all", "local_lock=flock"})
        if self.kind == "lustre":
            return "flock" not in self.options
        return self.is_shared and self.kind not in CLUSTER_WIDE


def mount_of(folder: Path, lines: Iterable[str] | None = None) -> Mount | None:
    """The mount that a folder lies on; None where the kernel does not tell.

    >>> mount_of(Path("/home/a"), ["fs:/x / ext4 rw 0 0", "fs:/y /home nfs rw,nolock 0 0"]).kind
    'nfs'
    """
    if lines is None:
        lines = MOUNTS.read_text(encoding="utf-8").splitlines() if MOUNTS.is_file() else []
    real = folder.resolve()
    fields = [line.split() for line in lines]
    mounts = [
        Mount(Path(f[1].replace("\\040", " ")), f[2], frozenset(f[3].split(","))) for f in fields
    ]
    found = [m for m in mounts if m.folder == real or m.folder in real.parents]
    return max(found, key=lambda mount: len(mount.folder.parts), default=None)


def locks_reach_all(folder: Path) -> bool:
    """Whether a lock taken in `folder` by any machine that sees it is seen here."""
    mount = mount_of(folder)
    return mount is None or not mount.only_here


def check_locks(folder: Path) -> str:
    """A warning if locks in `folder` reach this machine only, else nothing.

    Raises:
        NoLocksError: no file in `folder` can be locked at all.
    """
    folder.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=folder, prefix=".lock-")
    try:
        with clear_lock_errors(Path(name)):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(handle)
        Path(name).unlink()
    mount = mount_of(folder)
    if mount is None or not mount.only_here:
        return ""
    return (
        f"{folder} is on {mount.kind} (mounted at {mount.folder}) whose locks reach this machine "
        "only: two machines may run the same job twice (its row is written once), and runs of "
        "killed jobs are closed by a start on their own machine; mount it with flock, or use "
        "another folder as results_dir"
    )


@contextmanager
def clear_lock_errors(path: Path) -> Iterator[None]:
    """Say what it means that a file cannot be locked (that another holds it is no error)."""
    try:
        yield
    except BlockingIOError:
        raise
    except OSError as error:
        mount = mount_of(path.parent)
        where = f"{mount.kind}, mounted at {mount.folder}" if mount else "this file system"
        raise NoLocksError(
            error.errno,
            f"{path} cannot be locked ({error.strerror}; {where}): jobs need flock; mount the "
            "file system with it (nfs: without nolock; lustre: -o flock), or choose a folder that "
            "has it by results_dir=... and, for the cores of a machine, by FSPN_LOCK_DIR",
        ) from error
