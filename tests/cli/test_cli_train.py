"""streamtok train: options, what it writes, what it says, Ctrl-C."""

from __future__ import annotations

import json
import os
import shlex
import signal
import time

import oracle
import pytest
from cli_runs import process, run
from packing import zst

import streamtok
from streamtok.train import load, train

pytest.importorskip("rich")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for i in range(2):
        (tmp_path / f"{i}.txt").write_text(oracle.topics()[i * 30_000 : (i + 1) * 30_000])
    return tmp_path


def test_it_writes_what_train_returns(here):
    want = train(["0.txt", "1.txt"], 600, special_tokens=["<|end|>"], name="mine")
    special = ("--special", "<|end|>")
    result = run("train", "0.txt", "1.txt", "--vocab-size", "600", "-o", "mine.tiktoken", *special)
    assert result.stdout == "" and "600 tokens in mine.tiktoken" in result.stderr
    got = load("mine.tiktoken")
    assert got._mergeable_ranks == want._mergeable_ranks and got._special_tokens == {"<|end|>": 599}
    assert got.training == want.training and got.name == "mine"
    ids = run("encode", "0.txt", "--vocab", "mine.tiktoken", "--pattern", "cl100k").stdout.split()
    assert list(map(int, ids)) == want.encode(oracle.topics()[:30_000])
    run("train", "*.txt", "--vocab-size", "0.6k", "-o", "tokenizer.json", *special, "--threads", "1")
    run("train", "*.txt", "--vocab-size", "600", "-o", "folder", *special, "--max-memory", "0.5GB")
    for name in ("tokenizer.json", "folder", "mine.tiktoken"):
        assert load(name)._mergeable_ranks == want._mergeable_ranks
        again = run("encode", "0.txt", "--vocab", name, "--allow-special", "<|end|>").stdout.split()
        assert again == ids


@pytest.mark.parametrize(
    ("text", "size"),
    [
        *(("7", 7), ("7B", 7), ("2k", 2000), ("2 KB", 2000), ("1.5MB", 1_500_000), ("3g", 3 * 10**9)),
        *(("2KiB", 2048), ("2mi", 2 << 20), ("0.5GiB", 1 << 29)),
    ],
)
def test_sizes_are_read_in_both_kinds_of_units(text, size):
    from streamtok.cli.train import _Bytes

    assert _Bytes().convert(text, None, None) == size == _Bytes().convert(size, None, None)


def test_a_call_and_a_command_write_the_same_files(here):
    (here / "corpus").mkdir()
    for i in range(2):
        text = (here / f"{i}.txt").read_bytes() + b"<|endoftext|>"
        (here / "corpus" / f"{i}.txt.zst").write_bytes(zst(text))
    snippet = """
from streamtok.train import save, train
enc = train("corpus/*.txt.zst", 32_000, pattern="o200k", special_tokens=["<|endoftext|>"], name="mine")
save(enc, "mine.tiktoken")
"""
    line = "train 'corpus/*.txt.zst' --vocab-size 32k --pattern o200k --special '<|endoftext|>' -o mine.tiktoken"
    with pytest.warns(UserWarning, match="no more than"):  # the text is small
        exec(snippet, {})
    names = ("mine.tiktoken", "mine.tiktoken.json")
    written = [(here / name).read_bytes() for name in names]
    for name in names:
        (here / name).unlink()
    run(*shlex.split(line))
    assert [(here / name).read_bytes() for name in names] == written
    assert load("mine.tiktoken")._special_tokens.keys() == {"<|endoftext|>"}


def test_options_reach_the_trainer(here):
    (here / "a.jsonl").write_text(
        "".join(json.dumps({"body": line}) + "\n" for line in oracle.topics().split("\n")[:300])
    )
    options = ["--ties", "huggingface", "--min-frequency", "3", "--max-token-length", "6", "--pattern", "o200k"]
    run("train", "a.jsonl", "--vocab-size", "300", "-o", "a.tiktoken", "--key", "body", *options)
    got = load("a.tiktoken")
    keys = ("ties", "min_frequency", "max_token_length")
    assert [got.training[key] for key in keys] == ["huggingface", 3, 6]
    assert got._pat_str == streamtok.patterns.O200K and max(map(len, got._mergeable_ranks)) <= 6
    run("train", "0.txt", "--vocab-size", "300", "-o", "b.tiktoken", "--pattern", "none")
    assert load("b.tiktoken")._pat_str is None


