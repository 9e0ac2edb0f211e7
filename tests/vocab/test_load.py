"""Vocabularies from rank files: a broken one is refused by path and line, in bounded time and memory."""

import base64
import hashlib
import os
import pickle
import subprocess
import sys
import textwrap

import pytest

from streamtok import load
from streamtok.errors import VocabularyError

URL = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
BYTES = {bytes([value]): value for value in range(256)}
SMALL = {**BYTES, b"ab": 256, b"abc": 257, b"bc": 258}


def line(token, rank):
    return base64.b64encode(token) + b" " + str(rank).encode() + b"\n"


GOOD = b"".join(line(token, rank) for token, rank in SMALL.items())


@pytest.fixture
def write(tmp_path):
    def write(data):
        path = tmp_path / "some.tiktoken"
        path.write_bytes(data)
        return path

    return write


# ==== Rank files ====


def test_rank_file_round_trip(tmp_path):
    path = tmp_path / "small.tiktoken"
    load.dump_tiktoken_bpe(dict(reversed(SMALL.items())), str(path))
    assert path.read_bytes() == GOOD
    assert os.listdir(tmp_path) == ["small.tiktoken"]
    digest = hashlib.sha256(GOOD).hexdigest()
    for given in (path, str(path)):
        assert load.load_tiktoken_bpe(given, digest) == SMALL
        assert load.read_file(given) == load.read_file_cached(given, digest) == GOOD
    assert load.check_hash(GOOD, digest) and not load.check_hash(b"", digest)


def test_failed_dump_leaves_the_old_file(tmp_path):
    path = tmp_path / "small.tiktoken"
    path.write_bytes(b"old")
    with pytest.raises(TypeError):
        load.dump_tiktoken_bpe({b"a": 0, "b": 1}, path)
    assert path.read_bytes() == b"old" and os.listdir(tmp_path) == ["small.tiktoken"]


def test_blank_lines_order_and_carriage_returns_do_not_matter(write):
    lines = GOOD.splitlines(keepends=True)[::-1]
    assert load.load_tiktoken_bpe(write(b"\n" + b"\n".join(lines).replace(b"\n", b"\r\n"))) == SMALL


def test_last_line_without_newline_is_whole_if_its_rank_is_the_highest(write):
    assert load.load_tiktoken_bpe(write(GOOD[:-1])) == SMALL


