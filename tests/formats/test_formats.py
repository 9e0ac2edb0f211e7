"""Every format: what a run writes is what the program's own writer gives for the same documents, and reads back."""

from __future__ import annotations

import os
import pathlib
import struct
import types

import numpy as np
import pytest
from file_runs import _enc  # noqa: F401

import streamtok
from streamtok.files import encode_file, formats
from streamtok.files.formats import base, open_documents
from streamtok.files.suffixes import FORMATS

NAMES = tuple(FORMATS)
TEXTS = ["A first document.", "", "naïve café ☕ 日本語", "the end " * 40, "", "x"]


@pytest.fixture(name="here")
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("\n".join(TEXTS[:3]) + "\n", encoding="utf-8")
    (tmp_path / "b.txt").write_text("\n".join(TEXTS[3:]) + "\n", encoding="utf-8")
    return tmp_path


def test_every_format_has_a_name():
    assert tuple(formats.format_named(name).name for name in NAMES) == NAMES


NAMED = {name: f"o{suffix}" for name, suffix in FORMATS.items()}


def write(enc, format, dst=None, **options):
    if format in ("parquet", "arrow"):
        pytest.importorskip("pyarrow")
    options = {"documents": "lines", "index": True, **options}
    return encode_file(enc, ["a.txt", "b.txt"], dst or NAMED[format], format=format, **options)


def documents(enc, append_eot=False):
    return [enc.encode_ordinary(text) + [enc.eot_token] * append_eot for text in TEXTS]


def flat(lists):
    return [token for ids in lists for token in ids]


def contents(folder="."):
    """Every file below a folder but the sources, by its name."""
    found = {}
    for where, _, names in os.walk(folder):
        for name in names:
            if where != "." or name not in ("a.txt", "b.txt"):
                path = pathlib.Path(where, name)
                found[path.relative_to(folder).as_posix()] = path.read_bytes()
    return found


@pytest.mark.parametrize("append_eot", [False, True])
@pytest.mark.parametrize("format", NAMES)
def test_a_format_reads_back(enc, here, format, append_eot):
    result = write(enc, format, append_eot=append_eot)
    wanted = documents(enc, append_eot)
    assert (result.documents, result.ids, result.format) == (6, sum(map(len, wanted)), format)
    found = open_documents(NAMED[format], format)
    if format in ("mds", "litdata"):
        wanted = [ids for ids in wanted if ids]  # these hold no empty documents
    assert [ids.tolist() for ids in found] == wanted
    assert found[-1].tolist() == wanted[-1] and found.dtype == result.dtype
    assert np.asarray(found.ends).tolist() == np.cumsum([len(ids) for ids in wanted]).tolist()
    with pytest.raises(IndexError):
        found[len(wanted)]
    if format != "nanogpt":
        assert open_documents(NAMED[format]).format in (format, "bin")


@pytest.mark.parametrize("format", NAMES)
def test_no_documents_at_all(enc, here, format):
    for name in ("a.txt", "b.txt"):
        pathlib.Path(name).write_bytes(b"")
    assert write(enc, format).documents == 0
    assert len(open_documents(NAMED[format], format)) == 0


def test_bin_with_an_index_keeps_the_ids_as_they_were(enc, here):
    write(enc, "bin", index=False)
    plain = contents()
    write(enc, "bin")
    ends = np.cumsum([len(ids) for ids in documents(enc)]).astype("<u8").tobytes()
    assert contents() == {**plain, "o.bin.ends": ends}


def test_plain_ids_without_an_index_are_one_document(enc, here):
    for format in ("bin", "npy", "nanogpt", "llmc"):
        write(enc, format, index=False)
        dtype = "uint16" if format == "bin" else None
        assert [ids.tolist() for ids in open_documents(NAMED[format], format, dtype)] == [flat(documents(enc))]
    with pytest.raises(ValueError, match="nothing tells how wide the ids are"):
        open_documents("o.bin", "bin")


@pytest.mark.parametrize("dtype", ["uint16", "uint32"])
def test_headers_of_llmc(enc, here, dtype):
    write(enc, "llmc", dtype=dtype)
    data = pathlib.Path("o.bin").read_bytes()
    ids = flat(documents(enc))
    kind = {"uint16": (20240520, 1), "uint32": (20240801, 7)}[dtype]
    header = np.zeros(256, np.int32)
    header[:3] = *kind, len(ids)
    assert data == header.tobytes() + np.array(ids, dtype).tobytes()


def test_ids_and_index_of_datatrove(enc, here):
    tokenizer = pytest.importorskip("datatrove.pipeline.tokens.tokenizer")
    for append_eot in (False, True):
        write(enc, "datatrove", append_eot=append_eot)
        theirs = tokenizer.TokenizedFile(
            "theirs", "o.ds", save_index=True, save_final_metadata=True, tokenizer_name_or_path="r50k_base"
        )
        for ids in documents(enc, append_eot):
            theirs.write(ids, None)
        theirs.close()
        assert {name: data for name, data in contents().items() if "/" not in name} == contents("theirs")


