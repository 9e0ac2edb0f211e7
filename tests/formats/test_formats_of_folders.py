"""mds, litdata, Arrow and Parquet: what their own programs write and read; and files of an enemy, in every format."""

from __future__ import annotations

import csv
import gzip
import hashlib
import importlib
import io
import json
import os
import pathlib
import random

import numpy as np
import pytest
from test_formats import NAMED, NAMES, _enc, _here, contents, documents, write  # noqa: F401

from streamtok.files import encode_file
from streamtok.files.formats import open_documents


@pytest.mark.filterwarnings("ignore")
def test_litdatas_own_writer(enc, here):
    writer = pytest.importorskip("litdata.streaming.writer", exc_type=ImportError)
    loader = pytest.importorskip("litdata.streaming.item_loader", exc_type=ImportError)

    import torch

    write(enc, "litdata", append_eot=True)
    theirs = writer.BinaryWriter("theirs", chunk_bytes=64_000_000, item_loader=loader.TokensLoader())
    for i, ids in enumerate(documents(enc, append_eot=True)):
        theirs.add_item(i, torch.tensor(ids, dtype=torch.int32).to(torch.uint16))
    theirs.done()
    theirs.merge(1)
    ours, wanted = contents("o"), contents("theirs")
    indices = [json.loads(each.pop("index.json")) for each in (ours, wanted)]
    assert ours == wanted
    assert all(index.pop("updated_at") for index in indices) and indices[0] == indices[1]


@pytest.mark.filterwarnings("ignore")
def test_mosaics_own_writer(enc, here):
    theirs = pytest.importorskip("streaming.base.format.mds.writer", exc_type=ImportError)
    write(enc, "mds", append_eot=True)
    with theirs.MDSWriter(columns={"tokens": "ndarray:uint16"}, out="theirs") as writer:
        for ids in documents(enc, append_eot=True):
            writer.write({"tokens": np.array(ids, np.uint16)})
    assert contents("o") == contents("theirs")


def test_rows_as_pyarrow_reads_them(enc, here):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    write(enc, "parquet")
    write(enc, "arrow")
    with pa.OSFile("o.arrow") as file:
        tables = [pq.read_table("o.parquet"), pa.ipc.open_file(file).read_all()]
    for table in tables:
        assert table.schema.field("input_ids").type == pa.list_(pa.uint32())
        assert table.to_pydict() == {"document": list(range(6)), "input_ids": documents(enc)}
    ids = pq.read_metadata("o.parquet").row_group(0).column(1)
    assert (ids.compression, ids.is_stats_set, ids.has_dictionary_page) == ("UNCOMPRESSED", False, False)


@pytest.mark.parametrize("format, limit", [("mds", "SIZE_LIMIT"), ("litdata", "CHUNK_BYTES")])
def test_documents_are_spread_over_files_as_their_programs_do(enc, here, monkeypatch, format, limit):
    rng, most = random.Random(format), 600
    texts = [rng.choice(["", "a b c", "x " * 90, "long " * 400]) for _ in range(300)]
    pathlib.Path("a.txt").write_text("\n".join(texts) + "\n")
    monkeypatch.setattr(importlib.import_module(f"streamtok.files.formats.{format}"), limit, most)
    monkeypatch.setattr("streamtok.files.finishing._ROWS_AT_ONCE", 500)
    encode_file(enc, "a.txt", "o", format=format, documents="lines")
    wanted = [ids for ids in map(enc.encode_ordinary, texts) if ids]
    assert [ids.tolist() for ids in open_documents("o", format)] == wanted
    index = json.loads(pathlib.Path("o/index.json").read_bytes())
    name, key = ("samples", "shards") if format == "mds" else ("chunk_size", "chunks")
    counts = [each[name] for each in index[key]]
    # MDSWriter counts what is in front of a sample, and closes a file before it looks at what is in it.
    files: list[list[int]] = [[]]
    config = {"column_encodings": ["ndarray:uint16"], "column_names": ["tokens"], "column_sizes": [None]}
    config |= {"compression": None, "format": "mds", "hashes": [], "size_limit": most, "version": 2}
    empty = 8 + len(json.dumps(config, sort_keys=True)) if format == "mds" else 0
    for ids in wanted:
        size = 2 * len(ids) + (4 + 4 + 1 + (1 if len(ids) < 256 else 2) if format == "mds" else 0)
        if empty + sum(files[-1]) + size > most and (files[-1] or format == "mds"):
            files.append([])
        files[-1].append(size)
    assert counts == list(map(len, files)) and len(counts) > 20


def test_the_table_of_dolma_is_that_of_its_writer(enc, here, monkeypatch):
    monkeypatch.setattr("streamtok.files.formats.dolma._ROWS_AT_ONCE", 3)
    sources = {'a,"b.txt': ["one", "", "two words"] * 3, "none.txt": [], "naïve c.txt": ["x"] * 4, "d.txt": ["y y"]}
    for name, texts in sources.items():
        pathlib.Path(name).write_text("".join(f"{text}\n" for text in texts))
    encode_file(enc, list(sources), "o.npy", format="dolma", documents="lines")
    rows, at = [], 0
    for name, texts in sources.items():
        for number, text in enumerate(texts, 1):
            begin, at = at, at + len(enc.encode_ordinary(text))
            key = hashlib.sha256(name.encode()).hexdigest()
            rows.append([str(begin), str(at), f"{key}-{number}", name, str(number)])
    wanted = io.StringIO()
    csv.writer(wanted).writerows(rows)
    assert gzip.decompress(pathlib.Path("o.csv.gz").read_bytes()).decode() == wanted.getvalue()


@pytest.mark.parametrize("format", NAMES)
def test_files_of_an_enemy_are_a_valueerror_or_other_ids(enc, here, format):
    if format in ("parquet", "arrow"):
        pytest.importorskip("pyarrow")
    write(enc, format)
    whole, rng = contents(), random.Random(format)
    for _ in range(60):
        name = rng.choice(sorted(whole))
        data = bytearray(whole[name])
        if rng.random() < 0.3:
            del data[rng.randrange(len(data)) :]
        else:
            at = rng.randrange(len(data))
            data[at : at + 8] = rng.choice([bytes(8), b"\xff" * 8, rng.randbytes(8), b"\xff\xff\xff\x7f\0\0\0\0"])
        pathlib.Path(name).write_bytes(data)
        try:
            found = open_documents(NAMED[format], format)
            assert sum(map(len, found)) <= 10_000
        except ValueError as error:
            assert str(error)
        os.unlink(name)
        pathlib.Path(name).write_bytes(whole[name])
    assert len(open_documents(NAMED[format], format)) in (4, 6)
