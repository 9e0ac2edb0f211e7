"""What the engines for merging and for longest match have in common: names of special tokens in a text, its normal
form, and how its tokens are counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ._errors import NotNormal, Unusable
from ._job import BLOCK, COUNTS, FLAG_FORM, FLAG_GAP, FLAG_UTF8, FLAG_WORD, FLAG_WORK, TILE
from ._starts import Buffers, text_job
from ._waiting import Steps, complete

if TYPE_CHECKING:
    import numpy.typing as npt

    from .._protocols import DeviceArray, HostArray, Places, Record
    from ._device import CudaDevice
    from ._repair import Form
    from ._special_tokens import Sought
    from ._text import DeviceText

# Places of special tokens that are looked for at once; a text with more is searched again.
_FOUND_CAPACITY = 4096

# Blocks that may not be in their normal form: so many and one of sixteen. With more the host normalizes the text.
_DOUBTS, _DOUBTFUL = 4096, 16


class Named(Exception):
    """The text holds names of special tokens, so it has no ids as a whole.

    places, numbers: int64 arrays on the host, in order of the places: offset of a name's first byte, and which it is.
    """

    def __init__(self, places: Places, numbers: Places) -> None:
        super().__init__(f"{len(places)} names")
        self.places, self.numbers = places, numbers


class BaseEngine:
    """The base of both engines.

    Args:
        device: where the kernels run (_device.py).
        form: the normal form that texts are to be in already; None: any text is as it should be.
    """

    def __init__(self, device: CudaDevice, form: Form | None = None) -> None:
        self._device, self._form, self._buffers = device, form, Buffers(device)
        self._names: tuple[Sought, DeviceArray, HostArray, list[DeviceArray]] | None = None
        self._report: HostArray | None = None
        self._doubts: Places | None = None
        self._changes: DeviceArray | None = None
        self._map: DeviceArray | None = None

    # ---- buffers ----

    @property
    def memory(self) -> int:
        """Bytes of the buffers, the vocabulary's tables aside."""
        return self._buffers.nbytes

    def forget(self) -> None:
        """Gives up the buffers."""
        self._buffers.clear()
        self._doubts = None

    # ---- names of special tokens ----

    def find_names(self, text: DeviceText, names: Sought | None) -> tuple[Places, Places]:
        """(places, numbers) as Named has them: every place where a name stands, overlapping ones included, and there
        the longest of each set. The names have to fit; none lies across two texts."""
        if text.size == 0 or not names:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        capacity = _FOUND_CAPACITY
        while True:
            job = self._text_job(text)
            self._look_for(job, names, capacity)
            self._device.launch("begin", job, 1, 32)
            self._device.launch("find", job, -(-int(job["blocks"]) // 256), 256)
            count = int(self._buffers.counted()["specials"])
            if count <= capacity:
                return self._found(count)
            capacity = count

    def _found(self, count: int) -> tuple[Places, Places]:
        if not count:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        found = np.sort(self._device.get(self._buffers.kept("found")[: 8 * count]).view(np.uint64))
        return (found >> np.uint64(16)).astype(np.int64), (found & np.uint64(0xFFFF)).astype(np.int64)

    def _look_for(self, job: Record, names: Sought | None, capacity: int = _FOUND_CAPACITY) -> None:
        """Tells the job which names to look for. They are kept on the device, because most calls have the same."""
        job["name_count"] = len(names or ())
        if not names:
            return
        if self._names is None or self._names[0] is not names:
            self._names = names, *names.put(self._device)
        _, sets, job["name_firsts"], _ = self._names
        job["names"] = self._device.pointer(sets)
        job["found"], job["found_capacity"] = self._buffers.address("found", capacity, np.uint64), capacity

    # ---- before a text is encoded ----

    def looking(self, text: DeviceText, trusted: bool, names: Sought | None) -> Steps[tuple[Places, Places, Places]]:
        """(places, numbers) as Named has them, and, ascending, the blocks of the text that may not be in the normal
        form. Raises Unusable where it is no UTF-8, and NotNormal where there are many such blocks."""
        job, launch = self._text_job(text), self._device.launch
        self._look_for(job, names)
        blocks = -(-int(job["blocks"]) // 256)
        self._look_at_form(job)
        doubts = self._note_doubts(job)
        launch("begin", job, 1, 32)
        if not trusted:
            launch("check", job, blocks, 256)
        if names:
            launch("find", job, blocks, 256)
        launch("form", job, blocks, 256)
        launch("tell", job, 1, 32)
        yield self._device.moment()
        assert self._report is not None
        counts = self._report[0]
        count = int(counts["doubts"])
        if counts["flags"] & FLAG_UTF8:
            raise Unusable("the text is not valid UTF-8")
        if count > len(doubts):
            raise NotNormal("much of the text may not be in its normal form")
        places, numbers = self._named(counts, text, names)
        return places, numbers, np.sort(doubts[:count])

    def _look_at_form(self, job: Record) -> None:
        """Tells the job to look whether the text is in its normal form."""
        form = self._form
        if form is None:
            return
        job["form"], job["form_firsts"] = form.number, form.firsts
        if form.changes is not None:
            if self._changes is None:
                self._changes = self._device.put(form.changes)
            job["changes"], job["low_changes"] = self._device.pointer(self._changes), form.changes[:2]
            job["map"] = 0 if self.map is None else self._device.pointer(self.map)

    @property
    def map(self) -> DeviceArray | None:
        """What becomes of each byte of a text that is in its form; None: itself."""
        if self._map is None and self._form is not None and self._form.map is not None:
            self._map = self._device.put(self._form.map)
        return self._map

    def _note_doubts(self, job: Record) -> Places:
        """Where the job writes the blocks that may not be in that form."""
        capacity = _DOUBTS + int(job["blocks"]) // _DOUBTFUL
        if self._doubts is None or len(self._doubts) < capacity:
            self._doubts = self._device.pinned(8 * capacity).view(np.int64)
        job["doubts"], job["doubts_capacity"] = self._doubts.ctypes.data, capacity
        return self._doubts[:capacity]

    def _named(self, counts: np.void, text: DeviceText, names: Sought | None) -> tuple[Places, Places]:
        """What find_names() gives, once it is counted how many there are."""
        few = counts["specials"] <= _FOUND_CAPACITY
        return self._found(int(counts["specials"])) if few else self.find_names(text, names)

    # ---- the job ----

    def _text_job(self, text: DeviceText) -> Record:
        """A job that knows the text, and where to count and report."""
        job = text_job(self._buffers, text)
        if self._report is None:
            self._report = self._device.pinned(COUNTS.itemsize).view(COUNTS)
        job["report"] = self._report.ctypes.data
        return job

    def _add_counts(self, job: Record, stretches: int, size: int) -> None:
        """Room to count the tokens of a slice's stretches, each of `size` bytes."""
        address = self._buffers.address
        job["tokens"] = address("tokens", stretches, np.uint32)
        job["offsets"] = address("offsets", stretches, np.uint32)
        job["row_slots"] = address("row_slots", stretches * (size // BLOCK), np.uint32)
        job["tile_starts"] = address("tile_starts", -(-stretches // TILE) + 1, np.uint64)

    def _count_tokens(self, job: Record, stretches: int) -> None:
        self._device.launch("sum", job, -(-stretches // (8 * TILE)), 256)
        self._device.launch("scan", job, 1, 32)

    # ---- a text ----

    def encode(
        self, text: DeviceText, dtype: npt.DTypeLike, trusted: bool = True, names: Sought | None = None
    ) -> tuple[DeviceArray, DeviceArray | None]:
        """(ids, row starts): ids of the dtype on the device; row starts are uint64, one more than rows, None without.

        Args:
            trusted: the text is known to be UTF-8, each text of several by itself.
            names: what must not stand in the text (find_names).

        Raises:
            Named: a name stands in it.
            Unusable: it is no UTF-8, or the device's answer contradicts itself.
        """
        return complete(self.encoding(text, dtype, trusted, names))

    def encoding(
        self, text: DeviceText, dtype: npt.DTypeLike, trusted: bool = True, names: Sought | None = None
    ) -> Steps[tuple[DeviceArray, DeviceArray | None]]:
        """encode() in steps."""
        raise NotImplementedError

    def _no_rows(self, text: DeviceText) -> DeviceArray | None:
        return None if text.rows is None else self._device.full(len(text.rows) + 1, np.uint64, 0)

    def _prepare_rows(self, job: Record, text: DeviceText) -> DeviceArray | None:
        if text.rows is None:
            return None
        row_starts = self._device.empty(len(text.rows) + 1, np.uint64)
        job["rows"], job["row_starts"] = self._device.pointer(text.rows), self._device.pointer(row_starts)
        job["row_count"] = len(text.rows)
        return row_starts

    def _answer(self, text: DeviceText, names: Sought | None) -> np.void:
        """What the kernels counted. Raises Named, Unusable."""
        assert self._report is not None
        counts: np.void = self._report[0]
        if counts["flags"] & FLAG_UTF8:
            raise Unusable("the text is not valid UTF-8")
        if counts["flags"] & FLAG_FORM:
            raise NotNormal("the text may not be in its normal form")
        if counts["specials"]:
            raise Named(*self._named(counts, text, names))
        if counts["flags"] & FLAG_GAP:
            raise Unusable("a long stretch has no place where a piece surely starts")
        if counts["flags"] & FLAG_WORD:
            raise Unusable("a merge contradicts itself")
        if counts["flags"] & FLAG_WORK:
            raise Unusable("beginnings of long tokens that no token ends take too long")
        return counts
