"""Parquet and Arrow files as sources of a dataset."""

from __future__ import annotations

import itertools
import pathlib

import pytest
from datasets import contents, documents, make_spec

import streamtok
from streamtok.dataset import build, plan, stats, verify
from streamtok.files.formats import open_documents

pa = pytest.importorskip("pyarrow", reason="pyarrow reads the files")


def test_parquet_files_are_cut_by_row_groups(tmp_path: pathlib.Path):
    import pyarrow.feather
    import pyarrow.parquet

    texts = documents(300)
    table = pa.table({"body": texts, "n": range(300)})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet", row_group_size=20)
    pyarrow.feather.write_feather(table, tmp_path / "b.arrow")
    (tmp_path / "c.parquet").write_bytes((tmp_path / "a.parquet").read_bytes()[:-9])
    shards = plan(["a.parquet"], 50_000, base=str(tmp_path))
    borders = [each.range and (each.range.begin, each.range.end) for each in shards]
    assert len(shards) > 2 and borders[0][0] == 0 and borders[-1][1] == 15
    assert all(left[1] == right[0] for left, right in itertools.pairwise(borders))
    spec = make_spec(tmp_path, sources=("a.parquet", "b.arrow"), column="body", shard_bytes=50_000, format="megatron")
    made = build(spec, workers=1)
    encoding = streamtok.get_encoding("r50k_base")
    wanted = [[*encoding.encode(text), 50256] for text in texts] * 2
    names = [shard["files"][0]["name"] for shard in made.shards]
    assert [each.tolist() for name in names for each in open_documents(f"{spec.folder}/{name}", "megatron")] == wanted
    assert verify(spec.folder) == [] and stats(spec.folder).duplicates >= 300
    build(make_spec(tmp_path, "again", **{**spec_changes(spec)}), workers=2)
    assert contents(tmp_path / "again") == contents(spec.folder)
    damaged = build(make_spec(tmp_path, "damaged", sources=("*.parquet",), column="body"), workers=1)
    assert [each["source"] for each in damaged.failed] == ["c.parquet"] and damaged.documents == 300
    missing = build(make_spec(tmp_path, "missing", sources=("a.parquet",), column="text"), workers=1)
    assert "0 columns" in missing.failed[0]["error"] or "no columns are called 'text'" in missing.failed[0]["error"]


def spec_changes(spec: object) -> dict[str, object]:
    return {name: getattr(spec, name) for name in ("sources", "column", "shard_bytes", "format")}
