"""Parquet and Arrow files as sources: the ids of their rows, resumed anywhere, and errors that name file and row."""

from __future__ import annotations

import itertools
import pathlib
import random

import nasty
import numpy as np
import pytest
from cli_runs import run
from file_runs import Crash, _enc  # noqa: F401

from streamtok.files import ResumeError, SourceError, TableSource, encode_file, encode_sources, readers, tables
from streamtok.files.encode import Options

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
import pyarrow.parquet as pq  # noqa: E402

KINDS = ("parquet", "arrow", "arrows")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(kind: str, table, rows: int, name: str = "a") -> str:
    path = f"{name}.{kind}"
    if kind == "parquet":
        pq.write_table(table, path, row_group_size=rows)
    else:
        with {"arrow": pa.ipc.new_file, "arrows": pa.ipc.new_stream}[kind](path, table.schema) as file:
            file.write_table(table, rows)
    return path


def ids_of(enc, source, **options) -> list[int]:
    found: list[np.ndarray] = [np.empty(0, np.uint32)]
    encode_sources(enc, source, lambda ids, ends: found.append(ids.copy()), Options(append_eot=True, **options))
    return np.concatenate(found).tolist()


def wanted(enc, texts, nulls: str = "skip") -> list[int]:
    there = [text or "" for text in texts if text is not None or nulls == "empty"]
    return [token for text in there for token in [*enc.encode_ordinary(text), enc.eot_token]]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_documents(enc, kind, monkeypatch):
    rng = random.Random(kind)
    for _ in range(12):
        monkeypatch.setattr(tables, "_BATCH_BYTES", rng.choice((1, 200, 1 << 20)))
        monkeypatch.setattr(tables, "_LEAST_ROWS", 1)
        monkeypatch.setattr(tables, "_MOST_ROWS", rng.choice((1, 7, 1 << 16)))
        monkeypatch.setattr(readers, "BATCH", rng.choice((1, 5, 1 << 14)))
        strings = [
            text.encode("utf-8", "replace").decode() for text in nasty.random_strings(rng, rng.choice((0, 1, 90)), 30)
        ]
        texts = [None if rng.random() < 0.2 else text for text in strings]
        column = pa.array(texts, pa.string()).cast(rng.choice((pa.string(), pa.large_string(), pa.binary())))
        column = column.dictionary_encode() if rng.random() < 0.3 else column
        path = write(kind, pa.table({"other": pa.nulls(len(texts)), "body": column}), rows := rng.choice((1, 8, 1000)))
        for nulls in ("skip", "empty"):
            assert ids_of(enc, path, column="body", nulls=nulls) == wanted(enc, texts, nulls)
        groups = -(-len(texts) // rows)
        cuts = [0, *sorted(rng.randrange(groups + 1) for _ in range(3)), None]
        ranges = [TableSource(path, "body", (a, b), "skip") for a, b in itertools.pairwise(cuts)]
        assert ids_of(enc, ranges) == wanted(enc, texts)


@pytest.mark.parametrize("kind", KINDS)
def test_resumed(enc, kind, monkeypatch):
    monkeypatch.setattr(tables, "_BATCH_BYTES", 1000)
    monkeypatch.setattr(tables, "_MOST_ROWS", 50)
    texts = [f"row {i} of some words" if i % 5 else None for i in range(900)]
    path = write(kind, pa.table({"text": texts}), 120)
    how = {"nulls": "skip", "append_eot": True, "journal_bytes": 500}
    for stop in (2, 9):
        left = [stop]

        def crash(progress, left=left):
            left[0] -= 1
            if left[0] < 0:
                raise Crash

        with pytest.raises(Crash):
            encode_file(enc, path, "a.bin", progress=crash, **how)
        if stop == 9:
            for other, what in (({"nulls": "empty"}, "option nulls"), ({"column": "t"}, "option column")):
                with pytest.raises(ResumeError, match=what):
                    encode_file(enc, path, "a.bin", resume=True, **{**how, **other})
        done = encode_file(enc, path, "a.bin", resume=True, num_threads=2, **how)
        assert done.documents == 720 and done.resumed_ids
        assert np.fromfile("a.bin", done.dtype).tolist() == wanted(enc, texts)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_refused_says_where(enc, kind):
    texts = ["a", "b", "c", None, "e"]
    table = pa.table({"text": texts, "n": range(5), "bytes": [b"a", b"b", b"c", b"\xff", b"e"], "lists": [["a"]] * 5})
    path = write(kind, table, 2)
    for options, message in (
        ({}, f"{path}, row group 1, row 1: the text is null; nulls='skip' passes"),
        ({"column": "bytes"}, rf"0xff in position 0: invalid start byte .*\(in {path}, row group 1, row 1"),
        ({"column": "n"}, f"{path}: column 'n' is of type int64, and a column of text is needed"),
        ({"column": "lists"}, f"{path}: column 'lists' is of type list<"),
        ({"key": "x"}, rf"{path}: no columns are called 'x'; there are \['text', 'n', 'bytes', 'lists'\]"),
        ({"nulls": "x"}, "nulls='x' is unknown"),
    ):
        with pytest.raises(ValueError, match=message):
            encode_file(enc, path, "o.bin", **options)
    with pytest.raises(ValueError, match="row_groups"):
        ids_of(enc, TableSource(path, "bytes", (0, 9)) if kind != "arrows" else TableSource(path, None, (2, 1)))
    whole = pathlib.Path(path).read_bytes()
    rng = random.Random(kind)
    pathlib.Path(path).write_bytes(b"")
    with pytest.raises(SourceError, match="the table cannot be read"):
        encode_file(enc, path, "o.bin")
    for _ in range(60):  # damage is an error, or hits what is not read; never a crash
        data = bytearray(whole)
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        pathlib.Path(path).write_bytes(data[: rng.choice((len(data), len(data), rng.randrange(len(data))))])
        try:
            ids_of(enc, path, nulls="empty")
        except (SourceError, ValueError) as error:
            assert path in str(error) or "columns" in str(error)


def test_the_command(enc):
    write("parquet", pa.table({"body": ["one", "two words"]}), 10)
    assert run("count", "a.parquet", "--column", "body", "-e", enc.name).stdout.split() == ["3"]
    run("encode", "a.parquet", "--column", "body", "-e", enc.name, "-o", "x.bin")
    assert run("decode", "-e", enc.name, "x.bin").stdout == "onetwo words"
    assert "name one with --column" in run("encode", "a.parquet", "-o", "x.bin", status=1).stderr
