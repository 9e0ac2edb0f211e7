"""encode_file: every option, every kind of source, and what is refused."""

import gzip
import io
import json
import lzma
import os
import subprocess
import sys
import threading

import english
import numpy as np
import pytest
from file_runs import _enc, leftovers  # noqa: F401
from packing import zst

import streamtok
from streamtok import disk
from streamtok.files import EncodedFile, ResumeError, SourceError, encode_file

ENGLISH = english.ENGLISH[:50_000]
NASTY = "naïve café ☕ 日本語 👩‍👩‍👧 \t  \n\n x  <|endoftext|> 12345\r\n 'll".encode()


def ids_of(path, dtype="<u2"):
    return np.fromfile(path, dtype=dtype).tolist()


def ordinary(enc, texts, eot=()):
    return [token for text in texts for token in [*enc.encode_ordinary(text), *eot]]


# ==== Output ====


def test_bin_holds_the_ids_of_the_text(enc, here):
    (here / "in.txt").write_bytes(ENGLISH)
    result = encode_file(enc, "in.txt", "out.bin")
    assert isinstance(result, EncodedFile)
    assert ids_of("out.bin") == ordinary(enc, [ENGLISH.decode()])
    assert (result.dtype, result.format, result.documents, result.bytes) == ("uint16", "bin", 1, len(ENGLISH))
    assert result.ids == os.path.getsize("out.bin") // 2
    assert result.path == str(here / "out.bin")
    assert leftovers() == []


def test_npy_is_what_numpy_loads(enc, here):
    (here / "in.txt").write_bytes(ENGLISH)
    result = encode_file(enc, here / "in.txt", here / "out.npy", format="npy", chunk_size=777)
    for mmap_mode in (None, "r"):
        loaded = np.load("out.npy", mmap_mode=mmap_mode)
        assert loaded.dtype == np.uint16 and loaded.shape == (result.ids,)
        assert loaded.tolist() == ordinary(enc, [ENGLISH.decode()])


def test_empty_source_gives_an_empty_file(enc, here):
    (here / "in.txt").write_bytes(b"")
    assert encode_file(enc, "in.txt", "out.bin").ids == 0
    assert encode_file(enc, "in.txt", "out.npy", format="npy", documents="lines").documents == 0
    assert os.path.getsize("out.bin") == 0 and np.load("out.npy").shape == (0,)


def test_uint16_is_refused_where_ids_do_not_fit(enc, here):
    large = streamtok.get_encoding("o200k_base")
    (here / "in.txt").write_bytes(NASTY)
    with pytest.raises(ValueError, match=r"uint16.*up to 65535.*uint32"):
        encode_file(large, "in.txt", "out.bin", dtype="uint16")
    assert os.listdir() == ["in.txt"]
    assert encode_file(large, "in.txt", "out.bin").dtype == "uint32"
    assert ids_of("out.bin", "<u4") == ordinary(large, [NASTY.decode()])
    assert encode_file(enc, "in.txt", "out.bin", dtype="uint32").dtype == "uint32"
    assert ids_of("out.bin", "<u4") == ordinary(enc, [NASTY.decode()])


@pytest.mark.parametrize("chunk_size", [1, 2, 3, 7, 64, 4096])
def test_chunks_do_not_show(enc, here, chunk_size):
    (here / "in.txt").write_bytes(NASTY * 3)
    encode_file(enc, "in.txt", "out.bin", chunk_size=chunk_size, journal_bytes=1)
    assert ids_of("out.bin") == ordinary(enc, [(NASTY * 3).decode()])


# ==== Documents ====


@pytest.mark.parametrize("chunk_size", [1, 2, 3, 5, 1 << 20])
def test_lines_end_at_lf_and_crlf_only(enc, here, chunk_size):
    (here / "in.txt").write_bytes(b"one\ntwo\r\n\n\r\nth\rree\r\r\n caf\xc3\xa9 \x0b\xe2\x80\xa8x\nlast\r")
    (here / "more.txt").write_bytes(b"tail\n")
    texts = ["one", "two", "", "", "th\rree\r", " café \x0b\u2028x", "last\r", "tail"]
    paths = ["in.txt", "more.txt"]
    result = encode_file(enc, paths, "out.bin", documents="lines", append_eot=True, chunk_size=chunk_size)
    assert ids_of("out.bin") == ordinary(enc, texts, [enc.eot_token])
    assert result.documents == len(texts)


