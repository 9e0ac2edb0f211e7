"""The invariant: the ids of all feeds and of the flush, joined, are those of the whole text, whatever the cuts."""

from __future__ import annotations

import functools
import random

import hypothesis
import hypothesis.strategies as st
import nasty
import numpy as np
import oracle
import pytest
from oracle import RANDOM_STRINGS, assert_same, random_cuts, streamed

each_family = pytest.mark.parametrize("name", oracle.FAMILIES)

ALLOWED = {"no special tokens": {"disallowed_special": ()}, "all special tokens": {"allowed_special": "all"}}
each_allowed = pytest.mark.parametrize("options", ALLOWED.values(), ids=ALLOWED)


@functools.cache
def strings() -> list[str]:
    """At least 2,000, which tiktoken has been asked about in test_encode."""
    found = [*nasty.FIXED, *nasty.random_strings(random.Random(9), 2000)]
    assert len(found) > 2000
    return found


@each_family
@each_allowed
def test_cut_in_two_at_every_byte(name, options):
    """Cuts inside characters, contractions, digit groups, CR LF, white space, special tokens."""
    _, ours, theirs = oracle.pair(name)
    stream = ours.stream_encoder(**options)
    for text in strings():
        want = theirs.encode(text, **options)
        data = text.encode()
        for cut in range(len(data) + 1):
            got = stream.feed(data[:cut]).tolist() + stream.feed(data[cut:]).tolist() + stream.flush().tolist()
            assert got == want, (data[:cut], data[cut:])


@each_family
@each_allowed
def test_an_open_piece_is_read_again_where_much_follows(name, options):
    """If 256 bytes of new text follow, an open piece of up to 64 bytes is read again from its start."""
    _, ours, theirs = oracle.pair(name)
    stream, rng = ours.stream_encoder(**options), random.Random(name)
    for text in strings():
        filler = "".join(rng.choice(strings()) for _ in range(60))
        filler += "it's 12\n" * (32 - min(len(filler.encode()) // 8, 32))
        data, want = (text + filler).encode(), theirs.encode(text + filler, **options)
        for cut in {*range(min(len(text.encode()), 12)), *(rng.randrange(len(data) - 255) for _ in range(2))}:
            assert streamed(stream, (data[:cut], data[cut:])) == want, (data[:cut], data[cut:])


@each_family
def test_chunks_of_about_256_bytes(name):
    """Chunks just below and above the size from which an open piece is read again, of real text and of longer runs."""
    _, ours, theirs = oracle.pair(name)
    rng, stream = random.Random(16), ours.stream_encoder(disallowed_special=())
    runs = "".join(
        rng.choice(("a", "B", " ", "\n", "中", "\u0301", "7", "!", "'s", "/")) * rng.randint(1, 90) for _ in range(3000)
    )
    for text in (oracle.topics()[:200_000], oracle.stdlib_sources(200_000), runs):
        want = theirs.encode_to_numpy(text, disallowed_special=())
        for sizes in ((255, 256, 257), (1, 3, 40, 64, 65, 256, 300), (2, 20, 256)):
            assert_same(streamed(stream, random_cuts(rng, text.encode(), sizes)), want, ours, str(sizes))


@each_family
@each_allowed
def test_one_byte_at_a_time(name, options):
    _, ours, theirs = oracle.pair(name)
    stream = ours.stream_encoder(**options)
    for text in strings():
        data = text.encode()
        got = streamed(stream, (data[at : at + 1] for at in range(len(data))))
        assert got == theirs.encode(text, **options), text


@each_family
@each_allowed
def test_cut_in_three_at_random(name, options):
    _, ours, theirs = oracle.pair(name)
    rng = random.Random(name)
    stream = ours.stream_encoder(**options)
    for text in [*strings(), *nasty.random_strings(rng, RANDOM_STRINGS, 60)]:
        data = text.encode()
        a, b = sorted((rng.randint(0, len(data)), rng.randint(0, len(data))))
        got = streamed(stream, (data[:a], data[a:b], data[b:]))
        assert got == theirs.encode(text, **options), (data[:a], data[a:b], data[b:])


@each_family
def test_cut_at_every_character_of_a_str(name):
    ours = oracle.ours(name)
    stream = ours.stream_encoder(disallowed_special=())
    for text in strings():
        want = ours.encode_ordinary(text)
        assert streamed(stream, list(text)) == want
        middle = len(text) // 2
        assert streamed(stream, [text[:middle], text[middle:]]) == want


@each_family
@hypothesis.given(
    chunks=st.lists(st.one_of(st.text(max_size=8), st.lists(st.sampled_from(nasty.ALPHABET), max_size=9).map("".join)))
)
def test_hyp_chunks_of_str(name, chunks):
    _, ours, theirs = oracle.pair(name)
    want = theirs.encode("".join(chunks), allowed_special="all")
    assert streamed(ours.stream_encoder(allowed_special="all"), chunks) == want


@each_family
@hypothesis.given(text=st.lists(st.sampled_from(nasty.ALPHABET), max_size=60).map("".join), data=st.data())
def test_hyp_cut_anywhere(name, text, data):
    ours, rest = oracle.ours(name), text.encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(rest)), max_size=6)))
    chunks = [rest[a:b] for a, b in zip([0, *cuts], [*cuts, len(rest)])]
    assert streamed(ours.stream_encoder(disallowed_special=()), chunks) == ours.encode_ordinary(text)


