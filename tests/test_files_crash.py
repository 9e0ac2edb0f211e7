"""A run that is killed, or that the disk fails, goes on to the same bytes; a run that may not go on says why."""

import errno
import gzip
import hashlib
import io
import json
import os
import pathlib
import pydoc_data.topics
import random
import shutil
import subprocess
import sys
import zlib

import pytest

import streamtok
import streamtok.file_run
import streamtok.sources
from streamtok import disk, journal
from streamtok.files import ResumeError, SourceError, encode_file

ENGLISH = pathlib.Path(pydoc_data.topics.__file__).read_bytes()
TEXT = ENGLISH[:3000] + "naïve café ☕ 日本語 👩‍👩‍👧 \t  \n\n x\r\n".encode() * 9 + b"a" * 700
SEAM = ("os_open", "os_write", "os_fsync", "os_ftruncate", "os_replace", "os_unlink")


class Crash(BaseException):
    """The process ends here: no handler of the package may take it for an error that it knows."""


@pytest.fixture(scope="module")
def enc():
    return streamtok.get_encoding("r50k_base")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_bytes(TEXT)
    (tmp_path / "c.txt.gz").write_bytes(gzip.compress(TEXT))
    lines = [json.dumps({"text": line}) for line in TEXT.decode().splitlines()]
    (tmp_path / "d.jsonl").write_text("\n".join(lines))
    return tmp_path


RUNS = {
    "text": {"src": ["a.txt", "c.txt.gz"], "append_eot": True},
    "lines": {"src": ["a.txt", "b.txt"], "documents": "lines", "format": "npy", "append_eot": True},
    "jsonl": {"src": "d.jsonl", "documents": "jsonl", "dtype": "uint32"},
}
SMALL = {"chunk_size": 256, "journal_bytes": 500}


def encode(enc, run="text", dst="out.bin", **options):
    """encode_file with options that make many chunks and many journal entries of a small text."""
    arguments = {**SMALL, **RUNS[run], **options}
    return encode_file(enc, arguments.pop("src"), dst, **arguments)


def expected(enc, run="text"):
    encode(enc, run, "expected")
    return pathlib.Path("expected").read_bytes()


def leftovers():
    return sorted(name for name in os.listdir() if name.endswith((".partial", ".journal")))


def stop_at(enc, n, run="text", **options):
    """Begin a run and stop it before the chunk after `n` bytes."""

    def progress(at):
        if at.bytes_read >= n:
            raise Crash

    with pytest.raises(Crash):
        encode(enc, run, progress=progress, **options)
    assert leftovers() == ["out.bin.journal", "out.bin.partial"]


