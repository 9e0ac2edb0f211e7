"""Going on from what an earlier run left: from any entry, past any damage, and only where it is the same run."""

import hashlib
import json
import os
import pathlib
import random
import zlib

import numpy as np
import oracle
import pytest
from file_runs import RUNS, TEXT, Crash, _enc, _here, encode, entries, expected, leftovers, stop_at  # noqa: F401
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import streamtok
import streamtok.files.run
from streamtok import disk
from streamtok.files import ResumeError, encode_file, journal

# ==== What is left ====


@pytest.mark.parametrize("run", RUNS)
def test_go_on_from_every_entry(enc, here, run):
    wanted = expected(enc, run)
    stop_at(enc, sum(os.path.getsize(name) for name in RUNS[run]["src"]) if run != "jsonl" else 4000, run)
    lines, partial = entries(), pathlib.Path("out.bin.partial").read_bytes()
    assert len(lines) > 5
    for keep in range(len(lines) + 1):
        pathlib.Path("out.bin.journal").write_bytes(b"".join(lines[:keep]))
        pathlib.Path("out.bin.partial").write_bytes(partial)
        result = encode(enc, run, resume=True)
        assert pathlib.Path("out.bin").read_bytes() == wanted
        assert (result.resumed_ids > 0) == (keep > 1)
        assert result.earlier.ids == result.resumed_ids and (result.earlier.discarded == "") == (keep > 1)


def test_last_entry_cut_at_every_byte(enc, here):
    wanted = expected(enc)
    stop_at(enc, 2500)
    *whole, last = entries()
    partial = pathlib.Path("out.bin.partial").read_bytes()
    for cut in sorted({*range(0, len(last), 1 if oracle.LONG else 4), len(last) - 1, len(last)}):
        pathlib.Path("out.bin.journal").write_bytes(b"".join(whole) + last[:cut])
        pathlib.Path("out.bin.partial").write_bytes(partial)
        assert encode(enc, resume=True).resumed_ids > 0
        assert pathlib.Path("out.bin").read_bytes() == wanted


def test_damage_anywhere_is_never_a_wrong_output(enc, here):
    wanted, rng = expected(enc), random.Random(5)
    stop_at(enc, 3500)
    good = {name: pathlib.Path(name).read_bytes() for name in leftovers()}
    refused = 0
    turns = 300 if oracle.LONG else 100
    for turn in range(turns):
        for name, data in good.items():
            pathlib.Path(name).write_bytes(data)
        name = leftovers()[turn % 2]
        pathlib.Path(name).write_bytes(damaged(good[name], rng))
        try:
            encode(enc, resume=True)
        except ResumeError as error:
            assert "header of the journal is damaged" in str(error)
            refused += 1
            continue
        assert pathlib.Path("out.bin").read_bytes() == wanted
    assert refused < turns / 2


def damaged(data, rng):
    data, place = bytearray(data), rng.randrange(len(data))
    kind = rng.randrange(4)
    if kind == 0:
        data[place] ^= 1 << rng.randrange(8)
    elif kind == 1:
        del data[place:]
    elif kind == 2:
        data[place : place + 40] = bytes(40)
    else:
        data[place:place] = rng.randbytes(30)
    return bytes(data)


def test_whole_entries_of_nonsense_are_passed_over(enc, here):
    wanted = expected(enc)
    stop_at(enc, 2500)
    good = json.loads(entries()[-1][9:])
    for field, value in [
        ("files", [[-1, 0]]),
        ("files", [["7", 0]]),
        ("files", [[7, None]]),
        ("files", [[7]]),
        ("stream", "%%"),
        ("more", 1),
        ("is_open", 2),
    ]:
        body = json.dumps({**good, field: value}).encode()
        with open("out.bin.journal", "ab") as file:
            file.write(b"%08x %s\n" % (zlib.crc32(body), body))
    with open("out.bin.journal", "ab") as file:
        file.write(b"%08x []\n%08x {\n" % (zlib.crc32(b"[]"), zlib.crc32(b"{")))
    assert encode(enc, resume=True).resumed_ids > 0
    assert pathlib.Path("out.bin").read_bytes() == wanted


def test_nothing_to_resume_begins_anew(enc, here):
    wanted = expected(enc)
    assert encode(enc, resume=True).earlier is None
    stop_at(enc, 2500)
    os.unlink("out.bin.partial")
    assert encode(enc, resume=True).earlier.discarded == "its ids are not those that its journal speaks of"
    stop_at(enc, 2500)
    os.unlink("out.bin.journal")
    assert encode(enc, resume=True).earlier.discarded == "its journal holds no point to go on from"
    stop_at(enc, 2500)
    result = encode(enc)
    assert result.resumed_ids == 0 and result.earlier.discarded == "this run was begun with resume=False"
    assert pathlib.Path("out.bin").read_bytes() == wanted and leftovers() == []


def test_run_that_ended_after_its_rename(enc, here, monkeypatch):
    wanted = expected(enc, "lines")
    with monkeypatch.context() as patch:
        patch.setattr(disk, "os_fsync", crash_when(lambda: os.path.exists("out.bin"), os.fsync))
        with pytest.raises(Crash):
            encode(enc, "lines")
    assert leftovers() == ["out.bin.journal"]
    ready = os.stat("out.bin")
    result = encode(enc, "lines", resume=True)
    assert os.path.samestat(ready, os.stat("out.bin")) and leftovers() == []
    assert result.ids * 2 + 128 == len(wanted) and result.documents == encode(enc, "lines").documents


def crash_when(condition, original):
    def call(*args):
        if condition():
            raise Crash
        return original(*args)

    return call


