"""SentencePiece's .model files: ids are those of the package sentencepiece, and damaged files are refused."""

from __future__ import annotations

import copy
import functools
import io
import pickle
import random
import struct
from itertools import pairwise
from typing import Any

import pytest
from small_models import TEXT, Both, texts

from streamtok import Encoding, VocabularyError, train
from streamtok.model_files import sentencepiece as messages
from streamtok.model_files.wire import Message

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


_WHOLE_TEXTS = {"split_by_whitespace": False, "allow_whitespace_only_pieces": True}
_USERS = "<x>,▁▁,▁▁▁▁,\n,<0x4,th,ö,▁the"
_FEWER = {"remove_extra_whitespaces": True}
_NMT = {"normalization_rule_name": "nmt_nfkc", **_FEWER}
_NO_BYTES = {"byte_fallback": False}


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"add_dummy_prefix": False},
        {"vocab_size": 900, "split_digits": True, "control_symbols": "<ctl>,[INST]"},
        {**_WHOLE_TEXTS, "bos_id": -1},
        {"add_dummy_prefix": False, "user_defined_symbols": _USERS, "control_symbols": "<ctl>"},
        {"user_defined_symbols": _USERS + ",[INST]", "control_symbols": "<ctl>"},
        {"user_defined_symbols": "< x,<x>", "add_dummy_prefix": False},
        _FEWER,
        _NMT,
        {"normalization_rule_name": "nfkc_cf"},
        {"normalization_rule_name": "user"},
        {"treat_whitespace_as_suffix": True},
        {"treat_whitespace_as_suffix": True, "user_defined_symbols": _USERS},
        _NO_BYTES,
        {**_NO_BYTES, **_FEWER},
        {**_NO_BYTES, **_NMT, "user_defined_symbols": _USERS},
        {**_NO_BYTES, **_WHOLE_TEXTS},
        {**_NO_BYTES, "treat_whitespace_as_suffix": True, "add_dummy_prefix": False},
        {**_NO_BYTES, **_FEWER, "treat_whitespace_as_suffix": True},
        {"model_type": "char"},
        {"model_type": "char", **_NO_BYTES, **_NMT, "user_defined_symbols": _USERS},
        {"model_type": "word"},
        {"model_type": "word", "user_defined_symbols": _USERS},
        {"model_type": "word", **_NO_BYTES, **_NMT},
        {"model_type": "word", **_NO_BYTES, "treat_whitespace_as_suffix": True, "add_dummy_prefix": False},
    ],
    ids=lambda options: " ".join(f"{name}={str(value)[:9]}" for name, value in options.items()),
)
def test_ids(tmp_path, options):
    if options.get("normalization_rule_name") == "user":
        rules = tmp_path / "rules.tsv"
        rules.write_text("41\t61 61\n61 62\t63\nF6\t\nE9\t65\n")  # A: aa, ab: c, ö: nothing, é: e
        options = {"normalization_rule_tsv": str(rules)}
    data = trained(**options)
    compare(tmp_path, data, texts(7, 400, *_ODD))


_ODD = (
    "▁",
    "▁▁",
    "  ",
    " the",
    "<s>",
    "<0x41>",
    "ö",
    "東京",
    "<ctl>",
    "<x>",
    "th",
    "\xa0",
    "ﬁ",
    "２",
    "[INST]",
    "☃☃",
    "AB",
)


def compare(tmp_path, data, given: list[str]) -> Encoding:
    """Ids whole, by the definition, as streams that are copied on the way, and on threads; places; the text of ids."""
    enc, reference = loaded(tmp_path, data), sentencepiece.SentencePieceProcessor(model_proto=data)
    plain = Encoding.from_file(tmp_path / "any.name", engine="reference")
    rng = random.Random(1)
    for text in given:
        ids = reference.encode(text)
        assert enc.encode(text, disallowed_special=()) == ids, text
        assert plain.encode(text, disallowed_special=()) == ids, text
        stream = enc.stream_encoder(disallowed_special=())
        cuts = sorted({0, len(text), *(rng.randrange(len(text) + 1) for _ in range(3))})
        streamed = []
        for a, b in pairwise(cuts):
            streamed += stream.feed(text[a:b]).tolist()
            stream = pickle.loads(pickle.dumps(stream)) if rng.random() < 0.01 else copy.copy(stream)
        assert streamed + stream.flush().tolist() == ids, text
        assert enc.decode(ids) == reference.decode(ids), text
        found, places = enc.encode_with_offsets(text, disallowed_special=())
        assert list(found) == ids and list(places) == sorted(places)
    long = " ".join(given)
    assert enc.encode_to_numpy(long.encode(), num_threads=2, disallowed_special=()).tolist() == reference.encode(long)
    assert enc.special_tokens_set >= {"<unk>"}
    assert enc.n_vocab == reference.vocab_size()
    return enc


