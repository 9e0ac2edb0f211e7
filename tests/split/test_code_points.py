"""All code points, alone and between neighbours of each kind: the character classes are tiktoken's."""

from __future__ import annotations

import collections
import functools

import oracle
import pytest
from oracle import assert_same

EVERY = [*range(0xD800), *range(0xE000, 0x110000)]
# Beyond these lie private use and planes without an assignment.
TOLD_APART = [code for code in EVERY if code < 0x33500 or 0xE0000 <= code < 0xE0200]


@functools.cache
def told_apart() -> list[int]:
    """Of a run of code points of one kind the ends, and every eighth. test_every_code_point_alone has all of them."""
    if oracle.LONG:
        return TOLD_APART
    kind = [oracle.kinds().get(chr(code)) for code in range(TOLD_APART[-1] + 2)]
    return [code for code in TOLD_APART if code % 8 == 0 or len({*kind[max(0, code - 1) : code + 2]}) > 1]


each_family = pytest.mark.parametrize("name", oracle.FAMILIES)


def check(name: str, codes: list[int], surroundings: list[str]) -> None:
    _, ours, theirs = oracle.pair(name)
    for form in surroundings:
        text = "".join([form.replace("_", chr(code)) for code in codes])
        got = ours.encode_to_numpy(text, disallowed_special=())
        assert_same(got, theirs.encode_to_numpy(text, disallowed_special=()), ours, f"{name} {form!r}")


@each_family
def test_every_code_point_alone(name):
    check(name, EVERY if oracle.LONG else [*TOLD_APART, *EVERY[-1::-16]], ["a_1"])
    check(name, TOLD_APART, ["_\n\n"])


@each_family
@pytest.mark.parametrize("left", ["B", "a", "中", "a\u0301", "1", "!", "!!", " ", " !", "\n", "!\n", "'"])
def test_every_assigned_code_point_between_neighbours(name, left):
    rights = {"B": ["_a1"], "a": ["_B1", "_'s "], "1": ["_1x"], "!": ["_/\n", "_a1"], " ": ["_ !", "__!"], "'": ["_x1"]}
    check(name, told_apart(), [left + right for right in rights.get(left, ["_B"])])


@each_family
def test_all_kinds_of_a_code_point_agree_with_tiktokens_classes(name):
    """Whether a piece starts at a character shows its kind, which is compared with tiktoken's class of it."""
    _, ours, _ = oracle.pair(name)
    kinds = oracle.kinds()
    counts = collections.Counter(kinds.values())
    assert counts["R"] == 2 and counts["S"] == 23 and counts["N"] > 1900 and counts["x"] > 130_000
    # "..!" then the character: a letter, number or white space begins a piece there, a mark or other does not.
    letters = "UlxNSR" if name != "cl100k_base" else "UlxNS"  # there, line breaks end punctuation
    letters = letters.replace("R", "") if name == "o200k_base" else letters
    wrong = []
    for code in TOLD_APART:
        character = chr(code)
        begins = 3 in ours._coder.split(f"..!{character}")
        if begins != (kinds.get(character, "O") in letters):
            wrong.append(hex(code))
    assert not wrong
