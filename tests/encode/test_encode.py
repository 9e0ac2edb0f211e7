"""Encoding and decoding whole texts: tiktoken's ids, whatever the text and the method."""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor

import hypothesis
import hypothesis.strategies as st
import nasty
import numpy as np
import oracle
import pytest
from oracle import RANDOM_STRINGS, assert_same

import streamtok

each_family = pytest.mark.parametrize("name", oracle.FAMILIES)


# ==== Against tiktoken ====


def test_nasty_strings_are_encoded_as_by_tiktoken(pair):
    _, ours, theirs = pair
    wrong = [text for text in nasty.FIXED if ours.encode_ordinary(text) != theirs.encode_ordinary(text)]
    assert not wrong


def test_nasty_strings_with_special_tokens_are_encoded_as_by_tiktoken(pair):
    _, ours, theirs = pair
    for text in nasty.FIXED:
        assert ours.encode(text, allowed_special="all") == theirs.encode(text, allowed_special="all"), text
        assert ours.encode(text, disallowed_special=()) == theirs.encode(text, disallowed_special=()), text


def test_random_strings_are_encoded_as_by_tiktoken(family):
    name, ours, theirs = family
    rng = random.Random(f"encode {name}")
    for text in nasty.random_strings(rng, RANDOM_STRINGS):
        got = ours.encode(text, allowed_special="all")
        assert got == theirs.encode(text, allowed_special="all"), text


def test_all_short_strings_of_each_kind_are_encoded_as_by_tiktoken(family):
    """All 41,370 strings of up to four characters, joined by text that keeps the splits of neighbours apart."""
    name, ours, theirs = family
    text = "1 x. ".join(nasty.short_strings(4))
    assert_same(ours.encode_to_numpy(text), theirs.encode_to_numpy(text), ours, name)
    for text in nasty.short_strings(3):
        assert ours.encode_ordinary(text) == theirs.encode_ordinary(text), text


@each_family
@hypothesis.given(text=st.text())
def test_hyp_text_is_encoded_as_by_tiktoken(name, text):
    _, ours, theirs = oracle.pair(name)
    ids = ours.encode_ordinary(text)
    assert ids == theirs.encode_ordinary(text)
    assert ours.decode(ids) == text


@each_family
@hypothesis.given(text=st.lists(st.sampled_from(nasty.ALPHABET), max_size=100).map("".join))
def test_hyp_text_of_few_kinds_is_encoded_as_by_tiktoken(name, text):
    _, ours, theirs = oracle.pair(name)
    assert ours.encode_ordinary(text) == theirs.encode_ordinary(text)


def test_english_text_is_encoded_as_by_tiktoken(pair):
    name, ours, theirs = pair
    text = oracle.topics()
    assert_same(ours.encode_to_numpy(text), theirs.encode_to_numpy(text), ours, name)


def test_source_code_is_encoded_as_by_tiktoken(pair):
    name, ours, theirs = pair
    text = oracle.stdlib_sources()
    want = theirs.encode_to_numpy(text, disallowed_special=())
    assert_same(ours.encode_to_numpy(text, disallowed_special=()), want, ours, name)


def test_text_of_all_scripts_is_encoded_as_by_tiktoken(family):
    """Words made of neighbouring code points, in every block of the first plane and some of the second."""
    name, ours, theirs = family
    rng = random.Random(7)
    words = []
    for first in (*range(0x80, 0xD800, 64), *range(0xF900, 0x10000, 64), *range(0x10000, 0x12600, 64)):
        words += ["".join(chr(first + rng.randrange(64)) for _ in range(rng.randint(1, 40))) for _ in range(4)]
    rng.shuffle(words)
    text = "".join(word + rng.choice(["", " ", "\n", "'s ", "1", "!"]) for word in words)
    assert_same(ours.encode_to_numpy(text), theirs.encode_to_numpy(text), ours, name)


