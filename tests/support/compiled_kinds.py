"""Small encodings of every kind of model, for what is written of one and opened elsewhere; and texts for them."""

from __future__ import annotations

import functools
import io
import json
import pathlib
import random
from collections.abc import Callable
from typing import Any

import streamtok
from streamtok import Encoding

KINDS: dict[str, Callable[[pathlib.Path], Encoding]] = {}


def kind(function: Callable[[pathlib.Path], Encoding]) -> Callable[[pathlib.Path], Encoding]:
    KINDS[function.__name__] = function
    return function


def of_record(made: dict[str, Any], folder: pathlib.Path) -> Encoding:
    path = folder / "tokenizer.json"
    path.write_text(json.dumps(made, ensure_ascii=False), encoding="utf-8")
    return Encoding.from_file(path)


@kind
def bundled(folder: pathlib.Path) -> Encoding:
    return streamtok.get_encoding("r50k_base")


@kind
def ranks(folder: pathlib.Path) -> Encoding:
    tokens = {bytes([byte]): 7 + byte for byte in range(256)} | {
        b"th": 300,
        b"the": 301,
        b" the": 302,
        b" t": 303,
        b"he": 310,
    }
    special = {"<|a|>": 400, "<|ab|>": 401, "<|end|>": 402}
    return Encoding("ranks", pat_str=r"\p{L}+| ?\d+|\s+|[^\s\p{L}]+", mergeable_ranks=tokens, special_tokens=special)


@kind
def longest(folder: pathlib.Path) -> Encoding:
    tokens = {bytes([byte]): byte + 1 for byte in range(256)} | {
        b"hello world": 300,
        "日本".encode(): 301,
        b"  ": 302,
        b"lo": 303,
    }
    return Encoding.longest_match("longest", tokens, special_tokens={"<|a|>": 500})


@kind
def llama3(folder: pathlib.Path) -> Encoding:
    import kinds_of_tokenizers

    return of_record(kinds_of_tokenizers.llama3(), folder)


@kind
def roberta(folder: pathlib.Path) -> Encoding:
    import kinds_of_tokenizers

    return of_record(kinds_of_tokenizers.roberta(), folder)


@kind
def characters(folder: pathlib.Path) -> Encoding:
    import kinds_of_tokenizers

    return of_record(kinds_of_tokenizers.characters(), folder)


