"""What training reads: files of every kind, texts, documents, custom patterns; and what it refuses."""

from __future__ import annotations

import gzip
import io
import json
import lzma
import os
import warnings
import zlib

import oracle
import pytest
from packing import zst

import streamtok
from streamtok.train import train
from streamtok.train.huggingface import merges_of
from streamtok.train.inputs import How, Place, open_inputs

TEXT = oracle.topics()[:60_000]


@pytest.fixture
def small_chunks(monkeypatch):
    monkeypatch.setattr("streamtok.train.inputs.CHUNK", 700)


def tokens(sources, size: int = 600, **options) -> list[bytes]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        enc = train(sources, size, **options)
    return [left + right for left, right in merges_of(enc)]


@pytest.fixture(scope="module")
def want() -> list[bytes]:
    return tokens(TEXT.encode())


# ==== sources ====


def test_files_however_they_are_packed(tmp_path, want):
    data = TEXT.encode()
    packed = {"a.txt": data, "a.gz": gzip.compress(data), "a.xz": lzma.compress(data)}
    packed["a.zst"] = zst(data)
    for name, content in packed.items():
        (tmp_path / name).write_bytes(content)
        assert tokens(tmp_path / name) == want
        assert tokens(str(tmp_path / name)) == want


def test_open_streams_and_texts(tmp_path, want):
    data = TEXT.encode()
    assert tokens(io.BytesIO(data)) == want
    assert tokens(bytearray(data)) == want
    assert tokens(iter([TEXT])) == want
    assert tokens(iter([data])) == want
    assert tokens(text for text in (TEXT,)) == want
    reader, writer = os.pipe()
    with os.fdopen(writer, "wb") as file:
        file.write(data[:30_000])
    with os.fdopen(reader, "rb") as file:
        assert tokens([data[30_000:], file]) == tokens([data[:30_000], data[30_000:]])


def test_cuts_of_the_text_change_nothing(want, small_chunks, tmp_path):
    """700 bytes at a time: cut inside characters, words, white space."""
    for threads in (1, 4):
        assert tokens(TEXT.encode(), threads=threads) == want
        assert tokens(io.BytesIO(TEXT.encode()), threads=threads) == want
    odd = "\n \n" * 400 + "a" * 5000 + " " * 3000 + "\u00e9\u4e2d\U0001f600" * 800 + TEXT[:3000]
    (tmp_path / "odd").write_text(odd, newline="")
    assert tokens(tmp_path / "odd", 400) == tokens(odd.encode(), 400)


def test_globs_and_lists(tmp_path):
    for i in range(4):
        (tmp_path / f"part{i}.txt").write_text(TEXT[i * 15_000 : (i + 1) * 15_000])
    paths = sorted(tmp_path.glob("*.txt"))
    want = tokens(paths)
    assert tokens(str(tmp_path / "*.txt")) == want
    assert tokens([str(tmp_path / "part[01].txt"), *paths[2:]]) == want
    assert tokens(iter(path.read_text() for path in paths)) == want


def test_json_lines_and_lines(tmp_path, small_chunks):
    lines = TEXT.split("\n")
    want = tokens(iter(lines))
    (tmp_path / "a.jsonl").write_text("".join(json.dumps({"n": 1, "body": line}) + "\n\n" for line in lines))
    assert tokens(tmp_path / "a.jsonl", key="body") == want
    (tmp_path / "b.jsonl.gz").write_bytes(gzip.compress((tmp_path / "a.jsonl").read_bytes()))
    assert tokens(tmp_path / "b.jsonl.gz", key="body", threads=3) == want
    (tmp_path / "a.txt").write_text(TEXT, newline="\r\n")
    assert tokens(tmp_path / "a.txt", documents="lines") == want
    (tmp_path / "c.txt").write_text(TEXT)
    assert tokens(tmp_path / "c.txt", documents="lines") == want != tokens(tmp_path / "c.txt")


