"""The table of distinct pieces on a device (csrc/cuda/train/pieces.cu): its room, and its way back to the host."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .jobs import COUNTED, FREE, GROWING, KEY_BYTES, LONGEST, STRETCH

if TYPE_CHECKING:
    from ...gpu._device import CudaDevice
    from ...native.trainer import Counter

# What a stretch in flight may add at most: short pieces of two bytes (pieces of one byte are too few to count), long
# ones, and bytes of those, the last of which may reach far beyond the stretch.
_SHORTS, _LONGS, _BYTES = STRETCH // 2, STRETCH // (KEY_BYTES + 1) + 1, STRETCH + LONGEST

_NAMES = list(COUNTED.names or ())
_PIECES, _NEXT = _NAMES.index("pieces"), _NAMES.index("next")  # what stands in front is the table's; behind, the text's

_LEAST_ROOM = 1 << 16
_MOST_AT_FIRST = 1 << 23  # places, 200 MB: more only when there are so many pieces


class PieceTable:
    """Rooms are powers of two. A table is filled up to its limits, and what is in flight when a limit is reached
    still fits: a quarter of each room is kept for that."""

    def __init__(self, device: CudaDevice, text_bytes: int) -> None:
        """text_bytes: of the first text, for a guess."""
        self._device = device
        room = _LEAST_ROOM
        while room < _MOST_AT_FIRST and room < text_bytes // 8:
            room *= 2
        self._rooms = [room, room // 8, 4 * room]
        self._counted = device.full(COUNTED.itemsize // 8, np.uint64, 0)
        self._make()

    def _make(self) -> None:
        full, (shorts, longs, size) = self._device.full, self._rooms
        self._arrays = {
            "keys": full(2 * shorts, np.uint64, FREE),
            "counts": full(shorts, np.uint64, 0),
            "hashes": full(longs, np.uint64, 0),
            "wheres": full(longs, np.uint64, 0),
            "long_counts": full(longs, np.uint64, 0),
            "bytes": self._device.empty(size, np.uint8),
        }

    @property
    def fields(self) -> dict[str, int]:
        """Those of a st_piece_table."""
        fields = {name: int(self._device.pointer(array)) for name, array in self._arrays.items()}
        return {**fields, "short_mask": self._rooms[0] - 1, "long_mask": self._rooms[1] - 1}

    @property
    def rows(self) -> int:
        """Rows of 32 places."""
        return (self._rooms[0] + self._rooms[1]) // 32

    def warps(self) -> int:
        """How many may count at once, each a stretch."""
        shorts, longs, size = self._rooms
        return min(shorts // 4 // _SHORTS, longs // 4 // _LONGS, size // 4 // _BYTES)

    def fill_in(self, job: Any) -> None:
        """The table, its limits and its counts in a st_counting."""
        for name, value in self.fields.items():
            job[name] = value
        shorts, longs, size = self._rooms
        job["short_limit"], job["long_limit"], job["byte_limit"] = shorts * 5 // 8, longs * 5 // 8, size * 3 // 4
        job["counted"] = self._device.pointer(self._counted)

    def begin_text(self) -> None:
        """The next text is counted from its first stretch on."""
        self._device.assign(self._counted[_NEXT:], 0)

    def counted(self) -> Any:
        """A st_counted, once the device has come so far."""
        return self._device.get(self._counted).view(COUNTED)[0]

    def grow(self, counted: Any) -> None:
        """More room where a limit is reached."""
        used = int(counted["shorts"]), int(counted["longs"]), int(counted["long_bytes"])
        before, fields, rooms = self._arrays, self.fields, list(self._rooms)
        # What is nearly full gets more room as well: moving is expensive.
        self._rooms = [room * 4 if count > room // 2 else room for room, count in zip(rooms, used)]
        try:
            self._make()
        except BaseException:
            self._arrays, self._rooms = before, rooms
            raise
        job = np.zeros((), GROWING)
        for name, value in fields.items():
            job[f"from_{name}"] = value
        for name, value in self.fields.items():
            job[f"to_{name}"] = value
        self._device.launch("grow", job, min(-(-rooms[0] // 256), 1 << 12), 256)
        self._device.assign(self._arrays["bytes"][: used[2]], before["bytes"][: used[2]])

    def drop(self) -> None:
        """Gives memory back."""
        self._arrays.clear()

    def add_to(self, counter: Counter) -> None:
        """Adds all pieces to a Counter of the host, and forgets them."""
        get = self._device.get
        keys, counts = get(self._arrays["keys"]), get(self._arrays["counts"])
        there = np.flatnonzero(counts)
        rows = np.ascontiguousarray(keys.view(np.uint8).reshape(-1, 16)[there])
        starts = 16 * np.arange(len(there), dtype=np.uint64)
        counter.add(rows, starts, rows[:, KEY_BYTES].astype(np.uint32), counts[there])
        counts, wheres = get(self._arrays["long_counts"]), get(self._arrays["wheres"])
        there = np.flatnonzero(counts)
        wheres = wheres[there]
        lengths = (wheres & np.uint64(0xFFFF)).astype(np.uint32)
        size = int(self.counted()["long_bytes"])
        counter.add(get(self._arrays["bytes"][:size]), wheres >> np.uint64(16), lengths, counts[there])
        self._make()
        self._device.assign(self._counted[:_PIECES], 0)
