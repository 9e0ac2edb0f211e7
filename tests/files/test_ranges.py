"""Ranges of bytes: any cutting of a file into ranges gives each of its lines once, in order."""

from __future__ import annotations

import pathlib
import random

import nasty
import numpy as np
import pytest
from file_runs import Crash, _enc  # noqa: F401

from streamtok.files import RangeSource, ResumeError, SourceError, encode_file, encode_sources
from streamtok.files.encode import Options


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def text_of(kind: str, rng: random.Random) -> bytes:
    lines = [
        next(iter(nasty.random_strings(rng, 1, 40))).replace("\n", "").encode() if rng.random() < 0.8 else b""
        for _ in range(rng.choice((0, 1, 7, 40)))
    ]
    if kind == "jsonl":
        lines = [b'{"text": "a line with %d"}' % i if rng.random() < 0.9 else b"  " for i in range(len(lines))]
    ends = rng.choice((b"\n", b"\r\n"))
    text = ends.join(lines) + rng.choice((b"", ends))
    return b"\xef\xbb\xbf" + text if kind == "jsonl" and rng.random() < 0.3 else text


def ids_of(enc, sources, kind: str, chunk_size: int = 1 << 20) -> tuple[list[int], int]:
    found: list[np.ndarray] = [np.empty(0, np.uint32)]
    options = Options(kind, append_eot=True)
    done = encode_sources(enc, sources, lambda ids, ends: found.append(ids.copy()), options, chunk_size=chunk_size)
    return np.concatenate(found).tolist(), done.documents


@pytest.mark.parametrize("kind", ["lines", "jsonl"])
def test_any_cutting_gives_each_line_once(enc, here, kind):
    rng = random.Random(kind)
    for _ in range(100):
        text = text_of(kind, rng)
        pathlib.Path("a.txt").write_bytes(text)
        cuts = sorted(rng.randrange(len(text) + 9) for _ in range(rng.choice((0, 1, 5, 30))))
        ranges = [RangeSource("a.txt", a, b) for a, b in zip([0, *cuts], [*cuts, None])]
        chunk_size = rng.choice((1, 7, 1 << 20))
        assert ids_of(enc, ranges, kind, chunk_size) == ids_of(enc, "a.txt", kind)
        for each in ranges:
            each.fingerprint()
        assert sum(each.size or 0 for each in ranges) == len(text)
    each_on_two = encode_file(enc, ranges, "a.bin", documents=kind, append_eot=True, num_threads=2)
    assert each_on_two.documents == ids_of(enc, "a.txt", kind)[1]
    assert np.fromfile("a.bin", np.dtype(each_on_two.dtype)).tolist() == ids_of(enc, "a.txt", kind)[0]


def test_every_place_of_a_small_file(enc, here):
    text = b"one\n\ntwo words\r\n\nthree"
    pathlib.Path("a.txt").write_bytes(text)
    lines = [line + b"\n" for line in text.split(b"\n")]
    begins = [sum(map(len, lines[:i])) for i in range(len(lines))]
    for a in range(len(text) + 1):
        for b in range(a, len(text) + 2):
            wanted = [line.rstrip(b"\r\n") for begin, line in zip(begins, lines) if a <= begin < b]
            assert ids_of(enc, RangeSource("a.txt", a, b), "lines")[0] == [
                i for line in wanted for i in [*enc.encode(line.decode()), enc.eot_token]
            ]


def test_resumed(enc, here):
    text = "".join(f"line {i} of some words\n" for i in range(3000))
    pathlib.Path("a.txt").write_text(text, newline="")
    ranges = [RangeSource("a.txt", 10, 30_001), RangeSource("a.txt", 30_001, None)]
    how = {"documents": "lines", "chunk_size": 512, "journal_bytes": 2048}
    encode_file(enc, ranges, "whole.bin", **how)

    def stop(progress):
        if progress.bytes_read > 40_000:
            raise Crash

    with pytest.raises(Crash):
        encode_file(enc, ranges, "a.bin", progress=stop, **how)
    with pytest.raises(ResumeError, match=r"the range of source a\.txt was \[10, 30001\] and is \[0, 30001\]"):
        encode_file(enc, [RangeSource("a.txt", 0, 30_001), ranges[1]], "a.bin", resume=True, **how)
    again = [RangeSource("a.txt", 10, 30_001), RangeSource("a.txt", 30_001)]
    assert encode_file(enc, again, "a.bin", resume=True, **how).resumed_ids
    assert pathlib.Path("a.bin").read_bytes() == pathlib.Path("whole.bin").read_bytes()


def test_bad_ranges(enc, here):
    pathlib.Path("a.txt").write_bytes(b"one\ntwo\n{\n")
    for begin, end in ((-1, None), (5, 4)):
        with pytest.raises(ValueError, match=f"no range of bytes from {begin} to {end}"):
            RangeSource("a.txt", begin, end)
    with pytest.raises(ValueError, match="is compressed"):
        RangeSource("a.txt.gz", 0, 5)
    with pytest.raises(ValueError, match="which has lines: write documents='lines'"):
        encode_file(enc, RangeSource("a.txt", 0, 5), "o.bin")
    with pytest.raises(ValueError, match=r"a\.txt from byte 5, line 1: not a JSON object"):
        encode_file(enc, RangeSource("a.txt", 5), "o.bin", documents="jsonl")
    with pytest.raises(FileNotFoundError):
        encode_file(enc, RangeSource("none.txt", 5), "o.bin", documents="jsonl")
    source = RangeSource("a.txt", 3, 8)
    source.fingerprint()
    pathlib.Path("a.txt").write_bytes(b"one\ntw")
    with pytest.raises(SourceError, match="the file changed while it was read"):
        encode_sources(enc, source, lambda ids, ends: None, Options("lines"))
    assert sorted(path.name for path in here.iterdir()) == ["a.txt"]