def test_damaged_vocabularies_are_encoded_as_by_tiktoken(damaged):
    _, ours, theirs = damaged
    text = oracle.topics()[:200_000]
    assert_same(ours.encode_to_numpy(text), theirs.encode_to_numpy(text), ours)
    rng = random.Random(3)
    for text in [*nasty.FIXED, *nasty.random_strings(rng, 2000)]:
        assert ours.encode_ordinary(text) == theirs.encode_ordinary(text), text


def test_encoding_taken_from_tiktoken_is_the_same(family):
    name, ours, theirs = family
    copy = streamtok.Encoding.from_tiktoken(theirs)
    assert copy.name == name and copy.n_vocab == theirs.n_vocab and copy.fingerprint == ours.fingerprint
    text = oracle.topics()[:100_000] + "<|endoftext|>"
    assert copy.encode(text, allowed_special="all") == theirs.encode(text, allowed_special="all")


def test_gpt2_of_every_input_byte_is_decoded_back(pair):
    _, ours, theirs = pair
    for value in range(256):
        token = ours.encode_single_token(bytes([value]))
        assert token == theirs.encode_single_token(bytes([value]))
        assert ours.decode_bytes([token]) == bytes([value])


# ==== Engines ====


@each_family
def test_reference_engine_gives_the_same_ids(name):
    fast, reference = oracle.ours(name), oracle.ours(name, "reference")
    assert reference.encode_ordinary("x") and reference._engine == "reference"
    for text in [*nasty.FIXED, *nasty.random_strings(random.Random(5), RANDOM_STRINGS)]:
        assert fast.encode_ordinary(text) == reference.encode_ordinary(text), text
    text = oracle.topics()[:300_000] + oracle.stdlib_sources()[:300_000] + "的" * 5000 + "a" * 5000 + " " * 5000
    got = fast.encode_to_numpy(text, disallowed_special=())
    assert_same(got, reference.encode_to_numpy(text, disallowed_special=()), fast)


def test_reference_engine_of_damaged_vocabularies_gives_the_same_ids(damaged):
    kind, fast, _ = damaged
    ranks = oracle.damaged_ranks(kind)
    reference = streamtok.Encoding(
        kind, pat_str=fast._pat_str, mergeable_ranks=ranks, special_tokens={}, engine="reference"
    )
    text = oracle.topics()[:100_000]
    assert_same(fast.encode_to_numpy(text), reference.encode_to_numpy(text), fast)


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


def test_every_method_gives_the_ids_of_encode(enc):
    for text in [*nasty.FIXED, oracle.topics()[:10_000]]:
        want = enc.encode(text, disallowed_special=())
        options = {"disallowed_special": ()}
        assert enc.encode_ordinary(text) == want
        assert enc.encode_to_numpy(text, **options).tolist() == want
        assert enc.count(text, **options) == len(want)
        assert enc.encode_batch([text], **options) == [want]
        assert enc.encode_ordinary_batch([text]) == [want]
        assert enc.encode_with_offsets(text, **options)[0].tolist() == want
        assert enc.encode_ragged([text], **options)[0].tolist() == want
        assert enc._encode_only_native_bpe(text) == want
        assert [token for part in enc.encode_stream([text], **options) for token in part.tolist()] == want


@pytest.mark.parametrize("kind", ["bytes", "bytearray", "memoryview", "numpy", "array", "slice"])
def test_buffers_are_encoded_as_the_str_they_hold(enc, kind):
    from array import array

    text = "naïve 中文 " * 400
    data = text.encode()
    buffer = {
        "bytes": lambda: data,
        "bytearray": lambda: bytearray(data),
        "memoryview": lambda: memoryview(data),
        "numpy": lambda: np.frombuffer(data, np.uint8),
        "array": lambda: array("B", data),
        "slice": lambda: memoryview(b"xx" + data + b"yy")[2:-2],
    }[kind]()
    want = enc.encode(text)
    assert enc.encode_to_numpy(buffer).tolist() == want
    assert enc.count(buffer) == len(want)
    assert enc.encode_ragged([buffer])[0].tolist() == want


