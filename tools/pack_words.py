#!/usr/bin/env python3
"""Lists of frequent pieces -> streamtok/vocab/words.stw, whose words the tables of the bundled vocabularies hold.

    python tools/pack_words.py FOLDER      with r50k.tsv.xz, cl100k.tsv.xz, o200k.tsv.xz: a piece as a JSON string, TAB,
                                           its count in English, TAB, in code, TAB, in text of other languages

Pieces are looked up in the tables, and the atoms that long pieces are cut into (csrc/cut/cuts.h). The list keeps those
that are no token and fit a table's key, and all of their characters, because rare ones are atoms by themselves.
The most frequent of them go into the tables of a wheel (WHEEL), the others into those that are built once a machine.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import json
import lzma
import pathlib
from collections.abc import Iterator

import streamtok
from streamtok.bundled import words as packed_words
from streamtok.native.vocab import Vocab

KEY_BYTES = 15  # ST_KEY_BYTES, csrc/base/key.h

WHEEL = {"r50k": 200_000, "cl100k": 200_000, "o200k": 120_000}
"""Words in a wheel's tables: with its tokens they fill a piece table of 16 MB, and all files a wheel of less than 26
MB."""

FIRST = 85_000
"""Of these, the ones that are entered first and lie best; they are all that p50k_base has there, which has few
users: 15,000 of its words are 0.26 MB of a wheel."""

# The weight of each class of text, divided by the number of pieces that were counted in it.
WEIGHTS = 0.3 / 55.6e6, 0.2 / 67.3e6, 0.5 / 86.4e6


def pieces(path: pathlib.Path) -> Iterator[tuple[bytes, float]]:
    """(piece, weight)"""
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            piece, *counts = line.split("\t")
            yield json.loads(piece).encode(), sum(map(float.__mul__, WEIGHTS, map(float, counts)))


def spans(piece: bytes, vocab: Vocab) -> list[bytes]:
    """What is looked up for a piece: the piece, or its atoms."""
    if len(piece) <= KEY_BYTES or piece.isascii():
        return [piece]
    borders = [0, *vocab.cuts(piece), len(piece)]
    return [piece[start:end] for start, end in itertools.pairwise(borders)]


def frequent_words(path: pathlib.Path, encoding: streamtok.Encoding) -> list[bytes]:
    """The most frequent first, behind single characters, which come before all."""
    weights: collections.Counter[bytes] = collections.Counter()
    characters: set[str] = set()
    for piece, weight in pieces(path):
        characters.update(piece.decode())
        for span in spans(piece, encoding._vocab):
            weights[span] += weight
    tokens = set(encoding.token_byte_values())
    alone = {character.encode() for character in characters} - tokens
    known = tokens | alone
    others = (span for span, _ in weights.most_common() if len(span) <= KEY_BYTES and span not in known)
    return [*sorted(alone), *others]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    levels: dict[bytes, list[int]] = {}
    for number, family in enumerate(packed_words.FAMILIES):
        words = frequent_words(folder / f"{family}.tsv.xz", streamtok.get_encoding(f"{family}_base"))
        for i, word in enumerate(words):
            level = packed_words.FIRST if i < FIRST else packed_words.WHEEL if i < WHEEL[family] else packed_words.REST
            levels.setdefault(word, [0] * len(packed_words.FAMILIES))[number] = level
        print(f"{family}: {len(words):,} words")
    packed = packed_words.pack(levels)
    pathlib.Path(packed_words.WORDS_FILE).write_bytes(packed)
    print(f"{len(levels):,} words, {len(packed):,} bytes")


if __name__ == "__main__":
    main()
