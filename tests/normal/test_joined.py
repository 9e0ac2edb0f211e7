"""Steps that are done as one give what each of them gives by itself, one behind the other, however the text is cut."""

from __future__ import annotations

import random

import pytest

from streamtok.native.normal import Normalizer, NormalStream

MARKS = [0x300, 0x301, 0x315, 0x323, 0x327, 0x345, 0x344, 0xF71, 0xF73, 0x1D165, 0x1D167, 0x1D16D, 0x302E, 0x16FF0]
"""Of several classes, in and out of order; some stay where accents go."""

OTHERS = [*range(0x20), 0x7F, 0x85, 0xA0, 0xAD, 0xC5, 0xE9, 0x130, 0xDF, 0x1E9E, 0x1100, 0x1161, 0x11A8, 0xAC00, 0xAC01]
OTHERS += [0x200B, 0x2028, 0x3000, 0x3400, 0x4E00, 0xF900, 0xFB1D, 0x1D15E, 0x1D1BB, 0x20000, 0x2F800, 0x2FA1D, 0xE000]


def chained(steps: tuple[tuple[object, ...], ...], text: str) -> bytes:
    for step in steps:
        text = fed([step], [text]).decode()
    return text.encode()


def fed(steps: object, chunks: list[str]) -> bytes:
    stream = NormalStream(Normalizer(steps))
    return b"".join([*map(stream.feed, chunks), stream.flush()])


def some_text(rng: random.Random) -> str:
    kinds = (MARKS, OTHERS, range(0x20, 0x7F), range(0xA0, 0x250), range(0x370, 0x600), range(0x900, 0x3400))
    weights = [rng.choice((0, 1, 1, 5)) for _ in kinds[1:]]
    points = rng.choices(kinds, [1, *weights], k=rng.choice((0, 1, 5, 30, 300, 9000)))
    return "".join(chr(rng.choice(kind)) for kind in points)


@pytest.mark.parametrize("is_lower", [False, True])
@pytest.mark.parametrize("flags", [(True, True, True), (True, False, False), (False, True, True), (False, False, True)])
def test_joined_steps_are_those_apart(flags, is_lower):
    steps = (("Clean", *flags), ("NFD",), ("StripNonspacing",)) + (("Lowercase",),) * is_lower
    rng = random.Random(f"{flags} {is_lower}")
    for _ in range(60):
        text = some_text(rng)
        expected, chunks, at = chained(steps, text), [], 0
        while at < len(text):
            chunks.append(text[at : at + rng.choice((1, 2, 5, 100, 10_000))])
            at += len(chunks[-1])
        assert fed(steps, chunks) == fed(steps, [text]) == expected


def test_every_character():
    steps = (("Clean", True, True, True), ("NFD",), ("StripNonspacing",), ("Lowercase",))
    for first in range(0, 0x110000, 0x1000):
        points = (c for c in range(first, first + 0x1000) if not 0xD800 <= c < 0xE000)
        text = "x".join(map(chr, points))
        assert fed(steps, [text]) == chained(steps, text), hex(first)


def test_steps_in_front_and_behind_see_the_same():
    rng = random.Random(8)
    joined = (("Clean", True, True, True), ("NFD",), ("StripNonspacing",), ("Lowercase",))
    for steps in (
        (("Replace", "a", "\u00c5"), *joined, ("Replace", " ", "\u2581")),
        (*joined, *joined),
        (("NFC",), *joined),
    ):
        for _ in range(30):
            text = some_text(rng)
            assert fed(steps, [text[:40], text[40:]]) == chained(steps, text)
