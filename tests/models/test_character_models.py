"""Models of characters, as SentencePiece has them: small files made with Hugging Face's tokenizers give its ids and its
texts; what is not certain is refused."""

from __future__ import annotations

import copy
import itertools
import pickle
import random
from typing import Any

import pytest
from small_models import TEXT, Both, added, refusal, template, texts

from streamtok import Encoding, train

pytest.importorskip("tokenizers", reason="Hugging Face's tokenizers is not installed")
from character_models import (
    BACK,
    DECODER,
    FALLBACK,
    FUSE,
    LEVEL,
    LLAMA,
    PREPEND,
    REPLACE,
    STRIP,
    WHITE,
    metaspace,
    record,
    sequence,
    split,
)

MORE = ("▁", "▁▁", " the", "  ", "<0x41>", "<s>", "東京", "ö", "é")

BOTH_ENDS = {"type": "Strip", "strip_left": True, "strip_right": True}
DIGITS, PUNCTUATION = {"type": "Digits", "individual_digits": True}, {"type": "Punctuation", "behavior": "Isolated"}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        LLAMA,
        {**LLAMA, "normalizer": sequence("normalizers", REPLACE, PREPEND)},
        {"normalizer": sequence("normalizers", {"type": "NFKC"}, BOTH_ENDS, REPLACE)},
        {"normalizer": None},
        {"pre_tokenizer": split("MergedWithPrevious", String=" ")},
        {"normalizer": None, "pre_tokenizer": split("MergedWithNext", String=" ")},
        {"normalizer": None, "pre_tokenizer": split("Isolated", Regex=r"\p{L}+")},
        {"pre_tokenizer": sequence("pretokenizers", DIGITS, PUNCTUATION)},
        {"pre_tokenizer": {"type": "Whitespace"}, "normalizer": None},
        {"post_processor": template({"Sequence": {"id": "A", "type_id": 0}})},
    ],
)
def test_ids_and_texts(tmp_path, changes):
    made = added(added(record(**changes), "<s>", "</s>", special=True), "<x>", " b", "▁▁", "ab")
    names = [token["content"] for token in made["added_tokens"]]
    Both.of(tmp_path, made).check(texts(1, 300, *MORE, *names))


@pytest.mark.parametrize("scheme", ["always", "first", "never"])
@pytest.mark.parametrize("split", [True, False])
@pytest.mark.parametrize("mark", ["▁", "_", " "])
def test_metaspace(tmp_path, scheme, split, mark):
    """A text that begins with an added token has no first part."""
    changes = {
        "normalizer": None,
        "pre_tokenizer": metaspace(scheme, split, mark),
        "decoder": metaspace(scheme, True, mark),
    }
    made = added(added(record(**changes), "<s>", special=True), "<x>", " b")
    both = Both.of(tmp_path, made)
    both.check(texts(2, 200, *MORE, "<x>", " b", "_", "<x>a"))
    both.check(["<s>a", "a<s>a", "<s>", "<x> a<x>a", "▁a<s>▁a", " a<s> a", "<s><s>a", "_", "__a", "<s> "])
    for text in ("<s>a b", "a<s>a b"):  # saved and loaded, copied, in the middle
        ids = both.reference.encode(text, add_special_tokens=False).ids
        for at in range(len(text)):
            stream = both.enc.stream_encoder(allowed_special="all")
            first = stream.feed(text[:at]).tolist()
            other = both.enc.stream_encoder(allowed_special="all")
            other.setstate(stream.getstate())
            for each in (other, stream.copy()):
                assert first + each.feed(text[at:]).tolist() + each.flush().tolist() == ids