def entries():
    return pathlib.Path("out.bin.journal").read_bytes().splitlines(keepends=True)


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
whole = (time.monotonic() - began) / 3
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
    time.sleep(rng.random() * whole / 2)
    os.kill(child, signal.SIGKILL)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        killed += 1
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
def test_200_kills_end_in_the_same_bytes(tmp_path):
    (tmp_path / "in.txt").write_bytes(ENGLISH)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    # -W ignore: numpy's idle threads make fork warn; the children use none of them.
    command = [sys.executable, "-W", "ignore", "-c", _DRIVER, "in.txt", "200", "7"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["killed"] == 200 and report["finished"] >= 5 and report["resumed"] >= 5, report


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("side", ["before", "after"])
def test_a_crash_at_every_call_of_the_disk(enc, here, monkeypatch, run, side):
    wanted = expected(enc, run)
    index = 0
    while crash_at(enc, monkeypatch, run, side, index):
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
    while crash_at(enc, monkeypatch, run, "before", index):
        for name in leftovers():
            pathlib.Path(name).write_bytes(synced.get(name, b""))
        if os.path.exists("out.bin"):
            assert synced["out.bin.partial"] == wanted  # it was on the disk before it got its name
        encode(enc, run, resume=True)
        assert pathlib.Path("out.bin").read_bytes() == wanted, index
        os.unlink("out.bin")
        synced.clear()
        index += 1
    assert index > 40


def crash_at(enc, monkeypatch, run, side, index):
    """Run until the call `index` of the disk crashes; False when there are fewer calls."""
    calls = 0

    def wrap(original):
        def call(*args):
            nonlocal calls
            calls += 1
            if calls == index + 1 and side == "before":
                raise Crash
            crashes = calls == index + 1
            try:
                return original(*args)
            finally:
                if crashes:
                    raise Crash

        return call

    with monkeypatch.context() as patch:
        for name in SEAM:
            patch.setattr(disk, name, wrap(getattr(disk, name)))
        try:
            encode(enc, run)
        except Crash:
            return True
    return False


# ==== Failures of the disk ====


@pytest.mark.parametrize("name", SEAM)
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_each_failing_call_is_an_error_that_can_be_resumed(enc, here, monkeypatch, name, code):
    wanted = expected(enc, "lines")
    pathlib.Path("out.bin").write_bytes(b"before")
    index = failures = 0
    while fail_at(enc, monkeypatch, name, code, index):
        failures += 1
        assert pathlib.Path("out.bin").read_bytes() in (b"before", wanted)
        encode(enc, "lines", resume=True)
        assert pathlib.Path("out.bin").read_bytes() == wanted and leftovers() == []
        pathlib.Path("out.bin").write_bytes(b"before")
        index += 1
    assert failures >= 1


def fail_at(enc, monkeypatch, name, code, index):
    """Run with the call `index` of one kind failing; False when there are fewer calls."""
    original, calls = getattr(disk, name), 0

    def call(*args):
        nonlocal calls
        calls += 1
        if calls == index + 1:
            raise OSError(code, os.strerror(code))
        return original(*args)

    with monkeypatch.context() as patch:
        patch.setattr(disk, name, call)
        try:
            encode(enc, "lines")
        except OSError as error:
            assert error.errno == code and "resume=True" in str(error) and "out.bin" in str(error)
            return True
    return False


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
    original = streamtok.sources.Reader.read

    def read(self, n):
        if self.name == "c.txt.gz" and self.position() > 0:
            raise OSError(errno.EIO, "Input/output error", self.name)
        return original(self, n)

    with monkeypatch.context() as patch:
        patch.setattr(streamtok.sources.Reader, "read", read)
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
    monkeypatch.setattr(streamtok.sources, "_decompressor", lambda suffix, raw: io.BytesIO(b"short"))
    with pytest.raises(SourceError, match="before the point to resume from"):
        encode(enc, resume=True)


# ==== What is left ====


@pytest.mark.parametrize("run", RUNS)
def test_go_on_from_every_entry(enc, here, run):
    wanted = expected(enc, run)
    stop_at(enc, sum(os.path.getsize(name) for name in RUNS[run]["src"]) if run != "jsonl" else 4000, run)
    lines, partial = entries(), pathlib.Path("out.bin.partial").read_bytes()
    assert len(lines) > 5
    for keep in range(len(lines) + 1):
        pathlib.Path("out.bin.journal").write_bytes(b"".join(lines[:keep]))
        pathlib.Path("out.bin.partial").write_bytes(partial)
        result = encode(enc, run, resume=True)
        assert pathlib.Path("out.bin").read_bytes() == wanted
        assert (result.resumed_ids > 0) == (keep > 1)


def test_last_entry_cut_at_every_byte(enc, here):
    wanted = expected(enc)
    stop_at(enc, 2500)
    *whole, last = entries()
    partial = pathlib.Path("out.bin.partial").read_bytes()
    for cut in range(len(last) + 1):
        pathlib.Path("out.bin.journal").write_bytes(b"".join(whole) + last[:cut])
        pathlib.Path("out.bin.partial").write_bytes(partial)
        assert encode(enc, resume=True).resumed_ids > 0
        assert pathlib.Path("out.bin").read_bytes() == wanted


def test_damage_anywhere_is_never_a_wrong_output(enc, here):
    wanted, rng = expected(enc), random.Random(5)
    stop_at(enc, 3500)
    good = {name: pathlib.Path(name).read_bytes() for name in leftovers()}
    refused = 0
    for turn in range(300):
        for name, data in good.items():
            pathlib.Path(name).write_bytes(data)
        name = leftovers()[turn % 2]
        pathlib.Path(name).write_bytes(damaged(good[name], rng))
        try:
            encode(enc, resume=True)
        except ResumeError as error:
            assert "header of the journal is damaged" in str(error)
            refused += 1
            continue
        assert pathlib.Path("out.bin").read_bytes() == wanted
    assert refused < 150


def damaged(data, rng):
    data, place = bytearray(data), rng.randrange(len(data))
    kind = rng.randrange(4)
    if kind == 0:
        data[place] ^= 1 << rng.randrange(8)
    elif kind == 1:
        del data[place:]
    elif kind == 2:
        data[place : place + 40] = bytes(40)
    else:
        data[place:place] = rng.randbytes(30)
    return bytes(data)


def test_whole_entries_of_nonsense_are_passed_over(enc, here):
    wanted = expected(enc)
    stop_at(enc, 2500)
    good = json.loads(entries()[-1][9:])
    for field, value in [("ids", -1), ("ids", "7"), ("crc", None), ("stream", "%%"), ("more", 1), ("is_open", 2)]:
        body = json.dumps({**good, field: value}).encode()
        with open("out.bin.journal", "ab") as file:
            file.write(b"%08x %s\n" % (zlib.crc32(body), body))
    with open("out.bin.journal", "ab") as file:
        file.write(b"%08x []\n%08x {\n" % (zlib.crc32(b"[]"), zlib.crc32(b"{")))
    assert encode(enc, resume=True).resumed_ids > 0
    assert pathlib.Path("out.bin").read_bytes() == wanted


def test_nothing_to_resume_begins_anew(enc, here):
    wanted = expected(enc)
    assert encode(enc, resume=True).resumed_ids == 0
    stop_at(enc, 2500)
    os.unlink("out.bin.partial")
    assert encode(enc, resume=True).resumed_ids == 0
    stop_at(enc, 2500)
    os.unlink("out.bin.journal")
    assert encode(enc, resume=True).resumed_ids == 0
    stop_at(enc, 2500)
    assert encode(enc).resumed_ids == 0
    assert pathlib.Path("out.bin").read_bytes() == wanted and leftovers() == []


def test_run_that_ended_after_its_rename(enc, here, monkeypatch):
    wanted = expected(enc, "lines")
    with monkeypatch.context() as patch:
        patch.setattr(disk, "os_fsync", crash_when(lambda: os.path.exists("out.bin"), os.fsync))
        with pytest.raises(Crash):
            encode(enc, "lines")
    assert leftovers() == ["out.bin.journal"]
    ready = os.stat("out.bin")
    result = encode(enc, "lines", resume=True)
    assert os.path.samestat(ready, os.stat("out.bin")) and leftovers() == []
    assert result.ids * 2 + 128 == len(wanted) and result.documents == encode(enc, "lines").documents


def crash_when(condition, original):
    def call(*args):
        if condition():
            raise Crash
        return original(*args)

    return call


# ==== Refusals ====


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"append_eot": False}, "append_eot was True and is False"),
        ({"format": "npy"}, "format was 'bin' and is 'npy'"),
        ({"dtype": "uint32"}, "dtype was 'uint16' and is 'uint32'"),
        ({"documents": "lines"}, "documents was 'text' and is 'lines'"),
        ({"documents": "jsonl", "key": "body"}, "key was None and is 'body'"),
        ({"errors": "replace"}, "errors was 'strict' and is 'replace'"),
        ({"allowed_special": "all"}, r"allowed_special was \[\] and is 'all'"),
        ({"disallowed_special": {"<|endoftext|>"}}, r"disallowed_special was \[\] and is \['<"),
        ({"src": ["a.txt"]}, "there were 2 sources and there are 1"),
        ({"src": ["a.txt", "d.jsonl"]}, "source d.jsonl had .* bytes and has"),
    ],
)
def test_other_options_refuse_and_say_which(enc, here, change, complaint):
    stop_at(enc, 2500)
    before = {name: pathlib.Path(name).read_bytes() for name in leftovers()}
    with pytest.raises(ResumeError, match=complaint) as caught:
        encode(enc, resume=True, **change)
    assert caught.match("resume=False")
    assert before == {name: pathlib.Path(name).read_bytes() for name in leftovers()}
    assert encode(enc, resume=True, chunk_size=99, journal_bytes=10**9).resumed_ids > 0  # these change no ids


