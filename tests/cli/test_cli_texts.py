"""Arguments that are files, texts or ids: one rule tells which, and a missing file is never taken for a text."""

from __future__ import annotations

import json
import os
import random

import click
import numpy as np
import oracle
import pytest
from cli_runs import _enc, process, run  # noqa: F401

import streamtok

pytest.importorskip("rich")

from streamtok.cli import decode, truncate
from streamtok.cli.options import looks_like_path

TEXT = "naïve café ☕ 日本語 👩‍👩‍👧 <|endoftext|> 12345 'll"


pytestmark = pytest.mark.usefixtures("here")


# ==== The rule ====

PATHS = ["a/b", "/", "a.txt", "x.7z", "*.md", "data[1]", "my notes.txt", "see a/b now", "a.tar.gz", "node.js"]
TEXTS = ["a text", "hello.", "what is this?", "why?", "2 * 3", "3.14", "e.g.", "a.txt\nb", "日本語", "a [b] c"]


def test_what_looks_like_a_path():
    assert [each for each in PATHS + TEXTS if looks_like_path(each)] == PATHS


@pytest.mark.parametrize(
    "command", [["count"], ["encode"], ["encode", "-o", "o.bin"], ["inspect"], ["truncate", "-n", "3"]]
)
@pytest.mark.parametrize("name", ["a/b", "missing.txt", "*.md"])
def test_a_missing_file_is_no_text(command, name):
    result = run(*command, name, status=1)
    assert result.stdout == "" and os.listdir() == []
    is_glob = name == "*.md" and command[0] in ("count", "encode")
    reason = "no file matches this pattern" if is_glob else "No such file or directory"
    assert result.stderr == f"streamtok: {name}: {reason}; if that is the text itself, add --text\n"
    run(*command, "--text", name)


def test_an_empty_argument_is_no_text(enc):
    assert "names no file; for an empty text add --text" in run("count", "", status=1).stderr
    assert run("count", "-t", "").stdout == "0\n"


def test_a_file_wins_unless_text_is_said(here, enc):
    (here / "a word").write_text("what the file holds")
    assert run("count", "a word").stdout == "4\n" and run("count", "a word", "-t").stdout == "2\n"
    assert run("encode", "-t", "-").stdout == f"{enc.encode('-')[0]}\n"
    for command in (["count"], ["encode"], ["inspect"], ["truncate", "-n", "9"]):
        piped = run(*command, "-t", input="a word")
        assert piped.stdout == run(*command, input="a word").stdout != run(*command, "-t", "-").stdout
    assert run("truncate", "-n", "9", "--", "- item").stdout == "- item"


def test_a_single_word_that_is_no_file_is_said():
    said = run("count", "Makefile").stderr
    assert said == "streamtok: there is no file 'Makefile', so it is taken for a text; --text says so\n"
    assert run("count", "two words").stderr == run("count", "-t", "Makefile").stderr == ""


def test_files_texts_and_standard_input_together(here, enc):
    (here / "in.txt").write_text(TEXT)
    want = [len(enc.encode_ordinary(each)) for each in ("some text", TEXT, "from a pipe")]
    shown = run("count", "--by-file", "some text", "in.txt", "-", input="from a pipe").stdout.splitlines()
    assert [int(line.split()[0]) for line in shown] == [*want, sum(want)]
    assert [line.split(maxsplit=1)[1] for line in shown] == ["'some text'", "in.txt", "-", "total"]
    assert run("count", "--by-file", "two\nlines").stdout.startswith("3 'two\\nlines'\n")
    report = json.loads(run("count", "--json", "--by-file", "two\nlines").stdout)
    assert report["files"] == [{"path": "two\nlines", "tokens": 3, "bytes": 9}]


# ==== encode and decode ====


def test_ids_of_a_text_are_one_line(here, enc):
    (here / "in.txt").write_text(TEXT)
    texts = ["some text", TEXT]
    lines = [" ".join(map(str, enc.encode_ordinary(each))) for each in texts]
    assert run("encode", *texts).stdout.splitlines() == lines
    assert run("encode", "--format", "text", texts[0]).stdout.split("\n") == [*lines[0].split(), ""]
    assert run("encode", texts[0], "in.txt").stdout.split("\n") == [lines[0], *lines[1].split(), ""]
    raw = run("encode", *texts, "--format", "bin").stdout_bytes
    assert np.frombuffer(raw, "<u4").tolist() == [token for line in lines for token in map(int, line.split())]
    run("encode", *texts, "-o", "out.npy")
    assert np.load("out.npy").tolist() == np.frombuffer(raw, "<u4").tolist()
    assert run("encode", "-t", "").stdout == "\n"