MOVED = [
    {"type": "Strip", "strip_left": True, "strip_right": True},
    {"type": "StripAccents"},
    {"type": "Replace", "pattern": {"String": "ab"}, "content": "e"},
    {"type": "Replace", "pattern": {"String": "a"}, "content": ""},
    {"type": "Replace", "pattern": {"Regex": "[a\u0301]+"}, "content": "t"},
    {**dict.fromkeys(("clean_text", "handle_chinese_chars", "lowercase"), True), "type": "BertNormalizer"},
    sequence("normalizers", {**PREPEND, "prepend": "ab "}, {**BACK, "pattern": {"String": "ab aa"}, "content": "e"}),
    sequence("normalizers", {"type": "NFD"}, BACK, {"type": "StripAccents"}, BOTH_ENDS, {"type": "Lowercase"}),
    sequence("normalizers", {**PREPEND, "prepend": "A"}, {"type": "Lowercase"}, {"type": "NFC"}, BOTH_ENDS),
    {"type": "NFKC"},
]


@pytest.mark.parametrize("normalizer", MOVED)
def test_the_first_part_begins_with_the_first_character(tmp_path, normalizer):
    """Where a normalizer has changed the beginning, "first" asks for the place that it comes from in the given text."""
    changes = {"normalizer": normalizer, "pre_tokenizer": metaspace("first"), "decoder": metaspace("first")}
    both = Both.of(tmp_path, added(record(**changes), "<s>", special=True))
    pieces = ["a", "ab", "aa", " ", "  ", "\u0301", "é", "E", "\x00", "中", "ﬁ", "<s>", "\u0344", "▁", "A"]
    rng = random.Random(3)
    for text in ("", *pieces, *("".join(rng.choices(pieces, k=rng.randrange(2, 6))) for _ in range(150))):
        found = both.reference.encode(text, add_special_tokens=False)
        stream, ids = both.enc.stream_encoder(allowed_special="all"), []
        for byte in text.encode():
            ids += stream.feed(bytes([byte])).tolist()
            saved, copied = stream.getstate(), stream.copy()
            with pytest.raises(UnicodeDecodeError):  # which changes nothing
                stream.feed(b"\xff" if stream.pending == 0 else b"\xff\xff")
            assert stream.getstate() == saved
            stream = copied if rng.random() < 0.5 else both.enc.stream_encoder(allowed_special="all")
            stream.setstate(saved)
        assert ids + stream.flush().tolist() == found.ids, text
        got, places = both.enc.encode_with_offsets(text, allowed_special="all")
        assert (got.tolist(), places.tolist()) == (found.ids, [start for start, _ in found.offsets]), text
        both.check([text])
    long = " " * 9000 + "a" * 9000
    assert both.enc.encode_batch([long, "a"], num_threads=2)[0] == both.reference.encode(long).ids


def test_old_fields_of_metaspace(tmp_path):
    old = {"type": "Metaspace", "replacement": "▁", "add_prefix_space": True, "str_rep": "x"}
    Both.of(tmp_path, record(normalizer=None, pre_tokenizer=old, decoder=old)).check(texts(3, 50, *MORE))


@pytest.mark.parametrize(
    "decoder",
    [
        None,
        FUSE,
        sequence("decoders"),
        FALLBACK,
        BACK,
        DECODER,
        sequence("decoders", BACK, FUSE),
        sequence("decoders", BACK, {**BACK, "pattern": {"String": "e"}, "content": ""}, FALLBACK, FUSE, STRIP),
        sequence("decoders", BACK, FALLBACK, FUSE, {**STRIP, "start": 3}),
        sequence("decoders", BACK, FALLBACK, FUSE, {**STRIP, "content": "\ufffd", "start": 2}),
        sequence("decoders", metaspace(), FALLBACK, FUSE),
        sequence("decoders", metaspace("never"), FALLBACK, FUSE, STRIP),
        LEVEL,
        sequence("decoders", BACK, LEVEL, STRIP),
    ],
)  # fmt: skip
def test_decoders(tmp_path, decoder):
    """Random ids, at once and in parts, with many bytes that are no characters."""
    made = added(added(record(decoder=decoder), "<s>", special=True), "<x>", "▁", " a", "<0x+F>", "<0xzz>", "<0xc3>")
    both = Both.of(tmp_path, made)
    find = both.reference.token_to_id
    some = [find(f"<0x{byte:02X}>") for byte in b" a\xe2\x96\x81\xc3\xa9\x80\xff"]
    some += [token["id"] for token in made["added_tokens"]] + [find(t) for t in ("▁", "▁▁", "e", "▁t")]
    both.check_rows([token for token in some if token is not None])


