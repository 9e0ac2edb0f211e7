"""The bytes of tokens by id on a device, for decoding."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .jobs import SLOT, TOKEN_LONG, TOKEN_UNKNOWN

if TYPE_CHECKING:
    from ..._protocols import DeviceArray, Encoding, HostArray, Record
    from .._device import CudaDevice

_FRAGMENTS = 0xF0000000  # ids from here on are no caller's (csrc/vocab/fragment_ids.h)

_LONGEST = 1 << 24
"""Bytes of a token. The sums of a warp's tokens fit 32 bits."""


def why_not(encoding: Encoding) -> str:
    """Why the kernels do not decode for an encoding; "" where they do."""
    if encoding._rule_decoder is not None:
        return "tokens whose text depends on those beside them"
    return "" if max(map(len, _others(encoding).values()), default=0) < _LONGEST else "a token of more than 16 MB"


def _others(encoding: Encoding) -> dict[int, bytes]:
    """Tokens by id that are not of the merges."""
    vocab = encoding._vocab
    return {token: vocab.token_bytes(token) for token in vocab.other_ids()}


def _tokens(encoding: Encoding) -> tuple[HostArray, HostArray, HostArray]:
    """(bytes of all tokens, where each begins and the last one ends, its id); uint8, int64, int64, by ascending id."""
    blob, lengths, ids, _ = encoding._vocab.to_merged()
    sizes, numbers = np.frombuffer(lengths, np.uint32).astype(np.int64), np.frombuffer(ids, np.uint32).astype(np.int64)
    ends = np.cumsum(sizes)
    kept = numbers < _FRAGMENTS
    ordinary = set(numbers.tolist())
    others = {token: text for token, text in _others(encoding).items() if token not in ordinary}
    more = np.array([len(text) for text in others.values()], np.int64)
    data = np.frombuffer(blob + b"".join(others.values()) + b" ", np.uint8)
    starts = np.concatenate([(ends - sizes)[kept], len(blob) + np.cumsum(more) - more])
    sizes = np.concatenate([sizes[kept], more])
    numbers = np.concatenate([numbers[kept], np.array(list(others), np.int64)])
    order = np.argsort(numbers, kind="stable")
    return data, np.stack([starts[order], sizes[order]]), numbers[order]


def _places(starts: HostArray, sizes: HostArray) -> HostArray:
    """A row of four uint32 for each token that is in no slot: where its bytes begin, and how many there are."""
    zeros = np.zeros(len(starts), np.int64)
    return np.stack([starts & 0xFFFFFFFF, starts >> 32, sizes, zeros], axis=1).astype(np.uint32)


def _slots(data: HostArray, starts: HostArray, sizes: HostArray) -> HostArray:
    """A row of 16 bytes for each token: its bytes, or where a long one is."""
    slots = np.zeros((len(sizes), SLOT + 1), np.uint8)
    for k in range(SLOT):
        has = sizes > k
        slots[has, k] = data[starts[has] + k]
    is_long = sizes > SLOT
    slots[is_long] = _places(starts[is_long], sizes[is_long]).view(np.uint8)
    return slots


class DecodingTables:
    """fields: the fields of a DECODE that point to the tables, with all ids (False) or without special ones (True).
    Keeps the arrays alive.

    Ids up to twice the number of tokens have a place in the tables; those beyond are searched, as on the CPU."""

    def __init__(self, device: CudaDevice, encoding: Encoding, special: set[int]) -> None:
        data, (starts, sizes), ids = _tokens(encoding)
        table = min(int(ids[-1]) + 1 if len(ids) else 0, 2 * len(ids))
        near = int(np.searchsorted(ids, table))
        slots = _slots(data, starts, sizes)
        by_id = np.zeros((max(1, table), SLOT + 1), np.uint8)
        by_id[ids[:near]] = slots[:near]
        beyond = _places(starts[near:], sizes[near:])
        lengths = np.full(max(1, table), TOKEN_UNKNOWN, np.uint8)
        lengths[ids[:near]] = np.where(sizes[:near] > SLOT, TOKEN_LONG, sizes[:near])
        skipped = np.isin(ids, np.array(sorted(special), np.int64))
        without = lengths.copy()
        without[ids[:near][skipped[:near]]] = 0
        beyond_without = beyond.copy()
        beyond_without[skipped[near:], 2] = 0
        end = np.zeros((1, 4), np.uint32)  # no array is empty

        def put(array: HostArray) -> DeviceArray:
            return device.put(np.ascontiguousarray(array).reshape(-1))

        shared = put(data), put(by_id), put(np.append(ids[near:], 0).astype(np.uint32))
        own = [
            (put(of_lengths), put(np.concatenate([of_beyond, end])))
            for of_lengths, of_beyond in ((lengths, beyond), (without, beyond_without))
        ]
        self._arrays = [*shared, *own[0], *own[1]]
        pointer = device.pointer
        self.fields = [
            {
                "lengths": pointer(of_lengths),
                "slots": pointer(shared[1]),
                "table": table,
                "other_ids": pointer(shared[2]),
                "other_slots": pointer(of_beyond),
                "other_count": len(ids) - near,
                "bytes": pointer(shared[0]),
            }
            for of_lengths, of_beyond in own
        ]

    @property
    def nbytes(self) -> int:
        return sum(int(array.nbytes) for array in self._arrays)

    def fill(self, job: Record, skip_special: bool) -> None:
        """Gives a DECODE its tables."""
        for name, value in self.fields[skip_special].items():
            job[name] = value
