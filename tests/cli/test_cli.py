"""The command: every command and option, in the process through click's runner and as a process of its own."""

import gzip
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import time
import zlib

import english
import numpy as np
import pytest
from cli_runs import COMMAND, ENVIRONMENT, _enc, on_terminal, process, run  # noqa: F401
from file_runs import leftovers

import streamtok
import streamtok.files

pytest.importorskip("rich")

from streamtok.view.parts import Splitter

ENGLISH = english.ENGLISH[:30_000]
TEXT = "naïve café ☕ 日本語 👩‍👩‍👧 \t <|endoftext|> 12345\r\n 'll"


@pytest.fixture
def here(here):
    (here / "in.txt").write_bytes(TEXT.encode())
    (here / "long.txt").write_bytes(ENGLISH)
    return here


def numbers(result):
    return [int(word) for word in result.stdout.split()]


# ==== encode and decode ====


def test_encode_prints_an_id_a_line(enc, here):
    ids = enc.encode_ordinary(TEXT)
    assert run("encode", "in.txt").stdout == "".join(f"{token}\n" for token in ids)
    assert numbers(run("encode", input=TEXT.encode())) == ids
    assert numbers(run("encode", "-", "in.txt", input=b"first")) == enc.encode_ordinary("first") + ids


def test_encode_options_reach_the_output(here):
    r50k = streamtok.get_encoding("r50k_base")
    assert numbers(run("encode", "-e", "r50k_base", "in.txt")) == r50k.encode_ordinary(TEXT)
    assert r50k.eot_token in numbers(run("encode", "-e", "r50k_base", "in.txt", "--allow-special", "all"))
    assert r50k.eot_token in numbers(run("encode", "-e", "r50k_base", "in.txt", "--allow-special", "<|endoftext|>"))
    lines = run("encode", "-e", "r50k_base", "--documents", "lines", "--append-eot", input=b"a\n\nb")
    assert numbers(lines) == [*r50k.encode_ordinary("a"), 50256, 50256, *r50k.encode_ordinary("b"), 50256]
    body = run("encode", "-e", "r50k_base", "--documents", "jsonl", "--key", "k", input=b'{"k": "a b"}\n')
    assert numbers(body) == r50k.encode_ordinary("a b")
    bad = run("encode", "-e", "r50k_base", "--errors", "replace", input=b"a\xffb")
    assert numbers(bad) == r50k.encode_ordinary("a\ufffdb")
    raw = run("encode", "-e", "r50k_base", "--format", "bin", "in.txt").stdout_bytes
    assert np.frombuffer(raw, dtype="<u2").tolist() == r50k.encode_ordinary(TEXT)
    wide = run("encode", "-e", "r50k_base", "--format", "bin", "--dtype", "uint32", "in.txt").stdout_bytes
    assert np.frombuffer(wide, dtype="<u4").tolist() == r50k.encode_ordinary(TEXT)


def test_encode_to_files(enc, here):
    (here / "in.gz").write_bytes(gzip.compress(ENGLISH))
    result = run("encode", "in.gz", "long.txt", "-o", "out.bin")
    assert result.output == ""  # there is no progress line without a terminal
    assert np.fromfile("out.bin", dtype="<u4").tolist() == enc.encode_ordinary(ENGLISH.decode()) * 2
    run("encode", "in.gz", "long.txt", "-o", "again.bin", "--threads", "2")
    assert pathlib.Path("again.bin").read_bytes() == pathlib.Path("out.bin").read_bytes()
    run("encode", "in.txt", "-o", "out.npy")
    assert np.load("out.npy").tolist() == enc.encode_ordinary(TEXT)
    run("encode", "in.txt", "-o", "other", "--format", "npy", "-m", "gpt-4o", "--resume")
    assert np.load("other").tolist() == enc.encode_ordinary(TEXT)


