"""Columns that are carried along through shards, the merged output and samples."""

from __future__ import annotations

import json
import pathlib

import pytest
from datasets import contents, documents, make_spec

import streamtok
from streamtok.dataset import build, merge, sample, verify
from streamtok.files.formats import open_documents

pytest.importorskip("pyarrow")
pytest.importorskip("click")
from cli_runs import run


def write(base: pathlib.Path, values: list[list[object]]) -> list[dict[str, object]]:
    """A file of JSON lines for each list of values of the key `x`."""
    (base / "corpus").mkdir()
    records = []
    for number, of_file in enumerate(values):
        texts = documents(len(of_file), number)
        found = [{"text": text, "id": f"{number}-{i}", "x": x} for i, (text, x) in enumerate(zip(texts, of_file))]
        (base / "corpus" / f"{number}.jsonl").write_text("\n".join(map(json.dumps, found)))
        records += found
    return [{"id": each["id"], "x": each["x"]} for each in records]


def test_shards_carry_columns_and_merging_joins_them(tmp_path: pathlib.Path):
    values = write(tmp_path, [[*range(90)], [None] * 40, [0.5, 1, None] * 30])
    spec = make_spec(tmp_path, format="parquet", carry=("id", "x"))
    made = build(spec, workers=1)
    assert made.is_complete and len(made.shards) > 3 and not verify(spec.folder)
    other = make_spec(tmp_path, "other", format="parquet", carry=("id", "x"))
    build(other, workers=2)
    assert {name: each for name, each in contents(spec.folder).items() if name.endswith(".parquet")} == {
        name: each for name, each in contents(other.folder).items() if name.endswith(".parquet")
    }
    enc, sources = streamtok.get_encoding("r50k_base"), sorted(map(str, (tmp_path / "corpus").iterdir()))
    for format in ("parquet", "arrow", "mds"):
        dst, wanted = str(tmp_path / f"all-{format}"), str(tmp_path / f"wanted-{format}")
        merge(spec.folder, dst, format=format)
        enc.encode_file(sources, wanted, format=format, append_eot=True, carry=["id", "x"])
        assert contents(dst) == contents(wanted)
        assert pathlib.Path(dst).is_dir() or pathlib.Path(dst).read_bytes() == pathlib.Path(wanted).read_bytes()
        assert open_documents(dst, format).columns().select(["id", "x"]).to_pylist() == values
    with pytest.raises(ValueError, match="format='bin' has no place for passthrough columns"):
        merge(spec.folder, tmp_path / "all.bin", format="bin")
    assert merge(spec.folder, tmp_path / "all.bin", format="bin", carry=False).documents == len(values)
    assert all(place.carried in values for place in sample(spec.folder, 9))
    assert "== id: " in run("dataset", "sample", spec.folder, "-n", 1).stdout


def test_shards_whose_types_differ_are_not_merged(tmp_path: pathlib.Path):
    write(tmp_path, [[1], ["one"]])
    spec = make_spec(tmp_path, format="arrow", carry=("x",), shard_bytes=100)
    build(spec, workers=1)
    with pytest.raises(ValueError, match=r"'x' is int64 in 'corpus/0\.jsonl' and string in 'corpus/1\.jsonl'.*x:json"):
        merge(spec.folder, tmp_path / "all.arrow")
    stated = make_spec(tmp_path, "stated", format="arrow", carry=("x:json",), shard_bytes=100)
    build(stated, workers=1)
    merge(stated.folder, tmp_path / "all.arrow")
    assert open_documents(tmp_path / "all.arrow").columns()["x"].to_pylist() == ["1", '"one"']
    with pytest.raises(ValueError, match="format='bin' has no place for passthrough columns"):
        build(make_spec(tmp_path, "bin", carry=("x",)), workers=1)


def test_the_command_carries_columns(tmp_path: pathlib.Path):
    (values,) = [write(tmp_path, [[1, None, 2]])]
    source, out = tmp_path / "corpus" / "0.jsonl", tmp_path / "o.parquet"
    run("encode", source, "-o", out, "--carry", "id", "--carry", "x:double")
    assert open_documents(out).columns().to_pylist() == values
    for arguments, status in (((), 2), (("-o", tmp_path / "o.bin"), 1)):
        assert "columns" in run("encode", source, *arguments, "--carry", "x", status=status).stderr
