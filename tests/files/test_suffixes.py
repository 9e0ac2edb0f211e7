"""The suffix of a name decides by one rule, in the library and the command, for writing and for reading."""

import contextlib
import gzip
import json
import lzma
import os
import pathlib
import re
import sys

import cli_runs
import numpy as np
import pytest
from file_runs import _enc  # noqa: F401
from packing import zst

from streamtok import _batch as batch
from streamtok.files import Options, ResumeError, encode_file, suffixes
from streamtok.files.sources import StreamSource
from streamtok.train.inputs import How, Place, open_inputs

TEXT = "some words, naïve ☕\n"


@pytest.fixture
def here(here):
    (here / "in.txt").write_text(TEXT, encoding="utf-8")
    return here


def run(name, *args, **options):
    return cli_runs.run(name, "-e", "r50k_base", *args, **options)


def in_the_docs():
    """The suffixes of text and of other formats that docs/files.md lists."""
    pages = pathlib.Path(__file__).parents[2] / "docs" / "files.md"
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
    if suffix in (".txt", ".feather"):
        assert f"ends in {suffix}, " in run("encode", "in.txt", "-o", name, status=2).stderr
    assert os.listdir() == ["in.txt"]


@pytest.mark.parametrize("format", ["parquet", "arrow"])
def test_the_suffix_of_a_table_is_its_format(enc, here, format):
    pytest.importorskip("pyarrow")
    assert encode_file(enc, "in.txt", f"x.{format}").format == format
    assert run("decode", f"x.{format}").stdout_bytes == TEXT.encode()


