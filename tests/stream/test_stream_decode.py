"""Decoding as ids come: whole characters only, and the text of decode() in the end."""

from __future__ import annotations

import copy
import pickle
import random

import hypothesis
import hypothesis.strategies as st
import nasty
import numpy as np
import oracle
import pytest

import streamtok

MODES = ["replace", "ignore", "strict", "backslashreplace"]


def decoded(decoder, parts) -> str:
    return "".join([decoder.feed(part) for part in parts]) + decoder.flush()


def test_text_comes_back_at_every_cut(family):
    _, ours, _ = family
    for text in nasty.FIXED[::2]:
        ids = ours.encode(text, disallowed_special=())
        for cut in range(len(ids) + 1):
            assert decoded(ours.stream_decoder(errors="strict"), [ids[:cut], ids[cut:]]) == text
        assert decoded(ours.stream_decoder(errors="strict"), [[token] for token in ids]) == text


@pytest.mark.parametrize("errors", MODES[:2] + MODES[3:])
def test_ids_that_are_no_utf8_are_decoded_as_the_whole(family, errors):
    _, ours, _ = family
    rng = random.Random(errors)
    singles = [ours.encode_single_token(bytes([value])) for value in range(256)]
    tokens = list(ours._mergeable_ranks.values())
    for _ in range(400):
        ids = [rng.choice(singles) if rng.random() < 0.7 else rng.choice(tokens) for _ in range(rng.randint(1, 12))]
        want = ours.decode(ids, errors=errors)
        for cut in range(len(ids) + 1):
            assert decoded(ours.stream_decoder(errors=errors), [ids[:cut], ids[cut:]]) == want, (ids, cut)
        assert decoded(ours.stream_decoder(errors=errors), [[token] for token in ids]) == want
    for data in nasty.random_bytes(rng, 1000):
        ids = [singles[value] for value in data]
        assert decoded(ours.stream_decoder(errors=errors), [[token] for token in ids]) == data.decode("utf-8", errors)


def test_no_character_comes_before_it_is_whole(enc):
    """Every result is a beginning of the text: no U+FFFD for a character that completes later."""
    text = "naïve 中文 😀👩\u200d🚀 é" * 3
    for ids in (enc.encode(text), [enc.encode_single_token(bytes([value])) for value in text.encode()]):
        decoder, seen, fed = enc.stream_decoder(), "", b""
        for token in ids:
            seen += decoder.feed([token])
            fed += enc.decode_single_token_bytes(token)
            assert text.startswith(seen)
            assert seen.encode() + fed[len(seen.encode()) :] == fed
            assert decoder.pending == len(fed) - len(seen.encode()) <= 3
        assert seen + decoder.flush() == text


@hypothesis.given(text=st.text(), data=st.data())
def test_hyp_cut_anywhere(tiny, text, data):
    ids = tiny.encode(text, disallowed_special=())
    cuts = sorted(data.draw(st.lists(st.integers(0, len(ids)), max_size=5)))
    parts = [ids[a:b] for a, b in zip([0, *cuts], [*cuts, len(ids)])]
    assert decoded(tiny.stream_decoder(errors="strict"), parts) == text


def test_special_tokens_are_decoded(enc):
    ids = enc.encode("a<|endoftext|>中<|fim_prefix|>", allowed_special="all")
    assert decoded(enc.stream_decoder(), [[token] for token in ids]) == "a<|endoftext|>中<|fim_prefix|>"


def test_ids_as_any_iterable(enc):
    ids = enc.encode("hello 中 world")
    for given in (tuple(ids), np.array(ids, np.uint32), np.array(ids), iter(ids), (token for token in ids)):
        assert decoded(enc.stream_decoder(), [given]) == "hello 中 world"
    assert enc.stream_decoder().feed([]) == ""


def test_unknown_id_is_a_key_error_and_loses_nothing(enc):
    first, second, third = (enc.encode_single_token(bytes([value])) for value in "中".encode())
    for wrong in ([10**6], [third, 10**6], [10**6, third], [100_256]):
        decoder = enc.stream_decoder()
        assert decoder.feed([first, second]) == "" and decoder.pending == 2
        with pytest.raises(KeyError):
            decoder.feed(wrong)
        assert decoder.pending == 2
        assert decoder.feed([third]) == "中"
    others = [([-1], OverflowError), ([2**40], OverflowError), (["a"], TypeError), ([1.5], TypeError)]
    for wrong, kind in others:
        decoder = enc.stream_decoder()
        decoder.feed([first])
        with pytest.raises(kind):
            decoder.feed(wrong)
        assert decoder.feed([second, third]) == "中"


def test_strict_error_leaves_the_decoder_as_it_was(enc):
    first, second, third = (enc.encode_single_token(bytes([value])) for value in "中".encode())
    letter = enc.encode_single_token(b"a")
    decoder = enc.stream_decoder(errors="strict")
    decoder.feed([first, second])
    with pytest.raises(UnicodeDecodeError):
        decoder.feed([letter])
    with pytest.raises(UnicodeDecodeError):
        decoder.flush()
    assert decoder.pending == 2 and decoder.feed([third, letter]) == "中a"


def test_flush_ends_the_text_and_makes_ready_for_the_next(enc):
    first = enc.encode_single_token("中".encode()[:1])
    decoder = enc.stream_decoder()
    decoder.feed([first])
    assert decoder.flush() == "\ufffd" and decoder.pending == 0
    assert decoder.feed(enc.encode("x")) == "x" and decoder.flush() == ""
    decoder.feed([first])
    decoder.reset()
    assert decoder.pending == 0 and decoder.flush() == ""
    with enc.stream_decoder() as decoder:
        decoder.feed([first])
    assert decoder.pending == 0


@pytest.mark.parametrize(
    "way", [lambda d: d.copy(), copy.copy, copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))],
    ids=["copy", "copy.copy", "deepcopy", "pickle"],
)  # fmt: skip
def test_twin_goes_on_at_every_cut(enc, way):
    text = "中é😀a"
    ids = [enc.encode_single_token(bytes([value])) for value in text.encode()]
    decoder, seen = enc.stream_decoder(errors="strict"), ""
    for cut in range(len(ids)):
        twin = way(decoder)
        assert twin.pending == decoder.pending and twin.errors == "strict"
        assert twin.encoding.name == enc.name
        assert seen + twin.feed(ids[cut:]) + twin.flush() == text
        seen += decoder.feed(ids[cut : cut + 1])


def test_state_that_no_decoder_had_is_refused(enc):
    from streamtok.stream import _restore_decoder

    for pending in (b"abcd", b"a", "中".encode(), b"\xe4\xb8\xad\xe4"):
        with pytest.raises(ValueError):
            _restore_decoder(enc, "replace", pending)


def test_unknown_errors_mode_is_a_lookup_error(enc):
    with pytest.raises(LookupError):
        enc.stream_decoder(errors="nonsense")


def test_repr_names_the_encoding(enc):
    decoder = enc.stream_decoder()
    decoder.feed([enc.encode_single_token(b"\xe4")])
    assert repr(decoder) == "<StreamDecoder of 'cl100k_base', 1 bytes pending>"
    assert isinstance(decoder, streamtok.StreamDecoder)


def test_real_text(family):
    _, ours, _ = family
    text = oracle.topics()[:100_000] + "中文 😀" * 1000
    ids, rng = ours.encode_to_numpy(text), random.Random(1)
    assert decoded(ours.stream_decoder(errors="strict"), oracle.random_cuts(rng, ids, (1, 5, 100))) == text