@each_family
def test_real_text_with_random_cuts(name):
    _, ours, theirs = oracle.pair(name)
    rng = random.Random(6)
    for text in (oracle.topics(), oracle.stdlib_sources(500_000)):
        want = theirs.encode_to_numpy(text, disallowed_special=())
        stream = ours.stream_encoder(disallowed_special=())
        for sizes in ((1, 2, 3, 5), (0, 1, 7, 64, 65, 300), (1, 4096, 100_000)):
            assert_same(streamed(stream, random_cuts(rng, text.encode(), sizes)), want, ours, str(sizes))
        assert_same(streamed(stream, random_cuts(rng, text, (1, 10, 100))), want, ours, "str")


@each_family
def test_str_and_bytes_and_buffers_mixed(name):
    ours, rng = oracle.ours(name), random.Random(8)
    kinds = [bytes, bytearray, memoryview, lambda b: np.frombuffer(b, np.uint8), lambda b: b.decode(), lambda b: ""]
    stream = ours.stream_encoder(disallowed_special=())
    for text in strings()[::3]:
        parts: list = []
        for part in random_cuts(rng, text):
            kind = rng.choice(kinds)
            parts += [part.encode() and kind(part.encode())] if kind is not kinds[5] else ["", b"", part]
        assert streamed(stream, parts) == ours.encode_ordinary(text), parts


@each_family
def test_empty_chunks_change_nothing(name):
    ours = oracle.ours(name)
    for text in nasty.FIXED[::5]:
        data = text.encode()
        chunks = [b""]
        for at in range(len(data)):
            chunks += [data[at : at + 1], b"", "", bytearray()] if not data[at] & 0x80 else [data[at : at + 1], b""]
        assert streamed(ours.stream_encoder(disallowed_special=()), chunks) == ours.encode_ordinary(text), text


def test_flush_makes_the_stream_ready_for_the_next_text(family):
    _, ours, theirs = family
    stream = ours.stream_encoder(disallowed_special=())
    assert stream.flush().tolist() == [] == stream.flush().tolist()
    for text in ["a", "中", " ", "'", "a'", "hello", "\n"]:
        assert streamed(stream, [text]) == theirs.encode(text)
        assert stream.pending == 0 == stream.offset
    stream.feed("l" * 100)
    stream.reset()
    assert stream.pending == 0 == stream.offset
    assert streamed(stream, ["ll'"]) == theirs.encode("ll'")


@pytest.mark.parametrize("kind", oracle.DAMAGED)
def test_damaged_vocabularies_with_random_cuts(kind):
    _, ours, theirs = oracle.damaged_pair(kind)
    rng = random.Random(kind)
    stream = ours.stream_encoder()
    for text in [*nasty.FIXED, *nasty.random_strings(rng, 1000, 60), oracle.topics()[:60_000]]:
        got = streamed(stream, random_cuts(rng, text.encode()))
        assert_same(got, theirs.encode(text, disallowed_special=()), ours, text[:50])


