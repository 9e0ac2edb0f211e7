"""SentencePiece's .model files: ids are those of the package sentencepiece, and damaged files are refused."""

from __future__ import annotations

import functools
import io
import random
import struct
from itertools import pairwise
from typing import Any

import pytest
from small_models import TEXT, Both, texts

from streamtok import Encoding, VocabularyError, train

sentencepiece = pytest.importorskip("sentencepiece", reason="the package sentencepiece is not installed")

SUPPORTED: dict[str, Any] = {
    "model_type": "bpe",
    "byte_fallback": True,
    "normalization_rule_name": "identity",
    "remove_extra_whitespaces": False,
}


@functools.cache
def _trained(options: tuple[tuple[str, Any], ...]) -> bytes:
    made = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT[:600]), model_writer=made, minloglevel=2, **dict(options)
    )
    return made.getvalue()


def trained(**options: Any) -> bytes:
    return _trained(tuple(sorted({"vocab_size": 600, **SUPPORTED, **options}.items())))


def loaded(tmp_path, data: bytes) -> Encoding:
    path = tmp_path / "any.name"
    path.write_bytes(data)
    return Encoding.from_file(path)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"add_dummy_prefix": False},
        {"vocab_size": 900, "split_digits": True, "control_symbols": "<ctl>,[INST]"},
        {"split_by_whitespace": False, "allow_whitespace_only_pieces": True, "bos_id": -1},
        {
            "add_dummy_prefix": False,
            "user_defined_symbols": "<x>,▁▁,▁▁▁▁,\n,<0x4,th,ö,▁the",
            "control_symbols": "<ctl>",
        },
    ],
)
def test_ids(tmp_path, options):
    data = trained(**options)
    enc, reference = loaded(tmp_path, data), sentencepiece.SentencePieceProcessor(model_proto=data)
    rng = random.Random(1)
    for text in texts(7, 600, "▁", "▁▁", "  ", " the", "<s>", "<0x41>", "ö", "東京", "<ctl>", "<x>", "th"):
        ids = reference.encode(text)
        assert enc.encode(text, disallowed_special=()) == ids, text
        stream = enc.stream_encoder(disallowed_special=())
        cuts = sorted({0, len(text), *(rng.randrange(len(text) + 1) for _ in range(3))})
        streamed = [token for a, b in pairwise(cuts) for token in stream.feed(text[a:b]).tolist()]
        assert streamed + stream.flush().tolist() == ids, text
        assert enc.decode(ids) == reference.decode(ids), text
    assert enc.special_tokens_set >= {"<unk>"}
    assert enc.n_vocab == reference.vocab_size()


def test_it_is_saved_as_a_tokenizer_json(tmp_path):
    enc = loaded(tmp_path, trained())
    train.save(enc, tmp_path / "tokenizer.json")
    both = Both(tmp_path / "tokenizer.json")
    both.check(texts(8, 100, "▁", "  ", "ö"))
    assert both.enc.fingerprint == enc.fingerprint


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"model_type": "char"}, "of type 'Char'"),
        ({"byte_fallback": False}, "trainer_spec.byte_fallback"),
        ({"normalization_rule_name": "nmt_nfkc"}, "the rules 'nmt_nfkc' are compiled"),
        ({"remove_extra_whitespaces": True}, "remove_extra_whitespaces"),
        ({"treat_whitespace_as_suffix": True}, "treat_whitespace_as_suffix"),
        ({"user_defined_symbols": "<x>"}, "is user-defined, and add_dummy_prefix is set"),
        ({"user_defined_symbols": "< x", "add_dummy_prefix": False}, "holds a blank"),
    ],
)
def test_what_is_refused(tmp_path, options, said):
    with pytest.raises(VocabularyError, match=said):
        loaded(tmp_path, trained(**options))


def piece(text: bytes, score: float = 0.0, kind: int = 1) -> bytes:
    inner = b"\n" + bytes([len(text)]) + text + b"\x15" + struct.pack("<f", score) + b"\x18" + bytes([kind])
    return b"\n" + bytes([len(inner)]) + inner


