"""A spec is read strictly: every mistake is named, with what to write instead."""

from __future__ import annotations

import json
import pathlib

import pytest

from streamtok.dataset import Spec, SpecError, read_spec

GOOD = {"sources": ["*.jsonl"], "output": "tokens"}


def test_a_spec_from_toml_and_from_json_is_the_same(tmp_path: pathlib.Path):
    pytest.importorskip("tomllib", reason="Python 3.11 reads TOML")
    (tmp_path / "a.toml").write_text(
        'sources = "*.jsonl"\noutput = "tokens"\nshard_bytes = "2 MiB"\nappend_eot = true\n'
    )
    (tmp_path / "a.json").write_text(json.dumps({**GOOD, "shard_bytes": 2 << 20, "append_eot": True}))
    spec = read_spec(tmp_path / "a.toml")
    assert spec == read_spec(tmp_path / "a.json")
    assert spec == Spec(("*.jsonl",), "tokens", shard_bytes=2 << 20, append_eot=True, base=str(tmp_path))
    assert spec.folder == str(tmp_path / "tokens")


@pytest.mark.parametrize(
    "change, said",
    [
        ({"source": "a"}, "'source' is no key of a spec: did you mean sources?"),
        ({"qqq": "a"}, "'qqq' is no key of a spec: the keys are sources, output"),
        ({"output": None}, "output = None in the spec is not the path of a folder"),
        ({"sources": []}, "sources = [] in the spec is not a path or a list"),
        ({"sources": [1]}, "sources = [1] in the spec is not"),
        ({"append_eot": 1}, "append_eot = 1 in the spec is not true or false"),
        ({"shard_bytes": "2 potatoes"}, "shard_bytes = '2 potatoes' in the spec is not a number of bytes"),
        ({"shard_bytes": 0}, "shard_bytes = 0"),
        ({"shard_bytes": True}, "shard_bytes = True"),
        ({"allowed_special": "<|endoftext|>"}, "allowed_special = '<|endoftext|>' in the spec is not a list of names"),
        ({"documents": "pages"}, "documents='pages'"),
        ({"errors": "pass"}, "errors='pass'"),
        ({"base": "x"}, "'base' is no key of a spec"),
    ],
)
def test_mistakes_are_named(tmp_path: pathlib.Path, change: dict[str, object], said: str):
    path = tmp_path / "spec.json"
    path.write_text(json.dumps({**GOOD, **change}))
    with pytest.raises(SpecError) as caught:
        read_spec(path)
    assert str(caught.value).startswith(f"{path}: ") and said in str(caught.value)


@pytest.mark.parametrize(
    "size, count",
    [
        ("1", 1),
        ("7", 7),
        ("2KB", 2000),
        ("3 MB", 3_000_000),
        ("1 gb", 10**9),
        ("5KiB", 5120),
        ("1MIB", 1 << 20),
        ("2gib", 2 << 30),
    ],
)
def test_sizes_are_in_decimal_and_binary_units(tmp_path: pathlib.Path, size: str, count: int):
    path = tmp_path / "spec.json"
    path.write_text(json.dumps({**GOOD, "shard_bytes": size}))
    assert read_spec(path).shard_bytes == count


def test_what_is_no_spec_is_refused(tmp_path: pathlib.Path):
    path = tmp_path / "spec.json"
    for data, said in ((b"[]", "the spec is a list"), (b"{", "cannot be read"), (b"\xff", "cannot be read")):
        path.write_bytes(data)
        with pytest.raises(SpecError, match=said):
            read_spec(path)
    path.write_text('{"sources": "a"}')
    with pytest.raises(SpecError, match='the spec has no output: write output = "tokens"'):
        read_spec(path)


def test_names_of_sources(tmp_path: pathlib.Path):
    for name in ("b.txt", "a.txt", "x/c.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("a")
    names = Spec(("x/**/*.txt", "*.txt"), "out", base=str(tmp_path)).source_names()
    assert names == ["x/c.txt", "a.txt", "b.txt"]
    with pytest.raises(SpecError, match=r"both name a\.txt: name it once"):
        Spec(("*.txt", "a.txt"), "out", base=str(tmp_path)).source_names()
    with pytest.raises(SpecError, match=r"'\*.md' in the spec: no file matches this pattern, in "):
        Spec(("*.md",), "out", base=str(tmp_path)).source_names()
    with pytest.raises(FileNotFoundError, match=r"d\.txt"):
        Spec(("d.txt",), "out", base=str(tmp_path)).source_names()
