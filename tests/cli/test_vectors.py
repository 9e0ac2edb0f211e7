"""Golden vectors: files that are made, compared and damaged; the texts stay what they were."""

from __future__ import annotations

import json

import pytest
from cli_runs import run

import streamtok
from streamtok import vectors
from streamtok.errors import VocabularyError


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_texts_are_those_of_set_1():
    texts = vectors.texts()
    assert len(texts) == len(set(texts)) == 202
    record = vectors.make(streamtok.get_encoding("cl100k_base"))
    assert record["texts"] == {
        "set": "1",
        "sha256": "0ccea816839974c249310507352405c4b1657bc79b264c40d1721f080e7d4d6e",
    }
    assert record["ids_sha256"] == "8f36b8da5606305956d2b3a87b032d90c7456a2a53896672ef589e4063e09430"


@pytest.mark.parametrize("name", ("r50k_base", "cl100k_base", "o200k_base"))
def test_ids_are_those_of_tiktoken(name):
    tiktoken = pytest.importorskip("tiktoken")
    enc = streamtok.get_encoding(name)
    theirs = tiktoken.Encoding(
        name, pat_str=enc._pat_str, mergeable_ranks=enc._mergeable_ranks, special_tokens=enc._special_tokens
    )
    for vector in vectors.make(enc)["vectors"]:
        assert vector["ids"] == theirs.encode(vector["text"], disallowed_special=()), vector["text"]


def test_the_command_makes_and_compares_files(here):
    run("vectors", "-e", "r50k_base", "-o", "a.json")
    assert run("vectors", "-e", "r50k_base").stdout_bytes == (here / "a.json").read_bytes()
    record = json.loads((here / "a.json").read_text("ascii"))
    assert record == vectors.make(streamtok.get_encoding("r50k_base"))
    assert run("verify-vectors", "a.json").stdout == "202 texts, 9,405 ids: 'r50k_base' has the same\n"
    assert "'gpt2' has the same" in run("verify-vectors", "a.json", "-e", "gpt2").stdout
    done = run("verify-vectors", "a.json", "-m", "gpt-4o", status=1)
    assert "text 2, '  ': id 0 is 220 in the file, and 256 here" in done.stderr
    assert "'a.json' has the same" in run("verify-vectors", "a.json", "a.json").stdout
    record["vectors"][5]["ids"].append(7)
    record["ids_sha256"] = vectors._digest([each["ids"] for each in record["vectors"]])
    (here / "b.json").write_text(json.dumps(record), "ascii")
    done = run("verify-vectors", "a.json", "b.json", status=1)
    assert done.stderr == "streamtok: text 5, 'hello': id 1 is none in the file, and 7 here\n"


def test_damaged_files_are_refused(here):
    record = vectors.make(streamtok.get_encoding("r50k_base"))

    def refused(change) -> str:
        other = json.loads(json.dumps(record))
        change(other)
        with pytest.raises(VocabularyError) as caught:
            vectors.read(json.dumps(other).encode(), "v.json")
        return str(caught.value)

    assert "the ids are not those" in refused(lambda r: r["vectors"][3]["ids"].append(1))
    assert "the texts are not those" in refused(lambda r: r["vectors"][3].update(text="other"))
    assert "vectors[2] is not a text and a list of ids" in refused(lambda r: r["vectors"][2].update(ids=["1"]))
    assert "version 2: tokenizer-vectors, version 1, is read" in refused(lambda r: r.update(version=2))
    assert "this is no file of vectors" in refused(lambda r: r.pop("vectors"))
    with pytest.raises(VocabularyError, match=r"v\.json: this is no file of vectors"):
        vectors.read(b"[", "v.json")
    fewer = json.loads(json.dumps(record))
    del fewer["vectors"][0]
    with pytest.raises(ValueError, match="the two files are of different texts"):
        vectors.first_difference(record, None, fewer)
    (here / "x.json").write_text("{}")
    assert (
        "x.json: this is no file of vectors: make one with streamtok vectors"
        in run("verify-vectors", "x.json", status=1).stderr
    )


FOR_EVER = {
    "gpt2": "20d4565897faa9c7083baadf7a08308e46738c145bb2f55c6b80f73181b2bccc",
    "r50k_base": "20d4565897faa9c7083baadf7a08308e46738c145bb2f55c6b80f73181b2bccc",
    "p50k_base": "3de8eadaea1f5c5b34ddd0ba7ef637cc91a35e9e5893830c95845d80f15a4c38",
    "p50k_edit": "3de8eadaea1f5c5b34ddd0ba7ef637cc91a35e9e5893830c95845d80f15a4c38",
    "cl100k_base": "8f36b8da5606305956d2b3a87b032d90c7456a2a53896672ef589e4063e09430",
    "o200k_base": "fbb4961d66c794aea691dba9cfd0e9852270cc5d627cbabae0d3f28f063e68f4",
    "o200k_harmony": "fbb4961d66c794aea691dba9cfd0e9852270cc5d627cbabae0d3f28f063e68f4",
}
"""Encoding -> ids_sha256 of its golden vectors. No version changes them: docs/reference/interface.md promises it."""


def test_ids_of_the_bundled_encodings_never_change():
    """Not drawn: each run looks at all of them."""
    assert {name: vectors.make(streamtok.get_encoding(name))["ids_sha256"] for name in FOR_EVER} == FOR_EVER
