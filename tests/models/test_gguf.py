"""GGUF: the head alone is read, strictly, and gives the ids of the tokenizer.json that says the same."""

from __future__ import annotations

import base64
import json
import os
import pathlib
import random
import struct
import sys
from typing import Any

import made_models
import oracle
import pytest
from gguf_files import gguf, of_bytes, value
from gguf_files import text as head_text
from small_models import Both, added, record, split_by, texts

from streamtok import Encoding, VocabularyError
from streamtok.model_files import gguf_head
from streamtok.model_files.gguf_splits import OF_CHARACTERS, SPLIT_OF, UNSURE, steps_of
from streamtok.model_files.wire import Message

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tools"))
import llama_cases

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
    steps = steps_of(SPLIT_OF[pre])
    made["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": steps}
    made["model"]["ignore_merges"] = pre == "llama-bpe"
    made = added(added(made, "<|end|>", special=True), "<x>", "õö")
    both = Both.of(tmp_path, made)
    path = written(tmp_path, of_bytes(made, pre, bos_token_id=420, eos_token_id=420, add_bos_token=True), order=order)
    enc = Encoding.from_file(path)
    same(enc, both, texts(1, 100 if oracle.LONG or order == "<" else 10, "<|end|>", "<x>", "õö", "hello"))
    assert enc.prefix_ids.tolist() == [420] if hasattr(enc.prefix_ids, "tolist") else list(enc.prefix_ids) == [420]
    assert enc.encode("a", add_special_tokens=True) == [420, *enc.encode("a")]
    kept = Encoding.from_file(path, cache=True)
    assert kept.fingerprint == enc.fingerprint and Encoding.from_file(path).encode("a b") == enc.encode("a b")


NAMES = (
    "a.x-4.0 afmoe bailingmoe bailingmoe2 bloom chameleon chatglm-bpe codeshell cohere2moe command-r dbrx "
    "deepseek-coder deepseek-llm deepseek-r1-qwen deepseek-v3 default exaone exaone-moe exaone4 f2llmv2 falcon "
    "falcon-h1 falcon3 gemma4 gigachat glm4 glm5 gpt-2 gpt-4o gpt3-finnish granite-docling "
    "granite-embed-multi-311m granite-embed-multi-97m grok-2 hunyuan hunyuan-dense hy_v4 jais jais-2 jina-de "
    "jina-es jina-v1-en jina-v2-code jina-v2-de jina-v2-es jina-v5-nano joyai-llm kanana2 kimi-k2 kormo laguna "
    "lfm2 llada-moe llama-bpe llama-v3 llama3 llama4 megrez mellum mellum2 midm-2.0 minerva-7b minicpm5 "
    "minimax-m2 modern-bert mpt olmo phi-2 pixtral poro-chat qwen2 qwen35 refact roberta-bpe sarvam-moe "
    "seed-coder smaug-bpe smollm solar-open spark2_5 stablelm2 starcoder superbpe talkie tekken tiny_aya "
    "trillion ufakzeka viking whitespace youtu "
).split()
"""Those that llama.cpp knows."""


def test_all_names_of_ways_to_split(tmp_path):
    assert {*SPLIT_OF, *OF_CHARACTERS, *UNSURE} == {*NAMES}


@pytest.mark.parametrize("way", [*dict.fromkeys(map(str, SPLIT_OF.values()))], ids=lambda way: way[:30])
def test_each_way_has_a_table_and_splits_as_tokenizers(tmp_path, way):
    name = next(name for name, each in SPLIT_OF.items() if str(each) == way)
    made = record()
    made["pre_tokenizer"] = {"type": "Sequence", "pretokenizers": steps_of(SPLIT_OF[name])}
    enc = Encoding.from_file(written(tmp_path, of_bytes(made, name, bos_token_id=1)))
    assert enc.pattern_engine in ("blocks", "table") or name in ("jais-2", "superbpe")  # their step counts, too
    reference = Both.of(tmp_path, made).reference
    for text in texts(
        5, 150, "don't", "DON'T", "12345", "東京12", "  \n ", "é́", "한국", "ㄅ", "１２", "\r\n\r", "$x", "<sentinel:1>"
    ):
        assert enc.encode(text) == reference.encode(text, add_special_tokens=False).ids, text