BROKEN = {
    "bad base64": (b"Y?== 259\n", "not base64"),
    "bad padding": (b"YWI 259\n", "not base64"),
    "skipped characters": (b"Y*WJj 259\n", "not base64"),
    "bits behind the end": (b"YWJkZB== 259\n", "not base64"),
    "duplicate bytes": (line(b"ab", 259), "already has rank 256"),
    "duplicate rank": (line(b"zz", 257), "already belongs to b'abc'"),
    "empty token": (b"==== 259\n", "base64|token of 0 bytes"),
    "negative rank": (b"enp6 -1\n", "rank b'-1'"),
    "rank with sign": (b"enp6 +259\n", "whole number"),
    "rank with underscore": (b"enp6 2_59\n", "whole number"),
    "rank not a number": (b"enp6 x\n", "whole number"),
    "fraction": (b"enp6 259.0\n", "whole number"),
    "rank of 2 to the 31": (line(b"zz", 1 << 31), "from 0 to"),
    "rank far beyond the entries": (line(b"zz", 1 << 22), "from 0 to"),
    "rank of many digits": (b"enp6 " + b"9" * 5000 + b"\n", "from 0 to"),
    "token over 64 KiB": (line(b"z" * 65537, 259), "65537 bytes"),
    "endless line": (b"A" * 300_000 + b" 259\n", "the line has more than"),
    "three fields": (b"enp6 259 1\n", "is not the base64 of a token"),
    "one field": (b"enp6\n", "is not the base64 of a token"),
    "cut off in a token": (b"enp", "cut off"),
    "cut off before the rank": (b"enp6 ", "cut off"),
    "cut off in the rank": (b"enp6 25", "already belongs|cut off"),
    "json": (b'{"a": 1, "b": 2}\n', "is not the base64"),
    "gzip": (b"\x1f\x8b\x08\x00\x00\x00\x00\x00", "is not the base64"),
    "utf-16": ("enp6 259\n".encode("utf-16"), "base64"),
    "not utf-8": (b"\xff\xfe\xfd \x80\n", "base64"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_broken_line_is_named(write, case):
    text, message = BROKEN[case]
    path = write(GOOD + text)
    with pytest.raises(VocabularyError, match=message) as caught:
        load.load_tiktoken_bpe(path)
    assert caught.value.path == str(path) and caught.value.line == 260
    assert str(caught.value).startswith(f"{path}, line 260: ") and len(str(caught.value)) < 500


def test_cut_rank_in_a_sparse_vocabulary_is_seen(write):
    sparse = b"".join(line(token, rank * 7) for token, rank in BYTES.items())
    with pytest.raises(VocabularyError, match="ends without a newline after rank 200"):
        load.load_tiktoken_bpe(write(sparse + b"enp6 200"))


@pytest.mark.parametrize("token", [b"\x00", b"a", b"\xff"])
def test_missing_byte_is_refused(write, token):
    path = write(GOOD.replace(line(token, SMALL[token]), b""))
    with pytest.raises(VocabularyError, match="1 of the 256 single bytes") as caught:
        load.load_tiktoken_bpe(path)
    assert (caught.value.path, caught.value.line) == (str(path), None)
    assert repr(token) in str(caught.value)


def test_empty_file_is_refused(write):
    with pytest.raises(VocabularyError, match="256 of the 256"):
        load.load_tiktoken_bpe(write(b""))


def test_wrong_hash_is_refused(write):
    path = write(GOOD)
    for call in (load.load_tiktoken_bpe, load.read_file_cached):
        with pytest.raises(VocabularyError, match="sha256"):
            call(path, "0" * 64)
    with pytest.raises(VocabularyError, match="sha256"):
        load.load_tiktoken_bpe(URL.format("r50k_base"), "0" * 64)


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(VocabularyError, match="a directory"):
        load.load_tiktoken_bpe(tmp_path)
    with pytest.raises(FileNotFoundError):
        load.load_tiktoken_bpe(tmp_path / "absent")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipe_and_device_are_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (str(tmp_path / "pipe"), "/dev/zero"):
        with pytest.raises(VocabularyError, match="not a regular file"):
            load.load_tiktoken_bpe(path)


def test_urls_are_never_fetched(tmp_path, monkeypatch):
    monkeypatch.delenv("TIKTOKEN_CACHE_DIR", raising=False)
    monkeypatch.delenv("DATA_GYM_CACHE_DIR", raising=False)
    url = "https://example.com/mine.tiktoken"
    for call in (load.read_file, load.read_file_cached, load.load_tiktoken_bpe):
        with pytest.raises(ValueError, match="downloads nothing: download the file yourself"):
            call(url)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(tmp_path))
    (tmp_path / hashlib.sha1(url.encode()).hexdigest()).write_bytes(GOOD)
    assert load.load_tiktoken_bpe(url) == SMALL and load.read_file_cached(url) == GOOD


# ==== Bounds ====

HUGE = {
    "newlines": "b'\\n' * size",
    "one line": "b'A' * size",
    "zeros": "bytes(size)",
    "two letters a line": "b'QQ== 1\\n' * (size // 7)",
    "distinct tokens": "b''.join(b64encode(i.to_bytes(42, 'big')) + b' %d\\n' % i for i in range(size // 64))",
    "short distinct tokens": "b''.join(b64encode(i.to_bytes(3, 'big')) + b' %d\\n' % i for i in range(1 << 21))",
    "long tokens": "b''.join(b64encode(i.to_bytes(65000, 'big')) + b' %d\\n' % i for i in range(700))",
}


@pytest.mark.skipif(sys.platform != "linux", reason="reads the peak from /proc")
@pytest.mark.parametrize("case", HUGE)
def test_broken_vocabulary_takes_bounded_memory_and_time(tmp_path, case):
    path = tmp_path / "huge.tiktoken"
    make = f"size = 64 << 20\nfrom base64 import b64encode\nopen({str(path)!r}, 'wb').write({HUGE[case]})"
    subprocess.run([sys.executable, "-c", make], check=True)
    # The peak is the child's own: ru_maxrss would start from that of the parent it was forked from.
    child = f"""
        import re, time
        from streamtok import load
        start = time.process_time()
        try:
            load.load_tiktoken_bpe({str(path)!r}, None)
        except load.VocabularyError as error:
            print(type(error).__name__)
        peak = int(re.search(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[1])
        print(peak, time.process_time() - start)
    """
    run = subprocess.run([sys.executable, "-c", textwrap.dedent(child)], capture_output=True, text=True, check=True)
    name, peak, seconds = run.stdout.split()
    assert name == "VocabularyError"
    assert int(peak) < 256 << 10 and float(seconds) < 20


def test_file_that_is_too_large_is_not_read(tmp_path):
    path = tmp_path / "large"
    with open(path, "wb") as file:
        file.truncate((64 << 20) + 1)
    with pytest.raises(VocabularyError, match="at most"):
        load.load_tiktoken_bpe(path)


# ==== VocabularyError ====


def test_error_survives_pickling():
    for error in (VocabularyError("bad"), VocabularyError("bad", "x"), VocabularyError("bad", "x", 3)):
        again = pickle.loads(pickle.dumps(error))
        assert (str(again), again.path, again.line) == (str(error), error.path, error.line)
    assert str(VocabularyError("bad", "x", 3)) == "x, line 3: bad" and isinstance(error, ValueError)
