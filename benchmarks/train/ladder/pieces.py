"""What all steps share: splitting a text into pieces, and what a merge does to one piece."""

from __future__ import annotations

from collections import Counter

import regex

from streamtok.patterns import CL100K

Pair = tuple[bytes, bytes]
SPLIT = regex.compile(CL100K)


def count_pieces(text: str) -> Counter[bytes]:
    return Counter(match.group().encode() for match in SPLIT.finditer(text))


def single_bytes(piece: bytes) -> list[bytes]:
    return [piece[i : i + 1] for i in range(len(piece))]


def merged(parts: list[bytes], pair: Pair) -> list[bytes]:
    """The pair joined wherever it stands, from left to right."""
    out, i = [], 0
    while i < len(parts):
        if parts[i] == pair[0] and i + 1 < len(parts) and parts[i + 1] == pair[1]:
            out.append(pair[0] + pair[1])
            i += 2
        else:
            out.append(parts[i])
            i += 1
    return out
