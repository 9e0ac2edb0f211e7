"""truncate() is the longest beginning with at most n ids that ends between two characters: compared with trying all."""

from __future__ import annotations

import itertools
import random

import hypothesis
import hypothesis.strategies as st
import nasty
import oracle
import pytest
from linear import assert_at_most, cpu_seconds

import streamtok
from streamtok.whole import truncation

ALPHABETS = [
    *(
        "x \x1e",
        " \u0e31",
        " \n",
        "\r\n\t x",
        "aA",
        "aA中",
        "ABC中d ",
        "'sl ",
        "0123456789 ",
        "!/\n",
        "👩\u200d🚀a ",
        "\u0301e ",
    ),
    *("\u0301e ", "\ud83d\ude00\ud800\udc00 a", "\u3000 \n中", "<|endoftext|>", "ab "),
]
TWICE = 2 if oracle.LONG else 1
CUSTOM = (r"\w+|\s+|[^\w\s]", r"\d+", r"(?i:'s)|\p{L}+|\s+(?!\S)|\s+|.", r"[a-z]+?(?=[A-Z]|\s|$)|.|\n")


def borders(text):
    """Where a beginning of the text may end."""
    if isinstance(text, str):
        halves = ("\ud800" <= text[k - 1] < "\udc00" <= text[k] < "\ue000" for k in range(1, len(text)))
        return [0, *(k for k, inside in enumerate(halves, 1) if not inside), len(text)]
    return [k for k in range(len(text) + 1) if k == len(text) or text[k] & 0xC0 != 0x80]


def longest(enc, text, n, **options):
    """By trying all beginnings."""
    return max((text[:k] for k in borders(text) if enc.count(text[:k], **options) <= n), key=len)


def texts(seed, count, size):
    rng = random.Random(seed)
    for _ in range(count):
        yield "".join(rng.choices(rng.choice(ALPHABETS), k=rng.randint(0, size)))
    yield from nasty.random_strings(rng, count, size)


