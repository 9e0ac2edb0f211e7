"""Encoding and decoding whole texts: tiktoken's ids, whatever the text and the method."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import oracle
import pytest
from oracle import assert_same

import streamtok

each_family = pytest.mark.parametrize("name", oracle.FAMILIES)


# ==== Against tiktoken ====


def test_encoding_taken_from_tiktoken_is_the_same(family):
    name, ours, theirs = family
    copy = streamtok.Encoding.from_tiktoken(theirs)
    assert copy.name == name and copy.n_vocab == theirs.n_vocab and copy.fingerprint == ours.fingerprint
    text = oracle.topics()[:100_000] + "<|endoftext|>"
    assert copy.encode(text, allowed_special="all") == theirs.encode(text, allowed_special="all")


# ==== Engines ====


@each_family
def test_words_that_differ_in_one_byte_have_their_own_ids(name):
    """Of up to 40 bytes, the place anywhere, each several times and behind every other: what is kept of one must not
    be taken for another."""
    fast, reference = oracle.ours(name), oracle.ours(name, "reference")
    rng = random.Random(f"one byte {name}")
    for size in range(1, 41):
        letters = rng.choice(("abcdefghijklmnopqrstuvwxyz", "aB", "etaoin"))
        word = rng.choices(letters, k=size)
        words = [[*word[:at], letter, *word[at + 1 :]] for at in range(size) for letter in rng.sample("qxzJé", 3)]
        words = [rng.choice((" ", "")) + "".join(letters) for letters in [word, *words]] * 3
        for text in ("\n".join(rng.sample(words, len(words))), "1".join(rng.sample(words, len(words)))):
            assert_same(fast.encode_to_numpy(text), reference.encode_to_numpy(text), fast)


# ==== The methods agree ====


def test_array_of_ids_is_uint32_and_read_only(enc):
    ids = enc.encode_to_numpy("hello world")
    assert ids.dtype == np.uint32 and not ids.flags.writeable and ids.flags.c_contiguous
    with pytest.raises(ValueError, match="read-only"):
        ids[0] = 1
    empty = enc.encode_to_numpy("")
    assert empty.dtype == np.uint32 and empty.shape == (0,)


def test_arrays_of_few_ids_and_of_many_keep_what_they_hold(enc):
    wanted, arrays = [], []
    for n in (0, 1, 2, 1023, 1024, 1025, 4095, 4096, 4097, 20_000, 1, 1024):
        text = " the" * n
        wanted.append(enc.encode(text))
        arrays.append(enc.encode_to_numpy(text))
    for ids, expected in zip(arrays, wanted):
        assert ids.tolist() == expected and not ids.flags.writeable
        with pytest.raises(ValueError):
            ids.flags.writeable = True


def test_memory_for_short_texts_is_not_shared_by_threads(enc):
    texts = [chr(0x430 + i % 32) * 7 + " word" * (i % 300) + str(i) for i in range(600)]
    wanted = [enc.encode(text) for text in texts]

    def both(i):
        return enc.encode(texts[i]) == wanted[i] == enc.encode_to_numpy(texts[i]).tolist()

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(both, list(range(600)) * 3))


def test_array_of_ids_outlives_encoding_and_text(make_tiny):
    enc = make_tiny()
    arrays = [enc.encode_to_numpy("abc" * n) for n in range(1, 200)]
    del enc
    tail = arrays[-1][3:]
    copies = [array.copy() for array in arrays]
    del arrays
    assert copies[0].tolist() == [257] and tail.tolist() == [257] * 196


# ==== Single tokens and pieces ====


def test_every_token_is_found_by_its_bytes_and_back(family):
    _, ours, theirs = family
    for data, rank in ours._mergeable_ranks.items():
        assert ours.encode_single_token(data) == rank
        assert ours.decode_single_token_bytes(rank) == data
    assert ours.token_byte_values() == theirs.token_byte_values()
    for name in ours.special_tokens_set:
        token = theirs.encode_single_token(name)
        assert ours.encode_single_token(name) == token == ours.encode_single_token(name.encode())
        assert ours.decode_single_token_bytes(token) == name.encode()


def test_piece_that_is_no_token_is_a_key_error(family):
    _, ours, theirs = family
    for piece in (b"", b"hello world", "中文、字符：", b"\xff\xfe\xfd", "<|nothing|>"):
        with pytest.raises(KeyError) as mine:
            ours.encode_single_token(piece)
        with pytest.raises(KeyError) as other:
            theirs.encode_single_token(piece)
        assert mine.value.args == other.value.args


# ==== Decoding ====


def test_pieces_of_few_bytes_are_the_definition_of_bpe(tiny):
    ranks = tiny._mergeable_ranks
    rng = random.Random(4)
    for _ in range(2000):
        piece = bytes(rng.choices(b"abc \xe4\xb8\xad\xc3\xa9", k=rng.randint(1, 90)))
        assert tiny._encode_single_piece(piece) == oracle.encode_piece(piece, ranks), piece