@pytest.mark.parametrize("chunk", [1, 2, 3, 5, 1 << 20])
def test_lines_are_those_of_encode_file(tmp_path, monkeypatch, chunk):
    """As tests/files/test_files.py has them; and each place has the CRC-32 of what was read up to it."""
    monkeypatch.setattr("streamtok.train.inputs.CHUNK", chunk)
    data = b"one\ntwo\r\n\n\r\nth\rree\r\r\nlast\r"
    (tmp_path / "a.txt").write_bytes(data)
    (found,) = open_inputs(tmp_path / "a.txt")
    stretches = [stretch for stretch, _ in found.stretches(0, Place(), How(documents="lines", sums=True))]
    texts = [b"one", b"two", b"", b"", b"th\rree\r", b"last\r"]
    assert [text for stretch in stretches for text in stretch.texts] == texts
    inside = [stretch.after for stretch in stretches[:-1]]
    assert [place.crc for place in inside] == [zlib.crc32(data[: place.offset]) for place in inside] and inside
    for place in inside:
        after = [stretch for stretch, _ in found.stretches(0, place, How(documents="lines", sums=True))]
        assert [text for stretch in after for text in stretch.texts] == texts[place.line :]


def test_nothing_is_merged_across_documents_or_special_tokens():
    for pattern in ("cl100k", "o200k", "r50k", None, r"\w+|\W+"):
        assert tokens(iter(["ab"] * 9), pattern=pattern) == [b"ab"]
        assert tokens(iter(["a<|x|>b"] * 9), pattern=pattern, special_tokens=["<|x|>"]) == []
        assert b"ba" not in tokens(b"ab<|x|>" * 500, pattern=pattern, special_tokens=["<|x|>", "|x"])
    assert b"<|" in tokens(b"a<|x|>b" * 9, pattern="cl100k")


def test_special_tokens_across_chunks(small_chunks):
    text = "".join(f"{TEXT[i : i + 97]}<|endoftext|>" for i in range(0, 20_000, 97))
    apart = [TEXT[i : i + 97] for i in range(0, 20_000, 97)]
    for threads in (1, 4):
        found = tokens(io.BytesIO(text.encode()), 400, special_tokens=["<|endoftext|>"], threads=threads)
        assert found == tokens(iter(apart), 399)


# ==== custom patterns ====


def test_a_pattern_of_ones_own_is_the_same_as_a_scanner(small_chunks):
    pytest.importorskip("regex")
    text = TEXT[:20_000] + "\u00e9\u4e2d\U0001f600 don't 1234567\r\n\n x"
    for name in ("r50k", "cl100k", "o200k"):
        pattern = rf"\x{{E000}}z|{streamtok.train.options.PATTERNS[name]}"  # what the text does not hold: no scanner's
        assert streamtok.patterns.family_of(pattern) is None
        assert tokens(io.BytesIO(text.encode()), 400, pattern=pattern) == tokens(text.encode(), 400, pattern=name)
        assert tokens(iter([text]), 400, pattern=pattern) == tokens(text.encode(), 400, pattern=name)


def test_without_a_pattern_a_text_is_one_piece():
    text = "to be or not to be, " * 40
    found = tokens(iter([text]), 300, pattern=None)
    assert any(b"be, to" in token for token in found)
    enc = train(iter([text]), 270, pattern=None)
    assert enc.decode(enc.encode(text)) == text and len(enc.encode(text)) < 60
    stream = enc.stream_encoder()
    assert oracle.streamed(stream, [text[:100], text[100:]]) == enc.encode(text)


# ==== what is refused ====


def refused(error: type[Exception], *words: str, sources=b"some text", size: int = 300, **options) -> None:
    with pytest.raises(error) as caught:
        train(sources, size, **options)
    for word in words:
        assert word in str(caught.value)


def test_no_text():
    for sources in (b"", iter([]), iter(["", ""]), [b""]):
        refused(ValueError, "no text", sources=sources)
    refused(ValueError, "sources is empty", sources=[])
    refused(ValueError, "no text", sources=b"<|x|>", special_tokens=["<|x|>"])


def test_a_text_too_small_for_the_vocabulary_stops_early():
    with pytest.warns(UserWarning, match="no more than 3 merges: the vocabulary has 260 tokens, not 5000"):
        enc = train(b"abcd abcd", 5000, special_tokens=["<|x|>"], pattern=r"\w+|\s")
    assert enc.n_vocab == 260 and enc.encode("abcd") == [258]


def test_vocabulary_sizes():
    refused(ValueError, "vocab_size=255", "256 bytes", size=255)
    refused(ValueError, "vocab_size=257", "258", size=257, special_tokens=["<|a|>", "<|b|>"])
    refused(ValueError, "vocab_size=2000000", "1048576", size=2_000_000)
    refused(TypeError, "float", size=300.0)
    assert train(b"abc", 256).n_vocab == 256


