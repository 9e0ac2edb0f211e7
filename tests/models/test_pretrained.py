"""Encodings by the names of published models: from the Hub's cache, by its library, or an error with advice."""

from __future__ import annotations

import json
import pathlib
import sys
import types

import pytest
from small_models import record

import streamtok
from streamtok import Encoding, _named, tables

COMMIT, OTHER = "0123456789abcdef" * 2 + "01234567", "f" * 40


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """An empty cache."""
    for name in ("HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.chdir(tmp_path)
    _named.load_encoding.cache_clear()
    return tmp_path / "hub"


def put(hub: pathlib.Path, name: str, commit: str = COMMIT, revision: str = "main", made: dict | None = None) -> str:
    folder = hub / ("models--" + name.replace("/", "--"))
    for part in (folder / "refs" / revision).parent, folder / "snapshots" / commit:
        part.mkdir(parents=True, exist_ok=True)
    (folder / "refs" / revision).write_text(commit)
    place = folder / "snapshots" / commit
    (place / "tokenizer.json").write_text(json.dumps(made or record()), encoding="utf-8")
    return str(place)


def test_a_model_of_the_cache(hub):
    place = put(hub, "some/model")
    enc = Encoding.from_pretrained("some/model")
    assert enc.name == "some/model" and enc.fingerprint == Encoding.from_file(place).fingerprint
    assert _named.load_encoding("some/model", "").fingerprint == enc.fingerprint


def test_revisions(hub):
    put(hub, "some/model")
    put(hub, "some/model", OTHER, "refs/pr/1", record(model_ignore_merges=True))
    first, other = (Encoding.from_pretrained("some/model", revision=name) for name in ("main", "refs/pr/1"))
    assert first.fingerprint != other.fingerprint
    assert Encoding.from_pretrained("some/model", revision=OTHER).fingerprint == other.fingerprint
    with pytest.raises(FileNotFoundError, match="`hf download some/model` gets it"):
        Encoding.from_pretrained("some/model", revision="v2", local_files_only=True)
    for wrong in ("../main", "a b"):
        with pytest.raises(ValueError, match=r"revision=.*: write the name of a branch or a tag"):
            Encoding.from_pretrained("some/model", revision=wrong)


@pytest.mark.parametrize("variable, below", [("HF_HOME", "hub"), ("XDG_CACHE_HOME", "huggingface/hub")])
def test_where_the_cache_is(hub, monkeypatch, tmp_path, variable, below):
    monkeypatch.delenv("HF_HUB_CACHE")
    monkeypatch.setenv(variable, str(tmp_path / "other"))
    put(tmp_path / "other" / below, "gpt-neo")
    assert Encoding.from_pretrained("gpt-neo").name == "gpt-neo"


def test_what_is_not_in_the_cache_is_asked_of_its_library(hub, monkeypatch):
    asked = []

    def snapshot_download(name, revision, allow_patterns):
        asked.append((name, revision))
        assert "tokenizer*" in allow_patterns
        return put(hub, name)

    monkeypatch.setitem(sys.modules, "huggingface_hub", types.SimpleNamespace(snapshot_download=snapshot_download))
    with pytest.raises(FileNotFoundError, match="no such model in"):
        Encoding.from_pretrained("some/model", local_files_only=True)
    assert not asked
    assert Encoding.from_pretrained("some/model", revision=None).name == "some/model"
    assert Encoding.from_pretrained("some/model").name == "some/model" and asked == [("some/model", None)]


def test_without_that_library(hub, monkeypatch):
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(FileNotFoundError, match="`hf download some/model` gets it: 'some/model'"):
        Encoding.from_pretrained("some/model")


@pytest.mark.parametrize("name", ["../up", "a/b/c", "a/../b", "a--b/c", "/abs", "", "-a/b", "a b", "a/b\n"])
def test_names_that_no_repository_has(hub, name):
    put(hub, "b")
    with pytest.raises(ValueError, match="is neither a path that is there nor the name of a repository"):
        Encoding.from_pretrained(name)


def test_a_damaged_reference(hub):
    put(hub, "some/model")
    (hub / "models--some--model" / "refs" / "main").write_text("../../../other")
    with pytest.raises(FileNotFoundError, match="no such model"):
        Encoding.from_pretrained("some/model", local_files_only=True)


def test_a_path_is_taken_as_one(hub, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "tokenizer.json").write_text(json.dumps(record()), encoding="utf-8")
    want = Encoding.from_file("folder").fingerprint
    assert Encoding.from_pretrained("folder").fingerprint == want
    assert _named.load_encoding("folder", str(tmp_path)).fingerprint == want


@pytest.mark.parametrize("suffix", [each for each in tables.SUFFIXES if each != ".tiktoken"])
def test_a_name_with_the_suffix_of_a_model_is_a_file_of_the_current_folder(hub, tmp_path, suffix):
    name = f"own{suffix}"
    with pytest.raises(FileNotFoundError, match="No such file"):
        _named.load_encoding(name, str(tmp_path))
    (tmp_path / name).write_text(json.dumps(record()), encoding="utf-8")
    assert _named.load_encoding(name, str(tmp_path)).fingerprint == Encoding.from_file(name).fingerprint
    assert tables.is_path(name)


@pytest.mark.parametrize(
    "name, advice",
    [
        ("o200k", "did you mean o200k_base or o200k_harmony?"),
        ("cl100k", "did you mean cl100k_base?"),
        ("gpt4o", "did you mean gpt-4o?"),
        ("o200k-base", "did you mean o200k_base?"),
        ("zzz", "write one of gpt2, r50k_base"),
        ("", "write one of gpt2, r50k_base"),
    ],
)
def test_unknown_names(name, advice):
    with pytest.raises(ValueError, match=f"Unknown encoding {name}: " + advice.replace("?", r"\?")):
        _named.load_encoding(name, "")


def test_names_of_models():
    assert _named.load_encoding("gpt-4o-2024-05-13", "") is streamtok.get_encoding("o200k_base")
    with pytest.raises(FileNotFoundError, match="No such file"):
        _named.load_encoding("no/such.json", "")
