"""The search for names: compared with a plain search that follows the rule, with hard sets of names; and its time."""

from __future__ import annotations

import functools
import itertools
import random
import re

import numpy as np
import oracle
import pytest
from linear import assert_at_most, assert_linear, cpu_seconds, feed_all

import streamtok
from streamtok.native import library
from streamtok.native.matcher import FOUND, NOTHING, Matcher

# ==== Against the rule ====


def by_the_rule(names: list[bytes], text: bytes, final: bool) -> tuple[list[tuple[int, int, int]], int, int | None]:
    """(names in the text as (start, end, number), place from which it waits, number of the name that waits there): from
    left to right, at each place the longest name, none inside another; where a longer one may still come, it waits."""
    found, at = [], 0
    while at < len(text):
        rest = text[at:]
        fits = [i for i, name in enumerate(names) if rest.startswith(name)]
        best = max(fits, key=lambda i: len(names[i]), default=None)
        if not final and any(len(name) > len(rest) and name.startswith(rest) for name in names):
            return found, at, best
        if best is None:
            at += 1
        else:
            found.append((at, at + len(names[best]), best))
            at += len(names[best])
    return found, len(text), None


def alphabet(rng: random.Random) -> list[str]:
    return [*rng.choice(["a", "ab", "abc", "<|>", "éè", "中丮a", "😀😁"])]


def nested_names(rng: random.Random, letters: list[str]) -> list[str]:
    """Names that are beginnings, ends and middles of one another, and runs."""
    names = {"".join(rng.choices(letters, k=rng.randint(1, 8))) for _ in range(rng.randint(1, 12))}
    for name in list(names):
        a, b = sorted(rng.choices(range(len(name) + 1), k=2))
        names |= {name[a:b], name[:a], name[b:], name + rng.choice(sorted(names)), name * rng.randint(1, 3)}
    names |= {rng.choice(letters) * k for k in rng.choices(range(1, 20), k=rng.randint(0, 4))}
    return rng.sample(sorted(names - {""}), min(len(names - {""}), rng.randint(1, 15)))


def text_of(rng: random.Random, letters: list[str], names: list[str], size: int) -> str:
    parts = [*letters, *names, *(name[: rng.randint(0, len(name))] for name in names)]
    return "".join(rng.choices(parts, k=size)) + rng.choice(["", letters[0] * 30, " "])


def searched(matcher, chunks: list[bytes]) -> list[tuple[list[tuple[int, int, int]], int, int | None]]:
    """The answers of the matcher, in the form of by_the_rule, after each chunk and at the end of the text."""
    found, node, size, results = [], 0, 0, []
    for i, chunk in enumerate([*chunks, b""]):
        search = matcher.search(chunk, node)
        origin = size - matcher.length_of(node)
        while (hit := search.next(i == len(chunks)))[0] == FOUND:
            found.append((origin + hit[1], origin + hit[2], hit[3]))
        size += len(chunk)
        node = search.node
        held = size if hit[0] == NOTHING else origin + hit[1]
        assert held == size - matcher.length_of(node)
        results.append((found[:], held, hit[3]))
    return results


def random_cuts(rng: random.Random, text: bytes) -> list[bytes]:
    cuts = sorted(rng.choices(range(len(text) + 1), k=rng.randint(0, 9)))
    return [text[a:b] for a, b in itertools.pairwise([0, *cuts, len(text)])]


def test_names_are_found_and_held_as_the_rule_says_wherever_the_text_is_cut():
    rng = random.Random(1)
    for _ in range(1500):
        letters = alphabet(rng)
        names = nested_names(rng, letters)
        encoded = [name.encode() for name in names]
        matcher = Matcher(names)
        text = text_of(rng, letters, names, rng.randint(1, 12)).encode()
        chunks = [bytes([byte]) for byte in text] if rng.random() < 0.3 else random_cuts(rng, text)
        seen = b""
        for i, result in enumerate(searched(matcher, chunks)):
            seen = b"".join(chunks[: i + 1])
            assert result == by_the_rule(encoded, seen, i == len(chunks)), (names, chunks[: i + 1])


def test_all_sets_of_short_names_in_all_short_texts():
    """Every set of up to three names of up to three letters, a or b; with each set a third of all texts of six."""
    words = ["".join(letters) for k in (1, 2, 3) for letters in itertools.product("ab", repeat=k)]
    texts = ["".join(letters).encode() for letters in itertools.product("ab", repeat=6)]
    for count in (1, 2, 3):
        for names in itertools.combinations(words, count):
            matcher, encoded = Matcher(names), [name.encode() for name in names]
            for text in texts[sum(map(len, names)) % 3 :: 3]:
                for final, result in zip((False, True), searched(matcher, [text])):
                    assert result == by_the_rule(encoded, text, final), (names, text)