def test_decode_gives_the_text_back(enc, here):
    text = ENGLISH.decode() + TEXT
    (here / "in.txt").write_bytes(text.encode())
    for name in ("out.bin", "out.npy"):
        run("encode", "in.txt", "-o", name)
        assert run("decode", name).stdout_bytes == text.encode()
        run("decode", name, "-o", "back.txt")
        assert pathlib.Path("back.txt").read_bytes() == text.encode()
    ids = enc.encode_ordinary(text)
    assert run("decode", input=run("encode", "in.txt").stdout).stdout_bytes == text.encode()
    assert run("decode", input=str(ids)).stdout_bytes == text.encode()
    run("encode", "-e", "r50k_base", "in.txt", "-o", "small.bin")
    assert run("decode", "-e", "r50k_base", "small.bin").stdout_bytes == text.encode()


@pytest.mark.parametrize(
    ("args", "data", "complaint"),
    [
        ([], b"12 three 4", "'three' is no token id"),
        ([], b"1" * 70_000, "no token id"),
        ([], b"5000000000", "no token id"),
        ([], b"15 4000000", "id 4000000 at position 1 is no token of o200k_base"),
        (["--format", "bin"], b"\0\0\0\0\0", "end inside a number: 1 bytes"),
        (["--format", "npy"], b"not numpy", "magic"),
        (["--format", "npy"], b"\x93NUMPY\x01\x00\x04\x00(((\n", "multi-line statement"),
    ],
)
def test_decode_of_what_are_no_ids(here, args, data, complaint):
    assert complaint in run("decode", *args, "-o", "out.txt", input=data, status=1).stderr
    assert not os.path.exists("out.txt") and not os.path.exists("out.txt.partial")


def test_decode_of_a_cut_npy(here):
    run("encode", "long.txt", "-o", "out.npy")
    with open("out.npy", "r+b") as file:
        file.truncate(os.path.getsize("out.npy") - 8)
    assert "the file is cut off" in run("decode", "out.npy", status=1).stderr


# ==== count, inspect, info ====


def test_count(enc, here):
    short, long = len(enc.encode_ordinary(TEXT)), len(enc.encode_ordinary(ENGLISH.decode()))
    assert run("count", "in.txt").stdout == f"{short}\n"
    assert run("count", input=ENGLISH).stdout == f"{long}\n"
    width = len(str(short + long))
    by_file = f"{short:>{width}} in.txt\n{long:>{width}} long.txt\n{short + long} total\n"
    assert run("count", "--by-file", "in.txt", "long.txt").stdout == by_file
    report = json.loads(run("count", "--json", "--by-file", "in.txt", "long.txt").stdout)
    totals = {"encoding": "o200k_base", "tokens": short + long, "bytes": len(TEXT.encode()) + len(ENGLISH)}
    assert {key: report[key] for key in totals} == totals
    assert report["files"][1] == {"path": "long.txt", "tokens": long, "bytes": len(ENGLISH)}
    assert "files" not in json.loads(run("count", "--json", "in.txt").stdout)


