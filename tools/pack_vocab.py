#!/usr/bin/env python3
"""Writes streamtok/vocab/*.stv from OpenAI's rank files:  python tools/pack_vocab.py FOLDER

FOLDER holds r50k_base.tiktoken, p50k_base.tiktoken, cl100k_base.tiktoken and o200k_base.tiktoken; each is refused
unless its sha256 is the published one. The format is described in streamtok/bundled/packed.py.
"""

from __future__ import annotations

import argparse
import itertools
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from streamtok import load  # noqa: E402
from streamtok.bundled.packed import PUBLISHED, PackedVocabulary, pack_to_bytes  # noqa: E402


def split_of(token: bytes, ranks: dict[bytes, int]) -> int:
    """Bytes of the left half in the last merge of the token's own bytes; 0 if there is none.

    There is none for a single byte, and for a token that merging its bytes does not give. Quadratic in the
    token's length, as the definition of BPE is: replace the leftmost pair of the lowest rank until none is left.
    """
    parts = [token[i : i + 1] for i in range(len(token))]
    split = 0
    while len(parts) > 1:
        pairs = [ranks.get(left + right, sys.maxsize) for left, right in itertools.pairwise(parts)]
        best = min(range(len(pairs)), key=pairs.__getitem__)
        if pairs[best] == sys.maxsize:
            return 0
        split = len(parts[best])
        parts[best : best + 2] = [parts[best] + parts[best + 1]]
    return split


def pack(folder: pathlib.Path, name: str) -> bytes:
    """The .stv file of one rank file, as bytes."""
    ranks = load.load_tiktoken_bpe(folder / f"{name}.tiktoken", PUBLISHED[name])
    packed = load.pack_ranks(ranks)
    splits = bytes(split_of(token, ranks) for token in packed.tokens())
    packed = PackedVocabulary(packed.blob, packed.lengths, packed.ranks, splits, PUBLISHED[name])
    return pack_to_bytes(packed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "streamtok" / "vocab")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in PUBLISHED:
        data = pack(arguments.folder, name)
        (arguments.out / f"{name}.stv").write_bytes(data)
        print(f"{name}: {len(data)} bytes")


if __name__ == "__main__":
    main()
