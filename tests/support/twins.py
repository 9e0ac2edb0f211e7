"""Random calls of a patched tokenizer of transformers and of its twin, which has not been patched."""

from __future__ import annotations

import random
import warnings
from typing import Any

import nasty
import numpy as np

FIELDS = ("ids", "type_ids", "tokens", "offsets", "attention_mask", "special_tokens_mask", "word_ids", "sequence_ids")
_MAYBE = (None, None, True, False)


def texts_of(rng: random.Random, names: list[str], count: int, surrogates: bool) -> list[str]:
    alphabet = [*nasty.ALPHABET, *(name for name in names for _ in range(3)), *["hello", " world", ".\n", "Größe "] * 4]
    if surrogates:
        alphabet += ["\ud800", "\udc80"] * 3
    made = list(nasty.random_strings(rng, count, rng.choice((1, 5, 15, 40)), alphabet))
    return [text if rng.random() > 0.03 else "" for text in made]


def words_of(rng: random.Random, names: list[str]) -> list[str]:
    return texts_of(rng, names, rng.randrange(1, 5), False)


def random_inputs(rng: random.Random, names: list[str]) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """(positional arguments, is_split_into_words or nothing)."""
    count, form = rng.choice((1, 2, 3, 7)), rng.random()
    surrogates = rng.random() < 0.03
    many = texts_of(rng, names, count, surrogates) or ["x"]
    others = (texts_of(rng, names, count, surrogates) + ["y"] * count)[: len(many)]
    if form < 0.25:
        return (many[0],), {}
    if form < 0.5:
        return (many,), {}
    if form < 0.6:
        return (many[0], others[0]), {}
    if form < 0.7:
        return (many, others), {}
    if form < 0.75:
        return ([(a, b) for a, b in zip(many, others)],), {}
    words = [words_of(rng, names) for _ in many]
    if form < 0.82:
        return (words[0],), {"is_split_into_words": True}
    if form < 0.95:
        return (words,), {"is_split_into_words": True}
    others = [words_of(rng, names) for _ in many]
    if form < 0.97:
        return (list(zip(words, others)),), {"is_split_into_words": True}
    return (words, others), {"is_split_into_words": True}


def random_options(rng: random.Random) -> dict[str, Any]:
    made: dict[str, Any] = {
        "add_special_tokens": rng.choice((True, True, False)),
        "padding": rng.choice((False, False, True, "longest", "max_length")),
        "truncation": rng.choice((None, None, False, True, "longest_first", "only_first", "only_second")),
        "max_length": rng.choice((None, None, 1, 3, 6, 10, 24, 200)),
        "stride": rng.choice((0, 0, 0, 0, 1, 2)),
        "pad_to_multiple_of": rng.choice((None, None, None, 4, 8)),
        "padding_side": rng.choice((None, None, "left", "right")),
        "return_tensors": rng.choice((None, None, None, "np", "pt")),
        "return_overflowing_tokens": rng.random() < 0.05,
        "return_special_tokens_mask": rng.random() < 0.4,
        "return_offsets_mapping": rng.random() < 0.4,
        "return_length": rng.random() < 0.3,
        "return_token_type_ids": rng.choice(_MAYBE),
        "return_attention_mask": rng.choice(_MAYBE),
        "split_special_tokens": rng.random() < 0.05,
    }
    return {name: value for name, value in made.items() if rng.random() < 0.6}


def outcome(call: Any, *arguments: Any, **options: Any) -> Any:
    """What a call returns, or what it raises."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return call(*arguments, **options)
    except Exception as error:
        return type(error), str(error)
    except BaseException as error:  # a panic in Rust is no Exception
        assert "PanicException" in type(error).__name__
        return type(error), str(error)


def same(found: Any, wanted: Any) -> bool:
    """Equal, of the same types, in the same order."""
    if type(found) is not type(wanted):
        return False
    if hasattr(wanted, "encodings"):
        return list(found.data) == list(wanted.data) and all(same(found[key], wanted[key]) for key in wanted.data)
    if isinstance(wanted, dict):
        return list(found) == list(wanted) and all(same(found[key], wanted[key]) for key in wanted)
    if isinstance(wanted, (list, tuple)):
        return len(found) == len(wanted) and all(map(same, found, wanted))
    if hasattr(wanted, "dtype"):
        if found.dtype != wanted.dtype or tuple(found.shape) != tuple(wanted.shape):
            return False
        if wanted.dtype == object:
            return all(map(same, found.tolist(), wanted.tolist()))
        return bool(np.array_equal(np.asarray(found), np.asarray(wanted)))
    return bool(found == wanted)


def assert_same(found: Any, wanted: Any, about: Any) -> None:
    assert same(found, wanted), f"{about}\n{found}\n{wanted}"


def assert_same_encodings(found: Any, wanted: Any, about: Any) -> None:
    """Those of two BatchEncodings."""
    assert found.n_sequences == wanted.n_sequences and found.is_fast and len(found.encodings) == len(wanted.encodings)
    for ours, theirs in zip(found.encodings, wanted.encodings):
        for field in FIELDS:
            assert getattr(ours, field) == getattr(theirs, field), (field, about)


def check_calls(patched: Any, twin: Any, names: list[str], seed: int, count: int) -> None:
    """Random calls of both give the same. Random settings of both in between, too."""
    rng = random.Random(seed)
    for _ in range(count):
        if rng.random() < 0.05:
            side = rng.choice(("left", "right"))
            patched.padding_side = twin.padding_side = side
            patched.truncation_side = twin.truncation_side = rng.choice(("left", "right"))
        arguments, split = random_inputs(rng, names)
        options = random_options(rng) | split
        about = arguments, options
        wanted = outcome(twin, *arguments, **options)
        found = outcome(patched, *arguments, **options)
        assert_same(found, wanted, about)
        if hasattr(wanted, "encodings") and rng.random() < 0.2:
            assert_same_encodings(found, wanted, about)
        if hasattr(wanted, "encodings"):
            check_decoding(patched, twin, wanted["input_ids"], rng)


def check_decoding(patched: Any, twin: Any, ids: Any, rng: random.Random) -> None:
    options = {"skip_special_tokens": rng.random() < 0.5}
    if rng.random() < 0.3:
        options["clean_up_tokenization_spaces"] = rng.random() < 0.5
    for name in ("decode", "batch_decode"):
        wanted = outcome(getattr(twin, name), ids, **options)
        assert_same(outcome(getattr(patched, name), ids, **options), wanted, (name, ids, options))