@pytest.mark.parametrize("name", UNSURE)
def test_names_that_are_known_and_refused(tmp_path, name):
    said = refused(tmp_path, gguf(of_bytes(record(), name)))
    assert f"tokenizer.ggml.pre: {name!r}: " in said and said.endswith("take the model's tokenizer.json")


def test_a_normalizer_is_given_by_the_caller(tmp_path):
    path = written(tmp_path, of_bytes(record(), "qwen2"))
    enc, composed = Encoding.from_file(path), Encoding.from_file(path, normalizer="NFC", cache=True)
    assert composed.encode("e\u0301 a") == enc.encode("\xe9 a") != enc.encode("e\u0301 a")
    assert composed.fingerprint != enc.fingerprint and Encoding.from_file(path).fingerprint == enc.fingerprint
    with pytest.raises(ValueError, match="normalizer='nfc' is unknown; NFC, NFD, NFKC, NFKD are known"):
        Encoding.from_file(path, normalizer="nfc")
    (tmp_path / "tokenizer.json").write_text(json.dumps(record()))
    with pytest.raises(VocabularyError, match=r"normalizer= is for a \.gguf file"):
        Encoding.from_file(tmp_path / "tokenizer.json", normalizer="NFC")
    pairs = {BASE + "model": "rwkv", BASE + "tokens": ["a"], BASE + "token_type": [1]}
    with pytest.raises(VocabularyError, match="normalizer='NFC' is for the model gpt2"):
        Encoding.from_file(written(tmp_path, pairs), normalizer="NFC")


