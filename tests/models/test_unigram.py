"""Models of type Unigram: ids and places are those of tokenizers and of sentencepiece, whole and as they come."""

from __future__ import annotations

import io
import itertools
import json
import random
import struct
from typing import Any

import pytest
from small_models import TEXT, Both
from tokenizers import Tokenizer

from streamtok import Encoding, VocabularyError, train
from streamtok.native.job import cuts
from streamtok.native.vocab import Vocab

MARK = "▁"
LETTERS = "abcd▁"


def record(vocab: list[Any], **changes: Any) -> dict[str, Any]:
    model = {"type": "Unigram", "unk_id": 0, "vocab": vocab, "byte_fallback": changes.pop("byte_fallback", False)}
    empty = dict.fromkeys(("truncation", "padding", "normalizer", "pre_tokenizer", "post_processor", "decoder"))
    return {"version": "1.0", "added_tokens": [], **empty, "model": model, **changes}


def score(rng: random.Random, mode: int) -> float:
    """A score of which many sums are equal, or nearly so, or one above 0."""
    if mode == 0:
        return rng.choice([-1.0, -2.0, -3.0, -0.5])
    if mode == 1:
        return rng.uniform(5, 45)
    return rng.choice([rng.uniform(-20, 0), -7.4715776443481445, -6.9715776443481445, -2.5, -2.0])


def vocabulary(rng: random.Random) -> tuple[list[Any], list[str], bool]:
    """Tokens with scores, the texts of some of them, and whether unknown characters become bytes."""
    mode = rng.randrange(3)
    words = sorted({"".join(rng.choices(LETTERS, k=rng.randint(1, 4))) for _ in range(rng.randint(4, 25))})
    vocab: list[Any] = [["<unk>", rng.choice([0.0, -30.0, 18.0])], *([word, score(rng, mode)] for word in words)]
    fallback = rng.random() < 0.5
    if fallback:
        missing = set() if rng.random() < 0.5 else {0x61, 0xA9, 0x7A}
        vocab += [[f"<0x{byte:02X}>", 0.0] for byte in range(256) if byte not in missing]
    if rng.random() < 0.5:
        vocab += [["z<unk>", -1.0], ["xy", -90.0], [words[0], -1.25]]
    return vocab, [*words, "<unk>"], fallback


def text_of(rng: random.Random, words: list[str]) -> str:
    parts = [rng.choice("abcdx y▁é<s>z") if rng.random() < 0.4 else rng.choice(words) for _ in range(rng.randint(1, 8))]
    return "".join(parts) * rng.choice([1, 1, 2, 5, 20])


def streamed(enc: Encoding, text: str, rng: random.Random, **options: Any) -> list[int]:
    """The ids of a text as it comes; the stream is saved and restored now and then."""
    stream, data, at = enc.stream_encoder(**options), text.encode(), 0
    ids: list[int] = []
    while at < len(data):
        size = rng.choice([1, 1, 2, 5, 50])
        ids += stream.feed(data[at : at + size]).tolist()
        at += size
        if rng.random() < 0.2:
            state = stream.getstate()
            stream = enc.stream_encoder(**options)
            stream.setstate(state)
            assert stream.getstate() == state
    return ids + stream.flush().tolist()


def opened(tmp_path, data: bytes | dict[str, Any], **options: Any) -> Encoding:
    path = tmp_path / "model.any"
    path.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())
    return Encoding.from_file(path, **options)


# ==== tokenizer.json ====


@pytest.mark.parametrize("seed", range(12))
def test_ids_of_small_vocabularies(tmp_path, seed):
    rng = random.Random(seed)
    vocab, words, fallback = vocabulary(rng)
    made = record(vocab, byte_fallback=fallback)
    reference = Tokenizer.from_str(json.dumps(made))
    enc, plain = opened(tmp_path, made), opened(tmp_path, made, engine="reference")
    for _ in range(100):
        text = text_of(rng, words)
        found = reference.encode(text, add_special_tokens=False)
        ids, places = enc.encode_with_offsets(text, disallowed_special=())
        assert ids.tolist() == found.ids == plain.encode(text, disallowed_special=()), text
        assert places.tolist() == [start for start, _ in found.offsets], text
        assert streamed(enc, text, rng, disallowed_special=()) == found.ids, text
        assert streamed(plain, text, rng, disallowed_special=()) == found.ids, text


