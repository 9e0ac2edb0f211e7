"""Strings on which normal forms are hard (marks, Hangul, Indic, kana), and steps beside those of tokenizers."""

from __future__ import annotations

import random
from typing import Any

MARKS = [chr(point) for point in range(0x300, 0x370)] + list(
    "\u0591\u05b0\u05bc\u064b\u0651\u0670\u093c\u094d\u09be\u09d7\u0b3e\u0b56\u0bbe\u0bd7\u0c56\u0cc2\u0cd5\u0d3e\u0d57"
    "\u0dca\u0dcf\u0ddf\u0e38\u0e48\u0f71\u0f72\u0f74\u0f80\u102e\u1b35\u3099\u309a\u1037\u1039\u20d0\uff9e\uff9f\u0f73"
    "\u0f75\u0f81\U000110ba\U00011127\U000113b8\U000113c9\U00016d67\U00016d68"
)
HANGUL = [
    chr(point)
    for points in (range(0x1100, 0x1114), range(0x1160, 0x1177), range(0x11A7, 0x11C4), range(0xAC00, 0xAC20))
    for point in points
] + list("\u3131\u314f\ud788\ud7a3\ua960\ud7b0\uffa1\uffc2\u3164")
INDIC = list(
    "\u0928\u0929\u0915\u0958\u0921\u095c\u09c7\u09cb\u09cc\u0b47\u0b48\u0bc6\u0bc7\u0bca\u0cbf\u0cc6\u0cca\u0ccb\u0dd9"
    "\u0dda\u0ddc\u0ddd\u1025\u1026\u1b05\u1b06\u0d46\u0d47\u0f40\u0f69\u0fb5\U00011099\U0001109a\U00011131\U000113c2"
    "\U000113c5\U00016d63\U00016d69\U0001d15e\U0001d157\U0001d165"
)
LATIN = list(
    "aeiouAEIOUyYnNcCzZsSqQ =<>1.\né\u00a0ấÅǭṩẛ\u212b\u03d2\u03d3ﬁ\ufdfa㎏①½²ǆİßſΩΣς\u1f80\u1fbf\u00a8\u1ffe\u1fc1"
)
KANA = list("かがはばぱカガハパ\u309d\u309e｡ｶﾊ")
ALL = [chr(point) for point in range(0x110000) if not 0xD800 <= point < 0xE000]
POOLS = [
    MARKS + LATIN,
    HANGUL + LATIN[:5],
    INDIC + MARKS,
    KANA + MARKS[-30:],
    MARKS + HANGUL + INDIC + LATIN + KANA,
    [chr(point) for point in range(0x20, 0x7F)],
    MARKS[:20],
    ALL,
]


def random_string(rng: random.Random) -> str:
    pool = rng.choice(POOLS)
    text = "".join(rng.choice(pool) for _ in range(rng.choice((1, 2, 3, 5, 8, 16, 40, 120))))
    if rng.random() < 0.3:
        text = " " * rng.randrange(4) + text + " \n" * rng.randrange(3)
    if rng.random() < 0.2:
        text = "ae" * rng.randrange(5) + text + "aa" * rng.randrange(4)
    return text


STEPS: dict[str, list[tuple[Any, ...]]] = {
    "NFC": [("NFC",)],
    "NFD": [("NFD",)],
    "NFKC": [("NFKC",)],
    "NFKD": [("NFKD",)],
    "lowercase": [("Lowercase",)],
    "accents": [("NFD",), ("StripAccents",)],
    "form and case": [("NFC",), ("Lowercase",)],
    "llama": [("Prepend", "▁"), ("Replace", " ", "▁")],
    "ends": [("Strip", True, False), ("Prepend", "é"), ("NFD",)],
    "both ends": [("Strip", True, True), ("Replace", "aa", "b"), ("NFKC",)],
    "composing content": [("Replace", "aeae", "é\u0323"), ("NFC",)],
    "three": [("Replace", "é\u0301", "▁"), ("NFKD",), ("Lowercase",)],
    "class": [("ReplaceClass", [(0x20, 0x20), (0x41, 0x5A), (0xE9, 0x300)], "xé", False)],
    "runs": [("ReplaceClass", [(0x20, 0x20), (0x41, 0x5A), (0xE9, 0x300)], "xé", True)],
    "nothing": [],
}
"""Steps as Normalizer takes them."""


def reference(steps: list[tuple[Any, ...]]) -> Any:
    """The normalizer of tokenizers that does the same."""
    from tokenizers import Regex, normalizers

    def one(name: str, *given: Any) -> Any:
        if name == "Strip":
            return normalizers.Strip(left=given[0], right=given[1])
        if name == "ReplaceClass":
            inside = "".join(f"\\x{{{first:X}}}-\\x{{{last:X}}}" for first, last in given[0])
            return normalizers.Replace(Regex(f"[{inside}]{'+' if given[2] else ''}"), given[1])
        return getattr(normalizers, name)(*given)

    return normalizers.Sequence([one(*step) for step in steps])
