"""What the command says while someone watches, and where it cannot go on."""

from __future__ import annotations

import json
import re
import sys

import english
import numpy as np
import pytest
from cli_runs import on_terminal, run

from streamtok import _named, cli
from streamtok.cli.outputs import say_stopped

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="this system has no terminals of that kind")


@pytest.fixture
def corpus(here):
    (here / "corpus").mkdir()
    for name in "ab":
        (here / "corpus" / f"{name}.txt").write_bytes(english.ENGLISH[:60_000])
    values = {"sources": ["corpus/*"], "output": "out", "encoding": "r50k_base", "shard_bytes": "40 KB"}
    (here / "spec.json").write_text(json.dumps(values | {"documents": "lines"}))
    return here


def test_a_dataset_shows_its_shards_as_they_are_made(corpus):
    shown = on_terminal("dataset", "build", "spec.json", "--workers", "1")
    assert re.search(r"4 of 4 shards, [\d,]+ ids/s", shown) and "\x1b[" in shown


def test_training_shows_its_stages_and_counting_a_bar(corpus):
    shown = on_terminal("train", "corpus/*", "--vocab-size", "400", "-o", "mine.tiktoken")
    assert re.search(r"count.*MB/s", shown) and re.search(r"\d+ merges, [\d,]+/s", shown)
    assert re.search(r"60\.0/60\.0 kB.* ids", on_terminal("count", "corpus/a.txt", "-e", "r50k_base"))
    shown = on_terminal("truncate", "corpus/a.txt", "--tokens", "3", "-e", "r50k_base")
    assert shown.endswith("\r\n")  # the prompt begins a line


def test_a_plan_is_shown_with_its_ranges_and_joined_files(corpus):
    for i in range(3):
        (corpus / "corpus" / f"small{i}.txt").write_text("a few words\n")
    lines = run("dataset", "plan", "spec.json").stdout.splitlines()
    assert re.fullmatch(r" +[\d,]+  corpus/a.txt  bytes 0 to [\d,]+", lines[0])
    assert lines[-2].split() == ["36", "corpus/small0.txt", "and", "2", "more,", "to", "corpus/small2.txt"]
    assert lines[-1].split()[1:] == ["bytes", "in", "5", "shards"]
    assert lines[-1].split()[0] == "120,036"
    first, *_, last = json.loads(run("dataset", "plan", "spec.json", "--json").stdout)["shards"]
    assert first == {
        "source": "corpus/a.txt",
        "range": ["bytes", 0, first["size"]],
        "size": first["size"],
        "joined": [],
    }
    assert last["range"] is None and len(last["joined"]) == 3


def test_merging_says_what_was_written_and_knows_the_encoding(corpus):
    run("dataset", "build", "spec.json", "--workers", "1")
    said = run("dataset", "merge", "out", "-o", "all.npy", "--format", "npy").stderr
    ids = len(np.load("all.npy"))
    assert f"{ids:,} ids of " in said and "all.npy (npy, uint16)" in said
    made = json.loads(run("dataset", "merge", "out", "-o", "all.bin", "--json", "-e", "r50k_base").stdout)
    assert (made["ids"], made["format"], made["dtype"]) == (ids, "bin", "uint16")
    assert "cl100k_base" in run("dataset", "merge", "out", "-o", "x.bin", "-e", "cl100k_base", status=1).stderr


def test_an_encoding_may_be_the_path_of_a_vocabulary(corpus):
    run("train", "corpus/*", "--vocab-size", "400", "-o", "mine.tiktoken")
    run("train", "corpus/*", "--vocab-size", "400", "-o", "folder")
    run("train", "corpus/*", "--vocab-size", "400", "-o", "tokenizer.json")
    said = {
        run("count", "corpus/a.txt", "-e", f"./{name}").stdout for name in ("mine.tiktoken", "folder", "tokenizer.json")
    }
    assert len(said) == 1


def test_a_file_of_numbers_that_are_no_ids(here):
    np.save("rows.npy", np.zeros((2, 3), np.uint16))
    np.save("floats.npy", np.zeros(3, np.float32))
    for name, complaint in (("rows.npy", r"uint16 of shape \(2, 3\)"), ("floats.npy", r"float32 of shape \(3,\)")):
        said = run("decode", name, "--format", "npy", status=1).stderr
        assert re.search(complaint + ": one row of integers is needed", " ".join(said.split()))


def test_what_is_said_of_a_run_that_was_stopped(here, capsys):
    import click

    def said(args, lost, *flags):
        context = click.Context(click.Command("streamtok"))
        context.meta["streamtok.args"] = args
        say_stopped(context, lost, *flags)
        return capsys.readouterr().err

    assert said(["encode", "-"], "a pipe cannot be read twice") == "streamtok: stopped; a pipe cannot be read twice\n"
    assert said(["train", "a b", "--checkpoint", "c"], None).endswith("\n  streamtok train 'a b' --checkpoint c\n")
    for args in (["encode", "in", "-o", "x"], ["encode", "--resume", "in", "-o", "x"]):
        assert said(args, None, "--resume").endswith("\n  streamtok encode --resume in -o x\n")


def test_an_interrupt_while_modules_are_loaded_has_the_status_of_one(monkeypatch):
    from streamtok.cli import app

    def interrupted(**options):
        raise KeyboardInterrupt

    monkeypatch.setattr(app, "app", interrupted)
    with pytest.raises(SystemExit) as raised:
        cli.main()
    assert raised.value.code == 130


def test_memory_that_is_out_is_one_line(here, monkeypatch):
    def none_left(*arguments, **options):
        raise MemoryError

    (here / "in.txt").write_text("text")
    monkeypatch.setattr(_named, "load_encoding", none_left)
    assert run("count", "in.txt", status=1).stderr == "streamtok: out of memory\n"
