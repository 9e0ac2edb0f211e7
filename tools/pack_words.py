#!/usr/bin/env python3
"""Lists of frequent pieces -> tools/words/*.xz, which the build puts into the piece tables.

    python tools/pack_words.py FOLDER      with r50k.tsv.xz, cl100k.tsv.xz, o200k.tsv.xz: a piece as a JSON string, TAB,
                                           its count in English, TAB, in code, TAB, in text of other languages

What is looked up are pieces, and the atoms that long ones are cut into (csrc/cuts.h). Of those that are no token and
fit a table's key the most frequent are kept, as many as streamtok/_tables.py may take; of the characters in them all,
for rare ones stand between cuts by themselves. A packed list is: how many (4 bytes, little-endian), a byte of length
each, the words joined; all compressed by xz.
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
from streamtok._tables import WORDS
from streamtok._vocab import Vocab

KEY_BYTES = 15  # ST_KEY_BYTES, csrc/hash.h
TARGET = pathlib.Path(__file__).parent / "words"

# What a class of text weighs, over the pieces that were counted in it.
WEIGHTS = 0.3 / 55.6e6, 0.2 / 67.3e6, 0.5 / 86.4e6


def pieces(path: pathlib.Path) -> Iterator[tuple[bytes, float]]:
    """(piece, weight)"""
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            piece, *counts = line.split("\t")
            yield json.loads(piece).encode(), sum(map(float.__mul__, WEIGHTS, map(float, counts)))


def spans(piece: bytes, vocab: Vocab) -> list[bytes]:
    """What is looked up of a piece: it, or its atoms."""
    if len(piece) <= KEY_BYTES or piece.isascii():
        return [piece]
    borders = [0, *vocab.cuts(piece), len(piece)]
    return [piece[start:end] for start, end in itertools.pairwise(borders)]


def frequent_words(path: pathlib.Path, encoding: streamtok.Encoding) -> list[bytes]:
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
    most = max(most for _, most in WORDS.values())
    return [*sorted(alone), *others][:most]


def pack(words: list[bytes]) -> bytes:
    plain = len(words).to_bytes(4, "little") + bytes(map(len, words)) + b"".join(words)
    return lzma.compress(plain, preset=9 | lzma.PRESET_EXTREME)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    TARGET.mkdir(exist_ok=True)
    for family in ("r50k", "cl100k", "o200k"):
        words = frequent_words(folder / f"{family}.tsv.xz", streamtok.get_encoding(f"{family}_base"))
        packed = pack(words)
        (TARGET / f"{family}.xz").write_bytes(packed)
        print(f"{family}: {len(words):,} words, {len(packed):,} bytes")


if __name__ == "__main__":
    main()
