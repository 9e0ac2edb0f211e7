"""A run that is killed, or fails because of the disk or a source, loses nothing; resumed, it writes the same bytes."""

import errno
import io
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys

import oracle
import pytest
from english import ENGLISH
from faults import SEAM, crashed, each_fault
from file_runs import RUNS, TEXT, _enc, _here, encode, expected, leftovers, stop_at  # noqa: F401

import streamtok
import streamtok.files.sources
from streamtok import disk
from streamtok.files import SourceError, encode_file

# ==== Ends of the process ====

_DRIVER = """
import hashlib, json, os, pathlib, random, signal, sys, time, streamtok
from streamtok.files import encode_file
source, kills, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
enc = streamtok.get_encoding("r50k_base")
rng = random.Random(seed)

def run(dst, run, resume):
    options = [{"append_eot": True}, {"documents": "lines", "format": "npy"}, {"documents": "lines"}][run % 3]
    return encode_file(enc, source, dst, resume=resume, chunk_size=4096, journal_bytes=20_000, **options)

def sha(path):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).hexdigest()

wanted, began = [], time.monotonic()
for kind in range(3):
    run("whole", kind, False)
    wanted.append(sha("whole"))
most = (time.monotonic() - began) / 6
killed = finished = resumed = 0
while killed < kills:
    child = os.fork()
    if child == 0:
        status = 3
        try:
            done = run("out.bin", finished, True)
            status = 10 if done.resumed_ids else 0
        finally:
            os._exit(status)
    time.sleep(rng.random() * most)
    os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        killed += 1
        most *= 1.02  # a machine that is busy by now needs longer
        continue
    assert os.WEXITSTATUS(status) in (0, 10), status
    assert sha("out.bin") == wanted[finished % 3], finished
    assert not os.path.exists("out.bin.partial") and not os.path.exists("out.bin.journal")
    os.unlink("out.bin")
    resumed += os.WEXITSTATUS(status) == 10
    finished += 1
run("out.bin", finished, True)
assert sha("out.bin") == wanted[finished % 3]
print(json.dumps({"killed": killed, "finished": finished, "resumed": resumed}))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a forked child")
def test_kills_end_in_the_same_bytes_whenever_they_come(tmp_path):
    kills = 200 if oracle.LONG else 100
    (tmp_path / "in.txt").write_bytes(ENGLISH)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    # -W ignore: fork warns because of numpy's idle threads; the children do not use them.
    command = [sys.executable, "-W", "ignore", "-c", _DRIVER, "in.txt", str(kills), "7"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["killed"] == kills and min(report["finished"], report["resumed"]) >= kills // 40, report


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("side", ["before", "after"])
def test_a_crash_at_every_call_of_the_disk(enc, here, run, side):
    wanted = expected(enc, run)
    index = 0
    while crashed(lambda: encode(enc, run), index, side)[0]:
        assert not os.path.exists("out.bin") or pathlib.Path("out.bin").read_bytes() == wanted
        encode(enc, run, resume=True)
        assert pathlib.Path("out.bin").read_bytes() == wanted, index
        assert leftovers() == []
        os.unlink("out.bin")
        index += 1
    assert index > 40  # every entry is a write and two fsyncs


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc for the name of an open file")
@pytest.mark.parametrize("run", RUNS)
def test_a_power_cut_at_every_call_loses_what_was_not_synced(enc, here, monkeypatch, run):
    wanted, synced, original = expected(enc, run), {}, disk.os_fsync

    def fsync(fd):
        original(fd)
        path = os.readlink(f"/proc/self/fd/{fd}")
        if os.path.isfile(path):
            synced[os.path.basename(path)] = pathlib.Path(path).read_bytes()

    monkeypatch.setattr(disk, "os_fsync", fsync)
    index = 0
    while crashed(lambda: encode(enc, run), index)[0]:
        for name in leftovers():
            pathlib.Path(name).write_bytes(synced.get(name, b""))
        if os.path.exists("out.bin"):
            assert synced["out.bin.partial"] == wanted  # the file was on the disk before it got its final name
        encode(enc, run, resume=True)
        assert pathlib.Path("out.bin").read_bytes() == wanted, index
        os.unlink("out.bin")
        synced.clear()
        index += 1
    assert index > 40


# ==== Failures of the disk ====


@pytest.mark.parametrize("name", SEAM)
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_each_failing_call_is_an_error_that_can_be_resumed(enc, here, name, code):
    wanted = expected(enc, "lines")
    pathlib.Path("out.bin").write_bytes(b"before")

    def after(error):
        # The advice to resume comes if there is something to resume from, which is not so before the first text.
        if error is not None:
            assert ("resume=True" in str(error) and "out.bin" in str(error)) == bool(leftovers())
        assert pathlib.Path("out.bin").read_bytes() in (b"before", wanted)
        encode(enc, "lines", resume=True)
        assert pathlib.Path("out.bin").read_bytes() == wanted and leftovers() == []
        pathlib.Path("out.bin").write_bytes(b"before")

    assert each_fault(name, lambda: encode(enc, "lines"), after, code=code) >= 1


def test_short_writes_are_finished(enc, here, monkeypatch):
    wanted, original = expected(enc, "lines"), os.write
    monkeypatch.setattr(disk, "os_write", lambda fd, data: original(fd, data[: random.randint(1, 9)]))
    encode(enc, "lines")
    assert pathlib.Path("out.bin").read_bytes() == wanted


_FULL = """
import resource, sys, streamtok
from streamtok.files import encode_file
enc = streamtok.get_encoding("r50k_base")
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), -1))
try:
    encode_file(enc, "in.txt", "out.bin", resume=True, chunk_size=4096, journal_bytes=50_000)
