"""Short strings, each seen once: what a call costs apart from its text. 16, 100, 1000 bytes; as list, as array."""

from __future__ import annotations

import pathlib
import statistics
import sys
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "support"))

from common import (
    ENCODINGS,
    border,
    check_ids,
    corpora,
    corpus,
    fresh_encoding,
    main,
    markdown,
    oracle,
    ratio,
    take_turns,
    wall_seconds,
)

SIZES = (16, 100, 1000)
BLOCK_BYTES = 60_000  # a block of strings is the unit of a turn: long enough for the clock, short enough to take turns


def blocks_of(name: str, size: int, count: int) -> list[list[str]]:
    """`count` blocks of disjoint strings of about `size` bytes, from all over the text."""
    data = corpus(name)
    each = min(BLOCK_BYTES, len(data) // count) // size
    step = len(data) // count
    blocks = []
    for start in range(0, count * step, step):
        cuts = [border(data, start + i * size) for i in range(each + 1)]
        blocks.append([data[a:b].decode() for a, b in pairwise(cuts)])
    return blocks


def tiktoken_list(encoding: str) -> Callable[[str], Any]:
    return oracle(encoding).encode_ordinary


def tiktoken_array(encoding: str) -> Callable[[str], Any]:
    encode = oracle(encoding).encode_to_numpy
    return lambda text: encode(text, disallowed_special=())


def ours_list(encoding: str) -> Callable[[str], Any]:
    return fresh_encoding(encoding).encode_ordinary


def ours_array(encoding: str) -> Callable[[str], Any]:
    encode = fresh_encoding(encoding).encode_to_numpy
    return lambda text: encode(text, disallowed_special=())


FORMS = {"list": (tiktoken_list, ours_list), "array": (tiktoken_array, ours_array)}


def over_block(encode: Callable[[str], Any]) -> Callable[[list[str]], list[Any]]:
    return lambda block: [encode(text) for text in block]


def one_case(encoding: str, name: str, size: int, form: str, count: int) -> dict[str, Any]:
    blocks = blocks_of(name, size, count)
    theirs, ours = (make(encoding) for make in FORMS[form])
    reference = oracle(encoding)

    def check(which: str, block: list[str], results: list[Any]) -> None:
        for text, ids in zip(block, results):
            check_ids(ids, reference.encode_ordinary(text), f"{which}, {encoding}, {text!r}")

    seconds = take_turns({"tiktoken": over_block(theirs), "streamtok": over_block(ours)}, blocks, check, wall_seconds)
    each = {which: [s / len(block) * 1e9 for s, block in zip(spent, blocks)] for which, spent in seconds.items()}
    median = {which: statistics.median(spent[1:]) for which, spent in each.items()}
    facts = {"corpus": name, "encoding": encoding, "size": size, "form": form}
    return {**facts, "ns": median, "ratio": ratio(each["tiktoken"][1:], each["streamtok"][1:])}


def measure(full: bool) -> list[dict[str, Any]]:
    names = [name for name in corpora() if name != "code"]
    return [
        one_case(encoding, name, size, form, 12 if full else 4)
        for name in names
        for encoding in ENCODINGS
        for size in SIZES
        for form in FORMS
    ]


def table(rows: list[dict[str, Any]]) -> str:
    """A line for each corpus and encoding, three columns for each size and form."""
    head = ["corpus", "encoding", *(f"{size} B {form}" for size in SIZES for form in FORMS)]
    lines: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        cell = f"{row['ns']['streamtok']:.0f} ({row['ratio']:.1f}x)"
        lines.setdefault((row["corpus"], row["encoding"]), []).append(cell)
    return markdown(head, [[*key, *cells] for key, cells in lines.items()])


@pytest.mark.parametrize("library", ["tiktoken", "streamtok"])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("encoding", ENCODINGS)
def bench_short(benchmark: Any, encoding: str, size: int, form: str, library: str) -> None:
    make = FORMS[form][library == "streamtok"]
    encode, blocks = make(encoding), blocks_of("english", size, 6)
    for text in blocks[0]:
        check_ids(encode(text), oracle(encoding).encode_ordinary(text), library)
    left = iter(blocks[1:])
    benchmark.group = f"{len(blocks[0])} strings of {size} bytes, {form}, {encoding}"
    benchmark.pedantic(over_block(encode), setup=lambda: ((next(left),), {}), rounds=5, iterations=1)


if __name__ == "__main__":
    main(measure, table)
