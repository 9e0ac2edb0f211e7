"""The invariant: the ids of all feeds and of the flush, joined, are those of the whole text, whatever the cuts."""

from __future__ import annotations

import random

import numpy as np
import oracle
import pytest
from oracle import random_cuts, streamed


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
