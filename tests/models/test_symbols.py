"""Models of characters or bytes that are not all tokens, and those whose tokens at the ends of words are other ones:
small files made with Hugging Face's tokenizers give its ids, places and texts."""

from __future__ import annotations

import copy
import json
import pickle
import random
from typing import Any

import numpy as np
import oracle
import pytest
from small_models import TEXT, Both, added, refusal, texts

from streamtok import Encoding, VocabularyError, train
from streamtok.model_files.decoder_rules import Begun, bytes_behind, last_bytes

tokenizers = pytest.importorskip("tokenizers", reason="Hugging Face's tokenizers is not installed")
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers  # noqa: E402

V = ["<unk>", "a", "b", "ab", "a</w>", "b</w>", "ab</w>", "c", "é", "é</w>", "aé</w>", "bab"]
MERGES = [("a", "b"), ("a", "b</w>"), ("a", "é</w>"), ("b", "ab")]
LETTERS = [*"abcdeĠ", "<unk>", "ab", "Ġa", "Ã", "Ã©"]
OF_LETTERS = [("a", "b"), ("Ġ", "a"), ("Ã", "©")]
WORDS = {"type": "WhitespaceSplit"}
LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": False, "use_regex": True}
MORE = (
    "##",
    "##a",
    "<0x41>",
    "A",
    "a",
    "b",
    "ab",
    "c",
    "é",
    "x",
    "日",
    "</w>",
    " ",
    "<unk>",
    "😀",
    "ab" * 40,
    "xx" * 40,
    "x",
    "##_",
    "_",
    "b</w>",
)


INNER = ["<unk>", *"abcé", "##a", "##b", "##é", "ab", "##ab", "abab", "a</w>", "b</w>", "##b</w>", "##a</w>", "ab</w>"]
OF_INNER = [("##a", "##b"), ("a", "##b"), ("ab", "##ab"), ("a", "##b</w>"), ("##a", "##b</w>"), ("ab", "##ab</w>")]
LETTERS_INNER = [*LETTERS, *("##" + letter for letter in "abcĠÃ©"), "##ab", "##Ã©", "Ġab"]
OF_LETTERS_INNER = [("a", "##b"), ("##a", "##b"), ("Ġ", "##ab"), ("##Ã", "##©"), ("Ã", "##©")]
TWICE = [*"ab#_", "##_", "##a", "a_", "##b_", "#_"]
BYTES = ["<0x41>", "<0xC3>", "<0xA9>", "<0xE6>", "<0x97>", "<0xA5>", "<0x61>", "<0x78>"]
PLAIN = ["<unk>", *"abc ", "ab", "bab", "▁", *BYTES]


def small(vocab: list[str], merges: list[Any], pre_tokenizer: Any, **settings: Any) -> dict[str, Any]:
    there, skipped = set(vocab), len(settings.get("continuing_subword_prefix", ""))
    merges = [pair for pair in merges if there >= {*pair, pair[0] + pair[1][skipped:]}]
    made: dict[str, Any] = json.loads(Tokenizer(models.BPE(dict(zip(vocab, range(99))), merges, **settings)).to_str())
    return made | {"pre_tokenizer": pre_tokenizer, "decoder": {"type": "Fuse"}}


UNKNOWN: list[dict[str, Any]] = [{}, {"unk_token": "<unk>"}, {"unk_token": "<unk>", "fuse_unk": True}]
KINDS = [
    *(small(V, MERGES, pre, **unknown) for pre in (None, WORDS) for unknown in UNKNOWN),
    *(small(V, MERGES, pre, **unknown, end_of_word_suffix="</w>") for pre in (None, WORDS) for unknown in UNKNOWN),
    *(small(V, MERGES, pre, **unknown, ignore_merges=True) for pre in (None, WORDS) for unknown in UNKNOWN),
    *(small(LETTERS, OF_LETTERS, LEVEL, **unknown) for unknown in UNKNOWN),
    *(small([*LETTERS, "b</w>", "ab</w>"], [("a", "b</w>")], LEVEL, **u, end_of_word_suffix="</w>") for u in UNKNOWN),
    small(LETTERS, OF_LETTERS, LEVEL, unk_token="<unk>", ignore_merges=True),
    small([*V, "##"], MERGES, WORDS, end_of_word_suffix="##", byte_fallback=False),
    small(V, MERGES, WORDS, byte_fallback=False, dropout=0.0),
    *(
        small(INNER, OF_INNER, pre, continuing_subword_prefix="##", **unknown, **more)
        for unknown in UNKNOWN
        for pre, more in ((None, {}), (WORDS, {"end_of_word_suffix": "</w>"}), (WORDS, {"ignore_merges": True}))
    ),
    *(small(V, MERGES, WORDS, end_of_word_suffix="</w>", ignore_merges=True, **unknown) for unknown in UNKNOWN),
    # A special token that is a character at the end of a word, too.
    added(
        small([*LETTERS, "b</w>", "a</w>"], [], LEVEL, end_of_word_suffix="</w>", ignore_merges=True),
        "b</w>",
        special=True,
    ),
    # "##_" has a prefix, and what looks like a suffix.
    small(TWICE, [], None, continuing_subword_prefix="##", end_of_word_suffix="_", ignore_merges=True),
    *(
        small(LETTERS_INNER, OF_LETTERS_INNER, LEVEL, continuing_subword_prefix="##", ignore_merges=whole, **unknown)
        for unknown in UNKNOWN
        for whole in (False, True)
    ),
    *(
        small(PLAIN, MERGES, pre, byte_fallback=True, ignore_merges=whole, **unknown)
        for unknown in UNKNOWN
        for pre, whole in ((None, False), (WORDS, False), (WORDS, True))
    ),
    small([*PLAIN, *(f"<0x{byte:02X}>" for byte in range(256))], MERGES, WORDS, byte_fallback=True, ignore_merges=True),
]