def test_count_max_sets_the_status_and_stops_early(enc, here):
    long = len(enc.encode_ordinary(ENGLISH.decode()))
    assert run("count", "long.txt", "--max", long).stdout == f"{long}\n"
    over = run("count", "long.txt", "--max", long - 1, status=1)
    assert over.stdout == "" and f"more than {long - 1} tokens" in over.stderr
    assert "missing" not in run("count", "long.txt", "missing.txt", "--max", 5, status=1).stderr
    report = json.loads(run("count", "--json", "long.txt", "in.txt", "--max", 5, status=1).stdout)
    assert report["over_max"] is True and report["tokens"] > 5 and report["max"] == 5
    with process("count", "--max", "100", stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as child:
        try:
            for _ in range(10_000):  # far more than the command reads; it must not wait for the end
                child.stdin.write(ENGLISH)
        except BrokenPipeError:
            pass
        assert child.wait(timeout=60) == 1
        child.stdin.close() if child.poll() is None else quiet_close(child.stdin)


def quiet_close(file):
    try:
        file.close()
    except BrokenPipeError:
        pass


def test_count_goes_on_behind_a_bad_file(here):
    (here / "bad.txt").write_bytes(b"a\xff")
    result = run("count", "--by-file", "missing.txt", "bad.txt", "in.txt", status=1)
    assert "missing.txt: No such file" in result.stderr and "in bad.txt" in result.stderr
    assert result.stdout.splitlines()[0].endswith("in.txt")


@pytest.mark.parametrize("options", [[], ["--by-file"], ["--json"]])
def test_count_prints_no_number_for_what_it_could_not_count(here, options):
    (here / "bad.txt").write_bytes(b"a\xff")
    assert run("count", *options, "bad.txt", "missing.txt", status=1).stdout == ""


def test_inspect_shows_each_token_once(enc, here):
    ids = enc.encode_ordinary(TEXT)
    lines = run("inspect", "--ids", "in.txt").stdout.splitlines()
    assert [line.split("\t")[:2] for line in lines] == [[str(i), str(token)] for i, token in enumerate(ids)]
    assert run("inspect", "in.txt").stdout.splitlines() == [line.split("\t")[2] for line in lines]
    assert run("inspect", input=TEXT.encode()).stdout == run("inspect", "in.txt").stdout
    shown = run("inspect", "hello <|endoftext|>\x1b[31m", "--allow-special", "all").stdout
    assert '"<|endoftext|>" special' in shown and "\\x1b" in shown and "\x1b" not in shown
    (here / "hello").write_text("from the file")
    assert run("inspect", "-t", "hello").stdout == '"hello"\n'
    assert '"from"' in run("inspect", "hello").stdout
    assert "No such file" in run("inspect", "no/such.txt", status=1).stderr


def test_inspect_names_the_bytes_of_a_split_character():
    def shown(tokens):
        splitter = Splitter()
        return ["".join(text for text, _ in splitter.parts(token)) for token in tokens]

    family = "👩".encode()
    assert shown([b"a" + family[:1], family[1:3], family[3:] + b"b"]) == ["a<f0>", "<9f><91>", "<a9>=👩b"]
    twice = [family[:2], family[2:] + family[:1], family[1:]]
    assert shown(twice) == ["<f0><9f>", "<91><a9>=👩<f0>", "<9f><91><a9>=👩"]
    assert shown(["é\n".encode(), "☕".encode()]) == ["é\n", "☕"]


def test_info(here):
    report = json.loads(run("info", "--json").stdout)
    assert report["streamtok"] == streamtok.__version__ and report["numpy"] == np.__version__
    assert report["encodings"]["r50k_base"] == 50257
    assert "o200k_base" in run("info").stdout


# ==== Choice of the encoding ====


def test_vocabulary_of_ones_own(here):
    import base64

    with open("own.tiktoken", "wb") as file:
        for i in range(256):
            file.write(base64.b64encode(bytes([i])) + b" %d\n" % i)
        file.write(base64.b64encode(b"ab") + b" 256\n")
    own = ["--vocab", "own.tiktoken", "--pattern", "r50k"]
    assert numbers(run("encode", *own, input=b"ab b")) == [256, 32, 98]
    special = [*own, "--special", "<|endoftext|>=300", "--append-eot"]
    assert numbers(run("encode", *special, input=b"ab")) == [256, 300]
    assert "--special gives one" in run("encode", *own, "--append-eot", status=2).stderr
    assert "--pattern" in run("encode", "--vocab", "own.tiktoken", status=2).stderr
    assert "NAME=ID" in run("encode", *own, "--special", "x", status=2).stderr
    pathlib.Path("own.tiktoken").write_bytes(b"YQ== x\n")
    assert "line 1" in run("encode", *own, input=b"ab", status=1).stderr


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["encode", "-e", "nonsense"], "Unknown encoding nonsense: write one of gpt2, "),
        (["encode", "-m", "nonsense"], "no encoding is known for the model 'nonsense'"),
        (["encode", "-e", "gpt2", "-m", "gpt-4o"], "give one of them"),
        (["encode", "--pattern", "r50k"], "go with --vocab"),
        (["encode", "--allow-special", "<|nonsense|>"], "no special token '<|nonsense|>'"),
        (["encode", "--resume"], "name it with -o"),
        (["encode", "--threads", "2"], "name one with -o"),
        (["encode", "--threads", "0", "-o", "out.bin"], "x>=1"),
        (["encode", "--format", "npy"], "name a file with -o"),
        (["encode", "--format", "mds"], "--format mds is for files: name one with -o"),
        (["encode", "--index"], "--index makes a second file: name the first with -o"),
        (["encode", "--device", "cuda:0"], "--device is for files: name one with -o, or leave it out"),
        (["encode", "--device", "nonsense", "-o", "x"], "--device"),
        (["decode", "--format", "mds"], "--format mds is for files: '-' is none"),
        (["tables", "nonsense"], "nonsense"),
        (["view", "in.txt", "--html", "x", "--format", "bin"], "--format and --dtype are about ids: add --document N"),
        (["view", "-", "--html", "x", "--document", "0"], "--document is about files of ids and datasets: name one"),
        (["encode", "-o", "x", "--format", "text"], "standard output"),
        (["encode", "in.txt", "-o", "x", "--dtype", "uint16"], "up to 65535"),
        (["encode", "in.txt", "-o", os.devnull], "directory, device or pipe"),
        (["encode", "in.txt", "-o", "in.txt"], "is the source 'in.txt' itself"),
        (["encode", "in.txt", "-o", "./in.txt"], "is the source 'in.txt' itself"),
        (["decode", "--format", "bin", "--dtype", "uint16"], "up to 65535"),
        (["decode", "-o", "."], "directory, device or pipe"),
        (["encode", "--documents", "pages"], "pages"),
        (["count", "--max", "-1"], "--max"),
        (["nonsense"], "nonsense"),
    ],
)
def test_wrong_usage_is_status_2(here, args, complaint):
    assert complaint in run(*args, input=b"", status=2).stderr
    assert sorted(os.listdir()) == ["in.txt", "long.txt"]


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["encode", "missing.txt"], "missing.txt: No such file"),
        (["encode", "empty"], "empty: the folder has no file that holds text"),
        (["encode", "*.none"], "*.none: no file matches this pattern"),
        (["count", "--vocab", "missing"], "missing: No such file"),
        (["encode", "--vocab", "missing.tiktoken", "in.txt"], "missing.tiktoken: No such file"),
        (["encode", "in.txt", "-o", "missing/out.bin"], "missing: there is no such directory"),
        (["encode", "-", "-o", "out.bin", "--resume"], "cannot resume"),
        (["encode", "in.txt", "--documents", "jsonl"], "in.txt, line 1: not a JSON object"),
        (["decode", "missing.bin"], "missing.bin: No such file"),
        (["inspect", "."], "Is a directory"),
    ],
)
def test_errors_are_one_line_and_status_1(here, args, complaint):
    (here / "empty").mkdir()
    with open(os.devnull, "rb") as nothing:
        child = process(*args, stdin=subprocess.PIPE if "-" in args else nothing, stdout=subprocess.PIPE)
        error = child.communicate()[1].decode()
    assert child.returncode == 1 and complaint in error
    assert error.startswith("streamtok: ") and len(error.splitlines()) == 1