@pytest.mark.parametrize("changes", [{}, LLAMA, {"decoder": LEVEL}, {"decoder": None}])
def test_an_added_token_of_the_vocabulary_decodes_to_the_text_that_it_is_sought_by(tmp_path, changes):
    """With "normalized", that is the normalized one: "▁<s>", which skip_special_tokens does not know."""
    made = record(**changes)
    for name in ("a <x>", "▁<y>"):
        made["model"]["vocab"][name] = len(made["model"]["vocab"])
    made = added(added(made, "<s>", "a <x>", special=True, normalized=True), "<unk>", "▁<y>", normalized=True)
    both = Both.of(tmp_path, made)
    both.check(["a <unk>b", "<s>a", "a<s> b", "a <x>", "▁<y>", " <y> a <x>", *texts(7, 100, "<s>", "<unk>", "a <x>")])
    both.check_rows([token["id"] for token in made["added_tokens"]])


def test_a_long_run_of_bytes_is_decoded_in_linear_time(tmp_path):
    both = Both.of(tmp_path, record())
    byte = both.reference.token_to_id("<0x61>")
    decoder = both.enc.stream_decoder()
    parts = [decoder.feed(byte) for _ in range(200_000)]
    assert decoder.pending == 200_000
    assert "".join(parts) + decoder.flush() == "a" * 200_000


def test_offsets_are_those_of_the_given_text(tmp_path):
    both = Both.of(tmp_path, added(record(**LLAMA), "<s>", special=True))
    for text in ("hello the hello", " a<s> b", "ö東京 the"):
        ids, places = both.enc.encode_with_offsets(text, allowed_special="all")
        found = both.reference.encode(text, add_special_tokens=False)
        assert ids.tolist() == found.ids
        for place, (start, _) in list(zip(places.tolist(), found.offsets, strict=True))[1:]:
            assert place == start


def test_offsets_where_an_added_token_is_that_of_a_byte(tmp_path):
    for splitter in (None, {"type": "WhitespaceSplit"}):
        both = Both.of(tmp_path, added(record(normalizer=None, pre_tokenizer=splitter), "<0xC3>", "<0x00>"))
        for text in ("\x00b", "a<0x00>\x00", "Ã<0xC3>Ãb", "<0xC3>", " <0x00>", "     \x00", "\x00 <0xC3> Ã"):
            found = both.reference.encode(text)
            ids, places = both.enc.encode_with_offsets(text)
            assert (ids.tolist(), places.tolist()) == (found.ids, [start for start, _ in found.offsets])


def test_saved_and_pickled(tmp_path):
    made = added(record(**LLAMA, post_processor=None), "<s>", special=True)
    both = Both.of(tmp_path, made)
    path = tmp_path / "again.json"
    train.save(both.enc, path)
    saved = Both(path)
    assert saved.enc.fingerprint == both.enc.fingerprint
    saved.check(texts(4, 100, *MORE))
    other = pickle.loads(pickle.dumps(both.enc))
    fresh = copy.copy(both.enc)
    for text in texts(5, 30, *MORE):
        ids = both.enc.encode(text, disallowed_special=())
        for enc in (other, fresh, saved.enc):
            assert enc.encode(text, disallowed_special=()) == ids
            assert enc.decode(ids) == both.enc.decode(ids)


