"""Folders, globs and several files as arguments; ids that do not name their encoding."""

from __future__ import annotations

import json

import pytest
from cli_runs import run

import streamtok


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = {
        "a/x.txt": "one two",
        "a/b/y.jsonl.md": "three",
        "a/.hidden": "four",
        "a/c.png": "five",
        "z.md": "six seven",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_count_prints_lines_as_wc(folder):
    assert run("count", "z.md").stdout == "2\n"
    assert run("count", "a", "z.md").stdout == "1 a/b/y.jsonl.md\n2 a/x.txt\n2 z.md\n5 total\n"
    assert run("count", "a/*.txt").stdout == "2\n"
    assert run("count", "**/*.png", "*.md").stdout == "1 a/c.png\n2 z.md\n3 total\n"
    found = run("count", "q*", "z.md", "empty/", status=1)
    assert found.stdout == "2\n" and found.stderr.count("streamtok: ") == 2
    assert json.loads(run("count", "--json", "a").stdout)["tokens"] == 3


def test_a_folder_with_brackets_in_its_name_stands_for_its_text_alone(folder):
    (folder / "a").rename(folder / "a[1]")
    assert run("count", "a[1]").stdout == "1 a[1]/b/y.jsonl.md\n2 a[1]/x.txt\n3 total\n"


def test_a_folder_is_encoded_file_by_file(folder):
    run("encode", "a", "-o", "out.npy", "-e", "o200k_base")
    enc = streamtok.get_encoding("o200k_base")
    assert run("decode", "out.npy", "-e", "o200k_base").stdout == "threeone two"
    assert run("encode", "a").stdout.split() == [
        str(token) for text in ("three", "one two") for token in enc.encode(text)
    ]


def test_a_file_with_brackets_in_its_name_is_that_file(folder):
    (folder / "[x].txt").write_text("one")
    assert run("count", "[x].txt").stdout == "1\n"


def test_decode_says_that_it_guesses(folder):
    run("encode", "z.md", "-o", "z.bin", "-e", "cl100k_base")
    guessed, named = run("decode", "z.bin"), run("decode", "z.bin", "-e", "cl100k_base")
    assert "z.bin does not name the encoding of its ids: read as o200k_base; -e names another" in guessed.stderr
    assert named.stdout == "six seven" and named.stderr == ""
    assert run("decode", "24912", "2375").stderr == ""
