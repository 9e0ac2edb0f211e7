"""The thread that writes ids while others encode: order, errors, checksums, memory used again, power cuts."""

from __future__ import annotations

import errno
import gc
import os
import pathlib
import random
import sys
import threading
import time
import zlib

import numpy as np
import pytest
from file_runs import RUNS, SEAM, Crash, _enc, _here, encode, expected, leftovers  # noqa: F401

from streamtok import _batch as batch
from streamtok import disk
from streamtok.files import encoder, growing, id_sink, readers
from streamtok.files.in_order import Aside, Buffers
from streamtok.native.checksum import crc32, joined_crc32


def test_checksums_are_zlibs():
    rng = random.Random(2)
    data = rng.randbytes(3000)
    for size in [*range(300), *(rng.randint(300, 2900) for _ in range(300))]:
        start, before = rng.randint(0, 99), rng.choice([0, 1, 0xFFFFFFFF, rng.getrandbits(32)])
        stretch = memoryview(data)[start : start + size]
        assert crc32(stretch, before) == zlib.crc32(stretch, before), size
    ids = np.arange(70_001, dtype=np.uint32)
    assert crc32(ids) == zlib.crc32(ids) and crc32(ids.astype("<u2")[1:]) == zlib.crc32(ids.astype("<u2")[1:])


def test_checksums_of_two_stretches_join():
    rng = random.Random(1)
    for size in (0, 1, 2, 3, 255, 256, 257, 70_001):
        a, b = rng.randbytes(rng.randint(0, 500)), rng.randbytes(size)
        assert joined_crc32(zlib.crc32(a), zlib.crc32(b), size) == zlib.crc32(a + b)
    joined, step = 0, 1 << 20
    for _ in range(5):
        joined = joined_crc32(joined, zlib.crc32(bytes(step)), step)
    assert joined == zlib.crc32(bytes(5 * step))


@pytest.mark.parametrize("advice", ["taken", "refused", "unknown"])
def test_what_is_on_the_disk_may_leave_memory(enc, here, monkeypatch, advice):
    wanted, seen = expected(enc), []

    def advise(fd, *what):
        seen.append(os.fstat(fd).st_size)
        if advice == "refused":
            raise OSError(22, "no advice")
        os.posix_fadvise(fd, *what)

    monkeypatch.setattr(growing, "_LET_GO_EVERY", 1000)
    monkeypatch.setattr(disk, "os_fadvise", None if advice == "unknown" or not hasattr(os, "posix_fadvise") else advise)
    encode(enc)
    assert pathlib.Path("out.bin").read_bytes() == wanted
    assert seen == sorted(seen) and (len(seen) >= 2 or disk.os_fadvise is None)


def test_actions_are_done_in_order_and_few_wait():
    done, waiting, aside = [], [], Aside(3)
    for i in range(50):
        aside.do(lambda i=i: (time.sleep(0.001), done.append(i)))
        waiting.append(i + 1 - len(done))
    aside.drain()
    assert done == list(range(50)) and max(waiting) <= 4
    aside.close()


def test_an_error_is_raised_later_and_nothing_behind_it_is_done():
    before, done, aside = threading.active_count(), [], Aside(2)

    def fail():
        raise Crash

    aside.do(fail)
    with pytest.raises(Crash):
        for i in range(5):
            aside.do(lambda i=i: done.append(i))
    aside.close()
    assert done == [] and threading.active_count() == before


def test_a_buffer_is_not_lent_again_while_somebody_looks_at_it():
    buffers = Buffers()
    first = buffers.lend(100)
    part = first[10:20]
    part[:] = b"0123456789"
    at = np.frombuffer(first, np.uint8).ctypes.data
    array = np.frombuffer(part, np.uint8)
    del first, part
    gc.collect()
    other = buffers.lend(100)
    other[:] = bytes(100)
    assert array.tobytes() == b"0123456789"
    del array
    gc.collect()
    again = buffers.lend(90)
    assert np.frombuffer(again, np.uint8).ctypes.data == at and len(again) == 90
    assert len(buffers.lend(1000)) == 1000


