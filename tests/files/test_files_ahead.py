"""Compressed sources that threads unpack ahead: file, points and errors are those of sources unpacked in their turn."""

from __future__ import annotations

import errno
import gzip
import itertools
import lzma
import operator
import os
import pathlib
import random
import threading

import nasty
import pytest
from file_runs import Crash, _enc, leftovers  # noqa: F401

from streamtok import _batch as batch
from streamtok.files import ahead, encode_file, members
from streamtok.files.journal import Journal

KINDS = ("plain", "gz", "gz", "xz")


@pytest.fixture(autouse=True)
def little_room(tmp_path, monkeypatch):
    """Blocks and room of a few bytes, and as many threads as asked for."""
    monkeypatch.setattr(ahead, "_BLOCK", 97)
    monkeypatch.setattr(ahead, "_ROOM", 300)
    monkeypatch.setattr(batch, "cores", lambda: 64)
    monkeypatch.chdir(tmp_path)


def in_turn(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(ahead.Ahead, "open", lambda self, index, offset=0, line=0: self._sources[index].open(offset))


def packed(text: bytes, kind: str, rng: random.Random) -> bytes:
    pack = {"plain": bytes, "gz": lambda part: gzip.compress(part, 1), "xz": lambda part: lzma.compress(part, preset=0)}
    at = sorted(rng.randrange(len(text) + 1) for _ in range(rng.choice((0, 0, 1, 3))))
    return b"".join(pack[kind](text[a:b]) for a, b in itertools.pairwise([0, *at, len(text)]))


def make_sources(rng: random.Random, damage: bool) -> list[str]:
    """Files of several kinds; with `damage`, one of the compressed ones is cut, or changed somewhere."""
    names = []
    for i in range(rng.choice((1, 3, 9))):
        kind = rng.choice(KINDS) if i else "gz"
        text = "".join(nasty.random_strings(rng, rng.choice((0, 1, 30)), 60)).encode() * rng.choice((1, 1, 8))
        name = f"{i}.{rng.choice(('txt', 'jsonl'))}.{kind}".removesuffix(".plain")
        if "jsonl" in name:
            text = b'{"text": "some words, and a number 17"}\n' * rng.choice((0, 3, 100))
        pathlib.Path(name).write_bytes(packed(text, kind, rng))
        names.append(name)
    if damage:
        path = pathlib.Path(rng.choice([name for name in names if name.endswith(("gz", "xz"))]))
        data, at = path.read_bytes(), rng.randrange(path.stat().st_size)
        path.write_bytes(data[:at] if rng.random() < 0.5 else data[:at] + bytes([data[at] ^ 32]) + data[at + 1 :])
    return names


def outcome(enc, names: list[str], **options):
    """What a run leaves: its result and its points, or its error; then everything is removed."""
    points: list = []
    append = Journal.append
    before = threading.active_count()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Journal, "append", lambda self, point: points.append(point) or append(self, point))
        try:
            done = encode_file(enc, names, "out.bin", **options)
            result = (pathlib.Path("out.bin").read_bytes(), done.ids, done.documents, done.bytes, done.crc32)
        except (OSError, ValueError) as error:
            result = (type(error), str(error), leftovers())
    assert threading.active_count() == before
    for name in ("out.bin", *leftovers()):
        pathlib.Path(name).unlink(missing_ok=True)
    return result, points


@pytest.mark.parametrize("damage", [False, True])
def test_unpacked_ahead_and_in_turn(enc, damage):
    rng = random.Random(f"ahead {damage}")
    refused = 0
    for _ in range(24):
        names = make_sources(rng, damage)
        options = {
            "chunk_size": rng.choice((20, 97, 500, 1 << 20)) if len(names) < 9 else 1000,
            "journal_bytes": rng.choice((100, 1000, 1 << 26)),
            "num_threads": rng.choice((2, 3, 8)),
            "append_eot": True,
            "documents": rng.choice((None, "lines", "text")),
        }
        got = outcome(enc, names, **options)
        with pytest.MonkeyPatch.context() as patch:
            in_turn(patch)
            want = outcome(enc, names, **options)
        assert got[0] == want[0]
        assert all(map(operator.eq, got[1], want[1]))
        assert len(got[1]) == len(want[1]) or isinstance(got[0][0], type)  # one that fails may keep one more or less
        alone = outcome(enc, names, **{**options, "num_threads": 1})
        assert got[0] == alone[0]
        refused += isinstance(got[0][0], type)
        for name in names:
            os.unlink(name)
    assert refused > 14 if damage else refused == 0


