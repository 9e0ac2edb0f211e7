"""A message quotes at most 200 characters of a value, whatever was given: names, texts, patterns, paths, numbers."""

from __future__ import annotations

import io
import json
import re
import warnings

import numpy as np
import pytest

import streamtok
from streamtok import load, model, patterns, tables
from streamtok._arrays import id_dtype
from streamtok.errors import QUOTED, VocabularyError, shortened, shown
from streamtok.gpu.encoder import ordinal_of
from streamtok.gpu.pipeline import GpuPipeline
from streamtok.train import load as load_saved
from streamtok.train import report, train

HUGE = "x" * 100_000
NUMBER = 10**10_000
RANKS = {bytes([value]): value for value in range(256)}


def made(**changes):
    arguments = {"pat_str": patterns.R50K, "mergeable_ranks": RANKS, "special_tokens": {}} | changes
    return streamtok.Encoding(arguments.pop("name", "n"), **arguments)


def ranks_with(*tokens, rank=256):
    return RANKS | dict.fromkeys(tokens, rank)


TEXT = {
    "disallowed name": lambda e: e.encode(HUGE, disallowed_special={HUGE}),
    "disallowed name in an array": lambda e: e.encode_to_numpy(HUGE.encode(), disallowed_special={HUGE}),
    "disallowed name in a stream": lambda e: e.stream_encoder(disallowed_special={HUGE}).feed(HUGE),
    "no single token": lambda e: e.encode_single_token(HUGE),
    "no single token, bytes": lambda e: e.encode_single_token(HUGE.encode()),
    "errors": lambda e: e.encode_to_numpy("a", errors=HUGE),
    "errors of decode": lambda e: e.decode([e.encode_single_token(b"\xff")], errors=HUGE),
    "errors of decode_batch": lambda e: e.decode_batch([[e.encode_single_token(b"\xff")]], errors=HUGE),
    "errors of a decoder": lambda e: e.stream_decoder(HUGE),
    "errors of a stream": lambda e: e.stream_encoder(errors=HUGE),
    "device": lambda e: e.encode_to_numpy("a", device=HUGE),
    "device that is a number": lambda e: e.encode_to_numpy("a", device=NUMBER),
    "device of a stream": lambda e: e.stream_encoder(device=HUGE),
    "allowed": lambda e: e.encode("a", allowed_special=HUGE),
    "allowed name": lambda e: e.encode("a", allowed_special={HUGE.encode()}),
    "allowed number": lambda e: e.encode("a", allowed_special={NUMBER}),
    "dtype": lambda e: e.encode_to_numpy("a", dtype=HUGE),
    "limit": lambda e: e.truncate("a", -NUMBER),
    "invalid bytes": lambda e: e.encode_to_numpy(HUGE.encode() + b"\xff"),
    "invalid bytes in a stream": lambda e: e.stream_encoder().feed(HUGE.encode() + b"\xff"),
    "ids that are text": lambda e: e.decode(HUGE),
    "ids that are texts": lambda e: e.decode([HUGE]),
    "ids that are too large": lambda e: e.decode([NUMBER]),
    "id that is too large": lambda e: e.decode_single_token_bytes(NUMBER),
    "state": lambda e: e.stream_encoder().setstate(HUGE),
}