def by_regular_expression(names: list[str], text: bytes) -> list[tuple[int, int, int]]:
    """The same as by_the_rule at the end of a text, and faster."""
    encoded = [name.encode() for name in names]
    longest_first = sorted(encoded, key=len, reverse=True)
    number = {name: i for i, name in enumerate(encoded)}
    found = re.finditer(b"|".join(map(re.escape, longest_first)), text)
    return [(*match.span(), number[match[0]]) for match in found]


def names_with_few_rows(rng: random.Random, names: list[str]) -> list[str]:
    """Adds names of so many different bytes that few prefixes of names have a row of the table."""
    return [*names, *(chr(c) + "#" for c in range(0x20, 0x7FF, 3)), "".join(map(chr, range(0x800, 0xD000, 400)))]


def many_names(rng: random.Random, letters: str) -> list[str]:
    """Random names, ends of others, and long ones, which reach over every place from which a text is read."""
    names = {"".join(rng.choices(letters, k=rng.randint(3, 30))) + "#" for _ in range(rng.choice([3, 30, 200]))}
    names |= {name[rng.randrange(len(name) - 1) :] for name in sorted(names)[:20]}
    if rng.random() < 0.5:
        names |= {letters[0] * rng.choice([50, 300, 3000]) + "#", letters[-1] * 200}
    return names_with_few_rows(rng, sorted(names)) if rng.random() < 0.4 else sorted(names)


