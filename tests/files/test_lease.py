"""A lease tells whether another program opened a file, lets that program go on at once, and leaves nothing behind."""

from __future__ import annotations

import mmap
import os
import signal
import subprocess
import sys
import threading
import time
import types

import pytest
from file_runs import has_leases

from streamtok import disk
from streamtok.disk import lease

NAME = "out.partial"


@pytest.fixture(name="file")
def _file(tmp_path, monkeypatch):
    """A file with some bytes, on a file system that gives leases."""
    monkeypatch.chdir(tmp_path)
    if not has_leases():
        pytest.skip("no leases here: Linux has them, on the file systems of one machine")
    with disk.open_new(os.path.realpath(NAME)) as file:
        file.write(b"0123456789")
        yield file


def in_another_process(code: str) -> None:
    subprocess.run([sys.executable, "-c", f"import os; name = {NAME!r}; {code}"], check=True, timeout=40)


def now(flags: int) -> None:
    """Open without waiting."""
    os.close(os.open(NAME, flags | os.O_NONBLOCK))


OPENINGS = {
    "to read": "open(name, 'rb').read()",
    "to write": "open(name, 'r+b').write(b'x')",
    "cut": "os.truncate(name, 3)",
    "made longer": "os.truncate(name, 30)",
    "by another name": "os.link(name, 'second'); open('second', 'ab').write(b'x')",
}


@pytest.mark.parametrize("way", list(OPENINGS))
def test_whoever_opens_it_is_noticed_and_goes_on(file, way):
    with lease.take(file) as held:
        assert held.holds()
        began = time.monotonic()
        in_another_process(OPENINGS[way])
        assert time.monotonic() - began < 35  # the system itself waits 45 s
        assert not held.holds() and not held.settle()


def test_the_thread_that_holds_it_may_open_it_too(file):
    """A progress callback may do that. Without care the thread would wait for itself."""
    with lease.take(file) as held:
        began = time.monotonic()
        with open(NAME, "rb") as again:
            assert again.read() == b"0123456789"
        assert time.monotonic() - began < 35 and not held.holds()


def test_what_the_holder_does_itself_is_no_change(file):
    with lease.take(file) as held:
        file.write(b"more")
        file.truncate(5)
        file.sync()
        file.let_go()
        os.chmod(NAME, 0o600)
        assert held.holds() and file.is_in_place() and held.settle() and held.holds()
    now(os.O_RDWR)


def test_once_settled_nobody_opens_it_until_the_end(file):
    with lease.take(file) as held:
        assert held.settle()
        os.rename(NAME, "out")
        with pytest.raises(BlockingIOError):
            os.close(os.open("out", os.O_RDWR | os.O_NONBLOCK))
    os.close(os.open("out", os.O_RDWR | os.O_NONBLOCK))


def test_a_file_that_somebody_has_open_for_writing_gets_none(file):
    other = os.open(NAME, os.O_RDWR)
    with lease.take(file) as held:
        assert not held.holds()
    mapped = mmap.mmap(other, 10)
    os.close(other)
    with lease.take(file) as held:
        assert not held.holds() and not held.settle()
    mapped.close()
    with lease.take(file) as held:
        assert held.holds()


def test_another_process_that_keeps_the_descriptor_keeps_no_lease(file):
    copy = os.dup(file.fd)  # as a forked process would have it
    with lease.take(file) as held:
        assert held.holds()
    now(os.O_RDWR)
    os.close(copy)


def test_no_thread_stays_and_no_handler_of_the_program_is_called(file):
    calls, before = [], threading.active_count()
    real = signal.signal(signal.SIGIO, lambda *_: calls.append(1))
    try:
        for _ in range(20):
            with lease.take(file) as held:
                with pytest.raises(BlockingIOError):
                    now(os.O_RDONLY)
                assert not held.holds()
        with pytest.raises(KeyError), lease.take(file):
            raise KeyError
    finally:
        signal.signal(signal.SIGIO, real)
    assert not calls and threading.active_count() == before


def test_another_run_is_told_that_the_file_is_written(file):
    with lease.take(file), pytest.raises(BlockingIOError, match=r"another process is writing this file.*out\.partial"):
        disk.open_own(file.path)


@pytest.mark.parametrize("missing", ["locks", "leases", "threads", "signals", "list of file systems"])
def test_where_something_is_missing_there_is_no_lease(file, monkeypatch, missing):
    def refuse(*arguments):
        raise RuntimeError("can't start new thread") if missing == "threads" else OSError(22, "Invalid argument")

    if missing == "locks":
        monkeypatch.setattr(disk, "fcntl", None)
    elif missing == "leases":
        monkeypatch.setattr(disk.fcntl, "F_SETLEASE", 99_999)
    elif missing == "threads":
        monkeypatch.setattr(lease, "Threads", lambda most: types.SimpleNamespace(do=refuse, end=lambda: None))
    elif missing == "signals":
        monkeypatch.setattr(signal, "pthread_sigmask", refuse)
    else:
        monkeypatch.setattr(lease, "_file_system", lambda path: None)
    with lease.take(file) as held:
        assert not held.holds() and not held.settle()


def test_file_systems_are_told_apart(tmp_path):
    mounts = [
        b"22 1 254:0 / / rw - ext4 /dev/vda rw",
        b"23 22 0:20 / /a rw shared:1 - nfs4 host:/a rw",
        b"24 23 0:21 / /a/b\\040c rw - tmpfs none rw",
        b"25 22 0:22 / /over rw - xfs /dev/vdb rw",
        b"26 25 0:23 / /over rw - fuse.sshfs host: rw",
    ]
    kinds = lease.kinds_of(mounts)
    for path, kind in {
        "/x": b"ext4", "/a": b"nfs4", "/a/x/y": b"nfs4", "/a/b c/x": b"tmpfs", "/a/bc": b"nfs4", "/ab": b"ext4",
        "/over/x": b"fuse.sshfs",
    }.items():  # fmt: skip
        assert lease.kind_at(path, kinds) == kind, path
    assert lease.kind_at("/x", {}) is None