@pytest.mark.parametrize("chunk_size", [1, 3, 10, 1 << 20])
def test_jsonl_takes_the_string_at_key(enc, here, chunk_size):
    texts = ["plain", "", "new\nline", "é☕\ud83d", "x" * 300]
    lines = [json.dumps({"id": i, "body": text}) for i, text in enumerate(texts)]
    body = "\ufeff" + lines[0] + "\r\n\n  \n" + "\n".join(lines[1:])
    (here / "in.jsonl").write_bytes(body.encode())
    result = encode_file(
        enc, "in.jsonl", "out.bin", documents="jsonl", key="body", append_eot=True, chunk_size=chunk_size
    )
    assert ids_of("out.bin") == ordinary(enc, texts, [enc.eot_token])
    assert result.documents == 5 and result.bytes == os.path.getsize("in.jsonl")


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b"{", "not a JSON object"),
        (b"[" * 100_000, "not a JSON object"),
        (b'["text"]', "a JSON list"),
        (b'{"body": "x"}', "no 'text'.*'body'"),
        (b'{"text": 7}', "'text' is 7, a string"),
        (b'{"text": "\xff"}', "can't decode byte 0xff.*errors='replace'"),
    ],
)
def test_bad_jsonl_names_file_and_line(enc, here, line, complaint):
    (here / "in.jsonl").write_bytes(b'{"text": "good"}\n\n' + line + b'\n{"text": "good"}\n')
    with pytest.raises(ValueError, match=r"in\.jsonl, line 3") as caught:
        encode_file(enc, "in.jsonl", "out.bin", documents="jsonl")
    assert caught.match(complaint)
    assert os.listdir() == ["in.jsonl"]  # the same line would be refused again


def test_each_file_is_a_document(enc, here):
    texts = ["ab", "", "cd"]
    for i, text in enumerate(texts):
        (here / f"{i}.txt").write_text(text)
    result = encode_file(enc, ["0.txt", "1.txt", "2.txt"], "out.bin", append_eot=True)
    assert ids_of("out.bin") == ordinary(enc, texts, [enc.eot_token])
    assert result.documents == 3


def test_append_eot_needs_such_a_token(here):
    ranks = {bytes([i]): i for i in range(256)}
    bare = streamtok.Encoding("bare", pat_str=streamtok.patterns.R50K, mergeable_ranks=ranks, special_tokens={})
    (here / "in.txt").write_text("x")
    with pytest.raises(ValueError, match=r"'bare' has no <\|endoftext\|>"):
        encode_file(bare, "in.txt", "out.bin", append_eot=True)
    assert os.listdir() == ["in.txt"]


# ==== Sources ====


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
def test_compressed_files_are_read_in_parts_too(enc, here, suffix):
    name = "in.txt" + suffix
    (here / name).write_bytes(compressed(ENGLISH[:20_000], suffix) + compressed(ENGLISH[20_000:], suffix))
    encode_file(enc, name, "out.bin", chunk_size=1000)
    assert ids_of("out.bin") == ordinary(enc, [ENGLISH.decode()])


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
@pytest.mark.parametrize("damage", ["cut", "flip"])
def test_damaged_compression_is_an_error_not_a_shorter_text(enc, here, suffix, damage):
    data = bytearray(compressed(ENGLISH, suffix) * 2)  # the first member is whole: some text is taken
    place = len(data) * 3 // 4
    data = data[:place] if damage == "cut" else data
    if damage == "flip":
        data[place] ^= 0xFF
    (here / f"in{suffix}").write_bytes(data)
    with pytest.raises((SourceError, UnicodeDecodeError)) as caught:
        encode_file(enc, f"in{suffix}", "out.bin", chunk_size=1000, errors="replace")
    assert caught.match(f"compressed data.*resume=True.*in{suffix}")
    assert leftovers() == ["out.bin.journal", "out.bin.partial"] and not os.path.exists("out.bin")


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
@pytest.mark.parametrize("resume", [False, True])
def test_source_that_is_not_compressed_leaves_nothing_to_resume(enc, here, suffix, resume):
    (here / f"in{suffix}").write_bytes(b"plain text")
    with pytest.raises(SourceError, match="compressed data") as caught:
        encode_file(enc, f"in{suffix}", "out.bin", resume=resume)
    assert "resume" not in str(caught.value) and os.listdir() == [f"in{suffix}"]


def test_missing_directory_is_named_and_nothing_is_said_of_resuming(enc, here):
    (here / "in.txt").write_bytes(NASTY)
    with pytest.raises(FileNotFoundError, match="make it first") as caught:
        encode_file(enc, "in.txt", "missing/out.bin")
    assert caught.value.filename == str(here.resolve() / "missing") and "resume" not in str(caught.value)
    assert os.listdir() == ["in.txt"]