def test_scores_are_read_as_the_reference_reads_them(tmp_path):
    """By its reader of JSON, which is not exact: the file that is saved gives the same scores to it."""
    rng = random.Random(3)
    texts = [repr(-rng.random() * 10 ** rng.randint(-12, 3)) for _ in range(500)]
    texts += ["-1e-7", "-0", "12", "-184467440737095516151.5", "-0.12345678901234567890123", "-5E2", "1e-320", "3e22"]
    vocab = [["<unk>", 0.0], *([f"t{i}", 0.0] for i in range(len(texts)))]
    text = json.dumps(record(vocab))
    for i, number in enumerate(texts):
        text = text.replace(f'["t{i}", 0.0]', f'["t{i}", {number}]')
    (tmp_path / "tokenizer.json").write_text(text)
    enc = Encoding.from_file(tmp_path / "tokenizer.json")
    train.save(enc, tmp_path / "saved.json")
    scores = [
        json.loads(Tokenizer.from_file(str(tmp_path / name)).to_str())["model"]["vocab"]
        for name in ("tokenizer.json", "saved.json")
    ]
    assert scores[0] == scores[1]
    assert Encoding.from_file(tmp_path / "saved.json").fingerprint == enc.fingerprint


def test_a_run_whose_first_id_depends_on_its_length_waits(tmp_path):
    """Of "a" and "aa" the odd length begins with "a", the even one with "aa": nothing is certain before the end."""
    enc = opened(tmp_path, record([["<unk>", 0.0], ["a", -2.0], ["aa", -3.0], ["b", -1.0]]))
    for length in (9, 10, 3000, 3001):
        stream = enc.stream_encoder()
        assert not any(len(stream.feed(b"a" * 7)) for _ in range(length // 7))
        rest = stream.feed(b"a" * (length % 7)).tolist() + stream.feed(b"b").tolist() + stream.flush().tolist()
        assert rest == [1] * (length % 2) + [2] * (length // 2) + [3]


WORDS = [
    MARK,
    *"abcdefghijklmnopqrstuvwxyzé.,",
    "▁the",
    "▁and",
    "ing",
    "▁a",
    "th",
    "▁t",
    "he",
    "1",
    "12",
    "ー",
    "カ",
    "が",
]
MARKS = {"type": "Metaspace", "replacement": MARK, "prepend_scheme": "always", "split": True}


def charsmap() -> dict[str, Any]:
    """SentencePiece's map for nmt_nfkc, as a normalizer."""
    import base64

    sentencepiece = pytest.importorskip("sentencepiece", reason="the package sentencepiece is not installed")
    data = trained(sentencepiece)
    at = data.index(b"nmt_nfkc\x12") + 9
    size, shift = 0, 0
    while True:
        byte = data[at]
        size |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            break
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(data[at : at + size]).decode()}


def trained(sentencepiece: Any, **options: Any) -> bytes:
    made = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT[:600]), model_writer=made, minloglevel=2, model_type="unigram",
        **{"vocab_size": 400, **options},
    )  # fmt: skip
    return made.getvalue()


ODD = list(
    " \t\r\n▁\u3000\u00a0\u2028\u00ad\u200b\ufeff\x00\x7f\x85\u0301\u3099\u309a"
    "é½㌍ﬁ‥㍣ａ＜ガक्ष각한\u0600a\U0001f468\u200d\U0001f1e6²"
)


