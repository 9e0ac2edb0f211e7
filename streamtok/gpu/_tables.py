"""The tables of a vocabulary on a device: the image that the CPU core maps (csrc/image/image.h), and what
csrc/cuda/encode/tables.cu makes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..bundled import mapped
from ..bundled.models import model_named
from ._words import FIRST_PLACES, LEAST_PLACES, LearnedWords, job_of

if TYPE_CHECKING:
    from .._protocols import DeviceArray
    from ..native.pattern import Pattern
    from ..native.vocab import Vocab
    from ._device import CudaDevice

PAIR_PLACES = 8
"""Places for each pair in the hash. At so low a load nearly all buckets of two have a free place: one load decides."""

FILTER_BITS = 20
"""Bits of the filter of long tokens: ST_FILTER_BITS."""

_ALIGNMENT = 64  # of a pattern's table


def vocab_for(encoding: Any, is_limited: bool) -> Vocab:
    """The Vocab whose tables an encoding takes to a device. Where memory is limited the package's: what fits a limit
    must not depend on what a cache folder holds."""
    vocab: Vocab = encoding._vocab
    if not is_limited or not mapped.is_cached(vocab):
        return vocab
    return mapped.open_packaged(encoding._vocabulary, encoding._special_tokens)


def put_pattern(device: CudaDevice, pattern: Pattern | None) -> DeviceArray | None:
    """The table of a pattern on the device, as a job's `dfa` points to it; None: there is no pattern."""
    size = 0 if pattern is None else len(pattern.image())
    if pattern is None or not size:
        return None
    memory = device.empty(size + _ALIGNMENT, np.uint8)
    start = -device.pointer(memory) % _ALIGNMENT
    table: DeviceArray = memory[start : start + size]
    device.assign(table, device.put(np.frombuffer(pattern.image(device.pointer(table)), np.uint8)))
    return table


def _bits(places: int) -> int:
    return max(4, (places - 1).bit_length())


class Tables:
    """fields: the fields of a job that point to the tables. words: the first table and words learned, with fields of
    their own. Keeps the arrays alive.

    pattern: what splits. is_limited: memory is, so fewer words are learned.
    """

    def __init__(self, device: CudaDevice, vocab: Vocab, pattern: Pattern | None, is_limited: bool = False):
        if model_named(vocab.model).kernels is None:
            raise ValueError(
                "a vocabulary whose symbols are characters, or that lacks bytes, is not encoded on a device; "
                "use device='cpu'"
            )
        image = vocab.to_image(whole_tokens=True)
        numbers, byte_tokens, places = vocab.image_header(image)
        self._image, self._pattern = device.put(np.frombuffer(image, np.uint8)), put_pattern(device, pattern)
        self._bytes = device.put(np.array(byte_tokens, np.uint32))
        start, pointer = device.pointer(self._image), device.pointer
        at = {name: start + place for name, (place, _) in places.items()}
        pair_bits = _bits(numbers["count"] * PAIR_PLACES)
        entries = 2 << (64 - numbers["piece_shift"])
        first_bits = _bits(max(entries // 2 * FIRST_PLACES, 0 if is_limited else LEAST_PLACES))
        self._pairs = device.full(1 << pair_bits, np.uint64, 2**64 - 1)
        self._filter = device.full((1 << FILTER_BITS) // 32, np.uint32, 0)
        cuts = not numbers["unreachable"]
        self.fields = {
            "first_shift": 32 - first_bits,
            "entries": at["entries"],
            "piece_shift": numbers["piece_shift"],
            "piece_mask": (1 << (64 - numbers["piece_shift"])) - 1,
            "more": at["more"],
            "pairs": pointer(self._pairs),
            "pair_mask": (1 << pair_bits) // 2 - 1,
            "dense": at["dense"],
            "dense_side": numbers["dense_side"],
            "byte_tokens": pointer(self._bytes),
            "ids": at["ids"],
            "token_bytes": at["bytes"],
            "token_starts": at["starts"],
            "long_tokens": at["longs"],
            "long_mask": numbers["long_mask"],
            "filter": pointer(self._filter),
            # An atom that is an unreachable token must be merged, not looked up: without cuts there are no atoms.
            "cuts": at["cuts"] if cuts else 0,
            "characters": int(cuts),
            "ordered": numbers["monotone"],
            "identity": numbers["identity"],
            "dfa": 0 if self._pattern is None else pointer(self._pattern),
        }
        self.fields |= self._of_model(device, numbers, vocab)
        self._build(device, at["left"], at["right"], numbers["count"])
        self.words = LearnedWords(device, self.fields, entries, 1 << first_bits, is_limited)

    @property
    def nbytes(self) -> int:
        arrays = (self._image, self._bytes, self._pairs, self._filter)
        return int(sum(array.nbytes for array in arrays)) + self.words.now.nbytes

    def _of_model(self, device: CudaDevice, numbers: dict[str, int], vocab: Vocab) -> dict[str, int]:
        """Fields that a model has besides, or other values of them."""
        return {}

    def _build(self, device: CudaDevice, left: int, right: int, count: int) -> None:
        device.launch_builder("pairs", job_of(self.fields), left, right, count)
        self._build_filter(device, count)

    def _build_filter(self, device: CudaDevice, count: int) -> None:
        device.launch_builder("filter", job_of(self.fields), count)