def test_buffer_that_is_not_contiguous_is_refused(enc):
    with pytest.raises((ValueError, BufferError)):
        enc.encode_to_numpy(memoryview(b"abcdef")[::2])
    with pytest.raises((ValueError, BufferError)):
        enc.encode_to_numpy(np.frombuffer(b"abcdef", np.uint8)[::2])


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


@pytest.mark.parametrize("characters", ["aé", "aéж中", "aж😀", "a\ud83d\ude00é", "\udc00é"], ids=ascii)
def test_strs_of_every_width_around_the_length_of_short_ones(enc, characters):
    rng = random.Random(4)
    for n in (1, 2, 31, 500, *range(509, 516), 1024):
        text = "".join(rng.choice(characters) for _ in range(n))
        data = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
        stream = enc.stream_encoder()
        fed = [*stream.feed(text), *stream.flush()]
        assert enc.encode(text) == enc.encode_to_numpy(data).tolist() == fed


def test_array_of_ids_outlives_encoding_and_text(make_tiny):
    enc = make_tiny()
    arrays = [enc.encode_to_numpy("abc" * n) for n in range(1, 200)]
    del enc
    tail = arrays[-1][3:]
    copies = [array.copy() for array in arrays]
    del arrays
    assert copies[0].tolist() == [257] and tail.tolist() == [257] * 196


def test_bytes_that_are_not_utf8_are_decoded_first(enc):
    for data in nasty.random_bytes(random.Random(1), 2000):
        for errors in ("replace", "ignore"):
            want = enc.encode_ordinary(data.decode("utf-8", errors))
            got = enc.encode_to_numpy(data, errors=errors, disallowed_special=()).tolist()
            assert got == want, data
            assert enc.count(data, errors=errors, disallowed_special=()) == len(want)
        try:
            data.decode()
        except UnicodeDecodeError as error:
            with pytest.raises(UnicodeDecodeError) as caught:
                enc.encode_to_numpy(data, disallowed_special=())
            mine = caught.value
            assert (mine.start, mine.end, mine.reason, mine.object) == (error.start, error.end, error.reason, data)


def test_surrogates_are_mended_as_by_tiktoken(pair):
    _, ours, theirs = pair
    halves = ["\ud83d", "\ude00", "a", " ", "\ud83d\ude00", "\udc80", "中", "\ud800", "'s", "\n"]
    rng = random.Random(2)
    for text in ["".join(rng.choice(halves) for _ in range(rng.randint(1, 6))) for _ in range(500)]:
        want = theirs.encode(text)
        assert ours.encode(text) == want == ours.encode_ordinary(text), ascii(text)
        assert ours.encode_to_numpy(text).tolist() == want
        assert ours.count(text) == len(want)
        assert ours.encode_batch([text]) == [want]
        assert ours.encode_ragged([text])[0].tolist() == want
        assert ours.encode_with_offsets(text)[0].tolist() == want


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


def test_ids_are_decoded_as_by_tiktoken(pair):
    _, ours, theirs = pair
    rng = random.Random(11)
    known = [*ours._mergeable_ranks.values(), *ours._special_tokens.values()]
    for _ in range(300):
        ids = rng.choices(known, k=rng.randint(0, 30))
        data = theirs.decode_bytes(ids)
        assert ours.decode_bytes(ids) == data
        assert ours.decode_tokens_bytes(ids) == theirs.decode_tokens_bytes(ids)
        for errors in ("replace", "ignore", "backslashreplace"):
            assert ours.decode(ids, errors=errors) == theirs.decode(ids, errors=errors)


def test_ids_are_taken_as_any_sequence_of_ints(enc):
    text = "hello 中 world"
    ids = enc.encode(text)
    wide = [np.array(ids, kind) for kind in (np.uint32, np.int64, np.int32, np.uint64)]
    for given in (ids, tuple(ids), *wide, wide[1][::1], np.repeat(wide[0], 2)[::2]):
        assert enc.decode(given) == text
    assert enc.decode([]) == "" and enc.decode_bytes(()) == b"" and enc.decode(np.zeros(0, np.uint32)) == ""