except OSError as error:
    sys.exit(str(error))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="limits the size of files")
def test_a_disk_that_is_full_for_a_while(enc, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pathlib.Path("in.txt").write_bytes(ENGLISH)
    size = encode_file(enc, "in.txt", "whole").ids * 2
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    for limit in (size // 3, size // 2, size):
        command = [sys.executable, "-c", _FULL, str(limit)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert (done.returncode == 0) == (limit == size), done.stderr
        assert limit == size or ("resume=True" in done.stderr and leftovers())
    assert pathlib.Path("out.bin").read_bytes() == pathlib.Path("whole").read_bytes()


# ==== Sources that fail ====


def test_source_that_cannot_be_read_for_a_while(enc, here, monkeypatch):
    wanted = expected(enc)
    original = streamtok.files.sources.Reader.read

    def read(self, n):
        if self.name == "c.txt.gz" and self.position() > 0:
            raise OSError(errno.EIO, "Input/output error", self.name)
        return original(self, n)

    with monkeypatch.context() as patch:
        patch.setattr(streamtok.files.sources.Reader, "read", read)
        with pytest.raises(OSError, match=r"resume=True.*c\.txt\.gz"):
            encode(enc)
    result = encode(enc, resume=True)
    assert pathlib.Path("out.bin").read_bytes() == wanted and result.resumed_ids > 0


def test_source_that_vanishes_for_a_while(enc, here):
    wanted = expected(enc)

    def vanish(at):
        if os.path.exists("c.txt.gz"):
            shutil.move("c.txt.gz", "elsewhere")

    with pytest.raises(FileNotFoundError, match=r"resume=True.*c\.txt\.gz"):
        encode(enc, progress=vanish)
    with pytest.raises(FileNotFoundError, match=r"c\.txt\.gz"):
        encode(enc, resume=True)
    assert leftovers() == ["out.bin.journal", "out.bin.partial"]
    shutil.move("elsewhere", "c.txt.gz")
    encode(enc, resume=True)
    assert pathlib.Path("out.bin").read_bytes() == wanted


def test_compressed_source_that_ends_before_the_point(enc, here, monkeypatch):
    stop_at(enc, len(TEXT) + 1)
    short = type("Short", (io.BytesIO,), {"some": io.BytesIO.read})(b"short")
    monkeypatch.setattr(streamtok.files.sources, "_decompressor", lambda suffix, raw: short)
    with pytest.raises(SourceError, match="before the point to resume from"):
        encode(enc, resume=True)
