"""File systems whose locks do not reach far enough are found and named."""

import errno
import fcntl
from pathlib import Path

import pytest

from experiments.records import file_systems
from experiments.records.file_systems import NoLocksError, check_locks, locks_reach_all, mount_of
from experiments.records.locks import Machine, locked


def at(monkeypatch, tmp_path, kind, options):
    mounts = tmp_path / "mounts"
    mounts.write_text(f"root / ext4 rw 0 0\nfs:/x {tmp_path} {kind} {options} 0 0\n")
    monkeypatch.setattr(file_systems, "MOUNTS", mounts)


@pytest.mark.parametrize(
    ("kind", "options", "reach"),
    [
        ("ext4", "rw,relatime", True),
        ("nfs4", "rw,vers=4.2,local_lock=none", True),
        ("nfs", "rw,nolock", False),
        ("nfs", "rw,vers=3,local_lock=flock", False),
        ("lustre", "rw,flock,lazystatfs", True),
        ("lustre", "rw,localflock", False),
        ("lustre", "rw,lazystatfs", False),
        ("gpfs", "rw", True),
        ("fuse.sshfs", "rw", False),
    ],
)
def test_how_far_locks_reach_is_told_by_the_mount(tmp_path, monkeypatch, kind, options, reach):
    at(monkeypatch, tmp_path, kind, options)
    assert locks_reach_all(tmp_path / "results") == reach
    warning = check_locks(tmp_path / "results")
    assert (warning == "") == reach
    if not reach:
        assert kind in warning
        assert "this machine only" in warning


def test_the_innermost_mount_counts():
    lines = ["a / ext4 rw 0 0", "b /data nfs rw 0 0", "c /data/my\\040work xfs rw 0 0"]
    assert mount_of(Path("/data/my work/results"), lines).kind == "xfs"
    assert mount_of(Path("/data2"), lines).kind == "ext4"
    assert mount_of(Path("/data"), []) is None


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP])
def test_no_locks_at_all_is_an_error_that_says_what_to_do(tmp_path, monkeypatch, code):
    at(monkeypatch, tmp_path, "lustre", "rw")

    def refuse(*_):
        raise OSError(code, "Function not implemented")

    monkeypatch.setattr(fcntl, "flock", refuse)
    for attempt in (
        lambda: check_locks(tmp_path / "results"),
        lambda: locked(tmp_path / "a.lock").__enter__(),
        lambda: Machine(tmp_path).working().__enter__(),
    ):
        with pytest.raises(NoLocksError, match=r"lustre.*jobs need flock.*results_dir"):
            attempt()
    assert not list((tmp_path / "results").iterdir())