def test_failure_before_the_first_text_keeps_what_an_earlier_run_left(enc, here, monkeypatch):
    (here / "in.txt").write_bytes(ENGLISH)

    def stop(at):
        if at.ids:
            raise KeyboardInterrupt

    small = {"chunk_size": 1000, "journal_bytes": 1000}
    with pytest.raises(KeyboardInterrupt):
        encode_file(enc, "in.txt", "out.bin", progress=stop, **small)
    before = (here / "out.bin.journal").read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(disk, "os_ftruncate", lambda fd, size: os.write(-1, b""))  # EBADF
        with pytest.raises(OSError, match="resume=True"):
            encode_file(enc, "in.txt", "out.bin", resume=True, **small)
    assert leftovers() == ["out.bin.journal", "out.bin.partial"]
    assert (here / "out.bin.journal").read_bytes() == before
    encode_file(enc, "in.txt", "out.bin", resume=True, **small)
    assert ids_of("out.bin") == ordinary(enc, [ENGLISH.decode()])


def compressed(data, suffix):
    if suffix == ".gz":
        return gzip.compress(data)
    if suffix == ".xz":
        return lzma.compress(data)
    return zst(data)


def test_zst_without_a_reader_says_what_to_install(enc, here, monkeypatch):
    (here / "in.zst").write_bytes(b"x")
    monkeypatch.setitem(sys.modules, "backports.zstd", None)
    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    with pytest.raises(ImportError, match=r"pip install backports\.zstd"):
        encode_file(enc, "in.zst", "out.bin")
    assert os.listdir() == ["in.zst"]


def test_open_stream_is_read_from_where_it_stands(enc, here):
    stream = io.BytesIO(b"skipped" + NASTY)
    stream.seek(7)
    encode_file(enc, stream, "out.bin", chunk_size=3)
    assert ids_of("out.bin") == ordinary(enc, [NASTY.decode()])
    assert not stream.closed


def test_pipe_is_encoded_and_cannot_be_resumed(enc, here):
    read, write = os.pipe()
    writer = threading.Thread(target=lambda: (os.write(write, NASTY), os.close(write)))
    writer.start()
    with open(read, "rb") as stream:
        encode_file(enc, stream, "out.bin")
        writer.join()
        assert ids_of("out.bin") == ordinary(enc, [NASTY.decode()])
        with pytest.raises(ResumeError, match=r"pipe.*resume=False"):
            encode_file(enc, stream, "out.bin", resume=True)


def test_failed_pipe_leaves_nothing(enc, here):
    class Broken(io.RawIOBase):
        def readable(self):
            return True

        def readinto(self, buffer):
            raise OSError(5, "Input/output error")

    with pytest.raises(OSError, match="cannot be read twice"):
        encode_file(enc, Broken(), "out.bin")
    assert os.listdir() == []


@pytest.mark.parametrize(
    ("src", "kind", "complaint"),
    [
        (7, TypeError, "src is of type int"),
        ([], ValueError, "empty list"),
        (io.StringIO("text"), TypeError, "open it in binary mode"),
        ("missing.txt", FileNotFoundError, "missing.txt"),
        (["."], IsADirectoryError, "directory"),
    ],
)
def test_sources_that_are_none(enc, here, src, kind, complaint):
    with pytest.raises(kind, match=complaint):
        encode_file(enc, src, "out.bin")
    assert os.listdir() == []


@pytest.mark.parametrize("change", ["longer", "shorter"])
def test_source_that_changes_meanwhile_is_noticed(enc, here, change):
    (here / "in.txt").write_bytes(ENGLISH)

    def disturb(at):
        if at.bytes_read == 4096:
            with open("in.txt", "r+b") as file:
                file.truncate(len(ENGLISH) + (10 if change == "longer" else -10))

    with pytest.raises(SourceError, match=r"changed while it was read.*in\.txt"):
        encode_file(enc, "in.txt", "out.bin", chunk_size=4096, progress=disturb)
    assert leftovers() == ["out.bin.journal", "out.bin.partial"]


# ==== Special tokens, errors, options ====


def test_special_tokens_are_text_unless_allowed_or_refused(enc, here):
    text = "a<|endoftext|>b"
    (here / "in.txt").write_text(text)
    encode_file(enc, "in.txt", "out.bin")
    assert ids_of("out.bin") == ordinary(enc, [text])
    for allowed in ("all", {"<|endoftext|>"}):
        encode_file(enc, "in.txt", "out.bin", allowed_special=allowed, chunk_size=2)
        assert enc.eot_token in ids_of("out.bin")
    with pytest.raises(ValueError, match=r"^in\.txt: .*<\|endoftext\|>"):
        encode_file(enc, "in.txt", "fresh.bin", disallowed_special="all")
    assert sorted(os.listdir()) == ["in.txt", "out.bin"]


def test_errors_option(enc, here):
    (here / "in.txt").write_bytes(b"good\nb\xffd\n")
    with pytest.raises(UnicodeDecodeError, match=r"in\.txt, line 2; errors='replace'"):
        encode_file(enc, "in.txt", "out.bin", documents="lines")
    encode_file(enc, "in.txt", "out.bin", documents="lines", errors="replace")
    assert ids_of("out.bin") == ordinary(enc, ["good", "b\ufffdd"])
    encode_file(enc, "in.txt", "out.bin", errors="ignore")
    assert ids_of("out.bin") == ordinary(enc, ["good\nbd\n"])