# ==== As a process ====


def test_ctrl_c_prints_the_command_that_resumes(enc, here):
    (here / "my file.txt").write_bytes(ENGLISH)
    with open("large.txt", "wb") as file:
        for _ in range(2000):  # long enough for a signal to come in time
            file.write(ENGLISH)
    child = process("encode", "my file.txt", "large.txt", "-o", "out.bin", stdout=subprocess.PIPE)
    while not os.path.exists("out.bin.journal"):
        time.sleep(0.01)
        assert child.poll() is None
    child.send_signal(signal.SIGINT)
    out, error = child.communicate(timeout=60)
    assert child.returncode == 130 and out == b""
    command = error.decode().splitlines()[-1].strip()
    assert command == "streamtok encode --resume 'my file.txt' large.txt -o out.bin"
    assert sorted(os.listdir()) == sorted(["in.txt", "long.txt", "my file.txt", "large.txt", *leftovers()])
    again = process(*shlex.split(command)[1:], stdout=subprocess.PIPE)
    out, said = again.communicate(timeout=120)
    assert again.returncode == 0 and out == b""
    # It says nothing if the first run had ended all the same.
    assert re.fullmatch(rb"(streamtok: (resuming at|the earlier partial result of) .*\n)?", said)
    result = streamtok.files.encode_file(enc, ["my file.txt", "large.txt"], "whole.bin")
    assert os.path.getsize("out.bin") == result.ids * 4
    assert zlib.crc32(pathlib.Path("out.bin").read_bytes()) == result.crc32


