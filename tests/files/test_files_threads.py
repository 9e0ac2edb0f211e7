"""encode_file on several threads: the same file, the same errors, the same points to go on from as with one."""

from __future__ import annotations

import contextlib
import errno
import gzip
import io
import itertools
import json
import os
import pathlib
import random
import subprocess
import sys
import threading
import time

import nasty
import oracle
import pytest
from english import ENGLISH
from file_runs import RUNS, TEXT, Crash, _enc, _here, encode, leftovers  # noqa: F401
from longest_match import BYTES

import streamtok
from streamtok import _batch as batch
from streamtok import disk
from streamtok.files import Options, encode_file, encode_sources, encoder, in_order, readers

THREADS = (2, 3, 8, 64, None)


@pytest.fixture(autouse=True)
def tiny_parts(monkeypatch):
    """Parts of a few bytes, and as many threads as asked for; where nobody asks, one for each 2,000 bytes."""
    monkeypatch.setattr(encoder, "_PART", 64)
    monkeypatch.setattr(readers, "_MOST_HELD", 300)
    monkeypatch.setattr(batch, "cores", lambda: 64)
    monkeypatch.setattr(streamtok.files.encode, "_LEAST_SHARE", 2000)


def nasty_bytes(rng: random.Random, size: int, faults: bool) -> bytes:
    parts: list[bytes] = []
    while size > 0:
        kind = rng.randrange(5 if faults else 4)
        if kind == 0:
            part = rng.choice(nasty.FIXED).encode()
        elif kind == 1:
            part = rng.choice(nasty.SPECIALS).encode()
        elif kind == 4:
            part = next(nasty.random_bytes(rng, 1))
        else:
            part = next(nasty.random_strings(rng, 1, 60)).encode()
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def written(enc, dst, **options):
    """The bytes of the file, or the error."""
    try:
        done = encode_file(enc, options.pop("src"), dst, **options)
    except UnicodeDecodeError as error:
        assert leftovers() == []
        return UnicodeDecodeError, error.object[error.start : error.end], error.reason  # the reason has the offset
    except ValueError as error:
        assert leftovers() == []
        return ValueError, str(error)
    data = pathlib.Path(dst).read_bytes()
    os.unlink(dst)
    return data, done.ids, done.documents, done.bytes, done.crc32


def assert_threads_do_not_matter(enc, rng, **options) -> None:
    want = written(enc, "out.bin", num_threads=1, **options)
    for n in rng.sample(THREADS, 2):
        assert written(enc, "out.bin", num_threads=n, **options) == want, (n, options)


SPECIAL = ({}, {"allowed_special": "all"}, {"disallowed_special": "all"}, {"allowed_special": {"<|endoftext|>"}})