def text_that_begins_names(rng: random.Random, letters: str, names: list[str], size: int) -> bytes:
    """A text in which names begin everywhere, and few are complete."""
    parts = []
    for _ in range(rng.choice([1, 3, 30])):
        parts += rng.choices(letters, k=rng.randrange(size // 10))
        parts.append(rng.choice(letters) * rng.choice([0, 100, 299, 300, 301, 2999, 3000, 6000]))
        parts += rng.choices([*names, *(name[:-1] for name in names)], k=rng.randrange(3))
        parts.append(rng.choice(["", "#"]))
    return "".join(parts).encode()


def test_names_in_long_texts_that_begin_names_everywhere_are_found():
    """The texts are so long that they are read in several places at once."""
    rng = random.Random(5)
    for _ in range(120 if oracle.LONG else 60):
        letters = rng.choice(["ab", "abc", "a", "éb"])
        names = many_names(rng, letters)
        matcher = Matcher(names)
        text = text_that_begins_names(rng, letters, names, rng.choice([5_000, 20_000, 100_000]))
        wanted = by_regular_expression(names, text)
        for chunks in [text], random_cuts(rng, text):
            found, held, waiting = searched(matcher, chunks)[-1]
            assert found == wanted and held == len(text) and waiting is None, names


def test_beginnings_of_names_and_their_nodes_go_back_and_forth():
    rng = random.Random(2)
    for _ in range(100):
        names = nested_names(rng, alphabet(rng))
        matcher, encoded = Matcher(names), [name.encode() for name in names]
        beginnings = {name[:k] for name in encoded for k in range(1, len(name) + 1)}
        for text in beginnings | {text + b"a" for text in beginnings} | {b"zz"}:
            node = matcher.node_of(text)
            goes_on = any(len(name) > len(text) and name.startswith(text) for name in encoded)
            assert bool(node) == goes_on, (names, text)
            if node:
                assert matcher.bytes_of(node) == text and matcher.length_of(node) == len(text)
        with pytest.raises(ValueError, match="no node"):
            matcher.bytes_of(10**6)


# ==== Through the public functions ====


@functools.cache
def custom(pattern: str, names: tuple[str, ...]) -> streamtok.Encoding:
    ranks = {bytes([b]): b for b in range(256)} | {b"ab": 256, b"aa": 257}
    special = {name: 1000 + i for i, name in enumerate(names)}
    return streamtok.Encoding("names", pat_str=pattern, mergeable_ranks=ranks, special_tokens=special)


@pytest.mark.parametrize("name", oracle.FAMILIES)
def test_a_name_that_ends_where_a_held_piece_is_completed_is_there_once(name):
    """A long chunk is first read as far as 32 bytes, 96 and so on, until the piece that was held is complete. A name
    that ended just there was found again where reading went on."""
    enc = oracle.ours(name)
    for before in range(260):
        text = "x" + "y " * (before // 2) + "y" * (before % 2) + "<|endoftext|>" + "z " * 4200
        stream = enc.stream_encoder(allowed_special="all")
        ids = [*stream.feed(text[:1]), *stream.feed(text[1:]), *stream.flush()]
        assert ids == enc.encode(text, allowed_special="all"), before


def test_a_name_inside_the_beginning_of_another_is_refused_with_the_end_of_the_text(make_tiny):
    """ "b" may be in front of the end of "abcd" as long as the text goes on; flush() knows that it is not."""
    enc = make_tiny(special_tokens={"abcd": 1000, "b": 1001})
    for encoding in enc, custom(r"\w+|\s+|[^\w\s]", ("abcd", "b")):
        stream = encoding.stream_encoder()
        stream.feed("xab")
        with pytest.raises(ValueError, match=r"'b'(.|\n)*byte 2 of"):
            stream.flush()
        assert stream.pending == 3


# ==== Time ====

HOSTILE = {
    "long": (["a" * 4000 + "b"], "a"),
    "longer": (["a" * 60_000 + "b"], "a"),
    "tokens that are long looked at": (["a", "a" * 4000 + "b"], "a"),
    "a thousand lengths": (["a" * k + "b" for k in range(1, 1000)], "a"),
    "all lengths": (["a" * k for k in range(1, 300)], "a"),
    "beginnings of one": (["ab" * 2000 + "c", "ba" * 500 + "d"], "ab"),
    "Fibonacci": (["abaababaabaababaababaabaababaabaab" * 60 + "c"], "abaababaabaababaababa"),
}
each_hostile = pytest.mark.parametrize("names, unit", HOSTILE.values(), ids=HOSTILE.keys())


@each_hostile
@pytest.mark.parametrize("role", ["allowed_special", "disallowed_special"])
def test_hostile_names_take_a_few_steps_a_byte(make_tiny, names, unit, role):
    """In text that begins names everywhere. A plain search takes as many steps a byte as the longest name has bytes."""
    matcher = Matcher(names)
    text = (unit * (400_000 // len(unit))).encode()

    def search(data: bytes) -> None:
        names = matcher.search(data)
        while names.next(True)[0] == FOUND:
            pass

    assert_linear(lambda n: cpu_seconds(lambda: search(text[:n])), 400_000)
    assert_at_most(0.4, lambda: search(text))  # 1 us a byte, also where each byte is a name that is found
    enc = make_tiny(special_tokens={name: 1000 + i for i, name in enumerate(names)})
    options = {"allowed_special": "all"} if role == "allowed_special" else {}
    if role == "disallowed_special" and len(unit) == 1 and unit in names:
        return  # the first byte is an error
    bites = [text[at : at + 16] for at in range(0, 64_000, 16)]
    plain = min(cpu_seconds(lambda: feed_all(enc.stream_encoder(disallowed_special=()), bites)) for _ in range(3))
    assert_at_most(10 * plain + 0.1, lambda: feed_all(enc.stream_encoder(**options), bites))


def test_matchers_are_built_in_linear_time():
    assert_linear(lambda n: cpu_seconds(lambda: Matcher(["a" * n + "b"])), 400_000)
    names = [f"<|reserved_{i}|>" for i in range(160_000)]
    assert_linear(lambda n: cpu_seconds(lambda: Matcher(names[:n])), 160_000)  # more than caches hold


def test_memory_of_a_matcher_is_what_the_header_says():
    names = ["ab" * 200_000, "b" * 200_000] + [f"<{i}>" for i in range(10_000)]
    before = library.allocation_counts()
    matcher = Matcher(names)
    after = library.allocation_counts()
    size = sum(len(name.encode()) for name in names)
    # The counter adds up all requests: what the matcher keeps, as much while it is built, and once more the arrays
    # that were made smaller.
    assert after[1] - before[1] <= 2 * (25 * size + 72 * len(names)) + 25 * size + 4096
    assert matcher.names == names


def test_matchers_of_many_large_sets_are_not_all_kept(make_tiny):
    special = {f"{i}" * 100_000: 1000 + i for i in range(10)}
    enc = make_tiny(special_tokens=special)
    for count in range(1, 10):
        for names in itertools.islice(itertools.combinations(special, count), 2):
            assert enc.encode("1", allowed_special=set(names), disallowed_special=())
            assert sum(each.size for pair in enc._names.kept.values() for each in pair if each is not None) <= 4 << 20


def test_names_behind_one_another_are_found_in_a_large_text(make_tiny):
    enc = make_tiny(special_tokens={"a": 1000, "a" * 500 + "b": 1001})
    text = "a" * 20_000 + "b" + "a" * 100
    want = [1000] * 19_500 + [1001] + [1000] * 100
    assert enc.encode(text, allowed_special="all") == want
    stream = enc.stream_encoder(allowed_special="all")
    parts = [stream.feed(text[at : at + 7]).copy() for at in range(0, len(text), 7)]
    assert np.concatenate([*parts, stream.flush()]).tolist() == want