NAMES = {
    "encoding": lambda e: streamtok.get_encoding(HUGE),
    "model": lambda e: model.encoding_name_for_model(HUGE),
    "tables": lambda e: tables.build(HUGE),
    "engine": lambda e: made(engine=HUGE),
    "warning": lambda e: made(name=HUGE, pat_str=None),
    "token": lambda e: made(mergeable_ranks=RANKS | {HUGE: 256}),
    "long token": lambda e: made(mergeable_ranks=ranks_with(HUGE.encode())),
    "rank": lambda e: made(mergeable_ranks=ranks_with(HUGE[:60_000].encode(), rank=HUGE)),
    "large rank": lambda e: made(mergeable_ranks=ranks_with(b"ab", rank=NUMBER)),
    "two tokens of a rank": lambda e: made(mergeable_ranks=ranks_with(HUGE[:60_000].encode(), HUGE[:50_000].encode())),
    "special id": lambda e: made(special_tokens={HUGE: 5}),
    "large special id": lambda e: made(special_tokens={HUGE: NUMBER}),
    "special id that is text": lambda e: made(special_tokens={HUGE: HUGE}),
    "special name": lambda e: made(special_tokens={HUGE.encode(): 256}),
    "number of tokens": lambda e: made(explicit_n_vocab=NUMBER),
    "ids of a device": lambda e: id_dtype(e, HUGE),
    "number of a device": lambda e: ordinal_of(HUGE),
    "devices": lambda e: GpuPipeline(e, [HUGE] * 2),
    "pattern": lambda e: made(pat_str="(" + HUGE),
    "property": lambda e: made(pat_str=rf"\p{{{HUGE}}}"),
    "class": lambda e: made(pat_str=f"[[:{HUGE}:]]"),
    "back-reference": lambda e: made(pat_str=f"(a)(?P={HUGE})"),
    "flags": lambda e: made(pat_str=f"(a(?{'i' * 10_000})b)"),
    "repetition": lambda e: made(pat_str="a{" + "9" * 4000 + "}"),
    "code point": lambda e: made(pat_str=r"\x{" + "f" * 4000 + "}"),
    "URL": lambda e: load.load_tiktoken_bpe("https://" + HUGE),
    "path": lambda e: load.load_tiktoken_bpe(HUGE),
    "path with folders": lambda e: load.load_tiktoken_bpe("xx/" * 1000),
    "hash": lambda e: load.read_file_cached(__file__, HUGE),
    "saved": lambda e: load_saved(HUGE + ".json"),
}  # fmt: skip

TRAINING = {
    "text for a path": lambda e: train([HUGE], 300),
    "text for a glob": lambda e: train([HUGE + "?"], 300),
    "short text for a path": lambda e: train(["xx xx " * 100], 300),
    "text with a NUL": lambda e: train([HUGE + "\0"], 300),
    "ties": lambda e: train(["a"], 300, ties=HUGE),
    "special tokens": lambda e: train(["a"], 300, special_tokens=HUGE),
    "special token twice": lambda e: train(["a"], 300, special_tokens=[HUGE, HUGE]),
    "documents": lambda e: train(iter(["a"]), 300, documents=HUGE),
    "errors": lambda e: train(iter(["a"]), 300, errors=HUGE),
    "size": lambda e: train(["a"], NUMBER),
    "negative size": lambda e: train(["a"], -NUMBER),
    "frequency": lambda e: train(["a"], 300, min_frequency=-NUMBER),
    "token length": lambda e: train(["a"], 300, max_token_length=-NUMBER),
    "memory": lambda e: train(["a"], 300, max_memory=-NUMBER),
    "sizes": lambda e: report(train(iter(["a b a b a b"]), 257), [io.BytesIO(b"a")], sizes=[NUMBER]),
}

FILES = {
    "source": lambda e: e.encode_file(HUGE, "a"),
    "target": lambda e: e.encode_file(io.BytesIO(b"a"), HUGE),
    "folder of the target": lambda e: e.encode_file(io.BytesIO(b"a"), "xx/" * 1000),
    "format": lambda e: e.encode_file(io.BytesIO(b"a"), "a", format=HUGE),
    "dtype": lambda e: e.encode_file(io.BytesIO(b"a"), "a", dtype=HUGE),
    "documents": lambda e: e.encode_file(io.BytesIO(b"a"), "a", documents=HUGE),
    "errors": lambda e: e.encode_file(io.BytesIO(b"a"), "a", errors=HUGE),
    "allowed": lambda e: e.encode_file(io.BytesIO(b"a"), "a", allowed_special=HUGE),
    "chunk size": lambda e: e.encode_file(io.BytesIO(b"a"), "a", chunk_size=-NUMBER),
    "key": lambda e: e.encode_file(io.BytesIO(b'{"a": 1}'), "a", documents="jsonl", key=HUGE),
    "keys": lambda e: e.encode_file(json_lines({HUGE: 1}), "a", documents="jsonl"),
    "many keys": lambda e: e.encode_file(json_lines(dict.fromkeys(map(str, range(9999)))), "a", documents="jsonl"),
    "value": lambda e: e.encode_file(json_lines({"text": [HUGE]}), "a", documents="jsonl"),
    "name in the text": lambda e: e.encode_file(io.BytesIO(HUGE.encode()), "a", disallowed_special={HUGE}),
}  # fmt: skip


