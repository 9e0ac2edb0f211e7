"""Texts as the kernels take them: one as it lies, or many, each from a block of its own on (csrc/cuda/job.h); and what
is asked of their ids."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ._job import BLOCK, PACKING, PASSAGE_FRONT, PASSAGE_ID

if TYPE_CHECKING:
    from .._protocols import ArrayCoder, DeviceArray, HostArray, Places
    from ._device import CudaDevice
    from ._special_tokens import Names


@dataclasses.dataclass
class DeviceText:
    """Bytes of UTF-8 on a device.

    data: uint8, at a multiple of 16 bytes. size: bytes of it that count. marks: uint8 a block, or None for one text.
    rows: uint64 a text, the block that it begins with (the number of blocks, if no text follows), ascending, or None.
    """

    data: DeviceArray
    size: int
    marks: DeviceArray | None = None
    rows: DeviceArray | None = None


@dataclasses.dataclass(frozen=True)
class ShortText:
    """A text that one launch copies to the device and encodes (csrc/cuda/encode/short.cu).

    source: where it lies, at a multiple of 16, on the device or in pinned memory. size: its bytes, of all blocks if it
    has rows. dtype: of the ids. trusted: it is known to be UTF-8. rows: how many, and then marks and rows lie behind
    the blocks (native/texts.pyx); None: it is one text. is_normal: the host has seen to its normal form.
    """

    source: int
    size: int
    dtype: np.dtype[Any]
    trusted: bool
    rows: int | None = None
    is_normal: bool = False

    @property
    def bytes(self) -> int:
        """How many are copied."""
        return self.size if self.rows is None else self.place_of_rows + 8 * self.rows

    @property
    def place_of_rows(self) -> int:
        return bytes_in_blocks(self.size // BLOCK, 0)


@dataclasses.dataclass(frozen=True)
class Request:
    """What is asked of the ids, whatever the text.

    coder: the core's, for what the device does not take; None: such texts are not asked for. trusted: Python vouches
    for the UTF-8. may_lend: arrays on the host may be read-only.
    """

    coder: ArrayCoder | None
    names: Names
    dtype: np.dtype[Any]
    trusted: bool = False
    may_lend: bool = False


def bytes_in_blocks(blocks: int, rows: int) -> int:
    """Room for so many blocks, their marks and rows, as Layout.write_blocks writes them."""
    return -(-(BLOCK + 1) * blocks // 16) * 16 + 8 * rows


def starts_of(sizes: Places, in_blocks: bool) -> tuple[Places, int]:
    """(where texts of these sizes begin, each in a block of its own or one behind the other; where the last ends)."""
    taken = BLOCK * -(-sizes // BLOCK) if in_blocks else sizes
    ends = np.cumsum(taken)
    return ends - taken, int(ends[-1]) if len(ends) else 0


def pack(
    device: CudaDevice,
    source: DeviceArray,
    starts: HostArray,
    sizes: HostArray,
    rows: HostArray,
    slack: int = 0,
    put: Callable[[HostArray], DeviceArray] | None = None,
    front: bytes = b"",
    byte_map: DeviceArray | None = None,
) -> DeviceText:
    """Lays the passages source[start : start + size] out for the kernels.

    Args:
        source: uint8 on the device.
        starts, sizes: uint64 a passage, on the host; a size of PASSAGE_ID + id stands for the token itself.
        rows: int64 a row, on the host: the passage that it begins with; len(starts) if no passage follows.
        slack: bytes behind the text that may be read.
        put: how a row on the host comes to the device, if there is a quicker way than the device's.
        front: a byte to stand in front of each passage that is not empty, or none.
        byte_map: uint8 on the device, what becomes of each byte; None: itself.
    """
    if front:
        has_front = (sizes > 0) & (sizes < np.uint64(PASSAGE_ID))
        starts, sizes = starts + has_front * np.uint64(PASSAGE_FRONT), sizes + has_front
    taken = np.where(sizes >= np.uint64(PASSAGE_ID), np.uint64(1), (sizes + np.uint64(BLOCK - 1)) // np.uint64(BLOCK))
    blocks = np.concatenate([np.zeros(1, np.uint64), np.cumsum(taken, dtype=np.uint64)])
    count = int(blocks[-1])
    text, marks = device.empty(max(1, count) * BLOCK + slack, np.uint8), device.empty(max(1, count), np.uint8)
    passages = len(starts)
    facts = (put or device.put)(np.concatenate([starts, sizes, blocks[:-1], blocks[rows]]))  # one copy
    if count:
        arrays = facts[:passages], facts[passages : 2 * passages], facts[2 * passages : 3 * passages]
        packing = np.zeros((), PACKING)
        packing["source"], packing["text"], packing["marks"] = map(device.pointer, (source, text, marks))
        packing["starts"], packing["sizes"], packing["blocks"] = map(device.pointer, arrays)
        packing["passages"], packing["count"], packing["front"] = passages, count, ord(front or b"\0")
        packing["map"] = 0 if byte_map is None else device.pointer(byte_map)
        device.launch("pack", packing, min(-(-count // 64), 1 << 16), 256)
    return DeviceText(text, count * BLOCK, marks, facts[3 * passages :])
