#!/usr/bin/env python3
"""Lists of frequent pieces -> tools/words/*.xz, which the build puts into the piece tables.

    python tools/pack_words.py FOLDER      with r50k.tsv.xz, cl100k.tsv.xz, o200k.tsv.xz: a piece as a JSON string, TAB,
                                           counts (not read); the most useful piece first

Kept are the pieces that are no token and fit a table's key, as many as streamtok/_tables.py may take. A packed list is:
how many (4 bytes, little-endian), a byte of length each, the words joined; all compressed by xz.
"""

from __future__ import annotations

import argparse
import itertools
import json
import lzma
import pathlib
from collections.abc import Iterator

from streamtok._packed import load_packed
from streamtok._tables import WORDS

KEY_BYTES = 15  # ST_KEY_BYTES, csrc/hash.h
TARGET = pathlib.Path(__file__).parent / "words"


def pieces(path: pathlib.Path) -> Iterator[bytes]:
    with lzma.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line.partition("\t")[0]).encode()


def frequent_words(path: pathlib.Path, vocabulary: str) -> list[bytes]:
    tokens = set(load_packed(vocabulary).tokens())
    words = (piece for piece in pieces(path) if len(piece) <= KEY_BYTES and piece not in tokens)
    return list(itertools.islice(words, max(most for _, most in WORDS.values())))


def pack(words: list[bytes]) -> bytes:
    plain = len(words).to_bytes(4, "little") + bytes(map(len, words)) + b"".join(words)
    return lzma.compress(plain, preset=9 | lzma.PRESET_EXTREME)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    folder = parser.parse_args().folder
    TARGET.mkdir(exist_ok=True)
    for family in ("r50k", "cl100k", "o200k"):
        words = frequent_words(folder / f"{family}.tsv.xz", f"{family}_base")
        packed = pack(words)
        (TARGET / f"{family}.xz").write_bytes(packed)
        print(f"{family}: {len(words):,} words, {len(packed):,} bytes")


if __name__ == "__main__":
    main()