@pytest.fixture
def tiny_parts(monkeypatch):
    monkeypatch.setattr(encoder, "_PART", 64)
    monkeypatch.setattr(readers, "_MOST_HELD", 300)
    monkeypatch.setattr(batch, "cores", lambda: 64)
    monkeypatch.setattr(id_sink, "_BUFFER_IDS", 16)  # so that most ids come as blocks


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("dtype", ["uint16", "uint32"])
def test_the_file_and_its_checksum_are_those_of_one_thread(enc, here, tiny_parts, run, dtype):
    options = {"dtype": dtype, "format": "bin"}
    one = encode(enc, run, "one.bin", **options)
    for chunk_size in (7, 100, 256, 1 << 20):
        several = encode(enc, run, "several.bin", num_threads=3, chunk_size=chunk_size, **options)
        assert pathlib.Path("several.bin").read_bytes() == pathlib.Path("one.bin").read_bytes()
        assert several.crc32 == one.crc32 == zlib.crc32(pathlib.Path("one.bin").read_bytes())


class PowerCut:
    """Lets calls of the disk pass up to one; it and all later ones fail. Records what fsync had promised by then."""

    def __init__(self, index: int) -> None:
        self.index, self.calls = index, 0
        self.synced: dict[str, bytes] = {}
        self._lock = threading.Lock()

    def wrap(self, name, original):
        def call(*arguments):
            with self._lock:
                self.calls += 1
                if self.calls > self.index:
                    raise Crash
            if name != "os_fsync":
                return original(*arguments)
            path = os.readlink(f"/proc/self/fd/{arguments[0]}")
            content = pathlib.Path(path).read_bytes() if os.path.isfile(path) else b""  # others may be writing still
            original(*arguments)
            with self._lock:
                if self.calls <= self.index:
                    self.synced[os.path.basename(path)] = content

        return call


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc for the name of an open file")
@pytest.mark.parametrize("run", RUNS)
def test_a_power_cut_loses_what_was_not_synced_and_nothing_else(enc, here, tiny_parts, monkeypatch, run):
    wanted, index = expected(enc, run), 0
    while True:
        cut = PowerCut(index)
        with monkeypatch.context() as patch:
            for name in SEAM:
                patch.setattr(disk, name, cut.wrap(name, getattr(disk, name)))
            try:
                encode(enc, run, num_threads=3)
            except Crash:
                pass
            else:
                break
        for name in leftovers():
            pathlib.Path(name).write_bytes(cut.synced.get(name, b""))
        if os.path.exists("out.bin"):
            assert cut.synced["out.bin.partial"] == wanted
        done = encode(enc, run, resume=True, num_threads=2)
        assert pathlib.Path("out.bin").read_bytes() == wanted, index
        assert done.crc32 == zlib.crc32(wanted[128:] if RUNS[run].get("format") == "npy" else wanted)
        os.unlink("out.bin")
        index += 3  # the order of the calls differs from run to run
    assert index > 40


class WindowsLocks:
    """Stands for Windows' msvcrt: a lock is on bytes from the file's position on, and others cannot read them."""

    LK_NBLCK = 2

    def __init__(self) -> None:
        self.held: set[tuple[int, int]] = set()

    def locking(self, fd: int, mode: int, count: int) -> None:
        assert (mode, count) == (self.LK_NBLCK, 1)
        place = os.fstat(fd).st_ino, os.lseek(fd, 0, os.SEEK_CUR)
        if place in self.held:
            raise PermissionError(errno.EACCES, "Permission denied")
        self.held.add(place)


def test_one_process_at_a_time_writes_a_file_on_windows_too(tmp_path, monkeypatch):
    locks, path = WindowsLocks(), str(tmp_path / "out")
    monkeypatch.setattr(disk, "fcntl", None)
    monkeypatch.setattr(disk, "msvcrt", locks)
    with disk.open_locked(path) as file:
        file.write(b"12345678")
        with pytest.raises(BlockingIOError, match="another process is writing this file"):
            disk.open_locked(path)
        file.write(b"9")  # locking does not move the position of the file
        [(_, locked)] = locks.held
        assert locked > 1 << 40  # a locked byte of the file itself could not be read
    assert (tmp_path / "out").read_bytes() == b"123456789"
