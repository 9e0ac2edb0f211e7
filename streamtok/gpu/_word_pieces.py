"""WordPiece on a device: which encodings the kernels take (csrc/cuda/encode/word_piece.cu), and their tables."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np

from ..patterns.compose import Punctuation, WhitespaceSplit
from ..patterns.engine import splitter_of
from ._repair import apart_in
from ._tables import Tables

if TYPE_CHECKING:
    from .._protocols import Encoding, HostArray
    from ..native.vocab import Vocab
    from ..patterns import Split
    from ._device import CudaDevice

_IN_WORD, _WHITE, _ALONE = range(3)
"""ST_IN_WORD, ST_WHITE, ST_ALONE of csrc/cuda/split_words.cu."""

_MOST_PREFIX = 8
"""ST_MOST_PREFIX_BYTES."""


def why_not(encoding: Encoding) -> str:
    """Why the kernels do not take an encoding of WordPiece; "" if they do."""
    if not _is_by_characters(encoding._split):
        return "words that are split by other rules than white space and punctuation, for which there are no kernels"
    vocab = encoding._vocab
    _, _, prefix = encoding._kind.rest(vocab.own)
    if vocab.unreachable or len(prefix) > _MOST_PREFIX:
        return "tokens that are no words, or a long prefix of those that go on in one"
    white = np.flatnonzero(_kinds_of(encoding._split) == _WHITE).tolist()
    if any(vocab.find(chr(point).encode()) is not None for point in white):
        return "white space that is a token"
    return ""


def _is_by_characters(split: Split | None) -> bool:
    """Whether white space is dropped and punctuation stands alone, and that is all."""
    return split == (WhitespaceSplit(), Punctuation("Isolated"))


@functools.lru_cache(maxsize=4)
def _kinds_of(split: Split) -> HostArray:
    """The kind of each code point, as the pattern has it."""
    splitter = splitter_of(split)
    assert splitter is not None
    points = np.concatenate([np.arange(0xD800), np.arange(0xE000, 0x110000)])
    # Of each character, between two letters: is it in a piece, and does it divide them?
    text = f"a{'a a'.join(map(chr, points.tolist()))}a "
    spans = np.frombuffer(splitter.spans(text), np.int64).reshape(-1, 2)
    sizes = 1 + (points >= 0x80) + (points >= 0x800) + (points >= 0x10000)
    places = np.cumsum(sizes + 3) - sizes - 2  # of the characters
    begins, ends = spans[:, 0], spans[:, 1]
    number = np.searchsorted(begins, places, "right") - 1
    kinds = np.zeros(0x110000, np.uint8)
    kinds[points] = np.where(ends[number] <= places, _WHITE, np.where(begins[number] == places, _ALONE, _IN_WORD))
    return kinds


class WordTables(Tables):
    """The tables of an encoding of WordPiece. A word is looked up with the blank in front of it, too."""

    def __init__(self, device: CudaDevice, encoding: Encoding, vocab: Vocab, is_limited: bool) -> None:
        kinds = _kinds_of(encoding._split).copy()
        if encoding._normalizer is not None:
            kinds[apart_in(encoding._normalizer)] = _ALONE
        shifted = kinds.reshape(-1, 16).astype(np.uint32) << np.arange(0, 32, 2, dtype=np.uint32)
        self._kinds = device.put(np.bitwise_or.reduce(shifted, axis=1))
        self._rule = encoding._kind.rest(vocab.own)
        super().__init__(device, vocab, None, is_limited)

    def _of_model(self, device: CudaDevice, numbers: dict[str, int], vocab: Vocab) -> dict[str, int]:
        unknown, most, prefix = self._rule
        _, lengths, ids, _ = vocab.to_merged()
        return {
            "cuts": 0,
            "characters": 0,
            "kinds": device.pointer(self._kinds),
            "most": most,
            "unknown": int(np.frombuffer(ids, np.uint32)[unknown]),
            "prefix": int.from_bytes(prefix, "little"),
            "prefix_size": len(prefix),
            "longest_token": int(np.frombuffer(lengths, np.uint32).max()),
        }

    def _build(self, device: CudaDevice, left: int, right: int, count: int) -> None:
        self._build_filter(device, count)


class WordCoder:
    """Encodes the pieces that the kernels leave to the host.

    Args:
        encode_piece: as Coder has it."""

    def __init__(self, coder: object) -> None:
        self._coder = coder

    def encode_piece(self, piece: bytes) -> list[int]:
        made: list[int] = self._coder.encode_piece(piece.removeprefix(b" "))  # type: ignore[attr-defined]
        return made
