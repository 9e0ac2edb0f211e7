"""Where documents end: what leaves Documents, and what an unfinished output keeps of it."""

from __future__ import annotations

import os
import pathlib
import zlib

import numpy as np
import pytest
from file_runs import RUNS, Crash, _enc, _here, expected  # noqa: F401

from streamtok import _batch as batch
from streamtok.files import encoder, id_sink, readers
from streamtok.files.encode import Options
from streamtok.files.formats import format_named
from streamtok.files.id_sink import IdSink
from streamtok.files.run import FileRun
from streamtok.files.sources import make_sources


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(encoder, "_PART", 64)
    monkeypatch.setattr(readers, "_MOST_HELD", 300)
    monkeypatch.setattr(readers, "BATCH", 5)
    monkeypatch.setattr(batch, "cores", lambda: 64)
    monkeypatch.setattr(id_sink, "_BUFFER_IDS", 64)


def texts_of(run):
    """The documents of a run, as the docstring of encode_file defines them."""
    import gzip
    import json

    found = []
    for name in [run["src"]] if isinstance(run["src"], str) else run["src"]:
        data = pathlib.Path(name).read_bytes()
        data = gzip.decompress(data) if name.endswith(".gz") else data
        kind = run.get("documents", "text")
        if kind == "text":
            found.append(data.decode())
        elif kind == "lines":
            lines = data.decode().split("\n")
            found += [line.removesuffix("\r") for line in (lines if lines[-1] else lines[:-1])]
        else:
            found += [json.loads(line)["text"] for line in data.decode().split("\n") if line.strip()]
    return found


def begin(enc, run, threads, progress=None):
    chosen = dict(RUNS[run])
    source, dtype, format = chosen.pop("src"), chosen.pop("dtype", "auto"), chosen.pop("format", "bin")
    made = format_named(format)
    options = Options(**{"documents": "text", **chosen})
    sink = IdSink(os.path.realpath("out.bin"), made, made.choose_dtype(enc, dtype), index=True)
    return FileRun(enc, make_sources(source), sink, options, progress, 97, 500, threads)


def keep(sink, kept):
    """In the place of IdSink.clean: what the file of ends holds at the end of a run."""
    if sink.target.endswith("out.bin"):  # opened once more, the file would be waited for: the run has a lease on it
        kept.append(b"".join(ends.tobytes() for ends in sink._ends.blocks()))


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("threads", [1, 3])
def test_ends_are_those_of_the_documents(enc, here, monkeypatch, run, threads):
    extra = 1 if RUNS[run].get("append_eot") else 0
    wanted = np.cumsum([len(enc.encode_ordinary(text)) + extra for text in texts_of(RUNS[run])])
    kept = []
    monkeypatch.setattr(IdSink, "clean", lambda self: keep(self, kept))
    assert begin(enc, run, threads).run(False).ids == wanted[-1]
    assert np.frombuffer(kept[0], "<u8").tolist() == wanted.tolist()
    assert pathlib.Path("out.bin").read_bytes() == expected(enc, run)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("damage", [None, "cut", "flipped", "removed"])
def test_a_stopped_run_goes_on_with_the_same_ends(enc, here, monkeypatch, damage, threads):
    kept = []
    monkeypatch.setattr(IdSink, "clean", lambda self: keep(self, kept))
    begin(enc, "lines", 1).run(False)

    def progress(at):
        if at.bytes_read >= 6000:
            raise Crash

    with pytest.raises(Crash):
        begin(enc, "lines", 1, progress).run(False)
    ends = pathlib.Path("out.bin.partial.ends")
    data = bytearray(ends.read_bytes())
    assert data and zlib.crc32(data)
    if damage == "cut":
        ends.write_bytes(data[: len(data) // 2])
    elif damage == "flipped":
        data[len(data) * 3 // 4] ^= 1
        ends.write_bytes(data)
    elif damage == "removed":
        ends.unlink()
    else:
        ends.write_bytes(data + b"more than the point speaks of")
    resumed = begin(enc, "lines", threads).run(True)
    assert kept[1] == kept[0] and pathlib.Path("out.bin").read_bytes() == expected(enc, "lines")
    assert (resumed.resumed_ids > 0) == (damage != "removed")


def test_ends_left_by_another_kind_of_run_are_removed(enc, here):
    pathlib.Path("out.bin.partial.ends").write_bytes(b"12345678")
    assert expected(enc) and not os.path.exists("expected.partial.ends")
    from streamtok.files import encode_file

    encode_file(enc, "a.txt", "out.bin")
    assert sorted(name for name in os.listdir() if name.startswith("out.")) == ["out.bin"]
