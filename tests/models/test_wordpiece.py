"""Models of type WordPiece: small files made with Hugging Face's tokenizers give its ids, its offsets and its texts."""

from __future__ import annotations

import copy
import functools
import json
import pickle
import random
from typing import Any

import numpy as np
import pytest
import small_models
from cli_runs import run
from normal_strings import ALL, random_string
from small_models import EOS, TEXT, TEXT_STEP, Both, added, refusal, texts

from streamtok import Encoding, get_encoding, tables, train
from streamtok.gpu._fits import family_or_reason
from streamtok.native.vocab import Vocab

tokenizers = pytest.importorskip("tokenizers", reason="Hugging Face's tokenizers is not installed")
from tokenizers import Tokenizer, models, trainers  # noqa: E402

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
DECODER = {"type": "WordPiece", "prefix": "##", "cleanup": True}
UNCLEANED = {**DECODER, "cleanup": False}
DIGITS = {"type": "Digits", "individual_digits": True}
LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
BERT = {"type": "BertPreTokenizer"}
GPT2 = get_encoding("gpt2")._pat_str


def normalizer(**changes: object) -> dict[str, object]:
    chosen = {"clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True}
    return {"type": "BertNormalizer", **chosen, **changes}


def sequence(kind: str, *steps: object) -> dict[str, object]:
    return {"type": "Sequence", kind: list(steps)}


@functools.cache
def _trained(prefix: str) -> str:
    tok = Tokenizer(models.WordPiece(unk_token="[UNK]", continuing_subword_prefix=prefix))
    tok.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=False)
    tok.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(
        vocab_size=700, special_tokens=SPECIAL, continuing_subword_prefix=prefix, show_progress=False
    )
    tok.train_from_iterator([*(line.lower() for line in TEXT[:200]), *TEXT[-200:]], trainer)
    return str(tok.to_str())


def record(prefix: str = "##", **changes: Any) -> dict[str, Any]:
    """A tokenizer.json of type WordPiece; changes: other values of its members, those of `model` as model_NAME."""
    made: dict[str, Any] = json.loads(_trained(prefix))
    made |= {"normalizer": normalizer(), "decoder": {**DECODER, "prefix": prefix}}
    made["post_processor"] = {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}
    for name, value in changes.items():
        (made["model"] if name.startswith("model_") else made)[name.removeprefix("model_")] = copy.deepcopy(value)
    return made


def nasty_texts(seed: int, both: Both, count: int) -> list[str]:
    rng = random.Random(seed)
    vocab = [token for token in both.reference.get_vocab() if token not in SPECIAL]
    parts = [
        *vocab,
        *SPECIAL,
        "x" * 9,
        "x" * 100,
        "x" * 101,
        "é" * 100,
        "é" * 101,
        "ab" * 300,
        "\ufffd",
        "\x00",
        " ",
        "漢",
    ]
    found = ["", "a" * 5000, "a " * 300, "don't do not . , ' ?"]
    for _ in range(count):
        found.append(random_string(rng))
        found.append("".join(rng.choices(parts, k=rng.randrange(1, 9))))
        found.append(" ".join(rng.choices(parts, k=rng.randrange(1, 9))))
        found.append("".join(rng.choices(ALL, k=20)))
    return found


