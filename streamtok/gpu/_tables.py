"""The tables of a vocabulary on a device: the image that the CPU core maps (csrc/image.h), and its pairs, rehashed."""

from __future__ import annotations

from typing import Any

import numpy as np

PAIR_PLACES = 8
"""Places a pair in the hash: at so low a load nine of ten look-ups end with the first word that they read."""


class Tables:
    """fields: the fields of a job that point to the tables. Keeps the arrays alive."""

    def __init__(self, device: Any, vocab: Any):
        image = vocab.to_image()
        numbers, byte_tokens, places = vocab.image_header(image)
        self._image = device.put(np.frombuffer(image, np.uint8))
        self._bytes = device.put(np.array(byte_tokens, np.uint32))
        self._pairs, bits = self._hash_pairs(device, numbers["count"], places)
        start = device.pointer(self._image)
        at = {name: start + place for name, (place, _) in places.items()}
        self.fields = {
            "entries": at["entries"],
            "piece_shift": numbers["piece_shift"],
            "piece_mask": (1 << (64 - numbers["piece_shift"])) - 1,
            "pairs": device.pointer(self._pairs),
            "pair_shift": 64 - bits,
            "pair_mask": (1 << bits) - 1,
            "dense": at["dense"],
            "dense_side": numbers["dense_side"],
            "byte_tokens": device.pointer(self._bytes),
            "ids": at["ids"],
            "token_bytes": at["bytes"],
            "token_starts": at["starts"],
            "long_tokens": at["longs"],
            "long_mask": numbers["long_mask"],
            # An atom that is an unreachable token must be merged, not looked up: without cuts there are no atoms.
            "cuts": 0 if numbers["unreachable"] else at["cuts"],
        }

    @property
    def nbytes(self) -> int:
        return int(self._image.nbytes + self._bytes.nbytes + self._pairs.nbytes)

    def _hash_pairs(self, device: Any, count: int, places: dict[str, tuple[int, int]]) -> tuple[Any, int]:
        bits = max(4, (count * PAIR_PLACES - 1).bit_length())
        pairs = device.full(1 << bits, np.uint64, 2**64 - 1)
        start = device.pointer(self._image)
        left, right = start + places["left"][0], start + places["right"][0]
        device.launch_tables(left, right, count, device.pointer(pairs), 64 - bits, (1 << bits) - 1)
        return pairs, bits