RULES = b"\x12\x05\x18\x02\x98\x02\x01" + b"\x1a\x02\x20\x00"  # BPE with byte_fallback; no blanks are left out
BYTES = b"".join(piece(b"<0x%02X>" % byte, kind=6) for byte in range(256))


def test_a_model_by_hand(tmp_path):
    enc = loaded(tmp_path, piece(b"<unk>", kind=2) + BYTES + piece(b"ab", -1) + piece(b"a") + piece(b"b") + RULES)
    assert enc.encode("abA") == [0xE2 + 1, 0x96 + 1, 0x81 + 1, 257, 0x41 + 1]


def test_runs_of_one_score(tmp_path):
    """Of these the leftmost is made first, whichever it is, as in Llama 2 and Mistral."""
    rng, mark = random.Random(3), "▁".encode()
    for _ in range(12):
        lengths = sorted(rng.sample(range(2, 18), rng.randrange(2, 16)), key=lambda n: rng.random())
        others = piece(b"a") + piece(b"b") + piece(b"ab", -1) + piece(mark + b"a", rng.choice([-2, -50])) + piece(mark)
        data = piece(b"<unk>", kind=2) + BYTES + b"".join(piece(mark * n, -9) for n in lengths) + others + RULES
        enc, reference = loaded(tmp_path, data), sentencepiece.SentencePieceProcessor(model_proto=data)
        for n in [*range(1, 40), *(rng.randrange(40, 200) for _ in range(10))]:
            text = "".join(rng.choice(["a", "b", " b", "ab"]) + " " * rng.choice([0, 1, n]) for _ in range(4))
            for one in (" " * n, text):
                assert enc.encode(one) == reference.encode(one), (lengths, one)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (BYTES + piece(b"a") + piece(b"a"), "is there twice"),
        (BYTES + piece(b"a") + piece(b"ab", -1), "holds 'b', which is no piece"),
        (BYTES + b"".join(map(piece, (b"a", b"b", b"ab", b"ba"))), "have one score"),
        (BYTES + b"".join(map(piece, (b"a", b"aa", b"aaa"))) + piece(b"b") + piece(b"aab", -1), "have one score"),
        (BYTES + piece(b"a", kind=3), "is a character, and no normal piece"),
        (BYTES + piece(b"<0x41>"), "is there twice"),
        (piece(b"<0x4G>", kind=6), "bytes are <0x00> to <0xFF>"),
        (piece(b"a"), "256 tokens <0x00> to <0xFF> are missing"),
        (piece(b"a", kind=9), "has the type 9"),
        (piece(b"a", float("nan")), "the score nan"),
        (piece(b"\xff"), "not UTF-8"),
        (piece(b""), "a piece is empty"),
        (piece(b"a") + b"\x32\x00", "field 6 of a model is not known"),
        (piece(b"a") + b"\x0b", "no type of a field"),
        (piece(b"a") + b"\x02\x00", "no number of a field"),
        (piece(b"a") + b"\x0a\x7f", "cut off or damaged"),
        (piece(b"a") + b"\x0a" + b"\xff" * 11, "a number has more than 10 bytes"),
        (b"\n\x02\x08\x01", "of another type"),
    ],
)
def test_damaged_files(tmp_path, data, said):
    with pytest.raises(VocabularyError, match=said) as caught:
        loaded(tmp_path, data + RULES)
    assert caught.value.path == str(tmp_path / "any.name")


def test_any_damage_is_refused_or_harmless(tmp_path):
    """Files cut anywhere, and with bytes changed, raise VocabularyError or load."""
    data, rng, refused = trained(), random.Random(2), 0
    for i in range(120):
        broken = bytearray(data if i % 2 else data[: rng.randrange(len(data))])
        for _ in range(rng.randrange(4) if i % 2 else 0):
            broken[rng.randrange(len(broken))] = rng.randrange(256)
        try:
            loaded(tmp_path, bytes(broken)).encode("the text <", disallowed_special=())
        except VocabularyError:
            refused += 1
    assert refused > 60
