"""GGUF: the head alone is read, strictly, and gives the ids of the tokenizer.json that says the same."""

from __future__ import annotations

import json
import os
import random
import struct
from typing import Any

import made_models
import pytest
from gguf_files import gguf, of_bytes, value
from small_models import Both, added, record, split_by, texts

from streamtok import Encoding, VocabularyError
from streamtok.model_files import gguf_head
from streamtok.model_files.gguf import _WAY_OF, _steps

BASE = "tokenizer.ggml."


def written(tmp_path: Any, pairs: dict[str, Any], **options: Any) -> Any:
    path = tmp_path / "model.gguf"
    path.write_bytes(gguf(pairs, **options))
    return path


def refused(tmp_path: Any, data: bytes) -> str:
    path = tmp_path / "model.gguf"
    path.write_bytes(data)
    with pytest.raises(VocabularyError) as error:
        Encoding.from_file(path)
    assert "model.gguf" in str(error.value)
    return str(error.value)


def same(enc: Encoding, both: Both, given: list[str]) -> None:
    for text in given:
        ids = both.reference.encode(text, add_special_tokens=False).ids
        assert enc.encode(text, allowed_special="all") == ids, text
        assert enc.decode(ids) == both.reference.decode(ids, skip_special_tokens=False), text
        stream, made = enc.stream_encoder(allowed_special="all"), []
        for byte in text.encode():
            made += stream.feed(bytes([byte])).tolist()
        assert made + stream.flush().tolist() == ids
    assert enc.get_vocab() == both.reference.get_vocab(with_added_tokens=True)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("pre", ["gpt-2", "llama-bpe", "deepseek-v3", "falcon", "deepseek-coder", "starcoder", "bloom"])
def test_bpe_over_bytes(tmp_path, pre, order):
    made = record()
    steps = _steps(_WAY_OF[pre])
    made["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": steps}
    made["model"]["ignore_merges"] = pre == "llama-bpe"
    made = added(added(made, "<|end|>", special=True), "<x>", "õö")
    both = Both.of(tmp_path, made)
    path = written(tmp_path, of_bytes(made, pre, bos_token_id=420, eos_token_id=420, add_bos_token=True), order=order)
    enc = Encoding.from_file(path)
    same(enc, both, texts(1, 100, "<|end|>", "<x>", "õö", "hello"))
    assert enc.prefix_ids.tolist() == [420] if hasattr(enc.prefix_ids, "tolist") else list(enc.prefix_ids) == [420]
    assert enc.encode("a", add_special_tokens=True) == [420, *enc.encode("a")]
    kept = Encoding.from_file(path, cache=True)
    assert kept.fingerprint == enc.fingerprint and Encoding.from_file(path).encode("a b") == enc.encode("a b")


def test_the_ways_to_split_are_read(tmp_path):
    """Each name has a table."""
    for way in {*map(str, _WAY_OF.values())}:
        name = next(name for name, each in _WAY_OF.items() if str(each) == way)
        path = written(tmp_path, of_bytes(record(), name, bos_token_id=1))
        assert Encoding.from_file(path).pattern_engine in ("blocks", "table")


def test_wordpiece(tmp_path):
    made = made_models.wordpiece()
    both = Both.of(tmp_path, made)
    vocab = sorted(made["model"]["vocab"], key=made["model"]["vocab"].get)
    special = {token["content"]: token["id"] for token in made["added_tokens"]}
    names = [t if t in special else t[2:] if t.startswith("##") else f"▁{t}" for t in vocab]
    pairs = {"model": "bert", "tokens": names, "token_type": [3 if t in special else 1 for t in vocab]}
    pairs |= {
        "unknown_token_id": special["[UNK]"],
        "cls_token_id": special["[CLS]"],
        "seperator_token_id": special["[SEP]"],
    }
    enc = Encoding.from_file(written(tmp_path, {BASE + key: each for key, each in pairs.items()}))
    same(enc, both, texts(2, 100, "[MASK]", "hello", "東京"))
    assert enc.encode("a", add_special_tokens=True) == both.reference.encode("a").ids


def test_sentencepiece(tmp_path):
    made = made_models.characters()
    both = Both.of(tmp_path, made)
    rank = {}
    for i, (left, right) in enumerate(made["model"]["merges"]):
        rank.setdefault(left + right, i)
    vocab = sorted(made["model"]["vocab"], key=made["model"]["vocab"].get)
    kinds = [
        2 if i == 0 else 3 if i < 3 else 6 if t.startswith("<0x") and len(t) == 6 else 1 for i, t in enumerate(vocab)
    ]
    scores = [-float(rank.get(token, 10**6)) for token in vocab]
    pairs = {"model": "llama", "tokens": vocab, "scores": scores, "token_type": kinds, "bos_token_id": 1}
    enc = Encoding.from_file(written(tmp_path, {BASE + key: each for key, each in pairs.items()}))
    for text in texts(3, 100, "▁", "hello"):
        assert enc.encode(text, allowed_special="all") == both.reference.encode(text, add_special_tokens=False).ids
    assert enc.encode("a", add_special_tokens=True)[0] == 1