def test_other_source_refuses_and_says_how_it_differs(enc, here):
    stop_at(enc, 2500)
    times = os.stat("a.txt").st_atime_ns, os.stat("a.txt").st_mtime_ns
    for data, moment, complaint in [
        (TEXT + b"!", times, f"a.txt had {len(TEXT)} bytes and has {len(TEXT) + 1}"),
        (TEXT[:-1] + b"!", times, "content of source a.txt changed"),
        (TEXT, (times[0], times[1] + 1), "a.txt was modified"),
    ]:
        pathlib.Path("a.txt").write_bytes(data)
        os.utime("a.txt", ns=moment)
        with pytest.raises(ResumeError, match=complaint):
            encode(enc, resume=True)
    os.utime("a.txt", ns=times)
    assert encode(enc, resume=True).resumed_ids > 0


def test_other_vocabulary_or_release_refuses(enc, here, monkeypatch):
    stop_at(enc, 2500)
    with pytest.raises(ResumeError, match="encoding was 'r50k_base' and is 'gpt2'"):
        encode(streamtok.get_encoding("gpt2"), resume=True)
    with monkeypatch.context() as patch:
        patch.setattr(type(enc), "fingerprint", property(lambda self: "0" * 64))
        with pytest.raises(ResumeError, match="vocabulary, pattern or special tokens of 'r50k_base' changed"):
            encode(enc, resume=True)
    with monkeypatch.context() as patch:
        patch.setattr(streamtok.file_run, "__version__", "99.0")
        with pytest.raises(ResumeError, match=r"began it and this is streamtok 99\.0"):
            encode(enc, resume=True)
    with monkeypatch.context() as patch:
        patch.setattr(journal, "FORMAT_VERSION", 2)
        with pytest.raises(ResumeError, match="format version 1, this release reads 2"):
            encode(enc, resume=True)
    assert encode(enc, resume=True).resumed_ids > 0


def test_open_file_is_resumed_too(enc, here):
    wanted = hashlib.sha256(expected(enc)).hexdigest()
    sources = [open("a.txt", "rb"), "c.txt.gz"]
    with sources[0]:
        stop_at(enc, 2500, src=sources)
    sources = [open("a.txt", "rb"), "c.txt.gz"]
    with sources[0]:
        assert encode(enc, src=sources, resume=True).resumed_ids > 0
    assert hashlib.sha256(pathlib.Path("out.bin").read_bytes()).hexdigest() == wanted