@hypothesis.given(text=st.text())
def test_hyp_text_comes_back(tiny, text):
    assert tiny.decode(tiny.encode(text, disallowed_special=()), errors="strict") == text


def test_pieces_of_few_bytes_are_the_definition_of_bpe(tiny):
    ranks = tiny._mergeable_ranks
    rng = random.Random(4)
    for _ in range(2000):
        piece = bytes(rng.choices(b"abc \xe4\xb8\xad\xc3\xa9", k=rng.randint(1, 90)))
        assert tiny._encode_single_piece(piece) == oracle.encode_piece(piece, ranks), piece


@pytest.mark.parametrize("name", oracle.FAMILIES)
def test_a_long_str_is_encoded_in_slices(name):
    """A long str beyond ASCII is turned into UTF-8 in slices: no character, and no pair of surrogates, is cut."""
    enc = oracle.ours(name)
    slice_size = 32_768
    for around in (
        "wörd",
        "\ud83e\udd17",
        "🤗",
        "\ud83e",
        "\udd17",
        "don't",
        "12345",
        " \n\n  ",
        "<|endoftext|>",
        "é" * 40,
    ):
        for shift in range(len(around) + 1):
            text = "ж" * (slice_size - shift) + around + "naïve text " * 9000
            whole = enc.encode_to_numpy(streamtok.native.text.mend_surrogates(text).encode(), disallowed_special=())
            assert enc.encode_to_numpy(text, disallowed_special=()).tolist() == whole.tolist(), (around, shift)
    with pytest.raises(ValueError, match="endoftext"):
        enc.encode("ж" * (slice_size - 5) + "<|endoftext|>" + "ж" * 70_000)


@pytest.mark.parametrize("widest", ["é", "\xff", "ж", "\u0800", "\uffff", "👋", "\ud83e"])
def test_a_str_that_is_nearly_all_ascii(widest):
    """64 characters are taken at once: one beyond ASCII is put at each place. Its width is that of all in memory."""
    enc = oracle.ours("o200k_base")
    rng = random.Random(12)
    for length in (63, 64, 65, 130, 400):
        for at in range(min(length, 130)):
            text = (
                "".join(rng.choices("abc D1.\x7f\n", k=at))
                + widest
                + "".join(rng.choices("abc D1.", k=length - at - 1))
            )
            for repeated in (text, text * (5000 // length)):
                data = streamtok.native.text.mend_surrogates(repeated).encode()
                assert enc.encode_to_numpy(repeated).tolist() == enc.encode_to_numpy(data).tolist(), (length, at)


@pytest.mark.parametrize("name", oracle.FAMILIES)
@pytest.mark.parametrize(
    "words", ["naïve été ", "жить привет ", "中文 kanji ", "👋 中 ", "a\ud83d\udc4b b ", "\udc4b é "]
)
def test_every_way_in_of_a_str_takes_the_same_text(name, words):
    """Around the lengths at which the UTF-8 of a str is made in another place: one, two and four bytes a character,
    pairs of surrogates and lone ones."""
    enc = oracle.ours(name)
    for length in (1, 15, 2047, 2048, 2049, 5000, 65_536, 65_537):
        text = (words * (length // len(words) + 1))[:length]
        data = streamtok.native.text.mend_surrogates(text).encode()
        want = enc.encode_to_numpy(data, disallowed_special=()).tolist()
        assert enc.encode(text) == want
        assert enc.encode_to_numpy(text).tolist() == want
        assert enc.count(text) == enc.count(text, num_threads=2) == len(want)
        stream = enc.stream_encoder()
        assert stream.feed(text).tolist() + stream.flush().tolist() == want
        assert enc.encode_batch([text, "a", text] * 3, num_threads=2)[-1] == want
        ids, starts = enc.encode_ragged([text, data], num_threads=2)
        assert ids.tolist() == 2 * want and starts[1] == len(want)
    long = words * 100_000
    assert enc.encode_to_numpy(long, num_threads=2).tolist() == enc.encode_to_numpy(long).tolist()