def holds(enc, text, options=({"disallowed_special": ()}, {"allowed_special": "all"})):
    for chosen in options:
        whole = enc.count(text, **chosen)
        for n in {0, 1, 2, whole // 2, whole - 1, whole, whole + 1} - {-1}:
            assert enc.truncate(text, n, **chosen) == longest(enc, text, n, **chosen), (text, n)


@pytest.fixture(params=[1 << 10, 8, 1], ids=lambda step: f"steps of {step}")
def steps(request, monkeypatch):
    """Short steps put marks into short texts."""
    monkeypatch.setattr(truncation, "_STEP", request.param)
    monkeypatch.setattr(truncation, "_NEAR", min(64, request.param))


def test_it_is_the_longest_beginning(family, steps):
    _, ours, _ = family
    for text in [*nasty.FIXED[::5], *texts(1, 75 * TWICE, 25)]:
        holds(ours, text)


def test_it_is_the_longest_beginning_of_bytes(family, steps):
    _, ours, _ = family
    for text in [*nasty.FIXED[::9], *texts(2, 30 * TWICE, 20)]:
        data = text.encode("utf-8", "replace")
        holds(ours, data)
        ours.truncate(data, 3, disallowed_special=()).decode()  # raises if the end is inside a character


@pytest.mark.parametrize("pattern", CUSTOM)
def test_it_is_the_longest_beginning_with_patterns_of_ones_own(pattern, make_tiny, steps):
    enc = make_tiny(pat_str=pattern)
    for text in texts(3, 20 * TWICE, 20):
        holds(enc, text)


def test_it_is_the_longest_beginning_without_a_pattern(make_tiny, steps):
    with pytest.warns(UserWarning, match="has no pattern"):
        enc = make_tiny(pat_str=None)
    for text in texts(4, 100, 25):
        holds(enc, text)


def test_it_is_the_longest_beginning_of_long_texts(family):
    """Over many steps. Beginnings near the result's end are tried; a stream shows that longer ones have more ids."""
    _, ours, _ = family
    rng = random.Random(5)
    text = oracle.topics()[:20_000] + "".join(texts(6, 200, 60)) + "a" * 3000 + "aA中" * 900
    options = {"disallowed_special": ()}
    whole = ours.count(text, **options)
    for n in [whole - 1, *rng.choices(range(whole), k=12)]:
        head = ours.truncate(text, n, **options)
        assert text.startswith(head) and ours.count(head, **options) <= n
        start, reach = max(0, len(head) - 2000), min(len(head) + 400, len(text))
        stream = ours.stream_encoder(**options)
        before = len(stream.feed(text[:start]))
        given = before + len(stream.copy().feed(text[start:reach]))
        assert given > n or reach == len(text)  # nothing longer has as few
        for end in range(len(head) + 1, reach + 1):
            other = stream.copy()
            assert before + len(other.feed(text[start:end])) + len(other.flush()) > n


HELD = {
    "blanks": "\n" + " " * 30_000 + "x y z" * 20,
    "tabs and blanks": "\r\n" + "\t \u3000" * 9_000,
    "capitals": "中" + "ABCDEFGHIJKLMNOPQRSTUVWXYZ" * 900 + "a b c",
}


@pytest.mark.parametrize("text", HELD.values(), ids=HELD)
def test_in_a_run_that_is_held_back_one_character_more_is_too_much(family, text):
    _, ours, _ = family
    whole = ours.count(text)
    for data in (text, text.encode()):
        for n in (0, 1, 2, 3, 20, whole // 2, whole - 3, whole - 1, whole, whole + 1):
            head = ours.truncate(data, n)
            assert data.startswith(head) and ours.count(head) <= n
            more = [k for k in borders(data[: len(head) + 8]) if k > len(head)]
            assert not more or ours.count(data[: more[0]]) > n


RUNS = {
    "blanks": lambda rng, size: "\n" + " " * size,
    "kinds of blanks": lambda rng, size: "\r\n" + "".join(rng.choices(" \t\u3000", k=size)),
    "capitals": lambda rng, size: "中" + "".join(rng.choices("ABCDEFGHIJ", k=size)),
    "two capitals": lambda rng, size: "中" + "AÉ" * (size // 2),
    "letters": lambda rng, size: "a" * size,
    "line breaks": lambda rng, size: "x" + " \n" * (size // 2),
}


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("kind", [str, bytes])
def test_long_runs_against_trying_all(family, run, kind):
    """The promise of Encoding.truncate, and its exception, where a stream holds back 1,024 bytes and more."""
    _, ours, _ = family
    rng = random.Random(f"{run} {kind}")
    for size in (1100, rng.randint(1100, 3000)):
        text = rng.choice(["", "hello 12"]) + RUNS[run](rng, size) + rng.choice(["x y", "\n\nx", "'s", "中", " \u0e31"])
        data = text if kind is str else text.encode()
        places = borders(data)
        counts = [ours.count(data[:place]) for place in places]
        stream, held = ours.stream_encoder(), 0
        for place, end in itertools.pairwise(places):
            stream.feed(data[place:end])
            held = max(held, stream.pending)
        for n in {
            0,
            1,
            2,
            3,
            counts[-1] // 2,
            counts[-1] - 1,
            counts[-1],
            max(counts) - 1,
            rng.randint(0, max(counts)),
        }:
            found = places.index(len(ours.truncate(data, n)))
            last = max(at for at, count in enumerate(counts) if count <= n)
            if held <= 1024:
                assert found == last, (size, n)
            assert counts[found] <= n and (found == len(places) - 1 or counts[found + 1] > n), (size, n)


@hypothesis.given(text=st.text(), n=st.integers(0, 50))
def test_hyp_longest(enc, text, n):
    assert enc.truncate(text, n, disallowed_special=()) == longest(enc, text, n, disallowed_special=())


def test_examples(enc):
    assert enc.truncate("x   \x1e", 2) == "x   "  # a longer beginning may have fewer ids
    assert enc.truncate("  \u0e31", 2) == longest(enc, "  \u0e31", 2)
    assert enc.truncate("hello", 0) == "" == enc.truncate("", 0) == enc.truncate("", 5)
    assert enc.truncate("", 0) == "" and enc.truncate(b"", 0) == b""


def test_surrogates_come_back_as_they_are(enc):
    for text in ("a \ud83d\ude00 b", "a \ud800 b c", "\udc00\ud800", "\ud800\ud83d\ude00\udc00"):
        for n in range(12):
            head = enc.truncate(text, n)
            assert text.startswith(head) and head == longest(enc, text, n)
        assert enc.truncate(text, 100) == text


def test_kinds_of_buffers(enc):
    text = "naïve 🤗 text".encode()
    want = enc.truncate(text, 5)
    assert type(want) is bytes and text.startswith(want)
    for other in (bytearray(text), memoryview(text), memoryview(b"_" + text)[1:]):
        head = enc.truncate(other, 5)
        assert type(head) is bytes and head == want


def test_special_tokens_are_seen_as_encode_sees_them(enc):
    text = "a<|endoftext|>b c d"
    assert enc.truncate(text, 2, allowed_special="all") == "a<|endoftext|>"
    assert enc.truncate(text, 100, disallowed_special=()) == text
    far = "one two three " * 10_000 + "<|endoftext|>"
    assert enc.truncate(far, 3) == "one two three"  # a fault behind the part that is read is no error


def read_of(
    enc,
    text,
    n,
) -> int:
    """How many characters are fed for a result, those of the search included."""
    fed = 0

    class Counted(str):
        def __getitem__(self, key):
            nonlocal fed
            found = str.__getitem__(self, key)
            fed += len(found)
            return found

    assert enc.truncate(Counted(text), n) == enc.truncate(text, n)
    return fed


@pytest.mark.parametrize("n", [1, 10, 1000])
def test_little_more_is_read_than_returned(enc, n):
    for text in ("hello world " * 400_000, "\n" + " " * 3_000_000, "a" * 3_000_000, "1" * 3_000_000):
        head = enc.truncate(text, n)
        assert read_of(enc, text, n) < 60 * (len(head) + 2048), text[:5]


def test_ten_tokens_of_a_long_text_take_no_time(enc):
    text = "hello world " * 1_000_000
    assert enc.truncate(text, 10) == "hello world " * 4 + "hello world"
    assert_at_most(cpu_seconds(lambda: enc.count(text)), lambda: [enc.truncate(text, 10) for _ in range(10)])


def test_a_pattern_that_cannot_be_streamed_is_refused():
    ranks = {bytes([value]): value for value in range(256)}
    enc = streamtok.Encoding("n", pat_str=r"(?<=ca*)b|.", mergeable_ranks=ranks, special_tokens={})
    with pytest.raises(ValueError, match="cannot be streamed"):
        enc.truncate("ab", 1)