def without(made: dict[str, Any], *names: str) -> dict[str, Any]:
    for name in names:
        del made["model"]["vocab"][name]
    return made


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (record(model_merges=[["<0x41>", "<0x42>"]]), "names, or makes, what is no token"),
        (record(decoder={"type": "Novel"}), "the decoder 'Novel'"),
        (record(decoder=sequence("decoders", FUSE, {**STRIP, "stop": 1})), "stripping the end"),
        (record(decoder=sequence("decoders", FUSE, FALLBACK)), "behind ByteFallback, ByteLevel or Fuse"),
        (record(decoder=sequence("decoders", FUSE, metaspace())), "a Replace of one character behind Fuse is"),
        (record(pre_tokenizer=sequence("pretokenizers", *[WHITE, metaspace()] * 5)), "more than 4 times"),
        (record(pre_tokenizer={**metaspace(), "add_prefix_space": False}), "it is false, and prepend_scheme is always"),
        (record(pre_tokenizer={**metaspace(), "replacement": "▁▁"}), "is not one character"),
        (record(pre_tokenizer={**metaspace(), "prepend_scheme": "last"}), "is no scheme"),
    ],
)
def test_what_is_refused(tmp_path, made, said):
    assert said in refusal(tmp_path, made)


MARKED = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
REGEX = {"type": "Replace", "pattern": {"Regex": "▁|e+"}, "content": " "}


@pytest.mark.parametrize(
    "steps",
    [
        (FALLBACK, MARKED),  # as ChatGLM 3
        (FALLBACK, {**MARKED, "prepend_scheme": "never"}, FUSE, STRIP),
        (FALLBACK, BACK, {**BACK, "pattern": {"String": "e"}}),
        (FALLBACK, FUSE, BACK, STRIP),
        (FUSE, BACK),
        (REGEX, FALLBACK, FUSE),
        (BACK, REGEX),
    ],
)
def test_decoders_in_other_orders(tmp_path, steps):
    both = Both.of(tmp_path, added(record(decoder=sequence("decoders", *steps)), "▁<x>▁", "<0x20>"))
    both.check(texts(9, 100, "▁", "e"))
    mark = [both.reference.token_to_id(f"<0x{byte:02X}>") for byte in "▁ e".encode()]
    both.check_rows([*mark, *mark, *range(3), 300, 400, *(both.reference.token_to_id(c) for c in ("▁", "e"))])
    for row in (mark[:3], [*mark[:3], 300], [300, *mark[:3]], mark[:2], [*mark[:2], 300], [*mark[:3] * 2, mark[0]]):
        want = both.reference.decode(row, skip_special_tokens=False)
        assert both.enc.decode(row) == want
        for at in range(len(row) + 1):
            decoder = both.enc.stream_decoder()
            first = decoder.feed(row[:at])
            decoder = pickle.loads(pickle.dumps(decoder))
            assert first + decoder.feed(row[at:]) + decoder.flush() == want, (row, at)


def test_a_regex_of_a_decoder_whose_matches_no_table_finds_is_refused(tmp_path):
    said = refusal(tmp_path, record(decoder=sequence("decoders", {**REGEX, "pattern": {"Regex": "a*|bc"}})))
    assert "decoder.decoders[0].pattern: a Replace of the Regex 'a*|bc' is not supported" in said


def test_a_merge_of_bytes_is_refused(tmp_path):
    made = record()
    made["model"]["vocab"]["<0x41><0x42>"] = len(made["model"]["vocab"])
    made["model"]["merges"].append(["<0x41>", "<0x42>"])
    assert "tokens of bytes merge with nothing" in refusal(tmp_path, made)


def test_missing_tokens_of_bytes_whose_characters_are_tokens(tmp_path):
    both = Both.of(tmp_path, without(record(), "<0x61>", "<0x65>"))
    both.check(texts(6, 100, *MORE))


def test_many_ways_to_cut_a_text_of_characters(tmp_path):
    """Every cut of short texts with names in them into two and three parts."""
    both = Both.of(tmp_path, added(record(**LLAMA), "<s>", "<s><s>", special=True))
    for text in ("<s> a", "a <s>ö", "<s><s>é", "▁<s▁"):
        ids, data = both.reference.encode(text, add_special_tokens=False).ids, text.encode()
        for a, b in itertools.combinations_with_replacement(range(len(data) + 1), 2):
            stream = both.enc.stream_encoder(allowed_special="all")
            got = [token for part in (data[:a], data[a:b], data[b:]) for token in stream.feed(part).tolist()]
            assert got + stream.flush().tolist() == ids