def test_words_longer_than_a_stream_holds_as_a_whole(tmp_path):
    """As long as the longest word that has ids, a character more and less, of characters of one to four bytes."""
    made = record(normalizer=None, pre_tokenizer={"type": "WhitespaceSplit"}, model_max_input_chars_per_word=300)
    both, letters = Both.of(tmp_path, added(made, "<x>")), ("e", "th", "é", "漢", "😀e")
    known = [word * (size // len(word)) for word in ("e", "th", "er") for size in (256, 258, 298, 300, 302, 700)]
    others = [letter * size + "e" for letter in letters for size in (64, 85, 128, 149, 299, 300)]
    texts = [
        f"{front}{word}{behind}" for word in known + others for front, behind in (("", ""), ("a ", " e"), ("", "<x>"))
    ]
    for seed in range(4):
        both.check(texts, seed)


def test_an_image_gives_the_same_ids(tmp_path):
    both = Both.of(tmp_path, record())
    vocab = both.enc._vocab
    image = np.frombuffer(vocab.to_image(), np.uint8)
    room = np.empty(len(image) + 64, np.uint8)
    at = -room.ctypes.data % 64
    room[at : at + len(image)] = image
    opened = Vocab(None, None, None, None, {}, image=room[at : at + len(image)])
    assert opened.own == vocab.own and opened.own is not None and opened.model == "wordpiece"
    for text in (b"the", b"unaffable", b"x" * 101, "é漢".encode()):
        assert opened.merge(text) == vocab.merge(text)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"normalizer": normalizer(lowercase=False)},
        {"normalizer": normalizer(strip_accents=False), "pre_tokenizer": sequence("pretokenizers", BERT)},
        {"normalizer": normalizer(strip_accents=True, lowercase=False, handle_chinese_chars=False), "decoder": None},
        {"normalizer": normalizer(clean_text=False), "model_max_input_chars_per_word": 9},
        {"normalizer": None, "pre_tokenizer": {"type": "WhitespaceSplit"}, "model_unk_token": "e"},
        {
            "normalizer": {"type": "NFKC"},
            "pre_tokenizer": {"type": "Whitespace"},
            "decoder": {**DECODER, "cleanup": False},
        },
        {"pre_tokenizer": None, "model_max_input_chars_per_word": 3000},
        {
            "pre_tokenizer": sequence("pretokenizers", BERT, {"type": "Digits", "individual_digits": True}),
            "prefix": "@é",
        },
        {"prefix": "", "model_max_input_chars_per_word": 0},
        {"prefix": "", "pre_tokenizer": {"type": "WhitespaceSplit"}},
    ],
    ids=str,
)
def test_ids_texts_and_offsets_are_those_of_the_reference(tmp_path, changes):
    made = added(record(**changes), "<x>", "new york", normalized=True)
    both = Both.of(tmp_path, added(made, " <l>", lstrip=True, rstrip=True))
    given = [*nasty_texts(len(str(changes)), both, 60), *texts(1, 60, "[MASK]", "<x>", "New  York", "##s")]
    both.check(given)
    slow = Encoding.from_file(tmp_path / "tokenizer.json", engine="reference")
    for text in given:
        expected = both.reference.encode(text, add_special_tokens=False)
        ids, places = both.enc.encode_with_offsets(text, allowed_special="all")
        assert ids.tolist() == expected.ids == slow.encode(text, allowed_special="all")
        assert both.enc.count(text, allowed_special="all") == len(ids)
        if " <l>" not in text:
            assert places.tolist() == [start for start, _ in expected.offsets], text
        assert both.enc.encode(text, allowed_special="all", add_special_tokens=True) == both.reference.encode(text).ids


