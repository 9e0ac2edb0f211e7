"""Every point of the matrix: each encoding, text, choice of names, handling of errors, cut, number of threads and way
to ids has the ids, or the error, of the oracle (tests/support/matrix.py)."""

from __future__ import annotations

import itertools
import random
import shutil

import hypothesis
import matrix
import nasty
import numpy as np
import oracle
import pytest
from matrix import Case, Row
from oracle import RANDOM_STRINGS, assert_same
from test_gpu_face import devices  # noqa: F401

import streamtok

each_row = pytest.mark.parametrize("name", matrix.ROWS)
each_family = pytest.mark.parametrize("name", oracle.FAMILIES)


@pytest.fixture(scope="module", autouse=True)
def small_parts():
    with matrix.small_parts():
        yield


def step_of(name: str) -> tuple[int, int]:
    """(every how many of the fixed texts an encoding takes, with which it begins): all encodings together take all."""
    if oracle.LONG:
        return 1, 0
    place = matrix.ROWS.index(name)
    return (4, place % 4) if name in oracle.FAMILIES else (30 if "regex" in name else 18, place % 18)


@hypothesis.given(data=hypothesis.strategies.data())
@hypothesis.settings(max_examples=3 * hypothesis.settings.default.max_examples)
def test_every_way_gives_the_oracles_outcome(data):
    row = matrix.row(data.draw(hypothesis.strategies.sampled_from(matrix.ROWS)))
    matrix.check(row, data.draw(matrix.cases(row)))


@each_row
def test_every_way_of_nasty_texts(name):
    """With choices that change from one to the next."""
    row, rng = matrix.row(name), random.Random(name)
    choices, (step, first) = matrix.special_of(matrix.names_of(row)), step_of(name)
    for turn, text in enumerate([*nasty.FIXED, *nasty.random_bytes(rng, 400 if oracle.LONG else 200)][first::step]):
        errors = ("strict", "replace", "ignore")[turn % 3] if isinstance(text, bytes) else "strict"
        case = Case(text, choices[turn % 9], errors, tuple(rng.choices(range(400), k=3)), rng.choice((2, 8)))
        matrix.check(row, case, not_singly if turn % 4 else bool)


def not_singly(entry: str) -> bool:
    return "singly" not in entry


@each_row
def test_every_way_of_long_texts(name):
    """So long that several threads share them, and that buffers of 2, 32 and 64 KB are filled more than once. With
    faults in them, too."""
    row, rng = matrix.row(name), random.Random(name)
    sizes = [400] * 3 + [3000, 3000]
    if name in oracle.FAMILIES or (oracle.LONG and "tiny" not in row.ours.name):
        sizes = [400] * 6 + [3000] * 4 + [40_000, 100_000]
    for turn, size in enumerate(sizes):
        text, special = matrix.mixed_text(rng, size), matrix.special_of(matrix.names_of(row))[turn % 9]
        cuts = tuple(rng.choices(range(10 * size), k=8))
        matrix.check(row, Case(text, special, "strict", cuts, rng.choice((2, 3, 8))), not_singly)
        data = bytearray(text.encode())
        for fault in nasty.random_bytes(rng, rng.randint(1, 3)):
            at = rng.randrange(len(data))
            data[at:at] = fault
        for errors in ("strict", "replace", "ignore"):
            matrix.check(row, Case(bytes(data), special, errors, cuts, 8), not_singly)


@pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++ to compile the kernels for the CPU")
@pytest.mark.parametrize("name", ["cl100k_base", "o200k_base"])
@pytest.mark.usefixtures("devices")
def test_every_way_to_a_device(name):
    row, rng = matrix.row(name), random.Random(name)
    texts = [*rng.sample(nasty.FIXED, 12), matrix.mixed_text(rng, 2000), *nasty.random_bytes(rng, 6)]
    calls = {"encode_to_numpy", "encode_batch", "encode_ragged, threads", "stream", "encode_stream"}
    for turn, text in enumerate(texts):
        special = matrix.special_of(matrix.names_of(row))[turn % 9]
        errors = ("replace", "ignore")[turn % 2] if isinstance(text, bytes) else "strict"
        matrix.check(row, Case(text, special, errors, (3, 40)), calls.__contains__, device="cuda")


# ==== Many short texts by one way ====


def test_random_strings(family):
    """Against tiktoken and the reference engine."""
    name, ours, theirs = family
    reference = oracle.ours(name, "reference")
    for text in nasty.random_strings(random.Random(f"encode {name}"), RANDOM_STRINGS):
        want = theirs.encode(text, allowed_special="all")
        assert ours.encode(text, allowed_special="all") == want == reference.encode(text, allowed_special="all"), text


def test_all_short_strings_of_each_kind(family):
    """All 41,370 strings of up to four characters, joined by text that keeps the splits of neighbours apart."""
    name, ours, theirs = family
    text = "1 x. ".join(nasty.short_strings(4))
    assert_same(ours.encode_to_numpy(text), theirs.encode_to_numpy(text), ours, name)
    for text in nasty.short_strings(3):
        assert ours.encode_ordinary(text) == theirs.encode_ordinary(text), text


