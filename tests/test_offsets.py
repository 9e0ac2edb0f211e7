"""Where tokens lie in the text, and truncation to a number of tokens."""

from __future__ import annotations

import random
import time

import hypothesis
import hypothesis.strategies as st
import nasty
import oracle
import pytest


def test_offsets_are_those_of_tiktokens_decoding(pair):
    _, ours, theirs = pair
    for text in [*nasty.FIXED, *nasty.random_strings(random.Random(1), 1000), oracle.topics()[:20_000]]:
        ids, offsets = ours.encode_with_offsets(text, disallowed_special=())
        want_text, want = theirs.decode_with_offsets(ids.tolist())
        assert want_text == text and offsets.tolist() == want, text
        assert ours.decode_with_offsets(ids.tolist()) == (want_text, want)
        assert ids.dtype == "uint32" and offsets.dtype == "int64" and len(ids) == len(offsets)


def test_offsets_with_special_tokens(pair):
    _, ours, theirs = pair
    for text in nasty.SPECIALS:
        ids, offsets = ours.encode_with_offsets(text, allowed_special="all")
        assert (text, offsets.tolist()) == theirs.decode_with_offsets(ids.tolist())


def test_offsets_of_ids_in_another_order_are_tiktokens(family):
    _, ours, theirs = family
    rng = random.Random(2)
    tokens = list(ours._mergeable_ranks.values())
    for _ in range(500):
        ids = rng.choices(tokens, k=rng.randint(0, 6))
        try:
            want = theirs.decode_with_offsets(ids)
        except UnicodeDecodeError:
            with pytest.raises(UnicodeDecodeError):
                ours.decode_with_offsets(ids)
            continue
        assert ours.decode_with_offsets(ids) == want


def test_offsets_count_a_pair_of_surrogates_as_one_character(enc):
    ids, offsets = enc.encode_with_offsets("\ud83d\ude00 a \ud800 b")
    same = enc.encode_with_offsets("😀 a \ufffd b")
    assert ids.tolist() == same[0].tolist() and offsets.tolist() == same[1].tolist()


# ==== truncate ====


def limits(n: int) -> list[int]:
    return sorted({0, 1, 2, 3, n // 2, n - 1, n, n + 1, 10 * n + 5} - {-1})


def test_truncated_text_begins_the_text_and_fits(family):
    _, ours, theirs = family
    texts = [*nasty.FIXED, *nasty.random_strings(random.Random(3), 500, 30)]
    for text in texts:
        ids = theirs.encode_ordinary(text)
        ends = {0}
        for token in theirs.decode_tokens_bytes(ids):
            ends.add(max(ends) + len(token))
        for n in limits(len(ids)):
            head = ours.truncate(text, n, disallowed_special=())
            assert text.startswith(head)
            assert len(theirs.encode_ordinary(head)) <= n
            if n >= len(ids):
                assert head == text
            # It ends with one of the text's tokens, or, where that ends inside a character, at the character before.
            size = len(head.encode())
            assert size in {len(text.encode()[:end].decode("utf-8", "ignore").encode()) for end in ends}


def test_truncated_text_is_the_longest_such_beginning(family):
    _, ours, theirs = family
    for text in [*nasty.FIXED[::3], *nasty.random_strings(random.Random(4), 300, 30)]:
        data, ids = text.encode(), theirs.encode_ordinary(text)
        for n in limits(len(ids)):
            end, best = 0, ""
            for token in [b"", *theirs.decode_tokens_bytes(ids)][: n + 1]:
                end += len(token)
                head = data[:end].decode("utf-8", "ignore")
                if len(theirs.encode_ordinary(head)) <= n:
                    best = max(best, head, key=len)
            assert ours.truncate(text, n, disallowed_special=()) == best, (text, n)


@hypothesis.given(text=st.text(), n=st.integers(0, 50))
def test_hyp_truncate(enc, text, n):
    head = enc.truncate(text, n, disallowed_special=())
    assert text.startswith(head) and enc.count(head, disallowed_special=()) <= n


def test_nothing_fits_into_no_tokens(enc):
    assert enc.truncate("hello", 0) == "" == enc.truncate("", 0) == enc.truncate("", 5)


def test_token_that_cuts_a_character_is_left_out(enc):
    """The emoji takes several tokens here; a beginning of it is no text."""
    text = "a👩\u200d🚀b"
    assert len(enc.encode(text)) > 5
    heads = {enc.truncate(text, n) for n in range(12)}
    assert all(text.startswith(head) for head in heads) and text in heads


def test_truncate_stops_early(enc):
    """Ten tokens of a megabyte: done long before the megabyte is encoded."""
    text = "hello world " * 400_000
    begin = time.perf_counter()
    enc.count(text)
    whole = time.perf_counter() - begin
    taken = []
    for _ in range(5):
        begin = time.perf_counter()
        assert enc.truncate(text, 10) == ("hello world " * 5).rstrip()
        taken.append(time.perf_counter() - begin)
    assert min(taken) < whole / 4


def test_truncate_sees_special_tokens_as_encode_does(enc):
    text = "a<|endoftext|>b c d"
    assert enc.truncate(text, 2, allowed_special="all") == "a<|endoftext|>"
    with pytest.raises(ValueError, match="disallowed"):
        enc.truncate(text, 2)
    assert enc.truncate(text, 100, disallowed_special=()) == text
    far = "one two three " * 10_000 + "<|endoftext|>"
    assert enc.truncate(far, 3) == "one two three"  # what is not read is not refused
    with pytest.raises(ValueError, match="disallowed"):
        enc.truncate(far, 10**6)


def test_truncate_of_surrogates(enc):
    for text in ("a \ud83d\ude00 b", "a \ud800 b c", "\udc00\ud800"):
        for n in range(10):
            head = enc.truncate(text, n)
            assert enc.count(head) <= n
        assert enc.count(enc.truncate(text, 10)) == enc.count(text)


def test_truncate_of_long_text_between_slices(family):
    """Reading goes in slices of characters: limits just before and behind one."""
    _, ours, _ = family
    text = oracle.topics()[:30_000]
    ids = ours.encode(text, disallowed_special=())
    for n in [*range(0, len(ids), 211), len(ids) - 1, len(ids)]:
        head = ours.truncate(text, n, disallowed_special=())
        assert text.startswith(head) and n - 3 <= len(ours.encode(head, disallowed_special=())) <= n