@pytest.mark.parametrize("kind", oracle.DAMAGED)
def test_pieces_that_begin_an_unreachable_token(kind):
    """Such a token occurs only as a whole piece, so no id may leave while the piece could still become it."""
    _, ours, theirs = oracle.damaged_pair(kind)
    ranks = oracle.damaged_ranks(kind)
    lost = [token for token in ranks if len(token) > 1 and oracle.merge(token, ranks) != [ranks[token]]]
    assert len(lost) > 100 and ours._vocab.unreachable == len(lost)
    rng = random.Random(2)
    stream = ours.stream_encoder(errors="replace")
    long = [token for token in lost if len(token) > 64]
    for token in long + rng.sample(lost, min(700, len(lost))):
        for data in (token, token[:-1], token + b"q", token + rng.choice(lost), b"q" + token):
            want = theirs.encode(data.decode("utf-8", "replace"), disallowed_special=())
            assert streamed(stream, random_cuts(rng, data, (1, 1, 2, 5))) == want, data


def test_a_piece_of_more_than_a_megabyte_in_one_chunk():
    """Longer than what is taken of a piece between two looks at a signal, and not a multiple of it."""
    enc = oracle.without_pattern("r50k_base")
    for size in ((1 << 20) + 1, (3 << 19) + 7):
        text = (b"abcdefgh ijklmnop" * (size // 17 + 1))[:size]
        stream = enc.stream_encoder()
        assert streamed(stream, [text[:300], text[300:]]) == enc.encode_to_numpy(text).tolist()


def test_long_pieces_that_may_be_an_unreachable_token(make_tiny):
    """Tokens that no merge makes, longer than what a stream keeps of a piece in any case: no id leaves while the piece
    may still be one, in a copy and in a saved state too."""
    lost = [b"ab" * 140, b"ab" * 140 + b"c" * 50, b"ab" * 150, b"a" * 300, b"a" * 299 + b"b"]
    ranks = {bytes([value]): value for value in range(256)}
    for token in (b"ab", b"aa", b"aaaa", b"abab", b"cc", *lost):
        ranks[token] = len(ranks)
    with pytest.warns(UserWarning, match="no pattern"):
        enc = make_tiny(mergeable_ranks=ranks, special_tokens={}, pat_str=None)
    assert enc._vocab.unreachable == len(lost)
    rng = random.Random(3)
    ends = [b"", b"a", b"c", b"b" * 20]
    for data in [token[:size] + end for token in lost for size in (len(token), len(token) - 1) for end in ends]:
        want = oracle.encode_piece(data, ranks)
        stream = enc.stream_encoder()
        assert streamed(stream, random_cuts(rng, data, (1, 7, 64, 200))) == want, data
        for at in (len(data) - 1, 270):
            first = stream.feed(data[:at]).tolist()
            assert len(first) == 0 or not any(token.startswith(data[:at]) for token in lost)
            again = enc.stream_encoder()
            again.setstate(stream.getstate())
            for one in (stream.copy(), again, stream):
                assert first + one.feed(data[at:]).tolist() + one.flush().tolist() == want, data


@each_family
def test_reference_engine_streams_the_same(name):
    fast, reference = oracle.ours(name), oracle.ours(name, "reference")
    rng = random.Random(12)
    stream = reference.stream_encoder(disallowed_special=())
    for text in strings():
        got = streamed(stream, random_cuts(rng, text.encode()))
        assert got == fast.encode_ordinary(text), text


def test_encode_stream_yields_the_ids(enc):
    rng = random.Random(1)
    text = oracle.topics()[:20_000]
    for kind in (text, text.encode()):
        parts = list(enc.encode_stream(random_cuts(rng, kind)))
        assert all(len(part) for part in parts)
        assert np.concatenate(parts).tolist() == enc.encode(text)
    assert list(enc.encode_stream([])) == []
    ids = enc.encode_stream(["a<|endof", "text|>b"], allowed_special="all")
    assert np.concatenate(list(ids)).tolist() == enc.encode("a<|endoftext|>b", allowed_special="all")


def test_encode_stream_is_lazy(enc):
    def chunks():
        yield "hello world, and"
        raise OSError("the line is gone")

    stream = enc.encode_stream(chunks())
    assert len(next(stream))
    with pytest.raises(OSError, match="gone"):
        next(stream)


def test_encode_stream_async_yields_the_same_arrays(enc):
    import asyncio

    text = oracle.topics()[:20_000]
    parts = [text[at : at + 100] for at in range(0, len(text), 100)]

    async def source():
        for part in parts:
            await asyncio.sleep(0)
            yield part

    async def collect():
        return [ids.tolist() async for ids in enc.encode_stream_async(source())]

    assert asyncio.run(collect()) == [ids.tolist() for ids in enc.encode_stream(parts)]