@each_family
@pytest.mark.parametrize("options", matrix.special_of([])[:2], ids=str)
def test_cuts_at_every_byte(name, options):
    """In two at each, in ones, and in three anywhere: inside characters, contractions, digit groups, CR LF, white
    space, special tokens."""
    _, ours, theirs = oracle.pair(name)
    stream, rng = ours.stream_encoder(**options), random.Random(name)

    def fed(*chunks: bytes) -> list[int]:
        return [token for chunk in chunks for token in stream.feed(chunk).tolist()] + stream.flush().tolist()

    for text in [*nasty.FIXED, *nasty.random_strings(rng, RANDOM_STRINGS // 5)]:
        want, data = theirs.encode(text, **options), text.encode()
        for cut in range(0, len(data) + 1, 1 if len(data) < 150 or oracle.LONG else 7):
            assert fed(data[:cut], data[cut:]) == want, (data[:cut], data[cut:])
        assert fed(*(data[at : at + 1] for at in range(len(data)))) == want, data
    for text in nasty.random_strings(rng, RANDOM_STRINGS, 60):
        data = text.encode()
        a, b = sorted(rng.choices(range(len(data) + 1), k=2))
        assert fed(data[:a], data[a:b], data[b:]) == theirs.encode(text, **options), (data[:a], data[a:b], data[b:])


@each_family
@pytest.mark.parametrize("options", matrix.special_of([])[:2], ids=str)
def test_an_open_piece_is_read_again_where_much_follows(name, options):
    """If 256 bytes of new text follow, an open piece of up to 64 bytes is read again from its start."""
    _, ours, theirs = oracle.pair(name)
    stream, rng = ours.stream_encoder(**options), random.Random(name)
    texts = [*nasty.FIXED, *nasty.random_strings(rng, RANDOM_STRINGS // 16)]
    for text in texts:
        filler = "".join(rng.choice(texts) for _ in range(40))
        filler += "it's 12\n" * (32 - min(len(filler.encode()) // 8, 32))
        data, want = (text + filler).encode(), theirs.encode(text + filler, **options)
        for cut in {*range(min(len(text.encode()), 12)), *(rng.randrange(len(data) - 255) for _ in range(2))}:
            assert oracle.streamed(stream, (data[:cut], data[cut:])) == want, (data[:cut], data[cut:])


# ==== Real text ====


def runs(rng: random.Random) -> str:
    return "".join(
        rng.choice(("a", "B", " ", "\n", "中", "\u0301", "7", "!", "'s", "/")) * rng.randint(1, 90) for _ in range(2000)
    )


def scripts(rng: random.Random) -> str:
    """Words made of neighbouring code points, in every block of the first plane and some of the second."""
    words = []
    for first in (*range(0x80, 0xD800, 64), *range(0xF900, 0x10000, 64), *range(0x10000, 0x12600, 64)):
        words += ["".join(chr(first + rng.randrange(64)) for _ in range(rng.randint(1, 40))) for _ in range(4)]
    rng.shuffle(words)
    return "".join(word + rng.choice(["", " ", "\n", "'s ", "1", "!"]) for word in words)


REAL = {
    "English": lambda rng: oracle.topics(),
    "code": lambda rng: oracle.stdlib_sources(500_000),
    "scripts": scripts,
    "runs": runs,
}
SIZES = ((1, 2, 3, 5), (0, 1, 7, 64, 65, 300), (255, 256, 257), (2, 20, 256), (1, 4096, 100_000))


@pytest.mark.parametrize("name", [*oracle.NAMES, *oracle.DAMAGED])
@pytest.mark.parametrize("kind", REAL)
def test_real_text(name, kind):
    row, rng = matrix.row(name), random.Random(f"{name} {kind}")
    ours, text = row.ours, REAL[kind](rng)
    if not oracle.LONG:
        text = text[: 400_000 if name in oracle.FAMILIES else 100_000]  # others have the pattern of one of these
    want = row.oracle.encode_to_numpy(text, disallowed_special=())
    assert_same(ours.encode_to_numpy(text, disallowed_special=()), want, ours)
    assert_same(ours.encode_to_numpy(text.encode(), disallowed_special=(), num_threads=3), want, ours)
    assert ours.decode_bytes(want) == text.encode()
    stream = ours.stream_encoder(disallowed_special=())
    for sizes in SIZES if name in oracle.FAMILIES else SIZES[1:2]:
        part = text if sizes[0] > 1 or (oracle.LONG and name in oracle.FAMILIES[1:]) else text[:100_000]
        part_want = want if part is text else ours.encode_to_numpy(part, disallowed_special=())
        assert_same(oracle.streamed(stream, oracle.random_cuts(rng, part.encode(), sizes)), part_want, ours, str(sizes))
    assert_same(oracle.streamed(stream, oracle.random_cuts(rng, text, (1, 10, 1000))), want, ours, "str")
    if name not in oracle.NAMES or name in oracle.FAMILIES:
        part = text[:200_000]
        slow = reference_of(row).encode_to_numpy(part, disallowed_special=())
        assert_same(ours.encode_to_numpy(part, disallowed_special=()), slow, ours, "reference")


def reference_of(row: Row) -> streamtok.Encoding:
    if row.name in oracle.NAMES:
        return oracle.ours(row.name, "reference")
    ranks = oracle.damaged_ranks(row.name)
    pattern = row.ours._pat_str
    return streamtok.Encoding("n", pat_str=pattern, mergeable_ranks=ranks, special_tokens={}, engine="reference")


# ==== A str in each width ====


@pytest.mark.parametrize("widest", ["é", "\xff", "ж", "\u0800", "\uffff", "👋", "\ud83e"])
def test_a_str_that_is_nearly_all_ascii(widest):
    """64 characters are taken at once: one beyond ASCII is put at each place. Its width is that of all in memory."""
    enc, rng = oracle.ours("o200k_base"), random.Random(12)
    for length in (63, 64, 65, 130, 400):
        for at in range(min(length, 130)):
            before, behind = ("".join(rng.choices("abc D1.\x7f\n", k=k)) for k in (at, length - at - 1))
            text = before + widest + behind
            for repeated in (text, text * (5000 // length)):
                data = matrix.mended(repeated).encode()
                assert enc.encode_to_numpy(repeated).tolist() == enc.encode_to_numpy(data).tolist(), (length, at)


WIDTHS = ["naïve été ", "жить привет ", "中文 kanji ", "👋 中 ", "a\ud83d\udc4b b ", "\udc4b é "]


@pytest.mark.parametrize("words", WIDTHS, ids=ascii)
def test_every_way_of_a_str_around_the_lengths_at_which_its_utf8_is_made_elsewhere(words):
    """Which encoding takes the UTF-8 does not matter."""
    names = oracle.FAMILIES if oracle.LONG else (oracle.FAMILIES[WIDTHS.index(words) % 3],)
    lengths = (1, 15, 511, 512, 513, 2047, 2048, 2049, 5000, 65_536, 65_537)
    for name, length in itertools.product(names, lengths):
        text = (words * (length // len(words) + 1))[:length]
        matrix.check(matrix.row(name), Case(text, {}, "strict", (1, 2000)), not_singly)


@each_family
def test_a_long_str_is_encoded_in_slices(name):
    """Of 32,768 characters, where it goes beyond ASCII: no character, and no pair of surrogates, is cut."""
    enc = oracle.ours(name)
    wide = ("wörd", "\ud83e\udd17", "🤗", "\ud83e", "\udd17", "don't", "12345", " \n\n  ", "<|endoftext|>", "é" * 40)
    for around in wide:
        for shift in range(len(around) + 1):
            text = "ж" * (32_768 - shift) + around + "naïve text " * 3500
            whole = enc.encode_to_numpy(matrix.mended(text).encode(), disallowed_special=())
            assert np.array_equal(enc.encode_to_numpy(text, disallowed_special=()), whole), (around, shift)
    with pytest.raises(ValueError, match="endoftext"):
        enc.encode("ж" * (32_768 - 5) + "<|endoftext|>" + "ж" * 70_000)


# ==== Names and faults ====


def test_a_fault_may_make_or_break_a_special_token_at_every_place():
    """A name that is in the text only after a wrong byte was dropped, near the place where threads cut it."""
    row, name, filler = matrix.row("cl100k_base"), b"<|endoftext|>", b"well 12 well, " * 4
    numpy = {"encode_to_numpy", "encode_to_numpy, threads", "stream"}
    for at, shift in itertools.product(range(1, len(name)), range(24)):
        data = filler[:-shift] + name[:at] + b"\xff" + name[at:] + filler
        for errors, special in itertools.product(("ignore", "replace"), matrix.special_of([])[:3]):
            matrix.check(row, Case(data, special, errors, (len(filler) - shift + at,)), numpy.__contains__)


NESTED = hypothesis.strategies.sampled_from(["a", "ab", "abc", "<|>", "éè", "中丮a", "😀😁"]).flatmap(
    lambda letters: hypothesis.strategies.tuples(
        hypothesis.strategies.lists(
            hypothesis.strategies.text(letters, min_size=1, max_size=9), min_size=1, max_size=9, unique=True
        ),
        hypothesis.strategies.text(letters, max_size=30),
        hypothesis.strategies.lists(hypothesis.strategies.integers(0, 99), max_size=6),
    )
)


@hypothesis.given(drawn=NESTED, choice=hypothesis.strategies.integers(0, 8), own=hypothesis.strategies.booleans())
def test_names_that_begin_and_hold_each_other(drawn, choice, own):
    """At each place the longest name counts, on one thread and several, whole and streamed."""
    names, text, cuts = drawn
    special = {name: 1000 + i for i, name in enumerate(names)}
    pattern = matrix.WORDS if own else matrix.CL100K
    enc = streamtok.Encoding("names", pat_str=pattern, mergeable_ranks=matrix.TINY, special_tokens=special)
    definition = matrix.Definition(special, pattern, lambda piece: oracle.encode_piece(piece, matrix.TINY))
    row = Row("names", enc, definition)
    matrix.check(row, Case(text, matrix.special_of(names)[choice], "strict", tuple(cuts)))