def scored(changes: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A tokenizer.json of Unigram, and the keys of a head that says the same."""
    vocab = [["<pad>", 0.0], ["</s>", 0.0], ["<unk>", 0.0], ["▁", -3.5], ["▁the", -2.0122928619384766], ["he", -4.0]]
    vocab += [[letter, -5.0 - i / 8] for i, letter in enumerate("abcdefghijklmnopqrstuvwxyz.")] + [
        ["▁a", -2.5],
        ["th", -4.0],
    ]
    vocab += [["<x>", 0.0]]
    kinds = [3, 3, 2, *[1] * (len(vocab) - 4), 4]
    metaspace = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    words = [{"type": "WhitespaceSplit"}] * changes.get("remove_extra_whitespaces", False)
    added = [(0, True), (1, True), (2, True), (len(vocab) - 1, False)]
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    end = {"id": "</s>", "ids": [1], "tokens": ["</s>"]}
    made = {
        "version": "1.0",
        "added_tokens": [{"id": i, "content": vocab[i][0], **flags, "special": special} for i, special in added],
        "pre_tokenizer": {"type": "Sequence", "pretokenizers": [*words, metaspace]},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}],
            "pair": [],
            "special_tokens": {"</s>": end},
        },
        "decoder": metaspace,
        "model": {"type": "Unigram", "unk_id": 2, "vocab": vocab, "byte_fallback": False},
    }
    pairs = {"model": "t5", "tokens": [text for text, _ in vocab], "scores": [score for _, score in vocab]}
    pairs["scores"][0] = -1000.0  # llama.cpp's converter writes such scores for tokens that no text becomes
    return made, {
        BASE + key: each for key, each in (pairs | {"token_type": kinds, "eos_token_id": 1} | changes).items()
    }


@pytest.mark.parametrize("changes", [{}, {"remove_extra_whitespaces": True}])
def test_unigram(tmp_path, changes):
    made, pairs = scored(changes)
    both, enc = Both.of(tmp_path, made), Encoding.from_file(written(tmp_path, pairs))
    same(enc, both, texts(9, 150, "the", "  ", "<x>", "▁", "☃☃", "a the"))
    assert enc.encode("a", add_special_tokens=True) == both.reference.encode("a").ids
    del pairs[BASE + "eos_token_id"]
    assert Encoding.from_file(written(tmp_path, pairs)).encode("a", add_special_tokens=True)[-1] == 1


def test_unigram_with_a_map(tmp_path):
    """The map is bytes of either sign in the head; texts are those of test_unigram once it has been done."""
    sentencepiece = pytest.importorskip("sentencepiece", reason="the package sentencepiece is not installed")
    import io

    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(["the a"] * 9), model_writer=model, vocab_size=9)
    whole = Message(model.getvalue(), "")
    spec = next(whole.message(value) for value in whole.fields() if value.number == 3)
    charsmap = next(spec.message(value) for value in spec.fields() if value.number == 2)
    data = charsmap.data[charsmap.start : charsmap.end]
    made, pairs = scored({"remove_extra_whitespaces": True})
    made["normalizer"] = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(data).decode()}
    both = Both.of(tmp_path, made)
    for form in (lambda byte: byte, lambda byte: byte - 256 * (byte > 127)):
        kind = struct.pack("<IIQ", 9, 1 if form(255) < 0 else 0, len(data)) + data
        head = gguf(pairs, behind=b"")
        count = struct.unpack_from("<Q", head, 16)[0]
        head = head[:16] + struct.pack("<Q", count + 1) + head[24:] + head_text(BASE + "precompiled_charsmap") + kind
        (tmp_path / "model.gguf").write_bytes(head)
        same(Encoding.from_file(tmp_path / "model.gguf"), both, texts(9, 100, "ｔｈｅ", "ﬁ", "\xa0", "Å"))


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"scores": [1.0]}, "there are 1 scores"),
        ({"unknown_token_id": 999}, "no token with id 999"),
        ({"tokens": ["a", "b"], "scores": [-1.0, -2.0], "token_type": [1, 1]}, "unknown_token_id: it is missing"),
    ],
)
def test_unigram_that_is_refused(tmp_path, changes, says):
    assert says in refused(tmp_path, gguf(scored(changes)[1]))


CASES = os.environ.get("STREAMTOK_LLAMA", "")
"""The folder `models` of llama.cpp's repository, or of the source distribution of llama-cpp-python."""


def test_the_cases_of_llama_cpp():
    found = llama_cases.vocabularies(pathlib.Path(CASES)) if CASES else []
    if not found:
        pytest.skip("STREAMTOK_LLAMA names no folder with ggml-vocab-NAME.gguf and its cases")
    said = {path.name: llama_cases.check(path) for path in found}
    assert {name: each for name, each in said.items() if each[0] != each[1]} == {}


def test_how_cases_are_read(tmp_path):
    (tmp_path / "ggml-vocab-x.gguf").write_bytes(gguf(of_bytes(record(), "gpt-2")))
    given = ["hello", "", "a b\n", "cut off"]
    (tmp_path / "ggml-vocab-x.gguf.inp").write_text("\n__ggml_vocab_test__\n".join(given))
    enc = Encoding.from_file(tmp_path / "ggml-vocab-x.gguf")
    lines = [" ".join(map(str, enc.encode(text))) for text in given[:3]]
    (tmp_path / "ggml-vocab-x.gguf.out").write_text("\n".join([*lines[:2], "1 2"]))
    (path,) = llama_cases.vocabularies(tmp_path)
    assert llama_cases.check(path) == (3, 2, "first other: 'a b\\n'")


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


def test_merges_of_characters(tmp_path):
    """Gemma 4's: blanks are marks, and bytes stand for characters that are no tokens."""
    made = made_models.gemma()
    both = Both.of(tmp_path, made)
    pairs = of_bytes(made, "gemma4", unknown_token_id=0, bos_token_id=1)
    enc = Encoding.from_file(written(tmp_path, pairs))
    same(enc, both, texts(3, 30, "▁", "hello", "<start>", "☃"))
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
        ({"pre": "default"}, "'default': this is llama.cpp's own way"),
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
        assert "goes on to byte" in refused(tmp_path, data[:cut])
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


def test_numbers_of_every_type():
    """Of GGUF: with and without a sign, of 8 to 64 bits, and with a fraction."""
    given = [("B", 255), ("b", -1), ("H", 65535), ("h", -2), ("I", 2**32 - 1), ("i", -3), ("f", 0.5), ("?", True)]
    given += [("Q", 2**64 - 1), ("q", -4), ("d", 0.1)]
    kinds = [*range(8), 10, 11, 12]
    body = b"".join(head_text(form) + struct.pack("<I" + form, k, each) for k, (form, each) in zip(kinds, given))
    assert gguf_head.parse_head(gguf({}, behind=b"")[:16] + struct.pack("<Q", len(given)) + body, "") == dict(given)


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
