"""What the device is tested with: the corpora, one class over and over, random characters, hard strings."""

from __future__ import annotations

import functools
import os
import pathlib
import random

import numpy as np
import oracle
from test_gpu_kernels import hard_text

CORPORA = ["english", "code", "multilingual"]

# Units that a piece, or a run of one class, is made of; some give pieces that never end.
UNITS = [
    "a", "A", "aA", "é", "ж", "中", "あ", "한", "ก", "1", "٣", "²", " ", "\t", "\n", "\r\n", " \n", "\u3000", "\u00a0",
    "-", "=", "!?", "/", "'", "'s", "'S ", "'ſ", "😀", "\u0301", "e\u0301", "\u200d", "ab ", "ab\n", "<|", "\x00",
]  # fmt: skip


def folder() -> pathlib.Path | None:
    """STREAMTOK_CORPUS, or ../shared/corpus."""
    for path in (os.environ.get("STREAMTOK_CORPUS"), oracle.PROJECT.parent / "shared" / "corpus", "/tmp/corpus"):
        if path and pathlib.Path(path).is_dir():
            return pathlib.Path(path)
    return None


@functools.cache
def corpus(name: str) -> bytes:
    """The whole corpus; without the folder, text that is made here."""
    import lzma

    where = folder()
    if where is not None:
        for path in (where / f"{name}.txt", where / f"{name}.txt.xz"):
            if path.exists():
                data = path.read_bytes()
                return lzma.decompress(data) if path.suffix == ".xz" else data
    return oracle.corpus(name).encode()


def random_strings(seed: int, count: int) -> list[bytes]:
    """Short strings of characters that the patterns tell apart."""
    rng = random.Random(seed)
    return [hard_text(rng, rng.randint(0, 9)) for _ in range(count)]


@functools.cache
def any_characters(seed: int, count: int) -> bytes:
    """Characters of all planes except surrogates."""
    points = np.random.default_rng(seed).integers(0, 0x110000, count)
    points = points[(points < 0xD800) | (points > 0xDFFF)]
    return "".join(map(chr, points.tolist())).encode()


def cut_at_random(rng: random.Random, data: bytes, most: int) -> list[bytes]:
    """Valid texts of at most `most` bytes, about: cut between characters."""
    texts, at = [], 0
    while at < len(data):
        end = min(len(data), at + rng.randint(0, most))
        while end < len(data) and data[end] & 0xC0 == 0x80:
            end += 1
        texts.append(data[at:end])
        at = end
    return texts