@pytest.mark.parametrize(
    "option",
    [
        {"format": "csv"},
        {"dtype": "int8"},
        {"documents": "pages"},
        {"errors": "xml"},
        {"chunk_size": 0},
        {"journal_bytes": 0},
        {"allowed_special": "<|endoftext|>"},
    ],
)
def test_unknown_options_are_refused(enc, here, option):
    (here / "in.txt").write_text("x")
    with pytest.raises(ValueError, match=next(iter(option))):
        encode_file(enc, "in.txt", "out.bin", **option)
    assert os.listdir() == ["in.txt"]


def test_progress_reaches_the_total(enc, here):
    (here / "a.txt").write_bytes(ENGLISH)
    (here / "b.gz").write_bytes(gzip.compress(ENGLISH))
    seen = []
    encode_file(enc, ["a.txt", "b.gz"], "out.bin", progress=seen.append, chunk_size=4096)
    total = len(ENGLISH) + os.path.getsize("b.gz")
    assert {at.bytes_total for at in seen} == {total}
    assert [at.bytes_read for at in seen] == sorted(at.bytes_read for at in seen)
    assert seen[0].bytes_read == 0 and seen[-1].bytes_read == total and seen[-1].ids > 0


# ==== Target ====


def test_target_is_replaced_only_by_a_whole_file(enc, here):
    (here / "out.bin").write_bytes(b"before")
    (here / "out.bin").chmod(0o600)
    (here / "in.txt").write_bytes(ENGLISH + b"\xff")
    with pytest.raises(UnicodeDecodeError):
        encode_file(enc, "in.txt", "out.bin")
    assert (here / "out.bin").read_bytes() == b"before" and leftovers() == []
    (here / "in.txt").write_bytes(b"text")
    encode_file(enc, "in.txt", "out.bin")
    assert ids_of("out.bin") == ordinary(enc, ["text"])
    assert os.name == "nt" or (here / "out.bin").stat().st_mode & 0o777 == 0o600


def test_link_stays_a_link(enc, here):
    (here / "real").mkdir()
    (here / "out.bin").symlink_to(here / "real" / "data.bin")
    (here / "in.txt").write_text("text")
    encode_file(enc, "in.txt", "out.bin")
    assert (here / "out.bin").is_symlink() and ids_of("real/data.bin") == ordinary(enc, ["text"])


def test_targets_that_a_rename_would_destroy_are_refused(enc, here):
    (here / "in.txt").write_text("text")
    os.link("in.txt", "same.txt")
    with pytest.raises(ValueError, match="is the source"):
        encode_file(enc, "in.txt", "same.txt")
    with open("in.txt", "rb") as stream, pytest.raises(ValueError, match="is the source"):
        encode_file(enc, stream, "same.txt")
    for target in (".", "/dev/null"):
        with pytest.raises(ValueError, match="regular file"):
            encode_file(enc, "in.txt", target)
    with pytest.raises(FileNotFoundError, match="no/such"):
        encode_file(enc, "in.txt", "no/such/out.bin")
    assert sorted(os.listdir()) == ["in.txt", "same.txt"]


def test_two_writers_of_one_target(enc, here):
    (here / "in.txt").write_text("text")
    holder = disk.open_locked("out.bin.partial")
    holder.write(b"the other's")
    try:
        with pytest.raises(BlockingIOError, match="another process"):
            encode_file(enc, "in.txt", "out.bin")
    finally:
        holder.close()
    assert (here / "out.bin.partial").read_bytes() == b"the other's"
    encode_file(enc, "in.txt", "out.bin")


_MEMORY = """
import resource, sys, streamtok
from streamtok.files import encode_file
enc = streamtok.get_encoding("r50k_base")
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
encode_file(enc, sys.argv[1], sys.argv[3], documents="lines")
loaded = peak()
result = encode_file(enc, sys.argv[2], sys.argv[3], documents=sys.argv[4])
assert result.bytes == 200 << 20, result
print(peak() - loaded)
"""


@pytest.mark.parametrize("documents", ["text", "lines"])
def test_memory_is_bounded_for_one_line_of_200_mb(here, documents):
    (here / "small.txt").write_bytes(b"text\n")
    with open("large.txt", "wb") as file:
        file.truncate(200 << 20)  # a sparse file: one piece, one line, of zeros
    command = [sys.executable, "-c", _MEMORY, "small.txt", "large.txt", "out.bin", documents]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment())
    assert int(done.stdout) <= 64


def environment():
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