WORDS_AND_MARKS = {"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, MARKS]}


def with_steps(normalizer: str | None, pre_tokenizer: Any) -> tuple[dict[str, Any], random.Random]:
    """A file with such steps, and what chose its scores."""
    runs = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": MARK}
    steps: dict[Any, Any] = {None: None}
    if normalizer is not None:
        steps["map"] = charsmap()
        steps["runs"] = {"type": "Sequence", "normalizers": [steps["map"], runs]}
        forms = [{"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"}]
        steps["albert"] = {"type": "Sequence", "normalizers": [*forms, steps["map"]]}
    rng = random.Random(9)
    vocab = [["<unk>", 0.0], *([word, -rng.random() * 9] for word in WORDS)]
    return record(vocab, normalizer=steps[normalizer], pre_tokenizer=pre_tokenizer, decoder=MARKS), rng


@pytest.mark.parametrize(
    ("normalizer", "pre_tokenizer"),
    [
        ("map", WORDS_AND_MARKS),
        ("map", MARKS),
        ("map", {**MARKS, "prepend_scheme": "first"}),
        ("map", {**MARKS, "split": False}),
        (None, {**MARKS, "prepend_scheme": "never", "split": False}),
        ("runs", MARKS),
        ("albert", MARKS),
    ],
)
def test_normalizers_and_marks(tmp_path, normalizer, pre_tokenizer):
    made, rng = with_steps(normalizer, pre_tokenizer)
    reference, enc = Tokenizer.from_str(json.dumps(made)), opened(tmp_path, made)
    for k in range(600):
        parts = [rng.choice(ODD) if rng.random() < 0.5 else rng.choice(WORDS) for _ in range(rng.randint(1, 9))]
        text = "".join(parts).replace(MARK, rng.choice([MARK, " "]))
        found = reference.encode(text, add_special_tokens=False)
        ids, places = enc.encode_with_offsets(text)
        assert ids.tolist() == found.ids, text
        assert places.tolist() == [start for start, _ in found.offsets], text
        assert streamed(enc, text, rng) == found.ids, text
        if k % 4 == 0:
            assert enc.decode(found.ids) == reference.decode(found.ids), text


@pytest.mark.parametrize("names", [[], [("<a>", True)], [("a b", True), ("<a>", False)]])
@pytest.mark.parametrize(
    ("normalizer", "pre_tokenizer"),
    [
        ("map", WORDS_AND_MARKS),
        ("map", MARKS),
        (None, WORDS_AND_MARKS),
        ("runs", {**MARKS, "prepend_scheme": "first"}),
        ("albert", WORDS_AND_MARKS),
    ],
)
def test_a_text_that_threads_share(tmp_path, normalizer, pre_tokenizer, names):
    """Each side of a cut by itself gives what the whole gives, and so do threads. names: added tokens, and whether they
    are sought in normalized text."""
    made, rng = with_steps(normalizer, pre_tokenizer)
    may_be_late = pre_tokenizer.get("prepend_scheme") != "first"  # which is not supported behind late names
    names = [(name, late and may_be_late) for name, late in names]
    flags = ("single_word", "lstrip", "rstrip")
    made["added_tokens"] = [
        {
            "id": len(made["model"]["vocab"]) + i,
            "content": text,
            "special": True,
            "normalized": late,
            **{flag: rng.random() < 0.5 for flag in flags},
        }
        for i, (text, late) in enumerate(names)
    ]
    reference, enc = Tokenizer.from_str(json.dumps(made)), opened(tmp_path, made)
    matchers = enc._matchers_for("all", ())
    for size in (40, 400):
        parts = [rng.choice(rng.choice([[*ODD, "<a>", "a b"], [*WORDS, " ", "\n", "the and "]])) for _ in range(8000)]
        text = "".join(parts).replace(MARK, rng.choice([MARK, " "])).replace("\0", "")
        whole, data = enc.encode(text, allowed_special="all"), text.encode()
        assert whole == reference.encode(text, add_special_tokens=False).ids
        found = cuts(data, size, *matchers, enc._coder_for("strict"))
        assert any(" " in name and late for name, late in names) or len(found) > len(data) / 800
        sides = [
            enc.encode(data[a:b].decode(), allowed_special="all") for a, b in itertools.pairwise([0, *found, len(data)])
        ]
        assert list(itertools.chain(*sides)) == whole
    long = text * 30
    whole = enc.encode(long, allowed_special="all")
    for threads in range(2, 9):
        assert enc.encode_to_numpy(long, allowed_special="all", num_threads=threads).tolist() == whole
        assert enc.encode_batch([long, "a"], allowed_special="all", num_threads=threads)[0] == whole
    assert enc.count(long, allowed_special="all", num_threads=3) == len(whole)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"vocab": [["a", 1e999]]}, "model.vocab"),
        ({"vocab": [["a"]]}, "model.vocab"),
        ({"vocab": {"a": 0}}, "an array of tokens with scores is needed"),
        ({"unk_id": 7}, "model.unk_id"),
        ({"novel": 1}, "model.novel"),
        ({"type": "SentencePiece"}, "is in no tokenizer.json"),
    ],
)
def test_what_is_refused(tmp_path, changes, said):
    made = record([["<unk>", 0.0], ["a", -1.0]])
    made["model"].update(changes)
    with pytest.raises(VocabularyError, match=said):
        opened(tmp_path, made)