def all_ways(both: Both, given: list[str]) -> None:
    both.check(given)
    slow = Encoding.from_file(both.enc.name, engine="reference")
    for text in given:
        found = both.reference.encode(text, add_special_tokens=False)
        assert slow.encode(text, allowed_special="all") == found.ids, text
        ids, places = both.enc.encode_with_offsets(text, allowed_special="all")
        assert ids.tolist() == found.ids and places.tolist() == [start for start, _ in found.offsets], text
        stream = both.enc.stream_encoder(allowed_special="all")
        made = []
        for byte in text.encode():
            made += stream.feed(bytes([byte])).tolist()
            state = stream.getstate()
            stream = both.enc.stream_encoder(allowed_special="all")
            stream.setstate(state)
        assert made + stream.flush().tolist() == found.ids, text
    rows = [both.reference.encode(text, add_special_tokens=False).ids for text in given]
    assert both.enc.encode_batch(given, num_threads=2, allowed_special="all") == rows
    assert both.enc.get_vocab() == both.reference.get_vocab(with_added_tokens=True)


@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_what_is_no_token(tmp_path, kind):
    both = Both.of(tmp_path, KINDS[kind])
    rng = random.Random(kind)
    all_ways(
        both,
        ["", *("".join(rng.choices(MORE, k=rng.choice((1, 2, 3, 5, 9)))) for _ in range(150 if oracle.LONG else 75))],
    )


@pytest.mark.parametrize("kind", range(0, len(KINDS), 3))
def test_copies_and_files(tmp_path, kind):
    both = Both.of(tmp_path, KINDS[kind])
    for same in (copy.copy(both.enc), pickle.loads(pickle.dumps(both.enc))):
        assert same.fingerprint == both.enc.fingerprint
    train.save(both.enc, tmp_path / "again.json")
    again = Both(tmp_path / "again.json")
    assert again.enc.fingerprint == both.enc.fingerprint
    all_ways(again, [*MORE, "ab ab", "axb", "éx"])
    kept = Encoding.from_file(tmp_path / "tokenizer.json", cache=True)
    assert kept.fingerprint == both.enc.fingerprint
    opened = Encoding.from_file(tmp_path / "tokenizer.json")
    for text in texts(1, 50, *MORE):
        ids = both.reference.encode(text).ids
        assert kept.encode(text, "all") == opened.encode(text, "all") == ids
    with pytest.raises(VocabularyError):
        both.enc.with_longest_match()


def test_other_settings_have_other_fingerprints(tmp_path):
    found = set()
    for kind in KINDS[:6]:
        found.add(Both.of(tmp_path, kind).enc.fingerprint)
    assert len(found) == 6


def trained(by_bytes: bool) -> dict[str, Any]:
    """As CLIP's, or as GPT-1's."""
    tok = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tok.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Lowercase()])
    parts = [pre_tokenizers.Whitespace(), *([level] if by_bytes else [])]
    tok.pre_tokenizer = pre_tokenizers.Sequence(parts)
    tok.decoder = decoders.ByteLevel() if by_bytes else decoders.BPEDecoder()
    alphabet = pre_tokenizers.ByteLevel.alphabet() if by_bytes else []
    trainer = trainers.BpeTrainer(
        vocab_size=1500,
        special_tokens=["<unk>"],
        initial_alphabet=alphabet,
        end_of_word_suffix="</w>",
        show_progress=False,
    )
    tok.train_from_iterator(TEXT, trainer)
    made: dict[str, Any] = json.loads(tok.to_str())
    if by_bytes:  # as in CLIP's file, where each byte may end a word
        vocab = made["model"]["vocab"]
        for letter in sorted(alphabet):
            vocab.setdefault(f"{letter}</w>", len(vocab))
    return made