def json_lines(record):
    return io.BytesIO(json.dumps(record).encode())


MISTAKES = {
    f"{part}: {name}": mistake
    for part, mistakes in {"text": TEXT, "names": NAMES, "training": TRAINING, "files": FILES}.items()
    for name, mistake in mistakes.items()
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_message_quotes_little_of_a_huge_value(enc, mistake, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings(), pytest.raises(Exception) as caught:
        warnings.simplefilter("error")
        mistake(enc)
    message = str(caught.value)
    assert not re.search(rf"x{{{QUOTED + 1}}}", message) and len(message) <= 3 * QUOTED + 800, message[:2000]


def test_lines_of_vocabularies_are_quoted_in_part(tmp_path):
    path = tmp_path / "m.tiktoken"
    for line in (HUGE[:50_000], f"{HUGE[:50_000]} 1", f"eA== {HUGE[:50_000]}", "eA== " + "1" * 50_000):
        path.write_text(line + "\n")
        with pytest.raises(VocabularyError) as caught:
            load.load_tiktoken_bpe(path)
        assert len(str(caught.value)) < 2 * QUOTED + 200


def test_tokenizer_json_is_quoted_in_part(tmp_path):
    path = tmp_path / "tokenizer.json"
    for record in ({"model": HUGE}, {"added_tokens": [{HUGE: 1}]}, {"added_tokens": HUGE}, {HUGE: 1}):
        path.write_text(json.dumps({"model": {"type": "BPE", "vocab": {}, "merges": []}} | record))
        with pytest.raises(VocabularyError) as caught:
            load_saved(path)
        assert not re.search(rf"x{{{QUOTED + 1}}}", str(caught.value))


# ==== The two functions that cut ====


def test_short_values_are_shown_whole():
    for value in ("a", b"a\xff", "x" * QUOTED, "\x1b" * QUOTED, 5, -(2**64), 1.5, None, [1, 2], {"a": 1}, (), str):
        assert shown(value) == repr(value)
    assert shortened("x" * QUOTED) == "x" * QUOTED


def test_long_values_are_shown_in_part():
    assert shown("ab" * 200) == repr("ab" * 100) + "..."
    assert shown(b"ab" * 200) == repr(b"ab" * 100) + "..."
    assert shown(-NUMBER) == f"an int of {NUMBER.bit_length()} bits"
    assert shown(list(range(10**6))).startswith("[0, 1, 2, ") and len(shown(list(range(10**6)))) < QUOTED
    assert len(shown([HUGE] * 10)) == len(shown({HUGE: HUGE})) == len(shown(((HUGE,) * 9,) * 9)) == QUOTED + 3
    assert shortened("a" * 500 + "b" * 500) == "a" * 100 + "..." + "b" * 100


def test_what_cannot_be_shown_is_named_by_its_type():
    class Broken:
        def __repr__(self):
            raise RuntimeError("no")

    assert "Broken" in shown(Broken()) and "Broken" in shown([Broken()])
    assert shown([NUMBER]) and shown({NUMBER: NUMBER})


def test_huge_array_is_not_written_out():
    assert len(shown(np.zeros((1000, 1000)))) <= QUOTED + 3
