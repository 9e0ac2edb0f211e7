"""Merges learned on a device: one kernel makes thousands of them a launch (csrc/cuda/train/train.cu). The host only
looks at how far it came, and gives it more memory where it asks for that."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from .jobs import BUCKETS, LEARNED, LEARNING, MOST_BYTES, PAIR, SIDE, SIDES, STOP_BYTES, STOP_DONE, STOP_PAIRS
from .row import Row

if TYPE_CHECKING:
    from ...native.trainer import Trainer
    from ..options import Options

# Places looked at in one launch at least: some hundredths of a second.
_WORK = 1 << 27

_SKETCH_LEAST_BITS, _SKETCH_MOST_BITS = 12, 23


@dataclasses.dataclass(frozen=True)
class Tuning:
    """What decides how the work is done, never what comes out: docs/internals/training.md has what was measured.

    block, blocks: threads a block, and blocks, if the device holds so many. alone: places of a pair up to which one
    block merges it. wish: pairs in the front. guess: how many times rarer than one in as many as there are merges the
    last pair is taken to be. merges: of a launch, some hundredths of a second, then the host may tell of it, or stop.
    pairs: places of their table at first; some hundred thousand pairs are frequent enough to be known.
    """

    block: int = 1024
    blocks: int = 1 << 16
    alone: int = 2048
    wish: int = 512
    guess: int = 8
    merges: int = 1 << 12
    pairs: int = 1 << 20


TUNING = Tuning()


class DeviceLearner:
    """Goes on where `trainer` stands (a Trainer of the CPU, of which only the tokens are used here), and tells it of
    every merge. text_bytes: of all pieces, repeated ones too."""

    def __init__(
        self, row: Row, trainer: Trainer, wanted: int, options: Options, text_bytes: int, tuning: Tuning | None = None
    ) -> None:
        self._device, self._row, self._trainer = row.device, row, trainer
        self._tuning, self._wanted = tuning or TUNING, wanted
        self._blocks = self._device.blocks_for("learn", self._tuning.blocks)
        self._arrays: dict[str, Any] = {}
        self._job = np.zeros((), LEARNING)
        self._fill_in_row(options)
        self._fill_in_tokens()
        self._fill_in_pairs()
        self._fill_in_state(text_bytes)

    def _array(self, name: str, array: Any) -> Any:
        self._arrays[name] = array
        self._job[name] = self._device.pointer(array)
        return array

    def _fill_in_row(self, options: Options) -> None:
        job, row, device = self._job, self._row, self._device
        job["row"], job["weights"], job["heavy"] = map(device.pointer, (row.row, row.weights, row.heavy))
        job["places"], job["wanted"] = row.places, self._wanted
        job["max_token_bytes"], job["floor"] = options.max_token_bytes, max(options.min_frequency, 1)
        job["by_bytes"] = options.ties == "lexicographic"

    def _fill_in_tokens(self) -> None:
        device, trainer, wanted = self._device, self._trainer, self._wanted
        tokens = [trainer.token(token) for token in range(trainer.count)]
        lengths, prefixes, starts = (
            np.zeros(wanted, np.uint32),
            np.zeros(wanted, np.uint64),
            np.zeros(wanted, np.uint64),
        )
        lengths[: len(tokens)] = [len(token) for token in tokens]
        prefixes[: len(tokens)] = [int.from_bytes(token[:8].ljust(8, b"\0"), "big") for token in tokens]
        starts[1 : len(tokens)] = np.cumsum(lengths[: len(tokens) - 1])
        self._array("lengths", device.put(lengths))
        self._array("prefixes", device.put(prefixes))
        self._array("starts", device.put(starts))
        self._array("merged", device.empty(wanted, np.uint64))
        self._bytes = sum(map(len, tokens))
        room = self._bytes + 16 * wanted + 2 * MOST_BYTES
        arena = self._array("bytes", device.empty(room, np.uint8))
        device.assign(arena[: self._bytes], device.put(np.frombuffer(b"".join(tokens), np.uint8)))
        self._job["byte_room"] = room

    def _fill_in_pairs(self) -> None:
        device, places, wanted = self._device, self._row.places, self._wanted
        tuning, job = self._tuning, self._job
        # Threads that enter pairs at once may exceed the limit, each by one: a quarter of the table is left for them.
        threads = self._blocks * tuning.block
        self._make_pairs(max(4 * threads, min(tuning.pairs, 2 * places), 1 << 10))
        # Twice what a search lists, so that the row is searched anew when as much has come as was there.
        job["list_room"] = 2 * places
        self._array("lists", device.empty(2 * places, np.uint32))
        bits = min(max(places.bit_length() - 1, _SKETCH_LEAST_BITS), _SKETCH_MOST_BITS)
        job["sketch_bits"] = bits
        self._array("sketch", device.empty(1 << bits, np.uint64))
        self._array("histogram", device.empty(BUCKETS, np.uint32))
        self._array("sides", device.full(SIDES * wanted * (SIDE.itemsize // 8), np.uint64, 0))
        self._array("seen", device.empty(SIDES * wanted, np.uint32))
        job["front_wish"], job["alone"] = tuning.wish, tuning.alone

    def _make_pairs(self, least: int) -> None:
        room = 1 << (least - 1).bit_length()
        self._arrays.pop("pairs", None)
        self._arrays.pop("front", None)
        self._array("pairs", self._device.empty(room * (PAIR.itemsize // 8), np.uint64))
        self._array("front", self._device.empty(room, np.uint32))
        self._job["pair_mask"], self._job["pair_limit"] = room - 1, room // 2

    def _fill_in_state(self, text_bytes: int) -> None:
        trainer, floor = self._trainer, int(self._job["floor"])
        merges = self._wanted - trainer.count
        guess = text_bytes // max(merges, 1) // self._tuning.guess
        state = np.zeros((), LEARNED)
        state["tokens"], state["byte_top"], state["stale"] = trainer.count, self._bytes, 1
        state["least"] = max(trainer.least or guess, floor)
        self._array("learned", self._device.put(state.reshape(1).view(np.uint64)))

    # ---- a launch ----

    @property
    def state(self) -> Any:
        """A st_learned."""
        return self._device.get(self._arrays["learned"]).view(LEARNED)[0]

    def run(self, merges: int, work: int) -> bool:
        """Up to so many merges, fewer when about so many places were looked at. True: there is nothing left to do."""
        tuning, job = self._tuning, self._job
        self._set(stop=0, merges=0, work=0)
        job["most_merges"], job["most_work"] = min(merges, tuning.merges), max(work, _WORK)
        self._device.launch("learn", job, self._blocks, tuning.block)
        state = self.state
        self._tell(state)
        stop = int(state["stop"])
        if stop == STOP_PAIRS:
            self._make_pairs(2 * (int(job["pair_mask"]) + 1))
        elif stop == STOP_BYTES:
            self._grow_bytes()
        return stop == STOP_DONE

    def _set(self, **values: int) -> None:
        for name, value in values.items():
            at = LEARNED.fields[name][1] // 8  # type: ignore[index]
            self._device.assign(self._arrays["learned"][at : at + 1], value)

    def _tell(self, state: Any) -> None:
        first, count = self._trainer.count, int(state["tokens"])
        pairs = self._device.get(self._arrays["merged"][first:count])
        self._trainer.take(pairs, int(state["least"]), int(state["last_count"]))

    def _grow_bytes(self) -> None:
        before, room = self._arrays["bytes"], int(self._job["byte_room"])
        arena = self._array("bytes", self._device.empty(2 * room, np.uint8))
        self._device.assign(arena[:room], before)
        self._job["byte_room"] = 2 * room

    def keep(self) -> None:
        """Gives the trainer the row as the merges so far have left it."""
        for start in range(0, self._row.places, 1 << 24):
            self._trainer.load(start, self._row.tokens(start, 1 << 24))
