"""A run of any format that is killed, or that the disk fails, is resumed to the same bytes."""

from __future__ import annotations

import errno
import json
import os
import pathlib
import shutil
import subprocess
import sys

import oracle
import pytest
from english import ENGLISH
from faults import crashed
from file_runs import Crash, _enc  # noqa: F401
from test_formats import NAMED, NAMES, contents

import streamtok
from streamtok import disk
from streamtok.files import ResumeError, encode_file

_DRIVER = """
import json, os, random, shutil, signal, sys, time, streamtok
sys.path[:0] = sys.argv[2].split(os.pathsep)
from streamtok.files import encode_file
from test_formats import NAMED, contents
enc = streamtok.get_encoding("r50k_base")
rng = random.Random(11)

def run(format):
    return encode_file(enc, "a.txt", NAMED[format], format=format, documents="lines", index=True, resume=True,
                       chunk_size=4096, journal_bytes=20_000)

def clear():
    for name in contents():
        if os.path.exists(name):
            os.unlink(name)
    for name in list(os.listdir()):
        if os.path.isdir(name):
            shutil.rmtree(name)

report = {}
for format in json.loads(sys.argv[1]):
    run(format)
    wanted = contents()
    clear()
    began = time.monotonic()
    run(format)
    whole = time.monotonic() - began
    clear()
    killed = resumed = finished = 0
    while killed < int(sys.argv[3]):
        child = os.fork()
        if child == 0:
            status = 3
            try:
                status = 10 if run(format).resumed_ids else 0
            finally:
                os._exit(status)
        time.sleep(whole * rng.random() * 0.8)
        os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        if os.WIFSIGNALED(status):
            killed += 1
            continue
        assert os.WEXITSTATUS(status) in (0, 10), (format, status)
        assert contents() == wanted, (format, sorted(contents()))
        clear()
        resumed += os.WEXITSTATUS(status) == 10
        finished += 1
    run(format)
    assert contents() == wanted, format
    clear()
    report[format] = [finished, resumed]
print(json.dumps(report))
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a forked child")
def test_kills_at_random_moments_end_in_the_same_bytes(tmp_path):
    (tmp_path / "a.txt").write_bytes(ENGLISH[:150_000])
    path = os.pathsep.join(each for each in sys.path if each)
    kills = "12" if oracle.LONG else "6"
    command = [sys.executable, "-W", "ignore", "-c", _DRIVER, json.dumps(able()), path, kills]
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout).keys() == set(able())


def able():
    """The formats whose packages are there."""
    return [name for name in NAMES if name not in ("parquet", "arrow") or _has_pyarrow()]


def _has_pyarrow():
    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        return False
    return True


@pytest.fixture(name="here")
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_bytes(ENGLISH[:1200])


def run(enc, format, **options):
    options = {"documents": "lines", "index": True, "chunk_size": 256, "journal_bytes": 500, **options}
    return encode_file(enc, ["a.txt", "b.txt"], NAMED[format], format=format, **options)


def clear():
    for name in os.listdir():
        if name not in ("a.txt", "b.txt"):
            shutil.rmtree(name) if os.path.isdir(name) else os.unlink(name)


@pytest.mark.parametrize("format", NAMES)
def test_a_crash_at_each_call_of_the_disk_at_the_end(enc, here, format):
    if format not in able():
        pytest.skip("pyarrow is not there")
    _, counted = crashed(lambda: run(enc, format))
    wanted = contents()
    assert not [name for name in wanted if ".partial" in name or name.endswith(".journal")]
    clear()
    for index in range(max(counted - 40, 0), counted):
        assert crashed(lambda: run(enc, format), index)[0]
        run(enc, format, resume=True)
        assert contents() == wanted, index
        clear()


@pytest.mark.parametrize("format", ["megatron", "mds", "parquet"])
def test_a_disk_that_is_full_loses_nothing(enc, here, monkeypatch, format):
    if format not in able():
        pytest.skip("not there")
    run(enc, format)
    wanted = contents()
    clear()
    original, room = disk.os_write, 0

    def full(fd, data):
        nonlocal room
        room -= len(data)
        if room < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return original(fd, data)

    for room in (3000, 5000, sum(map(len, wanted.values())) + 2000):  # noqa: B007
        with monkeypatch.context() as patch:
            patch.setattr(disk, "os_write", full)
            try:
                run(enc, format, resume=True)
            except OSError as error:
                assert error.errno == errno.ENOSPC and "resume=True" in str(error)
    run(enc, format, resume=True)
    assert contents() == wanted


@pytest.mark.parametrize("format", ["bin", "megatron"])
def test_another_vocabulary_or_another_writer_is_told(enc, here, monkeypatch, format):
    def stop(at):
        if at.bytes_read > 900:
            raise Crash

    with pytest.raises(Crash):
        run(enc, format, progress=stop)
    with pytest.raises(ResumeError, match="the encoding was 'r50k_base' and is 'gpt2'"):
        run(streamtok.get_encoding("gpt2"), format, resume=True)
    with pytest.raises(ResumeError, match="option format was"):
        encode_file(enc, ["a.txt", "b.txt"], "o.bin", format="datatrove", documents="lines", resume=True)
    if format == "bin":
        with pytest.raises(ResumeError, match="option index was True and is False"):
            run(enc, format, resume=True, index=False)
    held = disk.open_locked(os.path.realpath("o.bin.partial"))
    if disk.fcntl is not None:
        with pytest.raises(BlockingIOError, match="another process is writing this file"):
            run(enc, format, resume=True)
    held.close()
    assert run(enc, format, resume=True).resumed_ids
    assert pathlib.Path("o.bin").exists()
