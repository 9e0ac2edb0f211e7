"""Small encodings of each kind, for interrupted_rows.py."""

from __future__ import annotations

import functools
import json
import pathlib
import tempfile
from typing import Any

import oracle
from english import ENGLISH

import streamtok

END = "<|endoftext|>"
TEXT = ENGLISH[:300].decode("latin-1") + " naïve café ☕ 日本語 \n\n  x"
OWN_PATTERN = r"(?<=\w{3})b+|\w+|\s+(?!\S)|\s+|[^\w\s]+"  # the look-behind: the `regex` package splits


def _of_file(record: dict[str, Any]) -> streamtok.Encoding:
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "tokenizer.json")
        path.write_text(json.dumps(record, ensure_ascii=False), encoding="utf-8")
        return streamtok.Encoding.from_file(path)


_FLAGS = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)


@functools.cache
def of_characters() -> streamtok.Encoding:
    return _of_file(record_of_characters())


def record_of_characters() -> dict[str, Any]:
    """Tokens of characters and of bytes, as Llama 2 has them; a blank in front that decoding takes away."""
    names = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", *"abcdefgh", "▁a", "bc", "▁abc"]
    vocab = {name: token for token, name in enumerate(names)}
    merges = [["▁", "a"], ["b", "c"], ["▁a", "bc"]]
    model = {"type": "BPE", "vocab": vocab, "merges": merges, "unk_token": "<unk>", "fuse_unk": True}
    replaced = {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}
    back = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    strip = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
    steps = [back, {"type": "ByteFallback"}, {"type": "Fuse"}, strip]
    prepend = {"type": "Prepend", "prepend": "▁"}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": 0, "content": "<unk>", **_FLAGS, "special": True}],
        "normalizer": {"type": "Sequence", "normalizers": [prepend, replaced]},
        "pre_tokenizer": None,
        "post_processor": None,
        "decoder": {"type": "Sequence", "decoders": steps},
        "model": model | {"byte_fallback": True, "dropout": None},
    }


@functools.cache
def of_words() -> streamtok.Encoding:
    """WordPiece, with lower case and a template."""
    letters = "abcdefghijklmnopqrstuvwxyz.,"
    names = ["[UNK]", "[CLS]", "[SEP]", *letters, *(f"##{each}" for each in letters), "the", "##ing", "##tion"]
    part = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##"}
    tokens = {name: {"id": name, "ids": [number], "tokens": [name]} for number, name in ((1, "[CLS]"), (2, "[SEP]"))}
    single = [
        {"SpecialToken": {"id": "[CLS]", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 0}},
        {"SpecialToken": {"id": "[SEP]", "type_id": 0}},
    ]
    return _of_file(
        {
            "version": "1.0",
            "truncation": None,
            "padding": None,
            "added_tokens": [
                {"id": number, "content": name, **_FLAGS, "special": True} for number, name in enumerate(names[:3])
            ],
            "normalizer": {
                "type": "BertNormalizer",
                "clean_text": True,
                "handle_chinese_chars": True,
                "strip_accents": None,
                "lowercase": True,
            },
            "pre_tokenizer": {"type": "BertPreTokenizer"},
            "post_processor": {"type": "TemplateProcessing", "single": single, "pair": [], "special_tokens": tokens},
            "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
            "model": part | {"max_input_chars_per_word": 100, "vocab": {name: i for i, name in enumerate(names)}},
        }
    )


@functools.cache
def of_own_pattern() -> streamtok.Encoding:
    return _small(OWN_PATTERN, "own pattern")


@functools.cache
def normalizing() -> streamtok.Encoding:
    return _small(streamtok.patterns.CL100K, "normalizing", [("NFC",), ("Lowercase",)])


def _small(pattern: str, name: str, normalizer: Any = None) -> streamtok.Encoding:
    ranks = {token: rank for token, rank in oracle.ours("r50k_base")._mergeable_ranks.items() if rank < 2000}
    return streamtok.Encoding(
        name, pat_str=pattern, mergeable_ranks=ranks, special_tokens={END: 2000}, normalizer=normalizer
    )


def encodings() -> dict[str, streamtok.Encoding]:
    return {
        "bytes": oracle.ours("o200k_base"),
        "regex": of_own_pattern(),
        "normalizer": normalizing(),
        "characters": of_characters(),
        "WordPiece": of_words(),
        "longest match": oracle.by_longest_match("r50k_base"),
    }
