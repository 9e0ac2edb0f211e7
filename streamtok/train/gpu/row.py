"""The row of tokens on a device, and the weight of each place (csrc/cuda/train/row.cu): from the table of pieces that
is there, from what the CPU has laid out, or from both."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .count import DevicePieces
from .jobs import BORDER, HEAVY, INSIDE, LAST, PLACING, ROW_TOP, WIDENING

if TYPE_CHECKING:
    from ...gpu._device import CudaDevice
    from ...native.trainer import Trainer

MOST_PLACES = 2**32 - 2  # as on the CPU: ST_TRAIN_MAX_PLACES

_STEP = 1 << 24  # places copied at a time


def _weights_above(count: int) -> int:
    """How many pieces can be so frequent that their count stands in the list of heavy ones, if `count` were seen."""
    return count // HEAVY + 1


class Row:
    """row, weights: uint32 a place; heavy: uint64. All begins and ends with a border."""

    def __init__(self, device: CudaDevice, places: int, heavy: int) -> None:
        if places > MOST_PLACES:
            raise ValueError("the distinct pieces take more than 4 GiB: train on less text, or with a pattern")
        self.device, self.places = device, places
        self.row, self.weights = device.empty(places, np.uint32), device.empty(places, np.uint32)
        self.heavy = device.full(max(1, heavy), np.uint64, 0)
        device.assign(self.row[:1], BORDER)
        device.assign(self.weights[:1], 0)

    def tokens(self, start: int, n: int) -> Any:
        """The tokens at places start to start + n as the CPU's trainer has them: without the mark of the last place."""
        part = self.device.get(self.row[start : start + n])
        part[(part & LAST != 0) & (part < INSIDE)] &= LAST - 1
        return part


def row_of_pieces(device: CudaDevice, pieces: DevicePieces, rest: Any, alphabet: bytes) -> Row:
    """The row of a table; behind it that of `rest`, a Trainer with other pieces laid out."""
    counted = pieces.table.counted()
    own = int(sum(counted[name] for name in ("shorts", "longs", "short_bytes", "long_bytes")))
    heavy = _weights_above(int(counted["pieces"]))
    others, ranges = rest.places - 1, len(rest.ranges()) // 24
    row = Row(device, 1 + own + others, heavy + ranges)
    tokens = np.empty(256, np.uint32)
    tokens[np.frombuffer(alphabet, np.uint8)] = np.arange(256, dtype=np.uint32)
    tokens_there, top = device.put(tokens), device.full(ROW_TOP.itemsize // 8, np.uint64, 0)
    device.assign(top[:1], 1)
    job = np.zeros((), PLACING)
    for name, value in pieces.table.fields.items():
        job[name] = value
    job["row"], job["weights"], job["heavy"] = map(device.pointer, (row.row, row.weights, row.heavy))
    job["alphabet"], job["top"] = device.pointer(tokens_there), device.pointer(top)
    device.launch("place", job, min(-(-pieces.table.rows // 8), 1 << 12), 256)
    if others:
        _widen(row, rest, 1 + own, heavy)
    device.get(top)  # the arrays that the kernel reads may be freed now
    return row


def row_of_trainer(device: CudaDevice, trainer: Trainer) -> Row:
    """The row as the CPU's trainer has it now."""
    row = Row(device, trainer.places, len(trainer.ranges()) // 24)
    _widen(row, trainer, 1, 0)
    return row


def _widen(row: Row, trainer: Trainer, at: int, heavy: int) -> None:
    """Puts the trainer's row, without its first border, at place `at`, and its counts at number `heavy`."""
    device, places = row.device, trainer.places - 1
    source = device.empty(places, np.uint32)
    for start in range(0, places, _STEP):
        part = np.frombuffer(trainer.save(1 + start, min(_STEP, places - start)), np.uint32)
        device.assign(source[start : start + len(part)], device.put(part))
    ranges = np.frombuffer(trainer.ranges(), np.uint64).reshape(-1, 3)
    counts, ends = device.put(np.ascontiguousarray(ranges[:, 0])), device.put(ranges[:, 1] - np.uint64(1))
    device.assign(row.heavy[heavy : heavy + len(ranges)], counts)
    lengths = device.put(np.array([len(trainer.token(token)) for token in range(trainer.count)], np.uint32))
    job = np.zeros((), WIDENING)
    job["source"], job["ends"], job["counts"], job["lengths"] = map(device.pointer, (source, ends, counts, lengths))
    job["places"], job["ranges"], job["heavy"] = places, len(ranges), heavy
    job["row"] = device.pointer(row.row) + 4 * at
    job["weights"] = device.pointer(row.weights) + 4 * at
    device.launch("widen", job, min(-(-places // 256), 1 << 14), 256)
    device.get(ends[:1])