def test_where_ids_differ_does_not_depend_on_the_parts_that_they_come_in(tmp_path):
    """Ids of long texts, some spelled otherwise, that end in bytes which are no characters; ids whose text begins with
    blanks that go, and ids whose text has more ids than they are."""
    made = record(**{**LLAMA, "decoder": sequence("decoders", BACK, FALLBACK, FUSE, {**STRIP, "start": 2})})
    made["model"]["vocab"]["▁<r> <r>"] = len(made["model"]["vocab"])
    both = Both.of(tmp_path, added(made, "<r>", special=True))
    enc, rng = both.enc, random.Random(8)
    base = enc.encode(" ".join(TEXT[:60]), disallowed_special=())
    find = both.reference.token_to_id
    odd = [
        find(token) for token in ("<0xFF>", "<0xE4>", "▁", "▁▁", "▁<r> <r>", "<r>", "<0xBD>", "<0xEF>", "<0xBF>", "a")
    ]
    rows = [rng.choices(odd, k=rng.randrange(1, 6)) for _ in range(100)]
    for _ in range(60):
        at = rng.randrange(len(base) - 150)
        row = base[at : at + rng.randrange(1, 150)]
        row.insert(max(0, len(row) - rng.randrange(12)), rng.choice(base))
        rows.append(enc.encode(enc.decode(row[:-4]), disallowed_special=()) + row[-4:] + rng.choices(odd, k=2))
    for row in rows:
        ids = enc.encode(enc.decode_bytes(row).decode(errors="replace"), allowed_special="all")
        same = [a == b for a, b in zip(ids, row)] + [False] * (len(ids) != len(row))
        want = same.index(False) if False in same else None
        assert enc.first_difference(row) == want
        for size in (1, 2, 5, len(row)):
            check = enc.canonical_check()
            for at in range(0, len(row), size):
                check.feed([])
                assert check.feed(row[at : at + size]) in (None, want)
            assert check.finish() == want


@pytest.mark.parametrize(
    "steps", [[BACK], [{"type": "Replace", "pattern": {"String": "@"}, "content": ""}], [metaspace()], []]
)
def test_what_a_decoder_makes_of_a_token_decides_whether_it_is_a_byte(tmp_path, steps):
    """The steps in front make it a byte, or only where it stands first; a token without text ends a run of bytes."""
    odd = [
        "@",
        "▁",
        "▁<0xC3>",
        "<0x@C3>",
        "@<0xA9>@",
        "<0xA▁9>",
        "<0xC3>▁",
        "<0xC3>",
        "<0xA9>",
        "<0xE2>",
        "<0x82>",
        "<0x41>",
        "a",
        "ö",
    ]
    made = record(decoder=sequence("decoders", *steps, FALLBACK, FUSE))
    vocab = made["model"]["vocab"]
    for token in odd:
        vocab.setdefault(token, len(vocab))
    both, rng = Both.of(tmp_path, made), random.Random(5)
    ids = [vocab[token] for token in odd]
    for _ in range(1500):
        row = rng.choices(ids, k=rng.randrange(1, 9))
        want = both.reference.decode(row, skip_special_tokens=False)
        assert both.enc.decode(row) == want, row
        stream, slots = both.enc.stream_decoder(), both.enc.batch_decoder(1)
        at = rng.randrange(len(row) + 1)
        assert stream.feed(row[:at]) + stream.feed(row[at:]) + stream.flush() == want
        assert "".join(slots.feed([0], [token])[0] for token in row) + slots.flush(0) == want


def test_completions_are_refused(tmp_path):
    with pytest.raises(ValueError, match="spells blanks as another character"):
        Both.of(tmp_path, record()).enc.encode_with_unstable("a b")


def test_a_file_of_a_model_of_characters_names_its_engine(tmp_path):
    assert Both.of(tmp_path, record()).enc.pattern_engine == "none"
    assert isinstance(Encoding.from_file(tmp_path / "tokenizer.json"), Encoding)