def test_special_tokens_that_are_none():
    refused(ValueError, "special_tokens[1] is empty", special_tokens=["<|a|>", ""])
    refused(ValueError, "special_tokens[2]", "twice", special_tokens=["<|a|>", "<|b|>", "<|a|>"])
    refused(TypeError, "one string", special_tokens="<|a|>")
    refused(TypeError, "bytes", special_tokens=[b"<|a|>"])


def test_options_that_are_none():
    refused(ValueError, "ties='random'", "'lexicographic', 'huggingface'", ties="random")
    refused(ValueError, "device='tpu'", device="tpu")
    refused(ValueError, "min_frequency=-1", min_frequency=-1)
    refused(ValueError, "max_token_length=0", max_token_length=0)
    refused(ValueError, "initial_alphabet", "each once", initial_alphabet=b"abc")
    refused(ValueError, "max_memory=1000", max_memory=1000)
    refused(ValueError, "documents='pages'", documents="pages")
    refused(ValueError, "errors='maybe'", errors="maybe")
    refused(ValueError, "pat_str", pattern="(a")
    refused(TypeError, "pattern", pattern=7)
    refused(TypeError, "int", sources=7)
    refused(TypeError, "text 1 ", "int", sources=iter(["a", 5]))
    refused(TypeError, "'rb'", sources=io.StringIO("abc"))
    refused(ValueError, "greater than 0", threads=0)


@pytest.mark.parametrize("threads", [1, 3])
def test_bytes_that_are_not_utf_8(tmp_path, small_chunks, monkeypatch, threads):
    monkeypatch.setattr("streamtok._batch.cores", lambda: 4)
    data = TEXT.encode()[:9000]
    (tmp_path / "good.txt").write_bytes(data)
    (tmp_path / "bad.txt").write_bytes(data[:5000] + b"\xff" + data[5000:] + b"\xc3\x28")
    sources = [tmp_path / "good.txt", tmp_path / "bad.txt"]
    refused(UnicodeDecodeError, "byte 5000 of", "bad.txt", "errors='replace'", sources=sources, threads=threads)
    refused(UnicodeDecodeError, "byte 5000 of", sources=sources, threads=threads, pattern=r"\w+|\W+")
    text = (data[:5000] + b"\xff" + data[5000:] + b"\xc3\x28").decode("utf-8", "replace")
    for pattern in ("cl100k", r"\w+|\W+"):
        found = tokens(sources, 400, errors="replace", threads=threads, pattern=pattern)
        assert found == tokens(iter([data.decode(), text]), 400, pattern=pattern)


def test_lone_surrogates_are_what_encode_makes_of_them():
    assert tokens(iter(["a\ud800b"] * 5)) == tokens(iter(["a\ufffdb"] * 5))


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "here.txt").write_text(TEXT)
    missing = [tmp_path / "here.txt", tmp_path / "gone.txt", tmp_path / "too.txt"]
    refused(FileNotFoundError, "gone.txt", "1 more of 3", "iter(texts)", sources=missing)
    refused(FileNotFoundError, "no file matches", sources=str(tmp_path / "*.md"))
    refused(IsADirectoryError, "glob", sources=tmp_path)
    (tmp_path / "cut.gz").write_bytes(gzip.compress(TEXT.encode())[:-500])
    refused(OSError, "cut.gz", "compressed data", sources=[tmp_path / "here.txt", tmp_path / "cut.gz"])


def test_json_lines_that_are_none(tmp_path):
    path = tmp_path / "a.jsonl"
    for line, words in (("{", "not a JSON object"), ('{"a": 1}', "no 'text'"), ('{"text": 5}', "string is needed")):
        path.write_text('{"text": "fine"}\n' + line + "\n")
        refused(ValueError, f"{path}, line 2", words, sources=path)
    path.write_bytes(b'{"text": "fine"}\n{"text": "\xff"}\n')
    refused(UnicodeDecodeError, "line 2", sources=path)


def test_a_long_text_in_a_list_is_no_path_and_the_error_says_what_to_write():
    with pytest.raises(OSError, match=r"to train on texts in memory pass iter\(texts\)"):
        train(["a text that is longer than any path may be " * 200], 300)