def test_all_that_needs_pyarrow_asks_for_the_extra_in_the_same_words(enc, here, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    pathlib.Path("t.parquet").write_bytes(b"PAR1PAR1"), pathlib.Path("t.jsonl").write_text('{"text": "a", "n": 1}')
    asked = "parquet and Arrow files, and passthrough columns, need the pyarrow package: pip install 'streamtok"
    calls = [("t.parquet", {"column": "text"}), ("t.jsonl", {"format": "mds", "carry": ["n"]})]
    calls += [("t.jsonl", {"format": "arrow"}), ("t.jsonl", {"format": "parquet"})]
    for source, options in calls:
        with pytest.raises(ImportError, match=re.escape(asked + "[arrow]'")):
            encode_file(enc, source, "out", **options)
        assert sorted(os.listdir()) == ["in.txt", "t.jsonl", "t.parquet"]


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
    pathlib.Path("x.bin.gz").touch(), pathlib.Path("x.feather").touch()
    assert "unpacked" in run("decode", "x.bin.gz", status=2).stderr
    assert "names no file of ids" in run("decode", "x.feather", status=2).stderr


def test_ids_in_text_without_a_suffix_are_not_taken_for_binary_ones(enc, here):
    pathlib.Path("ids").write_text("12\n34\n")  # three ids of r50k, as binary
    assert "--format text" in run("decode", "ids", status=2).stderr
    assert run("decode", "ids", "--format", "text").stdout_bytes == enc.decode_bytes([12, 34])
    assert run("decode", "ids", "--format", "bin").stdout_bytes == enc.decode_bytes(np.fromfile("ids", "<u2"))
    assert run("decode", input=b"12\n34\n").stdout_bytes == enc.decode_bytes([12, 34])


# ==== What a document is ====

JSON_NAMES = ["a.jsonl", "a.NDJSON", "a.jsonl.gz", "a.ndjson.xz", "a.jsonl.zst"]
TEXTS = ["one", "two words ☕", ""]
LINES = "".join(json.dumps({"text": text, "other": "x y"}) + "\n" for text in TEXTS)


def write(name, text):
    pack = {".gz": gzip.compress, ".xz": lzma.compress}.get(os.path.splitext(name)[1], bytes)
    if name.endswith(".zst"):
        pack = zst
    pathlib.Path(name).write_bytes(pack(text.encode()))


@pytest.mark.parametrize("name", JSON_NAMES)
def test_json_lines_are_known_by_their_suffix_everywhere(enc, here, name):
    write(name, LINES)
    ids = [token for text in TEXTS for token in [*enc.encode_ordinary(text), enc.eot_token]]
    done = encode_file(enc, name, "out.bin", append_eot=True)
    assert done.documents == 3 and np.fromfile("out.bin", "<u2").tolist() == ids
    assert run("encode", name, "--append-eot").stdout.split() == list(map(str, ids))
    assert run("count", name).stdout.strip() == str(len(ids) - 3)
    (found,) = open_inputs(name)
    assert [text for stretch, _ in found.stretches(0, Place(), How()) for text in stretch.texts] == TEXTS
    with open(name, "rb") as stream:  # a stream is never decompressed
        kind = Options().kind_of(StreamSource(stream))
    assert kind == "jsonl"


def test_what_a_document_is_may_be_said(enc, here):
    write("a.jsonl", LINES)
    write("b.txt", LINES)
    whole, keyed = str(len(enc.encode_ordinary(LINES))), str(len(enc.encode_ordinary("x y")) * 3)
    for name in ("a.jsonl", "b.txt"):
        assert run("count", name, "--documents", "text").stdout.strip() == whole
        assert run("count", name, "--documents", "jsonl", "--key", "other").stdout.strip() == keyed
        assert encode_file(enc, name, "out.bin", documents="text").ids == int(whole)
        assert encode_file(enc, name, "out.bin", documents="jsonl", key="other").ids == int(keyed)
    assert "no 'nope'" in run("count", "a.jsonl", "--key", "nope", status=1).stderr
    assert run("inspect", "a.jsonl", "-t").stdout
    assert "--documents lines" in run("count", "b.txt", "--documents", "jsonl", "a.jsonl", "in.txt", status=1).stderr


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("chunk_size", [3, 50, 1 << 20])
def test_sources_of_both_kinds_go_into_one_file(enc, here, monkeypatch, threads, chunk_size):
    monkeypatch.setattr(batch, "cores", lambda: 4)
    long = "some words, " * 50
    names = ["a.txt", "a.jsonl", "b.txt", "b.jsonl.gz", "c.txt"]
    for name in names:
        write(name, LINES if "jsonl" in name else long)
    want = []
    for name in names:
        for text in TEXTS if "jsonl" in name else [long]:
            want += [*enc.encode_ordinary(text), enc.eot_token]
    options = {"append_eot": True, "num_threads": threads, "chunk_size": chunk_size, "journal_bytes": 100}
    done = encode_file(enc, names, "out.bin", **options)
    assert np.fromfile("out.bin", "<u2").tolist() == want and done.documents == 9

    def stop(at):
        if at.bytes_read > stop.after:
            raise KeyboardInterrupt

    whole = pathlib.Path("out.bin").read_bytes()
    for stop.after in range(0, 2000, 150):
        with contextlib.suppress(KeyboardInterrupt):
            encode_file(enc, names, "again.bin", progress=stop, **options)
        encode_file(enc, names, "again.bin", resume=True, **options)
        assert pathlib.Path("again.bin").read_bytes() == whole


def test_an_error_names_the_line_where_there_are_lines(enc, here):
    write("a.jsonl", LINES + "{}\n")
    pathlib.Path("b.txt").write_bytes(b"fine\n\xff")
    with pytest.raises(ValueError, match=r"^a\.jsonl, line 4: the object has no 'text'"):
        encode_file(enc, ["in.txt", "a.jsonl"], "out.bin")
    with pytest.raises(UnicodeDecodeError, match=r"\(in b\.txt; "):
        encode_file(enc, ["b.txt", "a.jsonl"], "out.bin")


def test_a_run_is_resumed_with_what_the_suffix_came_to(enc, here):
    write("a.jsonl", LINES * 50)
    options = {"chunk_size": 100, "journal_bytes": 100}

    def stop(at):
        if at.bytes_read > 1000:
            raise KeyboardInterrupt

    def begin():
        with pytest.raises(KeyboardInterrupt):
            encode_file(enc, "a.jsonl", "out.bin", progress=stop, **options)

    begin()
    with pytest.raises(ResumeError, match="option documents was 'jsonl' and is 'text'"):
        encode_file(enc, "a.jsonl", "out.bin", resume=True, documents="text", **options)
    with pytest.raises(ResumeError, match="option key was 'text' and is 'other'"):
        encode_file(enc, "a.jsonl", "out.bin", resume=True, key="other", **options)
    assert encode_file(enc, "a.jsonl", "out.bin", resume=True, documents="jsonl", **options).resumed_ids > 0
    begin()
    assert encode_file(enc, "a.jsonl", "out.bin", resume=True, **options).resumed_ids > 0