def test_ctrl_c_without_a_file_is_quiet(here):
    child = process("encode", stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
    child.stdin.write(b"some text and more\n" * 100_000)  # more than a pipe holds: it is at work then
    child.stdin.flush()
    child.send_signal(signal.SIGINT)
    error = child.communicate(timeout=60)[1]
    assert child.returncode == 130 and error.decode().strip() == "streamtok: stopped"


@pytest.mark.parametrize(
    "args", [["encode", "big.txt"], ["inspect", "big.txt"], ["decode", "big.bin", "-e", "o200k_base"]]
)
def test_a_reader_that_leaves_is_no_error(here, args):
    (here / "big.txt").write_bytes(ENGLISH * 20)
    run("encode", "big.txt", "-o", "big.bin")
    child = process(*args, stdout=subprocess.PIPE)
    child.stdout.read(10)
    child.stdout.close()
    error = child.stderr.read()
    assert child.wait(timeout=60) == 141 and error == b""
    child.stderr.close()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize("args", [["encode", "in.txt"], ["count", "in.txt"], ["inspect", "in.txt"], ["info"]])
def test_full_standard_output_is_one_line(here, args):
    with open("/dev/full", "wb") as full:
        child = process(*args, stdout=full)
        error = child.communicate()[1].decode()
    assert child.returncode == 1
    assert error == "streamtok: No space left on device\n"


def test_pipe_is_answered_before_it_ends(enc, here):
    child = process("encode", stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    child.stdin.write(b"hello there ")
    child.stdin.flush()
    assert child.stdout.readline() == b"%d\n" % enc.encode_ordinary("hello")[0]
    assert child.communicate(b"friend")[0].split()[-1] == b"%d" % enc.encode_ordinary("hello there friend")[-1]


def test_missing_packages_are_named(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util as u\nfind = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name in ('click', 'rich') else find(name, *a)\n"
    )
    path = os.pathsep.join([str(tmp_path), ENVIRONMENT["PYTHONPATH"]])
    done = subprocess.run(COMMAND, env={**ENVIRONMENT, "PYTHONPATH": path}, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == 'streamtok: the command needs click and rich: pip install "streamtok[cli]"\n'


@pytest.mark.skipif(sys.platform == "win32", reason="needs a pseudo-terminal")
def test_terminal_gets_colours_and_a_bar(enc, here):
    shown = on_terminal("inspect", "in.txt")
    assert "\x1b[" in shown and "\\r\\n" in shown
    assert "\x1b[" in on_terminal("inspect", "--ids", "in.txt")
    (here / "big.txt").write_bytes(ENGLISH * 50)
    shown = on_terminal("encode", "big.txt", "-o", "out.bin")
    assert "documents: 1, " in shown
    assert "cannot" not in shown and "binary ids" in on_terminal("encode", "--format", "bin", "big.txt", status=2)