@pytest.mark.parametrize("data", [b"", b"abc", b"\x04\0\0\0\0\0\0\0x", b"\xff\xff\xff\xff" + bytes(8)])
def test_a_damaged_map_is_refused(tmp_path, data):
    import base64

    made = record(
        [["<unk>", 0.0]], normalizer={"type": "Precompiled", "precompiled_charsmap": base64.b64encode(data).decode()}
    )
    if not data:
        assert opened(tmp_path, made).encode("a") == [0]
        return
    with pytest.raises(VocabularyError, match="precompiled_charsmap"):
        opened(tmp_path, made)


def test_a_file_that_is_saved_and_pickled(tmp_path):
    vocab = [["<unk>", 0.0], ["a", -1.1], ["ab", -2.3], ["b", -0.7], ["a", -0.3]]
    (tmp_path / "tokenizer.json").write_text(json.dumps(record(vocab)))
    both = Both(tmp_path / "tokenizer.json")
    both.check(["abab aab x", "", "ccab"])


# ==== .model ====


def piece(text: str, value: float, kind: int = 1) -> bytes:
    inner = (
        b"\n"
        + bytes([len(text.encode())])
        + text.encode()
        + b"\x15"
        + struct.pack("<f", value)
        + b"\x18"
        + bytes([kind])
    )
    return b"\n" + bytes([len(inner)]) + inner


def by_hand(rng: random.Random) -> tuple[bytes, list[str]]:
    """A .model with pieces of every kind and with any rules."""
    mode = rng.randrange(3)
    words = sorted({"".join(rng.choices(LETTERS, k=rng.randint(1, 4))) for _ in range(rng.randint(4, 25))})
    fallback = rng.random() < 0.4
    pieces = piece("<unk>", 0.0, 2) + piece("<s>", 0.0, 3) + piece("q", -3.0)
    pieces += b"".join(piece(word, score(rng, mode), rng.choice([1, 1, 1, 1, 1, 4, 5])) for word in words)
    if fallback:
        pieces += b"".join(piece(f"<0x{byte:02X}>", 0.0, 6) for byte in range(256))
    trainer = b"\x18\x01" + b"\xc0\x01" + bytes([rng.random() < 0.3]) + b"\x98\x02" + bytes([fallback])
    rules = b"\x0a\x01x" + b"\x18" + bytes([rng.random() < 0.5]) + b"\x20" + bytes([rng.random() < 0.5]) + b"\x28\x01"
    return pieces + b"\x12" + bytes([len(trainer)]) + trainer + b"\x1a" + bytes([len(rules)]) + rules, words


@pytest.mark.parametrize("seed", range(12))
def test_ids_of_small_models(tmp_path, seed):
    sentencepiece = pytest.importorskip("sentencepiece", reason="the package sentencepiece is not installed")
    rng = random.Random(seed)
    data, words = by_hand(rng)
    reference = sentencepiece.SentencePieceProcessor(model_proto=data)
    enc, plain = opened(tmp_path, data), opened(tmp_path, data, engine="reference")
    for _ in range(100):
        text = text_of(rng, words)
        ids = reference.encode(text)
        assert enc.encode(text, disallowed_special=()) == ids == plain.encode(text, disallowed_special=()), text
        assert streamed(enc, text, rng, disallowed_special=()) == ids, text


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"byte_fallback": True, "vocab_size": 700, "user_defined_symbols": ["<sep>", "ab", "12", "é", "▁the", " = "]},
        {"normalization_rule_name": "identity", "add_dummy_prefix": False, "remove_extra_whitespaces": False},
        {"treat_whitespace_as_suffix": True, "normalization_rule_name": "nfkc_cf"},
        {"split_by_whitespace": False},
    ],
)
def test_trained_models(tmp_path, options):
    sentencepiece = pytest.importorskip("sentencepiece", reason="the package sentencepiece is not installed")
    data = trained(sentencepiece, **options)
    reference, enc = sentencepiece.SentencePieceProcessor(model_proto=data), opened(tmp_path, data)
    rng = random.Random(2)
    long = "\n".join(TEXT)[:60_000]
    assert enc.encode(long, disallowed_special=()) == reference.encode(long)  # sums are over 100,000 twice
    assert enc.n_vocab == reference.vocab_size()
    for _ in range(400):
        at = rng.randrange(len(long))
        parts = [rng.choice(ODD) if rng.random() < 0.5 else rng.choice(WORDS) for _ in range(rng.randint(0, 9))]
        text = long[at : at + rng.randint(0, 40)] + "".join(parts).replace("\0", "")
        ids = reference.encode(text)
        assert enc.encode(text, disallowed_special=()) == ids, text
        assert streamed(enc, text, rng, disallowed_special=()) == ids, text
        assert enc.decode(ids) == reference.decode(ids), text
        decoder = enc.stream_decoder()
        cuts = sorted({0, len(ids), *(rng.randrange(len(ids) + 1) for _ in range(3))})
        parts = [decoder.feed(ids[a:b]) for a, b in itertools.pairwise(cuts)]
        assert "".join(parts) + decoder.flush() == reference.decode(ids), text


