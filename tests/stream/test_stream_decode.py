"""Decoding as ids come: whole characters only, and the text of decode() in the end."""

from __future__ import annotations

import random

import numpy as np
import oracle

import streamtok

MODES = ["replace", "ignore", "strict", "backslashreplace"]


def decoded(decoder, parts) -> str:
    return "".join([decoder.feed(part) for part in parts]) + decoder.flush()


def test_special_tokens_are_decoded(enc):
    ids = enc.encode("a<|endoftext|>中<|fim_prefix|>", allowed_special="all")
    assert decoded(enc.stream_decoder(), [[token] for token in ids]) == "a<|endoftext|>中<|fim_prefix|>"


def test_ids_as_any_iterable(enc):
    ids = enc.encode("hello 中 world")
    for given in (tuple(ids), np.array(ids, np.uint32), np.array(ids), iter(ids), (token for token in ids)):
        assert decoded(enc.stream_decoder(), [given]) == "hello 中 world"
    assert enc.stream_decoder().feed([]) == ""


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