def test_json_of_encode(here, enc):
    (here / "in.txt").write_text(TEXT)
    reports = [json.loads(line) for line in run("encode", "--json", "some text", TEXT).stdout.splitlines()]
    assert reports[0] == {"encoding": "o200k_base", "bytes": 9, "ids": enc.encode("some text")}
    assert reports[1]["ids"] == enc.encode_ordinary(TEXT)
    report = json.loads(run("encode", "--json", "in.txt", "some text", "-o", "out.bin").stdout)
    assert report["seconds"] > 0 and report["crc32"] > 0 and report["output"] == os.path.realpath("out.bin")
    facts = {"sources": ["in.txt", "the text"], "format": "bin", "dtype": "uint32", "documents": 2, "resumed_ids": 0}
    assert facts.items() <= report.items() and report["bytes"] == len(TEXT.encode()) + 9
    assert report["ids"] == os.path.getsize("out.bin") // 4
    assert "name a file with -o" in run("encode", "--json", "in.txt", status=2).stderr
    assert "two formats" in run("encode", "--json", "--format", "bin", "a text", status=2).stderr


def test_ids_as_arguments(here, enc):
    ids = enc.encode_ordinary(TEXT)
    assert run("decode", *ids).stdout_bytes == TEXT.encode()
    assert run("decode", str(ids), "13,").stdout == TEXT + enc.decode([13])
    run("encode", "-t", TEXT, "-o", "a.bin")
    run("encode", "-t", TEXT, "-o", "a.npy")
    assert run("decode", "a.bin", ids[0], "-", "a.npy", input="13").stdout == TEXT + enc.decode([ids[0], 13]) + TEXT
    (here / "13").write_text("14")
    assert run("decode", "--format", "text", "13").stdout == enc.decode([14])
    run("decode", *ids, "-o", "back.txt")
    assert (here / "back.txt").read_bytes() == TEXT.encode()


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["12x"], "'12x' is no token id, and there is no file of that name"),
        (["13", "none.bin"], "none.bin: No such file or directory"),
        ([""], "'' is no token id"),
        (["13", "4000000"], "id 4000000 at position 1 is no token of o200k_base"),
        (["--", "-5"], "'-5' is no token id"),
    ],
)
def test_what_is_no_id(args, complaint):
    result = run("decode", "-o", "out.txt", *args, status=1)
    assert complaint in result.stderr and result.stdout == "" and os.listdir() == []


# ==== truncate ====


def test_truncate_is_that_of_the_encoding(here, enc):
    text = oracle.topics()[:200_000] + TEXT * 20_000
    (here / "in.txt").write_text(text, newline="")
    head = enc.truncate
    for n in (0, 1, 50, 20_000, 10**7):
        want = head(text, n, disallowed_special=())
        assert run("truncate", "-n", n, "in.txt").stdout_bytes == want.encode(), n
        assert enc.count(want, disallowed_special=()) <= n
    assert run("truncate", "-n", "4", TEXT).stdout == head(TEXT, 4, disallowed_special=())
    assert run("truncate", "-n", "9", "--allow-special", "all", "<|endoftext|>" * 20).stdout == "<|endoftext|>" * 9
    assert run("truncate", "-n", "2", "--errors", "ignore", input=b"a\xffb c d").stdout == "ab c"
    assert "--errors replace" in run("truncate", "-n", "2", input=b"a\xffb c d", status=1).stderr


def test_truncate_reads_no_more_than_it_needs(enc, monkeypatch):
    """Chunks of any size, cut anywhere, give the beginning of the whole text."""
    text = (TEXT + "\r\n \n" + "a" * 300 + " " * 40) * 40
    for seed in range(20):
        random.seed(seed)
        monkeypatch.setattr(truncate, "_CHUNK", random.randrange(1, 3000))
        n = random.randrange(2000)
        want = enc.truncate(text, n, disallowed_special=())
        assert run("truncate", "-n", n, input=text.encode()).stdout_bytes == want.encode()
    with process("truncate", "-n", "100", stdin=-1, stdout=-1) as child:
        try:
            for _ in range(10_000):  # it must not wait for the end
                child.stdin.write(text.encode())
            child.stdin.close()
        except BrokenPipeError:
            pass
        assert child.stdout.read().decode() == enc.truncate(text * 2, 100, disallowed_special=())
        assert child.wait(timeout=60) == 0


# ==== encodings ====


def test_encodings():
    rows = {row["name"]: row for row in json.loads(run("encodings", "--json").stdout)}
    assert list(rows) == streamtok.list_encoding_names()
    assert rows["gpt2"] == {"name": "gpt2", "pattern": "r50k", "n_vocab": 50257}
    shown = run("encodings").stdout
    assert [line.split() for line in shown.splitlines()][5] == ["o200k_base", "o200k", "200,019", "ids"]


def test_a_file_that_begins_as_numbers_in_text_is_not_taken_for_binary_ids(here):
    (here / "a.ids").write_text("1")
    for begin in (b"1", b"[12, 13]\n", "".join(sorted(decode._ID_CHARACTERS)).encode()):
        with pytest.raises(click.UsageError, match="begins as ids in text do"):
            decode._Source("a.ids")._check_binary(begin)
    decode._Source("a.ids")._check_binary(b"1\0")