@pytest.mark.parametrize("name", oracle.FAMILIES)
@pytest.mark.parametrize("kind", ["text", "lines"])
def test_every_number_of_threads_writes_the_same_or_fails_alike(name, kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    enc, rng = oracle.ours(name), random.Random(name)
    for turn in range(60 if oracle.LONG else 15):
        sources = []
        for index in range(rng.randint(1, 3)):
            data = nasty_bytes(rng, rng.choice((0, 50, 1000, 4000)), faults=turn % 3 == 0)
            path = pathlib.Path(f"{index}.txt")
            path.write_bytes(data)
            sources.append(str(path))
        options = {
            "documents": kind,
            "append_eot": rng.random() < 0.5,
            "errors": rng.choice(("strict", "replace", "ignore")),
            "chunk_size": rng.choice((1, 7, 100, 1000, 100_000)),
            "journal_bytes": rng.choice((100, 1000, 1 << 26)),
        }
        assert_threads_do_not_matter(enc, rng, src=sources, **options, **rng.choice(SPECIAL))


@pytest.mark.parametrize("seed", range(4))
def test_threads_share_text_of_longest_match_without_cuts(seed, tmp_path, monkeypatch):
    """What is certain of each chunk is written; the next one begins with the rest."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(batch, "_LEAST_PART", 64)
    rng, joined = random.Random(seed), []
    tokens = {bytes(pair): 300 + i for i, pair in enumerate(itertools.product(b"ab\xc3\xa9", repeat=2))}
    tokens |= {"".join(rng.choices("abé", k=rng.randint(2, 9))).encode(): 400 + i for i in range(50)}
    tokens |= {b"a" * k: 500 + k for k in range(3, 30)}
    enc = streamtok.Encoding.longest_match("test", BYTES | tokens, special_tokens={"<|endoftext|>": 900, "ba<": 901})
    encode_certain = encoder.DocumentEncoder.encode_certain
    monkeypatch.setattr(
        encoder.DocumentEncoder, "encode_certain", lambda *given: joined.append(encode_certain(*given)) or joined[-1]
    )
    for _ in range(25 if oracle.LONG else 10):
        parts = [
            "".join(rng.choices("aaabé", k=rng.choice((500, 3000)))),
            "a" * 2000,
            rng.choice(("<|endoftext|>", "ba<")),
        ]
        data = "".join(rng.choices(parts, k=rng.randint(1, 4))).encode()
        if rng.random() < 0.3:
            at = rng.randint(0, len(data))
            data = data[:at] + rng.choice((b"\xff", b"\xa9", b"\xc3")) + data[at:]
        pathlib.Path("text.txt").write_bytes(data)
        options = {
            "errors": rng.choice(("strict", "replace", "ignore")),
            "chunk_size": rng.choice((100, 1000, 100_000)),
            "journal_bytes": rng.choice((100, 1000, 1 << 26)),
        }
        special = rng.choice(SPECIAL)
        assert_threads_do_not_matter(enc, rng, src="text.txt", **options, **special)
        stop = rng.randint(0, len(data))

        def progress(at, stop=stop):
            if at.bytes_read >= stop:
                raise Crash

        want = written(enc, "out.bin", num_threads=1, src="text.txt", **options, **special)
        with contextlib.suppress(Crash, ValueError):
            encode_file(enc, "text.txt", "out.bin", num_threads=3, progress=progress, **options, **special)
            os.unlink("out.bin")
        assert written(enc, "out.bin", src="text.txt", num_threads=2, resume=True, **options, **special) == want
    assert sum(map(bool, joined)) > 50


@pytest.mark.skipif(not disk.places_are_free, reason="this system does not read at places")
@pytest.mark.parametrize("name", ["os_preadv", "os_write"])
def test_a_part_that_cannot_be_read_or_written(name, here, monkeypatch):
    """Each call fails in turn: the error names the file, and a later run goes on from what was kept."""
    enc = oracle.ours("r50k_base")
    pathlib.Path("long.txt").write_bytes(ENGLISH[:6000] * 2)
    want, real, failed = written(enc, "out.bin", num_threads=1, src="long.txt"), getattr(disk, name), 0
    for index in range(0, 400, 5):
        left = [index]

        def fail(*arguments, left=left):
            left[0] -= 1
            if left[0] == -1:
                raise OSError(errno.EIO, os.strerror(errno.EIO))
            return real(*arguments)

        with monkeypatch.context() as patch:
            patch.setattr(disk, name, fail)
            try:
                encode_file(enc, "long.txt", "out.bin", num_threads=3, journal_bytes=500)
            except OSError as error:
                assert error.errno == errno.EIO
                written_to = ("out.bin.partial", "out.bin.journal")
                assert os.path.basename(error.filename) in (written_to if "write" in name else ("long.txt",))
                failed += 1
        assert written(enc, "out.bin", src="long.txt", num_threads=2, resume=True) == want
        if left[0] >= 0:
            break
    assert failed > 3


@pytest.mark.skipif(not disk.places_are_free, reason="this system does not read at places")
def test_parts_are_written_in_any_order_and_end_in_theirs(here, monkeypatch):
    """Threads are held up at random, so that parts are ready, and wait for their places, in every order."""
    enc, rng, real = oracle.ours("o200k_base"), random.Random(5), disk.os_preadv
    pathlib.Path("long.txt").write_bytes(ENGLISH[:9000] + TEXT)
    want = written(enc, "out.bin", num_threads=1, src="long.txt")

    def late(*arguments):
        time.sleep(rng.random() / 500)
        return real(*arguments)

    monkeypatch.setattr(disk, "os_preadv", late)
    for threads in (2, 5, 8):
        assert written(enc, "out.bin", src="long.txt", num_threads=threads, journal_bytes=1000) == want


@pytest.mark.skipif(not disk.places_are_free, reason="this system does not read at places")
def test_a_file_that_becomes_shorter_while_its_parts_are_read(here, monkeypatch):
    enc, real = oracle.ours("r50k_base"), disk.os_preadv
    pathlib.Path("long.txt").write_bytes(ENGLISH[:6000] * 2)

    def cut(*arguments):
        os.truncate("long.txt", 2000)
        return real(*arguments)

    monkeypatch.setattr(disk, "os_preadv", cut)
    with pytest.raises(OSError, match=r"became shorter|changed while it was read"):
        encode_file(enc, "long.txt", "out.bin", num_threads=2)


@pytest.mark.parametrize("kind", ["text", "lines"])
def test_sources_are_emitted_in_order_by_the_calling_thread(kind, here):
    enc, rng = oracle.ours("o200k_base"), random.Random(kind)
    options, caller = Options(kind, append_eot=True), threading.get_ident()
    for turn in range(20):
        names = [f"{index}.txt" for index in range(rng.randint(1, 3))]
        for name in names:
            pathlib.Path(name).write_bytes(nasty_bytes(rng, rng.choice((0, 50, 4000)), faults=turn % 4 == 0))

        def run(num_threads, names=names):
            ids, behind = [], []

            def emit(some, ends):
                assert threading.get_ident() == caller
                behind.extend(len(ids) + ends)
                ids.extend(some.tolist())

            try:
                done = encode_sources(
                    enc, names, emit, options, chunk_size=300, wants_ends=True, num_threads=num_threads
                )
            except ValueError as error:
                return type(error), str(error)
            return ids, behind, done.documents, done.text_bytes

        want, before = run(1), threading.active_count()
        for num_threads in (3, None):
            assert run(num_threads) == want
        assert threading.active_count() == before


def test_the_default_number_of_threads_goes_by_the_bytes_of_all_sources(here, monkeypatch):
    monkeypatch.setattr(streamtok.files.encode, "_LEAST_SHARE", 4 << 20)
    for size in (1 << 10, 3 << 20, 9 << 20):
        with open(f"{size}.txt", "wb") as file:
            file.truncate(size)

    def threads(*sizes, asked=None):
        sources = Options().sources_of([f"{size}.txt" for size in sizes])
        return streamtok.files.encode.threads_of(asked, sources)

    assert [threads(1 << 10), threads(3 << 20), threads(9 << 20)] == [1, 1, 2]
    assert threads(*[3 << 20] * 8) == 6 and threads(*[9 << 20] * 40) == 64
    assert threads(1 << 10, asked=5) == 5 and threads(*[9 << 20] * 40, asked=1) == 1
    assert Options().sources_of(io.BytesIO(b"x" * 100))[0].bytes_on_disk() == 0  # then one thread


def test_json_lines_and_their_errors(here):
    enc, rng = oracle.ours("cl100k_base"), random.Random(3)
    for turn in range(25):
        lines = [json.dumps({"text": nasty_bytes(rng, 60, False).decode()}) for _ in range(60)]
        if turn % 2:
            lines[rng.randrange(60)] = rng.choice(("{", '{"other": 1}', '{"text": "<|endoftext|>"}', '{"text": 3}'))
            lines[rng.randrange(60)] = '{"text": "<|endoftext|>"}'
        pathlib.Path("x.jsonl").write_text("\n".join(lines))
        assert_threads_do_not_matter(
            enc, rng, src="x.jsonl", documents="jsonl", chunk_size=rng.choice((64, 999)), **rng.choice(SPECIAL)
        )


@pytest.mark.parametrize("filler", ["a", " ", "的", "!"])
def test_stretches_without_a_cut(here, filler):
    enc, rng = oracle.ours("o200k_base"), random.Random(4)
    data = (TEXT.decode() + filler * 3000 + TEXT.decode() + filler * 200 + "1 end").encode()
    pathlib.Path("long.txt").write_bytes(data)
    pathlib.Path("long.txt.gz").write_bytes(gzip.compress(data))
    for chunk_size in (50, 256, 5000):
        for src in ("long.txt", "long.txt.gz"):
            assert_threads_do_not_matter(enc, rng, src=src, chunk_size=chunk_size, journal_bytes=700)


@pytest.mark.parametrize("run", RUNS)
def test_resuming_with_another_number_of_threads(enc, here, run):
    encode(enc, run, "expected", num_threads=1)
    wanted = pathlib.Path("expected").read_bytes()
    for first, then in ((1, 3), (3, 1), (8, 2), (3, 3), (None, None)):
        resumed = 0
        for stop in range(200, 6000, 450):

            def progress(at, stop=stop):
                if at.bytes_read >= stop:
                    raise Crash

            try:
                encode(enc, run, progress=progress, num_threads=first)
            except Crash:
                assert leftovers() == ["out.bin.journal", "out.bin.partial"]
            done = encode(enc, run, resume=True, num_threads=then)
            assert leftovers() == []
            resumed += done.resumed_ids > 0
            assert pathlib.Path("out.bin").read_bytes() == wanted, (first, then, stop)
            os.unlink("out.bin")
        assert resumed >= 1  # points are a little late while parts are being encoded


def test_an_error_behind_the_point_of_a_resumed_run_has_its_offset_in_the_whole_text(enc, here):
    data = TEXT + b" 12 ok, \xff and on"
    for first, then in ((1, 3), (3, 1), (3, 3)):
        pathlib.Path("bad.txt").write_bytes(data)

        def progress(at):
            if at.bytes_read >= len(TEXT) - 300:
                raise Crash

        options = {"src": "bad.txt", "chunk_size": 100, "journal_bytes": 500}
        with pytest.raises(Crash):
            encode_file(enc, dst="out.bin", progress=progress, num_threads=first, **options)
        with pytest.raises(UnicodeDecodeError, match=f"{data.index(0xFF)}"):
            encode_file(enc, dst="out.bin", resume=True, num_threads=then, **options)


def test_little_is_under_way_at_any_time(enc, here, monkeypatch):
    """No more than a few parts for each thread wait, which bounds the memory."""
    most = 0
    submit = in_order.Pipeline.submit

    def counting(self, *arguments):
        nonlocal most
        submit(self, *arguments)
        most = max(most, len(self._waiting))

    monkeypatch.setattr(in_order.Pipeline, "submit", counting)
    encode(enc, num_threads=3)
    assert 2 <= most <= 4 * in_order._AHEAD * 3


def test_threads_end_with_the_run(enc, here, monkeypatch):
    before = threading.active_count()
    encode(enc, num_threads=3)
    assert threading.active_count() == before

    def full(self, ids, ends):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("streamtok.files.id_sink.IdSink.append", full)
    with pytest.raises(OSError, match="resume=True"):
        encode(enc, num_threads=3)
    assert threading.active_count() == before


def test_one_thread_starts_none(enc, here, monkeypatch):
    """None that encodes. The thread that watches a file for other writers sleeps (streamtok/disk/lease.py)."""
    started, start = [], threading.Thread.start

    def noted(thread: threading.Thread) -> None:
        started.append(thread._target.__qualname__)
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", noted)
    encode(enc, num_threads=1)
    monkeypatch.setattr(streamtok.files.encode, "_LEAST_SHARE", 4 << 20)
    encode(enc)  # a small file
    assert set(started) <= {"Lease._watch"}


def test_num_threads_below_one_is_a_value_error(enc, here):
    with pytest.raises(ValueError, match="greater than 0"):
        encode(enc, num_threads=0)
    assert leftovers() == []


_KILLED = """
import os, pathlib, random, signal, sys, time, streamtok
from streamtok import _batch as batch, disk
from streamtok.files import encoder
from streamtok.files import encode, encode_file
encoder._PART, encode._LEAST_SHARE = 2048, 100_000
batch.cores = lambda: 4
enc, rng = streamtok.get_encoding("r50k_base"), random.Random(5)
options = {"src": "in.txt", "chunk_size": 4096, "journal_bytes": 20_000}
began = time.monotonic()
encode_file(enc, dst="whole", num_threads=1, **options)
whole, wanted = time.monotonic() - began, pathlib.Path("whole").read_bytes()
killed = 0
while killed < int(sys.argv[1]):
    child = os.fork()
    if child == 0:
        try:
            encode_file(enc, dst="out.bin", resume=True, num_threads=rng.choice((1, 2, 4, None)), **options)
        finally:
            os._exit(0 if os.path.exists("out.bin") else 1)
    rng.random()
    time.sleep(rng.random() * whole)
    os.kill(child, signal.SIGKILL)
    if os.WIFSIGNALED(os.waitpid(child, 0)[1]):
        killed += 1
    if os.path.exists("out.bin"):
        assert pathlib.Path("out.bin").read_bytes() == wanted
        os.unlink("out.bin")
encode_file(enc, dst="out.bin", resume=True, num_threads=2, **options)
assert pathlib.Path("out.bin").read_bytes() == wanted
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a forked child")
def test_kills_end_in_the_same_bytes(tmp_path):
    (tmp_path / "in.txt").write_bytes(oracle.topics().encode())
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-W", "ignore", "-c", _KILLED, "40" if oracle.LONG else "20"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