@pytest.mark.parametrize("changes", [{}, _NO_BYTES, _FEWER, {"user_defined_symbols": _USERS}])
@pytest.mark.parametrize("distinct", [1, 3, 40])
def test_pieces_of_equal_scores(tmp_path, changes, distinct):
    """Of these the leftmost is made first."""
    enc = None
    for seed in range(3):
        rng = random.Random(seed)
        data = with_scores(trained(**changes), lambda old, rng=rng: -float(rng.randrange(distinct)))
        enc = compare(tmp_path, data, texts(7 + seed, 100, *_ODD))
        assert enc._kind.name == "sentencepairs"
    with pytest.raises(ValueError, match="of BPE of SentencePiece"):
        train.save(enc, tmp_path / "tokenizer.json")


def with_scores(data: bytes, change: Any) -> bytes:
    """A model whose normal pieces of several characters have other scores."""
    made, whole = bytearray(data), Message(data, "")
    for value in whole.fields():
        fields = {each.number: each for each in whole.message(value).fields()} if value.number == 1 else {}
        if fields and 3 not in fields and len(whole.text(fields[1])) > 1:
            struct.pack_into("<f", made, fields[2].at, change(whole.real(fields[2])))
    return bytes(made)


def test_characters_that_are_no_pieces(tmp_path):
    """Text merges by the text of neighbours, so a piece may hold them."""
    others = (
        piece(b"a") + piece(b"ab", -1) + piece("aö".encode(), -2) + piece("öab".encode(), -0.5) + piece("▁".encode())
    )
    data = piece(b"<unk>", kind=2) + BYTES + others + RULES
    compare(tmp_path, data, ["ab", "aöab", "böb", "aö", "abab aöö", *texts(3, 50, "ab", "ö", "aö")])
    unmarked = piece(b"<unk>", kind=2) + piece(b"a") + piece(b"ab") + piece(b"b") + b"\x12\x02\x18\x02" + RULES[-4:]
    compare(tmp_path, unmarked, ["ö ö", " a  ö a", *texts(3, 50, "ab", "ö", " ")])  # of a blank and ö one id is made


def test_a_long_word(tmp_path):
    data = with_scores(trained(), lambda old: 0.0)
    enc, reference = loaded(tmp_path, data), sentencepiece.SentencePieceProcessor(model_proto=data)
    text = "the" * 30_000 + "ab" * 50_000
    assert enc.encode(text) == reference.encode(text)


def test_it_is_saved_as_a_tokenizer_json(tmp_path):
    enc = loaded(tmp_path, trained())
    train.save(enc, tmp_path / "tokenizer.json")
    both = Both(tmp_path / "tokenizer.json")
    both.check(texts(8, 100, "▁", "  ", "ö"))
    assert both.enc.fingerprint == enc.fingerprint


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
        (BYTES + piece(b"a") + piece(b"ab", kind=5), "is unused, and text that has become it is divided again"),
        (piece(b"<unk>", kind=2) + piece(b"<0x00>", kind=6) + piece(b"ab"), "there are 1 pieces of bytes"),
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


def test_rules_that_are_damaged(tmp_path):
    for rules, said in ((b"\x12\x02\x18\x02", "there are 0 unknown pieces"), (b"\x12\x02\x18\x09", "9 is no type")):
        with pytest.raises(VocabularyError, match=said):
            loaded(tmp_path, piece(b"a") + rules)
    unigram = b"\x12\x05\x18\x01\x98\x02\x01"  # with a piece of each byte
    with pytest.raises(VocabularyError, match="there are 1 of the kind 'piece of a byte', not 256"):
        loaded(tmp_path, piece(b"<unk>", kind=2) + piece(b"a") + piece(b"<0x41>", kind=6) + unigram)


def test_a_piece_is_read_quickly_as_its_fields_say():
    """Whatever its text, which may look like the fields behind it."""
    rng, read = random.Random(5), 0
    for _ in range(3000):
        text, score = (bytes(rng.choices(b"\x01\x02\x15\x18a", k=k)) for k in (rng.randrange(1, 5), 4))
        kind = b"\x18" + bytes([rng.randrange(1, 7)])
        piece = b"\n" + bytes([len(text)]) + text + b"\x15" + score + rng.choice([b"", kind])
        data = b"\n" + bytes([len(piece)]) + piece + bytes(500)
        found, behind = messages._usual_pieces(data)
        pieces = found.pieces()
        assert pieces == [messages._piece(Message(data, "", 2, behind))] if pieces else not behind, data
        read += len(pieces)
    assert read > 2000


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


def test_rules_that_no_tokenizer_json_says(tmp_path):
    with pytest.raises(ValueError, match="of SentencePiece's rules, which none of these files can say"):
        train.save(loaded(tmp_path, trained(remove_extra_whitespaces=True)), tmp_path / "tokenizer.json")