def test_a_run_that_was_stopped_goes_on(enc):
    rng = random.Random(5)
    for _ in range(8):
        names = make_sources(rng, False)
        options = {"chunk_size": 64, "journal_bytes": 200, "append_eot": True}
        whole = outcome(enc, names, **options)[0]
        limit = rng.randrange(1, 1 + sum(os.path.getsize(name) for name in names))

        def stop(at, limit=limit):
            if at.bytes_read >= limit:
                raise Crash

        try:
            encode_file(enc, names, "out.bin", progress=stop, num_threads=rng.choice((2, 8)), **options)
        except Crash:
            pass
        assert outcome(enc, names, resume=True, num_threads=rng.choice((1, 2, 8)), **options)[0] == whole
        for name in names:
            os.unlink(name)


def test_what_waits_is_bounded_and_the_nearest_come_first(enc, monkeypatch):
    names = [f"{i}.txt.gz" for i in range(12)]
    for name in names:
        pathlib.Path(name).write_bytes(gzip.compress(b"many words, again and again. " * 1000))
    waiting: list[list[int]] = []
    put = ahead.Ahead.put

    def watched(self, unpacked, text, position):
        put(self, unpacked, text, position)
        waiting.append([each.held for each in self._open.values()])

    monkeypatch.setattr(ahead.Ahead, "put", watched)
    monkeypatch.setattr(ahead, "_ROOM", 5000)
    outcome(enc, names, chunk_size=100, num_threads=4)
    assert max(map(len, waiting)) == 4
    assert 15_000 < max(map(sum, waiting)) <= 4 * 5000 + 4 * 97
    assert max(held[-1] for held in waiting if len(held) == 4) <= 5000 + 4 * 97


def test_without_threads_each_is_unpacked_in_its_turn(enc, monkeypatch):
    names = make_sources(random.Random(8), False)
    want = outcome(enc, names, num_threads=1)[0]
    start = threading.Thread.start

    def refuse(self):
        if self.name == "streamtok":
            raise RuntimeError("can't start new thread")
        start(self)

    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert outcome(enc, names, num_threads=3)[0] == want


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="named pipes are a Unix thing")
def test_a_pipe_is_opened_in_its_turn(enc):
    """Who writes to it may wait until the file in front of it is read."""
    text = b"words and words " * 300
    pathlib.Path("a.txt.gz").write_bytes(gzip.compress(text))
    pathlib.Path("b.txt").write_bytes(text)
    os.mkfifo("b.txt.gz")
    opened = []

    def write():
        with open("b.txt.gz", "wb") as pipe:
            opened.append(threading.active_count())
            pipe.write(gzip.compress(text))

    writer = threading.Thread(target=write)
    writer.start()
    encode_file(enc, ["a.txt.gz", "b.txt.gz"], "out.bin", num_threads=4)
    writer.join()
    encode_file(enc, ["a.txt.gz", "b.txt"], "other.bin")
    assert pathlib.Path("out.bin").read_bytes() == pathlib.Path("other.bin").read_bytes() and len(opened) == 1


def test_a_read_that_fails_on_a_thread(enc, monkeypatch):
    """The error names the file when its turn comes, whatever was unpacked ahead; what was done is resumed."""
    monkeypatch.setattr(members, "_PIECE", 50)
    text = "".join(nasty.random_strings(random.Random(3), 40, 60)).encode()
    names = [f"{i}.txt.gz" for i in range(4)]
    for name in names:
        pathlib.Path(name).write_bytes(gzip.compress(text))
    options = {"chunk_size": 100, "journal_bytes": 150, "append_eot": True}
    whole = outcome(enc, names, **options)[0]
    fill = members.Members._fill
    for bad in range(4):
        for number in (1, 5, 9):
            with pytest.MonkeyPatch.context() as patch:
                count = itertools.count(1)

                def failing(self, bad=bad, number=number, count=count):
                    if self._raw.name == names[bad] and next(count) == number:
                        raise OSError(errno.EIO, os.strerror(errno.EIO))
                    return fill(self)

                patch.setattr(members.Members, "_fill", failing)
                with pytest.raises(OSError) as error:
                    encode_file(enc, names, "out.bin", num_threads=3, **options)
            assert error.value.errno == errno.EIO and error.value.filename == names[bad]
            assert outcome(enc, names, resume=True, num_threads=2, **options)[0] == whole