def test_standard_input(here):
    data = (here / "0.txt").read_bytes()
    run("train", "-", "--vocab-size", "400", "-o", "a.tiktoken", input=data)
    assert load("a.tiktoken")._mergeable_ranks == train(data, 400)._mergeable_ranks


def test_report_and_plot(here):
    args = ["train", "0.txt", "--vocab-size", "1000", "-o", "a.tiktoken", "--held-out", "1.txt"]
    rows = [line.split() for line in run(*args).stdout.splitlines()]
    assert rows[1] == ["256", "1.000"] and rows[-1][0] == "1,000" and float(rows[-1][1]) > 2
    pytest.importorskip("matplotlib")
    run(*args, "--plot", "a.svg")
    assert (here / "a.svg").read_text().count("<svg") == 1
    assert (
        "--held-out" in run("train", "0.txt", "--vocab-size", "300", "-o", "a.tiktoken", "--plot", "a", status=2).stderr
    )


@pytest.mark.parametrize(
    ("args", "status", "words"),
    [
        (["0.txt", "-o", "a.tiktoken"], 2, "--vocab-size"),
        (["0.txt", "--vocab-size", "many", "-o", "a.tiktoken"], 2, "32k"),
        (["0.txt", "--vocab-size", "300"], 2, "--output"),
        (["0.txt", "--vocab-size", "300", "-o", "a", "--max-memory", "big"], 2, "500MB"),
        (["0.txt", "--vocab-size", "300", "-o", "gone/a.tiktoken"], 2, "no folder"),
        (["0.txt", "--vocab-size", "200", "-o", "a"], 1, "--vocab-size 200"),
        (["gone.txt", "--vocab-size", "300", "-o", "a"], 1, "gone.txt"),
        (["*.md", "--vocab-size", "300", "-o", "a"], 1, "no file matches"),
        (["0.txt", "--vocab-size", "300", "-o", "a", "--special", "x", "--special", "x"], 1, "twice"),
        (["0.txt", "--vocab-size", "300", "-o", "a", "--pattern", "(a"], 1, "--pattern has"),
    ],
)
def test_what_is_refused(here, args, status, words):
    assert words in run("train", *args, status=status).stderr
    assert not (here / "a").exists() and not (here / "a.tiktoken").exists()


def test_a_text_that_is_too_small_warns_in_one_line(here):
    (here / "small.txt").write_text("abc abc")
    child = process("train", "small.txt", "--vocab-size", "5000", "-o", "a.tiktoken")
    stderr = child.communicate()[1].decode()
    assert child.returncode == 0 and load("a.tiktoken").n_vocab < 300
    assert stderr.splitlines()[0].startswith("streamtok: the text has no more than"), stderr


@pytest.mark.skipif(os.name == "nt", reason="Ctrl-C is sent another way there")
def test_ctrl_c_leaves_a_checkpoint_and_says_how_to_go_on(here):
    """The text comes from a pipe, which does not end before the signal."""
    reader, writer = os.pipe()
    args = ["train", "-", "--vocab-size", "400", "-o", "a.tiktoken", "--checkpoint", "point"]
    child = process(*args, stdin=reader)
    os.close(reader)
    data = (here / "0.txt").read_bytes()
    while child.poll() is None and not (here / "point").exists():
        time.sleep(0.01)
    for _ in range(50):  # more than is read at a time, so that it is counting by now
        os.write(writer, data)
    child.send_signal(signal.SIGINT)
    os.close(writer)
    stderr = child.communicate()[1].decode()
    assert child.returncode == 130, stderr
    assert "to go on:\n  streamtok train - --vocab-size 400" in stderr
    assert (here / "point").is_dir() and not (here / "a.tiktoken").exists()


def test_a_run_says_that_it_goes_on(here):
    args = ["train", "0.txt", "-o", "a.tiktoken", "--checkpoint", "point", "--vocab-size"]
    assert "going on" not in run(*args, "300").stderr
    more = run(*args, "400").stderr
    assert more.startswith("streamtok: going on from the checkpoint point\n400 tokens in a.tiktoken, ")
    refused = run(*args, "400", "--ties", "huggingface", status=1).stderr
    assert "going on" not in refused and "--ties was 'lexicographic' and is 'huggingface'" in refused