def drifting(rng: random.Random) -> tuple[bytes, str]:
    """A .model in which many ways through a word have nearly equal sums, so that rounding decides, by what stands in
    front of the word; and a text whose sum passes the limit several times. No token holds a mark behind a letter."""
    bodies = sorted({"".join(rng.choices("abcdé", k=rng.randint(1, 4))) for _ in range(40)})
    values: dict[str, float] = {MARK: -2.0, **{letter: -rng.choice([1.5, 2.25, 40.0]) for letter in "abcd"}}
    for body in bodies:
        near = sum(values.get(letter, -30.0) for letter in body) + rng.choice([0, 0, 1e-3, -1e-3, 4e-3, -7e-3, 0.4])
        values.setdefault(body, near)
        if rng.random() < 0.4:
            values[MARK + body] = values[body] - 2.0 + rng.choice([0, 2e-3, -2e-3, 0.5])
    pieces = piece("<unk>", 0.0, 2) + b"".join(piece(text, value) for text, value in values.items())
    trainer = b"\x18\x01" + b"\x98\x02\x00"
    words = ["".join(rng.choices("abcdéxy漢", k=rng.choice([1, 2, 3, 5, 8, 13, 40, 200]))) for _ in range(300)]
    text = "".join(rng.choice(words) + rng.choice([" ", " ", "  ", MARK, "\n"]) for _ in range(4000))
    return pieces + b"\x12" + bytes([len(trainer)]) + trainer + b"\x1a\x09\x0a\x01x\x18\x01\x20\x00\x28\x01", text


@pytest.mark.parametrize("seed", range(6))
def test_words_depend_on_what_stands_in_front_of_them(tmp_path, seed):
    """The sums of single precision go on from word to word: words that were divided before are only used again where
    their ids are the same."""
    sentencepiece = pytest.importorskip("sentencepiece", reason="the package sentencepiece is not installed")
    rng = random.Random(seed)
    data, text = drifting(rng)
    ids = sentencepiece.SentencePieceProcessor(model_proto=data).encode(text)
    enc = opened(tmp_path, data)
    alone = [number for word in text.split(" ") for number in enc.encode(word)]
    assert alone != ids
    assert enc.encode(text) == enc.encode(text) == ids
    for sizes in ([1, 2, 3, 30], [100, 1000], [5000]):
        stream, raw, at = enc.stream_encoder(), text.encode(), 0
        found: list[int] = []
        while at < len(raw):
            size = rng.choice(sizes)
            found += stream.feed(raw[at : at + size]).tolist()
            at += size
            if rng.random() < 0.1:
                state = stream.getstate()
                stream = enc.stream_encoder()
                stream.setstate(state)
        assert found + stream.flush().tolist() == ids


def test_a_model_that_is_no_file_of_tokenizers_is_not_saved_as_one(tmp_path):
    data, _ = by_hand(random.Random(1))
    enc = opened(tmp_path, data)
    with pytest.raises(ValueError, match="Unigram of SentencePiece"):
        train.save(enc, tmp_path / "tokenizer.json")


@pytest.mark.parametrize("of_words", [False, True])
def test_an_image_holds_the_tree(tmp_path, monkeypatch, of_words):
    """The first text of a model from the cache builds nothing, and ids are the same; as an image of an image is."""
    monkeypatch.setenv("STREAMTOK_CACHE", str(tmp_path / "cache"))
    data, text = drifting(random.Random(3)) if of_words else (by_hand(random.Random(4))[0], "q ab qab " * 50)
    made = opened(tmp_path, data, cache=True)
    again = Encoding.from_file(tmp_path / "model.any")
    image = again._vocab.to_image()
    _, _, places = Vocab.image_header(image)
    assert places["machine"][1] > 64 and image == made._vocab.to_image()
    assert again.encode(text, disallowed_special=()) == made.encode(text, disallowed_special=())
    monkeypatch.setenv("STREAMTOK_TABLES", "package")
    assert again.encode(text, disallowed_special=()) == opened(tmp_path, data).encode(text, disallowed_special=())