def test_longest_match(tmp_path):
    names = ["<s>", *(f"\\x{byte:02x}" for byte in range(256)), "\\n\\n", "hello", "\\\\", "é"]
    kinds = [3, *[1] * (len(names) - 1)]
    names[1 + ord("\\")] = "\\\\"
    del names[-2], kinds[-2]
    pairs = {BASE + "model": "rwkv", BASE + "tokens": names, BASE + "token_type": kinds}
    enc = Encoding.from_file(written(tmp_path, pairs))
    assert enc.encode("hello\n\né\\") == [258, 257, 259, 1 + ord("\\")]
    assert enc.encode("<s>a", allowed_special="all") == [0, 1 + ord("a")]


def good() -> dict[str, Any]:
    return of_bytes(record(), "gpt-2")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"pre": "novel"}, "tokenizer.ggml.pre: 'novel' is not known here"),
        ({"pre": None}, "tokenizer.ggml.pre: it is missing"),
        ({"pre": "default"}, "'default' is not known"),
        ({"model": "plamo2"}, "tokenizer.ggml.model: 'plamo2' is not supported"),
        ({"model": None}, "of a model in several files the first one"),
        ({"tokens": []}, "there are 0 tokens"),
        ({"tokens": [1, 2]}, "is no text in UTF-8"),
        ({"token_type": [1]}, "it has not a type"),
        ({"token_type": 3}, "of another type"),
        ({"merges": ["ab"]}, "merges[0]"),
        ({"merges": ["q zzz"]}, "model.merges"),
        ({"add_bos_token": True}, "bos_token_id: it is missing"),
        ({"add_bos_token": True, "bos_token_id": 9999}, "there is no token with id 9999"),
    ],
)
def test_values_that_are_refused(tmp_path, changes, says):
    pairs = good()
    for key, given in changes.items():
        pairs[BASE + key] = given
        if given is None:
            del pairs[BASE + key]
    assert says in refused(tmp_path, gguf(pairs))


def test_heads_that_are_damaged(tmp_path):
    data = gguf(good(), behind=b"")
    rng = random.Random(1)
    for cut in [*range(4, 60), *(rng.randrange(4, len(data)) for _ in range(30)), len(data) - 1]:
        assert "byte" in refused(tmp_path, data[:cut])
    front, huge = data[:16], struct.pack("<Q", 1 << 62)
    for body, says in (
        (huge, "keys, more than"),
        (struct.pack("<Q", 1) + huge, "a key has"),
        (struct.pack("<QQ", 1, 1) + b"a" + struct.pack("<I", 8) + huge, "goes on to byte"),
        (struct.pack("<QQ", 1, 1) + b"a" + struct.pack("<II", 9, 4) + huge, "an array has"),
        (struct.pack("<QQ", 1, 1) + b"a" + struct.pack("<IIQ", 9, 10, 1 << 20), "goes on to byte"),
        (struct.pack("<QQ", 1, 1) + b"a" + struct.pack("<II", 9, 9) + huge, "an array of arrays"),
        (struct.pack("<QQ", 1, 1) + b"a" + struct.pack("<I", 77), "77 is no type"),
        (struct.pack("<QQ", 2, 1) + b"a" + value(1) + struct.pack("<Q", 1) + b"a" + value(1), "is there twice"),
    ):
        assert says in refused(tmp_path, front + body)
    assert "version 1 of GGUF" in refused(tmp_path, gguf(good(), version=1))


def test_only_the_head_is_read(tmp_path, monkeypatch):
    path = written(tmp_path, good(), behind=b"")
    size = path.stat().st_size
    want = Encoding.from_file(path)
    with open(path, "r+b") as file:
        file.truncate(1 << 40)  # a hole, where the disk allows it
    assert os.path.getsize(path) == 1 << 40
    assert gguf_head.read_head(str(path)) == gguf(good(), behind=b"")
    assert len(gguf_head.read_head(str(path))) == size
    assert Encoding.from_file(path).fingerprint == want.fingerprint
    monkeypatch.setattr(gguf_head, "MOST_HEAD", size - 1)
    monkeypatch.setattr(gguf_head, "_BLOCK", 64)
    with pytest.raises(VocabularyError, match="keys and values have more than"):
        gguf_head.read_head(str(path))


def test_json_is_not_mistaken_for_it(tmp_path):
    (tmp_path / "x.gguf").write_text(json.dumps(record() | {"pre_tokenizer": split_by(r"\w+")["pretokenizers"][1]}))
    assert Encoding.from_file(tmp_path / "x.gguf").encode("a")
    assert gguf_head.read_head(str(tmp_path / "none")) is None