@kind
def names_with_rules(folder: pathlib.Path) -> Encoding:
    """Added tokens that take white space, stand alone, or are sought in normalized text, with a normalizer."""
    from small_models import added, record

    made = record(420, normalizer={"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}]})
    added(made, "<s>", "</s>", special=True)
    added(added(made, "<Left>", lstrip=True), "<right>", rstrip=True)
    return of_record(
        added(added(made, "alone", single_word=True), "Late", "Ünder", normalized=True, special=True), folder
    )


@kind
def affixed(folder: pathlib.Path) -> Encoding:
    """Tokens at the ends of words are other ones, and not all characters are tokens."""
    from small_models import TEXT
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, trainers

    tok = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    tok.pre_tokenizer, tok.normalizer = pre_tokenizers.BertPreTokenizer(), normalizers.Lowercase()
    given = {"vocab_size": 600, "special_tokens": ["<unk>"], "end_of_word_suffix": "</w>", "show_progress": False}
    tok.train_from_iterator(TEXT[:500], trainers.BpeTrainer(**given))
    made = json.loads(tok.to_str())
    return of_record(made | {"decoder": {"type": "BPEDecoder", "suffix": "</w>"}}, folder)


@kind
def wordpiece(folder: pathlib.Path) -> Encoding:
    from small_models import TEXT
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

    tok = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tok.normalizer, tok.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    tok.train_from_iterator(
        TEXT[:500], trainers.WordPieceTrainer(vocab_size=700, special_tokens=names, show_progress=False)
    )
    tok.decoder, tok.post_processor = decoders.WordPiece(), processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return of_record(json.loads(tok.to_str()), folder)


@kind
def word_level(folder: pathlib.Path) -> Encoding:
    vocab = {token: i for i, token in enumerate(["[UNK]", "a", "ab", "b", "é", "日", "hello", "world", "x", "-"])}
    made = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": {"type": "Nmt"}}
    model = {"type": "WordLevel", "vocab": vocab, "unk_token": "[UNK]"}
    rest = {"pre_tokenizer": {"type": "Whitespace"}, "post_processor": None, "decoder": None, "model": model}
    return of_record(made | rest, folder)


@kind
def steps_in_turn(folder: pathlib.Path) -> Encoding:
    """Pieces of pieces, of which something is done to each, and marks where the text begins."""
    vocab = ["<unk>", *"▁_abAhelowrd19.- é日本", "▁a", "_a", "▁▁", "he", "hell", "▁_▁h", "or", "ld"]
    model = {"type": "Unigram", "unk_id": 0, "vocab": [[text, -1.0 - i] for i, text in enumerate(vocab)]}
    marks = [
        {"type": "Metaspace", "replacement": mark, "prepend_scheme": scheme, "split": False}
        for mark, scheme in (("▁", "first"), ("_", "always"), ("▁", "first"))
    ]
    splits = ({"type": "WhitespaceSplit"}, {"type": "UnicodeScripts"}, {"type": "Digits", "individual_digits": True})
    given = [step for pair in zip(splits, marks, strict=True) for step in pair]
    made = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": []}
    made["normalizer"] = {"type": "Strip", "strip_left": True, "strip_right": False}
    rest = {"post_processor": None, "decoder": None, "model": model}
    return of_record(made | rest | {"pre_tokenizer": {"type": "Sequence", "pretokenizers": given}}, folder)


@functools.cache
def _sentencepiece(**options: Any) -> bytes:
    import sentencepiece
    from small_models import TEXT

    made = io.BytesIO()
    given = {"vocab_size": 600, "byte_fallback": True, "minloglevel": 2, **options}
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(TEXT[:600]), model_writer=made, **given)
    return made.getvalue()


def of_sentences(folder: pathlib.Path, **options: Any) -> Encoding:
    path = folder / "a.model"
    path.write_bytes(_sentencepiece(**options))
    return Encoding.from_file(path)


@kind
def sentence_pairs(folder: pathlib.Path) -> Encoding:
    return of_sentences(folder, model_type="bpe", normalization_rule_name="identity", remove_extra_whitespaces=False)


@kind
def sentence_unigram(folder: pathlib.Path) -> Encoding:
    return of_sentences(folder, model_type="unigram", user_defined_symbols="<x>,▁▁", control_symbols="<ctl>")


@kind
def sentence_characters(folder: pathlib.Path) -> Encoding:
    return of_sentences(folder, model_type="char", byte_fallback=False)


@kind
def sentence_words(folder: pathlib.Path) -> Encoding:
    return of_sentences(folder, model_type="word", byte_fallback=False)


ALPHABET = [
    *"'sStTlL aAbB  \n\n\r\t1129!./-_<>xyz",
    *("é", "e\u0301", "中", "日本", "あ", "\u0301", "😀", "\u2028", "²", "ﬁ", "\x00", "▁", "Ü"),
    *(
        "hello",
        " hello world",
        "the ",
        " the",
        "<s>",
        "</s>",
        "<|a|>",
        "<|ab|>",
        "<|end|>",
        "<|endoftext|>",
        "<x>",
        "<ctl>",
    ),
    *("[CLS]", "<left>", "<Left>", " <right> ", "alone", " alone ", "Late", "late", "ünder", "xx" * 40, " " * 30),
]


def texts(seed: int, count: int) -> list[str]:
    rng = random.Random(seed)
    made = ["".join(rng.choices(ALPHABET, k=rng.randrange(1, 14))) for _ in range(count)]
    return ["", " ", "hello world", "a" * 300, *made, "".join(rng.choices(ALPHABET, k=3000))]
