"""The suffix of a name decides by one rule, in the library and the command, for writing and for reading."""

import json
import os
import pathlib
import re

import numpy as np
import pytest

import streamtok
from streamtok import suffixes
from streamtok.files import encode_file

click_testing = pytest.importorskip("click.testing")
pytest.importorskip("rich")

from streamtok.cli.app import app  # noqa: E402

TEXT = "some words, naïve ☕\n"


@pytest.fixture(scope="module")
def enc():
    return streamtok.get_encoding("r50k_base")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "in.txt").write_text(TEXT, encoding="utf-8")
    return tmp_path


def run(*args, input=None, status=0):
    args = [args[0], "-e", "r50k_base", *map(str, args[1:])]
    result = click_testing.CliRunner().invoke(app, args, input=input)
    assert result.exit_code == status, (result.stderr, result.exception)
    return result


def in_the_docs():
    """The suffixes of text and of other formats that docs/files.md lists."""
    pages = pathlib.Path(__file__).parents[1] / "docs" / "files.md"
    rows = re.findall(r"^\| of (text|another format): `(.*?)`", pages.read_text(encoding="utf-8"), re.M)
    return {name: set(listed.split()) for name, listed in rows}


def test_the_docs_list_what_the_code_knows():
    assert in_the_docs() == {"text": suffixes._TEXT, "another format": suffixes._OTHER}


# ==== The format of ids ====


@pytest.mark.parametrize("name", ["a.npy", "a.NPY", "a.bin", "a", "a.ids", "a.tok.v2"])
def test_the_suffix_of_the_target_chooses_the_format_everywhere(enc, here, name):
    done = encode_file(enc, "in.txt", name)
    assert done.format == ("npy" if name.lower().endswith(".npy") else "bin")
    written = pathlib.Path(name).read_bytes()
    ids = np.load(name) if done.format == "npy" else np.frombuffer(written, "<u2")
    assert ids.tolist() == enc.encode_ordinary(TEXT)
    run("encode", "in.txt", "-o", name)
    assert pathlib.Path(name).read_bytes() == written
    assert run("decode", name).stdout_bytes == TEXT.encode()


@pytest.mark.parametrize("name", sorted(f"a{suffix}" for suffix in suffixes._TEXT | suffixes._OTHER) + ["a.npy.GZ"])
def test_a_target_with_the_suffix_of_another_format_is_refused(enc, here, name):
    suffix = os.path.splitext(name)[1].lower()
    with pytest.raises(ValueError, match=rf"ends in {re.escape(suffix)}, .*format='bin'"):
        encode_file(enc, "in.txt", here / name)
    if suffix in (".txt", ".parquet"):
        assert f"ends in {suffix}, " in run("encode", "in.txt", "-o", name, status=2).stderr
    assert os.listdir() == ["in.txt"]


def test_a_format_that_is_named_is_used(enc, here):
    assert encode_file(enc, "in.txt", "x.txt", format="bin").format == "bin"
    run("encode", "in.txt", "-o", "x.json", "--format", "npy")
    assert np.load("x.json").tolist() == enc.encode_ordinary(TEXT)
    assert run("decode", "x.txt", "--format", "bin").stdout_bytes == TEXT.encode()
    assert run("decode", "x.json", "--format", "npy").stdout_bytes == TEXT.encode()


def test_decode_reads_what_the_suffix_names(enc, here):
    ids = enc.encode_ordinary(TEXT)
    for name, text in (("x.txt", "\n".join(map(str, ids))), ("x.json", json.dumps(ids)), ("x.csv", str(ids)[1:-1])):
        pathlib.Path(name).write_text(text)
        assert run("decode", name).stdout_bytes == TEXT.encode()
    pathlib.Path("x.bin.gz").touch(), pathlib.Path("x.parquet").touch()
    assert "unpacked" in run("decode", "x.bin.gz", status=2).stderr
    assert "names no file of ids" in run("decode", "x.parquet", status=2).stderr


def test_ids_in_text_without_a_suffix_are_not_taken_for_binary_ones(enc, here):
    pathlib.Path("ids").write_text("12\n34\n")  # three ids of r50k, as binary
    assert "--format text" in run("decode", "ids", status=2).stderr
    assert run("decode", "ids", "--format", "text").stdout_bytes == enc.decode_bytes([12, 34])
    assert run("decode", "ids", "--format", "bin").stdout_bytes == enc.decode_bytes(np.fromfile("ids", "<u2"))
    assert run("decode", input=b"12\n34\n").stdout_bytes == enc.decode_bytes([12, 34])