# ==== Refusals ====


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"append_eot": False}, "append_eot was True and is False"),
        ({"format": "npy"}, "format was 'bin' and is 'npy'"),
        ({"dtype": "uint32"}, "dtype was 'uint16' and is 'uint32'"),
        ({"documents": "lines"}, "documents was 'text' and is 'lines'"),
        ({"documents": "jsonl", "key": "body"}, "key was None and is 'body'"),
        ({"errors": "replace"}, "errors was 'strict' and is 'replace'"),
        ({"allowed_special": "all"}, r"allowed_special was \[\] and is 'all'"),
        ({"disallowed_special": {"<|endoftext|>"}}, r"disallowed_special was \[\] and is \['<"),
        ({"src": ["a.txt"]}, "there were 2 sources and there are 1"),
        ({"src": ["a.txt", "d.jsonl"]}, "source d.jsonl had .* bytes and has"),
    ],
)
def test_other_options_refuse_and_say_which(enc, here, change, complaint):
    stop_at(enc, 2500)
    before = {name: pathlib.Path(name).read_bytes() for name in leftovers()}
    with pytest.raises(ResumeError, match=complaint) as caught:
        encode(enc, resume=True, **change)
    assert caught.match("resume=False")
    assert before == {name: pathlib.Path(name).read_bytes() for name in leftovers()}
    assert encode(enc, resume=True, chunk_size=99, journal_bytes=10**9).resumed_ids > 0  # these change no ids


def test_other_source_refuses_and_says_how_it_differs(enc, here):
    stop_at(enc, 2500)
    times = os.stat("a.txt").st_atime_ns, os.stat("a.txt").st_mtime_ns
    for data, moment, complaint in [
        (TEXT + b"!", times, f"a.txt had {len(TEXT)} bytes and has {len(TEXT) + 1}"),
        (TEXT[:-1] + b"!", times, "content of source a.txt changed"),
        (TEXT, (times[0], times[1] + 1), "a.txt was modified"),
    ]:
        pathlib.Path("a.txt").write_bytes(data)
        os.utime("a.txt", ns=moment)
        with pytest.raises(ResumeError, match=complaint):
            encode(enc, resume=True)
    os.utime("a.txt", ns=times)
    assert encode(enc, resume=True).resumed_ids > 0


def test_other_vocabulary_or_release_refuses(enc, here, monkeypatch):
    stop_at(enc, 2500)
    with pytest.raises(ResumeError, match="encoding was 'r50k_base' and is 'gpt2'"):
        encode(streamtok.get_encoding("gpt2"), resume=True)
    with monkeypatch.context() as patch:
        patch.setattr(type(enc), "fingerprint", property(lambda self: "0" * 64))
        with pytest.raises(ResumeError, match="vocabulary, pattern or special tokens of 'r50k_base' changed"):
            encode(enc, resume=True)
    with monkeypatch.context() as patch:
        patch.setattr(streamtok.files.run, "__version__", "99.0")
        with pytest.raises(ResumeError, match=r"began it and this is streamtok 99\.0"):
            encode(enc, resume=True)
    with monkeypatch.context() as patch:
        patch.setattr(journal, "FORMAT_VERSION", 3)
        with pytest.raises(ResumeError, match="format version 2, this release reads 3"):
            encode(enc, resume=True)
    assert encode(enc, resume=True).resumed_ids > 0


def test_open_file_is_resumed_too(enc, here):
    wanted = hashlib.sha256(expected(enc)).hexdigest()
    sources = [open("a.txt", "rb"), "c.txt.gz"]
    with sources[0]:
        stop_at(enc, 2500, src=sources)
    sources = [open("a.txt", "rb"), "c.txt.gz"]
    with sources[0]:
        assert encode(enc, src=sources, resume=True).resumed_ids > 0
    assert hashlib.sha256(pathlib.Path("out.bin").read_bytes()).hexdigest() == wanted


# ==== Any text, cut and stopped anywhere ====

PIECES = ["a", "the ", "\n", "\r\n", "\r", " " * 7, "é", "☕", "👩\u200d👧", "<|endo", "<|endoftext|>", "123456", "'ll"]
PIECES += ["A" * 99]


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    pieces=st.lists(st.sampled_from(PIECES), min_size=1, max_size=60),
    chunk_size=st.integers(1, 40),
    journal_bytes=st.integers(1, 60),
    stop=st.integers(0, 400),
    documents=st.sampled_from(["text", "lines"]),
    allowed=st.sampled_from([frozenset(), "all"]),
)
def test_any_text_stopped_anywhere(enc, here, pieces, chunk_size, journal_bytes, stop, documents, allowed):
    text = "".join(pieces)
    pathlib.Path("any.txt").write_bytes(text.encode())

    def progress(at):
        if at.bytes_read >= stop:
            raise Crash

    options = {"documents": documents, "append_eot": True, "allowed_special": allowed}
    options |= {"chunk_size": chunk_size, "journal_bytes": journal_bytes}
    try:
        encode_file(enc, "any.txt", "out.bin", progress=progress, **options)
    except Crash:
        encode_file(enc, "any.txt", "out.bin", resume=True, **options)
    texts = [text]
    if documents == "lines":
        *whole, last = text.split("\n")
        texts = [line.removesuffix("\r") for line in whole] + ([last] if last else [])
    wanted = []
    for each in texts:
        wanted += [*enc.encode(each, allowed_special=allowed, disallowed_special=()), enc.eot_token]
    assert np.fromfile("out.bin", dtype="<u2").tolist() == wanted