def test_long_texts_threads_files_and_tables(tmp_path, monkeypatch):
    monkeypatch.setenv("STREAMTOK_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("STREAMTOK_TABLES", "found")
    both = Both.of(tmp_path, record())
    path = tmp_path / "tokenizer.json"
    rng = random.Random(7)
    text = " ".join("".join(rng.choices(["a", "the", "Zz", "é", "漢", "in", "\n", "."], k=3)) for _ in range(110_000))
    ids = np.array(both.reference.encode(text, add_special_tokens=False).ids)
    for threads in (1, 2, 3):
        assert np.array_equal(both.enc.encode_to_numpy(text, num_threads=threads), ids)
    kept = Encoding.from_file(path, cache=True)
    assert kept._vocab.path is not None and kept.fingerprint == both.enc.fingerprint
    revived = pickle.loads(pickle.dumps(both.enc))
    for other in (revived, Encoding.from_file(path), kept, Encoding.from_hf(both.reference)):
        assert np.array_equal(other.encode_to_numpy(text), ids)
        assert other.decode(ids[:99]) == both.enc.decode(ids[:99])
    short = both.enc.truncate(text, 1000)
    assert text.startswith(short) and both.enc.count(short) <= 1000 < both.enc.count(text[: len(short) + 1])
    tables.remove(str(path))
    (tmp_path / "in.txt").write_text(text, encoding="utf-8")
    run("encode", "-e", path, tmp_path / "in.txt", "-o", tmp_path / "out.npy")
    assert np.array_equal(np.load(tmp_path / "out.npy"), ids)


@pytest.mark.parametrize("most", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("prefix", ["##", "é", ""])
def test_a_token_inside_of_words_counts_without_its_prefix(tmp_path, most, prefix):
    vocab = ["[UNK]", "b", *(prefix + "b" * n for n in range(1, 7)), "é" * 4, prefix + "é" * 3, "é"]
    changes = {"model_vocab": {token: i for i, token in enumerate(dict.fromkeys(vocab))}, "model_unk_token": "[UNK]"}
    made = record(prefix, normalizer=None, post_processor=None, model_max_input_chars_per_word=most, **changes)
    both = Both.of(tmp_path, made | {"added_tokens": []})
    reference = Encoding.from_file(tmp_path / "tokenizer.json", engine="reference")
    given = ["b" * n for n in range(1, 8)] + ["béé", "bééé", "béééé", "ééé", "##b", "##bbb", "éb", "ébbb"]
    both.check(given)
    for text in given:
        found = both.reference.encode(text)
        ids, places = both.enc.encode_with_offsets(text)
        assert (ids.tolist(), places.tolist()) == (found.ids, [start for start, _ in found.offsets])
        assert reference.encode(text) == found.ids


def test_a_word_that_never_ends_takes_no_memory_and_becomes_one_unknown_token(tmp_path):
    """More characters than a word may have are only counted."""
    both = Both.of(tmp_path, record(model_max_input_chars_per_word=50))
    stream = both.enc.stream_encoder()
    for _ in range(200):
        assert stream.feed("ab" * 500).size == 0 and stream.pending <= 60
        stream = pickle.loads(pickle.dumps(stream))
    assert [*stream.feed(" a"), *stream.flush()] == both.reference.encode("x" * 51 + " a", add_special_tokens=False).ids


def test_a_file_that_is_written_back_is_the_same(tmp_path):
    both = Both.of(tmp_path, added(record(), "<x>"))
    train.save(both.enc, tmp_path / "again.json")
    train.save(both.enc, tmp_path / "folder")
    given = nasty_texts(3, both, 30)
    for again in (tmp_path / "again.json", tmp_path / "folder"):
        other = Encoding.from_file(again)
        assert all(other.encode(t, allowed_special="all") == both.enc.encode(t, allowed_special="all") for t in given)
    assert json.loads((tmp_path / "again.json").read_text("utf-8")) == json.loads(both.reference.to_str())


def test_kernels_take_words_of_white_space_and_punctuation(tmp_path):
    assert family_or_reason(Both.of(tmp_path, record(pre_tokenizer=BERT)).enc) == ("table", "")
    for pre in (None, DIGITS):
        family, reason = family_or_reason(Both.of(tmp_path, record(pre_tokenizer=pre)).enc)
        assert family is None and "words that are split by other rules" in reason


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"model_unk_token": None}, "model.unk_token: None stands where a string is needed"),
        ({"model_max_input_chars_per_word": -1}, "model.max_input_chars_per_word"),
        ({"model_continuing_subword_prefix": "#" * 65}, "it has more than 64 bytes"),
        ({"model_merges": []}, "model.merges: 'merges' is no setting that is known"),
        ({"model_vocab": {"[UNK]": 0, "": 1}, "model_unk_token": ""}, "the unknown token has no text"),
        ({"model_vocab": {"[UNK]": 0, "a": 0}}, "both have id 0"),
        ({"model_vocab": {}}, "there are no tokens"),
        ({"model_vocab": {"[UNK]": 0, "a" * 70000: 1}}, "more than 65,535"),
        ({"normalizer": {**normalizer(), "novel": 1}}, "normalizer.novel"),
        ({"normalizer": normalizer(lowercase=None)}, "normalizer.lowercase: None stands where true or false"),
        ({"pre_tokenizer": {**BERT, "novel": 1}}, "pre_tokenizer.novel"),
        (
            {"decoder": {"type": "BPEDecoder", "suffix": ""}},
            "decoder.suffix: it is empty",
        ),
    ],
)
def test_what_has_no_certain_meaning_is_refused(tmp_path, changes, says):
    made = record(**changes)
    if "model_vocab" in changes:
        made |= {"added_tokens": [], "post_processor": None}
    assert says in refusal(tmp_path, made)


def test_models_by_longest_match(tmp_path):
    """With all that a model's file says, but for merging."""
    made = small_models.record(normalizer={"type": "NFC"}, post_processor=small_models.template(TEXT_STEP, EOS))
    enc = Both.of(tmp_path, added(added(made, "<y>"), "<s>", "</s>", special=True)).enc
    greedy = enc.with_longest_match()
    tokens = greedy._packed.to_dict()
    assert tokens == enc._packed.to_dict() and greedy.suffix_ids == enc.suffix_ids != []
    text = "e\u0301 unbelievably<y> interesting tokens"
    ids = greedy.encode(text, add_special_tokens=True)
    assert ids != enc.encode(text, add_special_tokens=True) and greedy.decode(ids[:-1]) == "é" + text[2:]
    reference = Encoding.longest_match("r", tokens, special_tokens={}, pat_str=GPT2, engine="reference")
    parts = [reference.encode(part) for part in ("é unbelievably", " interesting tokens")]
    assert ids == [*parts[0], *enc.encode("<y>"), *parts[1], *enc.suffix_ids]
    revived = pickle.loads(pickle.dumps(greedy))
    assert revived.encode(text) == ids[:-1] and revived.fingerprint == greedy.fingerprint != enc.fingerprint
    with pytest.raises(ValueError, match="longest match"):
        train.save(greedy, tmp_path / "x.json")
    assert greedy.with_longest_match() is greedy
