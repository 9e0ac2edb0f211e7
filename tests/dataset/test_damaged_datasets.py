"""Every file of a dataset: what was changed in it, verify names, and build makes anew."""

from __future__ import annotations

import json
import pathlib
import random
from typing import Any

import pytest
from datasets import contents, make_corpus, make_spec

from streamtok.dataset import SpecError, build, merge, read_spec, verify

OWN = ("manifest.json", "dataset.json")


def made(base: pathlib.Path, **changes: object) -> tuple[Any, pathlib.Path]:
    make_corpus(base / "corpus", 4, 30)
    spec = make_spec(base, **changes)
    build(spec, workers=1)
    assert verify(base / "out") == []
    return spec, base / "out"


def is_seen(folder: pathlib.Path) -> bool:
    try:
        return verify(folder) != []
    except ValueError:
        return True  # the manifest of the dataset itself


def unsealed(path: pathlib.Path) -> dict[str, Any]:
    """The record of a manifest, as releases wrote it that made no checksums."""
    record = json.loads(path.read_bytes())
    assert record.pop("sha256")
    path.write_bytes((json.dumps(record, indent=1, sort_keys=True) + "\n").encode())
    return record


@pytest.mark.parametrize("changes", [{}, {"format": "megatron", "shard_bytes": 8_000}, {"index": False}])
def test_a_changed_byte_of_any_file_is_seen(tmp_path, changes):
    _, folder = made(tmp_path, **changes)
    rng = random.Random(str(changes))
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.stat().st_size]
    assert len(files) >= 6
    for path in files:
        data = path.read_bytes()
        ends = {0, len(data) - 1}
        for at in ends | {rng.randrange(len(data)) for _ in range(40 if path.suffix == ".json" else 4)}:
            bad = bytearray(data)
            bad[at] ^= 1 << rng.randrange(8)
            path.write_bytes(bad)
            assert is_seen(folder), (path.name, at, data[at - 20 : at + 20])
        for bad in (data[:-1], data + b"\n", b"", b"[" * 5000):
            path.write_bytes(bad)
            assert is_seen(folder), (path.name, bad[-20:])
        path.write_bytes(data)
    assert verify(folder) == []


def leaves(record: Any, place: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The places of all values in a record."""
    items = record.items() if isinstance(record, dict) else enumerate(record) if isinstance(record, list) else ()
    found = [leaf for name, value in items for leaf in leaves(value, (*place, name))]
    return found or [place]


def changed(record: Any, place: tuple[Any, ...]) -> Any:
    copy = json.loads(json.dumps(record))
    inner = copy
    for name in place[:-1]:
        inner = inner[name]
    value = inner[place[-1]]
    inner[place[-1]] = value + 1 if isinstance(value, int) else f"{value}x" if isinstance(value, str) else 7
    return copy


@pytest.mark.parametrize("index", [True, False])
def test_numbers_of_manifests_without_checksums_are_counted_again(tmp_path, index):
    """Datasets of earlier releases: they are read as before."""
    spec, folder = made(tmp_path, index=index)
    wanted = contents(folder)
    paths = [*sorted(folder.glob("*.shard.json")), *(folder / name for name in OWN)]
    old = {path: unsealed(path) for path in paths}
    assert verify(folder) == []
    build(spec, workers=1)
    assert {name: value for name, value in contents(folder).items() if "shard" in name} == {
        path.relative_to(folder).as_posix(): value
        for path, value in ((folder / name, value) for name, value in contents(folder).items())
        if "shard" in path.name
    }
    shard = paths[0]
    for name in ("documents", "ids") if index else ("ids",):
        shard.write_text(json.dumps(changed(old[shard], (name,)), indent=1, sort_keys=True) + "\n")
        assert verify(folder) != []
        build(spec, workers=1)  # makes it anew
        assert verify(folder) == [] and contents(folder)[shard.name] == wanted[shard.name]


def test_a_changed_field_of_a_shard_is_made_anew(tmp_path):
    spec, folder = made(tmp_path)
    wanted = contents(folder)
    path = sorted(folder.glob("*.shard.json"))[0]
    record, data = json.loads(path.read_bytes()), path.read_bytes()
    for place in leaves(record):
        path.write_text(json.dumps(changed(record, place), indent=1, sort_keys=True) + "\n")
        assert verify(folder) != [], place
        build(spec, workers=1)
        assert contents(folder) == wanted, place
        assert path.read_bytes() == data


@pytest.mark.parametrize("name", ["a\0b", "../out.bin", "\ud800"])
def test_names_that_no_file_can_have_are_refused(tmp_path, name):
    _, folder = made(tmp_path)
    record = unsealed(folder / "manifest.json")
    for place in (("shards", 0, "name"), ("shards", 0, "files", 0, "name")):
        bad = json.loads(json.dumps(record))
        inner = bad
        for step in place[:-1]:
            inner = inner[step]
        inner[place[-1]] = name
        (folder / "manifest.json").write_text(json.dumps(bad))
        assert is_seen(folder)


def test_specs_that_are_nested_deeply_or_hold_a_nul_are_refused(tmp_path):
    path = tmp_path / "spec.json"
    for text, message in (
        ("[" * 100_000, "cannot be read"),
        ('{"sources": "a\\u0000b", "output": "o"}', "sources"),
        ('{"sources": "a", "output": "o\\u0000"}', "output"),
        ('{"sources": "\\ud800", "output": "o"}', "sources"),
    ):
        path.write_text(text)
        with pytest.raises(SpecError, match=message):
            read_spec(path)


# ==== merge: the format of the output ====


@pytest.mark.parametrize(
    "name, format, shards",
    [
        ("all.npy", "npy", "bin"), ("all.NPY", "npy", "bin"), ("all.bin", "bin", "npy"), ("all", "npy", "npy"),
        ("all.ids", "bin", "bin"), ("all.bin", "megatron", "megatron"), ("all.npy", "dolma", "dolma"),
        ("all.parquet", "parquet", "bin"), ("all.arrow", "arrow", "bin"),
    ],
)  # fmt: skip
def test_the_suffix_of_the_output_chooses_its_format(tmp_path, name, format, shards):
    if format in ("parquet", "arrow"):
        pytest.importorskip("pyarrow", reason="it writes these formats")
    _, folder = made(tmp_path, format=shards)
    joined = merge(folder, tmp_path / name)
    assert joined.format == format
    plain = (
        merge(folder, tmp_path / "again" if format != "megatron" else tmp_path / "again.bin", format=format)
        if format != "dolma"
        else joined
    )
    assert (plain.ids, plain.documents) == (joined.ids, joined.documents)


@pytest.mark.parametrize("name", ["all.txt", "all.jsonl", "all.csv", "all.gz", "all.safetensors"])
def test_a_suffix_of_another_format_is_refused(tmp_path, name):
    _, folder = made(tmp_path)
    with pytest.raises(
        ValueError, match=r"ends in \.\w+, and what is written is binary ids: name a \.bin or \.npy file"
    ):
        merge(folder, tmp_path / name)
    assert not (tmp_path / name).exists()
    assert merge(folder, tmp_path / name, format="bin").format == "bin"