def test_counts_for_people_are_humanizes():
    from streamtok.files.formats.datatrove import for_people

    humanize = pytest.importorskip("humanize")
    counts = [0, 1, 9, 10, 99, 999, 1000, 1001, 9994, 9995, 12_345, 99_949, 99_950, 999_499, 999_500, 999_999, 10**6]
    counts += [123_456_789, 10**12, 10**15, 9_996 * 10**14, 2**64]
    assert [for_people(n) for n in counts] == [humanize.metric(n, unit="T") for n in counts]


@pytest.mark.parametrize("dtype", ["uint16", "int32"])
def test_index_of_megatron(enc, here, dtype):
    write(enc, "megatron", dtype=dtype)
    lengths = [len(ids) for ids in documents(enc) if ids]
    size = np.dtype(dtype).itemsize
    index = b"MMIDIDX\x00\x00" + struct.pack("<QBQQ", 1, {"uint16": 8, "int32": 4}[dtype], 4, 7)
    index += np.array(lengths, np.int32).tobytes()
    index += (np.cumsum([0, *lengths[:-1]]) * size).astype(np.int64).tobytes()
    index += np.array([0, 1, 1, 2, 3, 3, 4], np.int64).tobytes()
    assert pathlib.Path("o.idx").read_bytes() == index
    assert pathlib.Path("o.bin").read_bytes() == np.array(flat(documents(enc)), dtype).tobytes()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", ["uint16", "int32"])
def test_megatrons_own_writer_and_reader(enc, here, dtype):
    theirs = pytest.importorskip("megatron.core.datasets.indexed_dataset")
    import torch

    write(enc, "megatron", dtype=dtype, append_eot=True)
    builder = theirs.IndexedDatasetBuilder("t.bin", dtype=getattr(np, dtype))
    for ids in documents(enc, append_eot=True):
        builder.add_document(torch.tensor(ids, dtype=torch.int32), [len(ids)])
    builder.finalize("t.idx")
    for suffix in (".bin", ".idx"):
        assert pathlib.Path("o" + suffix).read_bytes() == pathlib.Path("t" + suffix).read_bytes()
    opened = theirs.IndexedDataset("o")
    assert [opened[i].tolist() for i in range(len(opened))] == documents(enc, append_eot=True)


def test_dtypes_of_formats(enc, here):
    large = streamtok.get_encoding("cl100k_base")
    with pytest.raises(
        ValueError, match="format='nanogpt' holds ids up to 65535, and 'cl100k_base' has ids up to 100276"
    ):
        write(large, "nanogpt")
    with pytest.raises(
        ValueError, match="dtype='uint32' is none of format='megatron': write 'auto' or one of 'uint16', 'int32'"
    ):
        write(enc, "megatron", dtype="uint32")
    with pytest.raises(ValueError, match=r"dtype='uint16' holds ids up to 65535, .*: write dtype='int32' or 'auto'"):
        write(large, "megatron", dtype="uint16")
    assert write(large, "megatron").dtype == "int32" and write(enc, "megatron").dtype == "uint16"
    with pytest.raises(ValueError, match=r"format='megatron' writes NAME\.bin and its index NAME\.idx: name it so"):
        write(enc, "megatron", "o.data")
    with pytest.raises(ValueError, match="format='magtron' is unknown: write one of 'bin', 'npy'"):
        write(enc, "magtron", "o.bin")


def test_an_output_beside_the_output_may_be_no_source(enc, here):
    pathlib.Path("o.idx").write_text("a text")
    with pytest.raises(ValueError, match=r"o\.idx'?, which is the source"):
        encode_file(enc, "o.idx", "o.bin", format="megatron")
    assert pathlib.Path("o.idx").read_text() == "a text"


def test_a_value_of_json_that_is_nested_deeply_is_a_value_error():
    pytest.importorskip("pyarrow", reason="values of columns are Arrow arrays")
    from streamtok.files.formats.mds_columns import MdsColumn

    with pytest.raises(ValueError, match="nested too deeply"):
        MdsColumn.named("x", "json").decoded([b"[" * 100_000 + b"]" * 100_000])


def test_lengths_go_on_from_block_to_block():
    blocks = [np.array([2, 2, 5], np.uint64), np.array([9], np.uint64), np.array([9, 10], np.uint64)]
    found = base.lengths(types.SimpleNamespace(ends=lambda: iter(blocks)))
    assert [each.tolist() for each in found] == [[2, 0, 3], [4], [0, 1]]