@pytest.mark.parametrize("by_bytes", [False, True])
def test_words_that_end(tmp_path, by_bytes):
    both = Both.of(tmp_path, trained(by_bytes))
    all_ways(both, [*texts(3, 150, "hello", "東京", "<unk>"), *(line[:300] for line in TEXT[-40:])])
    both.check_rows(list(range(0, 1500, 7)))


@pytest.mark.parametrize(
    "decoder",
    [
        {"type": "BPEDecoder", "suffix": "</w>"},
        {"type": "BPEDecoder", "suffix": "a"},
        {"type": "Sequence", "decoders": [{"type": "BPEDecoder", "suffix": "</w>"}, {"type": "Fuse"}]},
        {"type": "WordPiece", "prefix": "a", "cleanup": True},
        {"type": "CTC", "pad_token": "<unk>", "word_delimiter_token": "c", "cleanup": True},
        {"type": "CTC", "pad_token": "b", "word_delimiter_token": "c", "cleanup": False},
    ],
)
def test_decoders_that_look_at_other_tokens(tmp_path, decoder):
    both = Both.of(tmp_path, KINDS[6] | {"decoder": decoder})
    rng = random.Random(5)
    for _ in range(300):
        row = [rng.randrange(len(V)) for _ in range(rng.randrange(9))]
        want = both.reference.decode(row, skip_special_tokens=False)
        assert both.enc.decode(row) == want, row
        assert both.enc.decode_bytes(row) == b"".join(both.enc.decode_tokens_bytes(row)) == want.encode()
        stream, parts = both.enc.stream_decoder(), []
        for token in row:
            parts.append(stream.feed(token))
            stream = rng.choice([copy.copy, lambda d: pickle.loads(pickle.dumps(d))])(stream)
        assert "".join(parts) + stream.flush() == want
        place, data, cut = Begun(), b"", rng.randrange(len(row) + 1)
        for part in (row[:cut], row[cut:]):
            more, place = bytes_behind(both.enc, place, np.array(part, np.uint32))
            data += more
        assert data + last_bytes(both.enc, place) == want.encode()
        assert both.enc.decode_batch([row, row[:1]], num_threads=2)[0] == want
        check = both.enc.canonical_check()
        for token in row:
            check.feed([token])
        assert check.finish() == both.enc.first_difference(row)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"unk_token": "a"}, "takes part in merges"),
        ({"dropout": 0.1}, "which is for training: write null"),
        ({"continuing_subword_prefix": "é"}, "model.continuing_subword_prefix: the reference takes as many bytes"),
        ({"end_of_word_suffix": "b"}, "is made with characters of end_of_word_suffix"),
    ],
)
def test_models_that_are_refused(tmp_path, changes, says):
    made = small(V, MERGES, WORDS)
    made["model"] |= changes
    assert says in refusal(tmp_path, made)


@pytest.mark.parametrize(
    ("vocab", "changes", "says"),
    [
        ([*V, "<0x41>"], {"end_of_word_suffix": "</w>", "byte_fallback": True}, "end_of_word_suffix: byte_fallback is"),
        ([*"ab", "a_"], {"continuing_subword_prefix": "a", "end_of_word_suffix": "_"}, "is a character at one place"),
    ],
)
def test_affixes_that_are_refused(tmp_path, vocab, changes, says):
    made = small(vocab, [], WORDS)
    made["model"] |= changes
    assert says in refusal(tmp_path, made)


def test_a_merge_that_makes_what_looks_like_the_inside_of_a_word_is_refused(tmp_path):
    made = small(["a", "aab", "ab", "aac"], [], None)
    made["model"] |= {"continuing_subword_prefix": "a", "merges": [["a", "aab"]]}
    assert "looks like a token at another place of a word" in refusal(tmp_path, made)


@pytest.mark.parametrize(
    ("decoder", "says"),
    [
        ({"type": "BPEDecoder", "suffix": ""}, "decoder.suffix: it is empty"),
        ({"type": "CTC", "pad_token": "a", "word_delimiter_token": "", "cleanup": True}, "word_delimiter_token"),
        (
            {"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "BPEDecoder", "suffix": "</w>"}]},
            "with another one beside it",
        ),
    ],
)
def test_decoders_that_are_refused(tmp_path, decoder, says):
    assert says in refusal(tmp_path, KINDS[6] | {"decoder": decoder})
