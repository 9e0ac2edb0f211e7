"""mds, litdata, Arrow and Parquet: what their own programs write and read; and files of an enemy, in every format."""

from __future__ import annotations

import os
import pathlib
import random

import numpy as np
import pytest
from test_formats import NAMED, NAMES, _enc, _here, contents, documents, write  # noqa: F401

from streamtok.files.formats import open_documents


@pytest.mark.filterwarnings("ignore")
def test_litdatas_own_writer(enc, here):
    writer = pytest.importorskip("litdata.streaming.writer", exc_type=ImportError)
    loader = pytest.importorskip("litdata.streaming.item_loader", exc_type=ImportError)
    import json

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
