"""Ids into `<target>.partial`, in the target's own layout, with a running checksum."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from .. import disk
from ..disk.outputs import files_of
from ..native.checksum import crc32
from ..native.steps import after_all
from .finishing import built_at, put_in_place, remove_built, rows, side_files, write_side
from .formats import open_documents
from .formats.base import STORED, Facts, Format, RowFormat, write_ends
from .formats.reading import checksum
from .growing import EndsFile, Growing, State
from .in_order import NO_ENDS, Block, Ends, Ids
from .journal import Point
from .passthrough import Passthrough
from .passthrough_file import PassthroughFile

_BUFFER_IDS = 1 << 18  # 1 MiB of uint32: the writes are large, the memory is not


class IdSink:
    """The unfinished output of one run: ids in `<target>.partial`, where documents end in `<target>.partial.ends` and
    passthrough columns in `<target>.partial.passthrough`, if these are wanted.

    `append` takes ids as they come, `sync` puts them on the disk, `finish` makes the target of them. Until then
    the target is as it was before.
    """

    def __init__(
        self,
        target: str,
        format: Format,
        dtype: str,
        index: bool = False,
        keeps_pages: bool = False,
        passthrough: Passthrough | None = None,
    ) -> None:
        """dtype: one of `format`. index: whether the ends of documents are kept in `<target>.ends`. keeps_pages: the
        ids stay in the system's cache, because they are read again soon. passthrough: its columns."""
        self.target = target
        _, self.partial, _, ends, columns, columns_before = files_of(target)
        self.format, self.dtype_name = format, dtype
        # An int32 has the bytes of the same uint32: no id is larger.
        self.dtype = STORED["uint32" if dtype == "int32" else dtype]
        self._sides = format.sides(target)
        self.has_index = index and format.can_index
        if self.has_index:
            self._sides = [*self._sides, f"{target}.ends"]
        wants_ends = format.wants_ends or self.has_index
        self._buffer: np.ndarray[Any, np.dtype[Any]] = np.empty(_BUFFER_IDS, dtype=self.dtype)
        self._used = 0
        self._data = Growing(self.partial, target, format.header_bytes, keeps_pages)
        self._ends = EndsFile(ends, target) if wants_ends else None
        self._passthrough = None
        if passthrough is not None:
            self._passthrough = PassthroughFile(columns, target, passthrough, columns_before)
        self._all: list[Growing] = [each for each in (self._data, self._ends, self._passthrough) if each is not None]
        # What a run of another kind may have left.
        self._unused = [*([ends] if self._ends is None else []), *([columns] if self._passthrough is None else [])]
        self._unused.append(columns_before)
        self.has_earlier_ids = False  # whether an earlier run left some in the unfinished file

    @property
    def wants_ends(self) -> bool:
        """Whether it takes the ends of documents."""
        return self._ends is not None

    @property
    def ids(self) -> int:
        """How many it has."""
        return self._data.size // self.dtype.itemsize + self._used

    @property
    def crc(self) -> int:
        """CRC-32 of the ids that were flushed."""
        return self._data.crc

    @property
    def passthrough(self) -> Passthrough | None:
        """The columns that it takes beside the ids."""
        return None if self._passthrough is None else self._passthrough.passthrough

    def options(self) -> dict[str, Any]:
        """What a journal keeps of it."""
        return {"format": self.format.name, "dtype": self.dtype_name, "index": self.has_index}

    @property
    def outputs(self) -> list[str]:
        """All files that it may write, finished or not, but for the target."""
        return [*files_of(self.target)[1:], *side_files(self.target, self._sides)]

    def open(self) -> None:
        """Open the unfinished files, with what an earlier run left in them.

        Raises BlockingIOError while another process writes them, PermissionError for a link or another user's file.
        """
        for each in self._all:
            each.open()
        self.has_earlier_ids = self._data.file.size() > self._data.header_bytes

    def start(self) -> None:
        """Begin with no ids; what an earlier run left is dropped."""
        remove_built(built_at(self.target))
        self._data.file.truncate(0)
        self._data.put_header(self._header(0))
        for each in self._all:
            each.go_on(0, 0)
        for path in self._unused:
            disk.remove(path)
        disk.sync_directory(self.partial)

    def last_whole(self, points: Iterable[tuple[Point, int]]) -> tuple[Point, int] | None:
        """The last of `points` whose bytes are all there and have its checksums, by one pass over the files."""
        best, states = None, [[0, 0] for _ in self._all]
        for each in self._all:
            each.file.seek(each.header_bytes)
        for point, end in points:
            if len(point.files) != len(states):
                continue  # not of this run
            steps = [now - before for (now, _), (before, _) in zip(point.files, states)]
            if min(steps) < 0:
                continue
            found = [disk.checksum(each.file, step, crc) for each, step, (_, crc) in zip(self._all, steps, states)]
            if any(missing for missing, _ in found):
                break
            states = [[size, crc] for (size, _), (_, crc) in zip(point.files, found)]
            if states == point.files:
                best = point, end
        return best

    def was_finished(self, point: Point) -> bool:
        """Whether the target holds exactly the ids of `point`, which are taken over, and no unfinished ones lie beside
        it."""
        if os.path.exists(self.partial) or not os.path.exists(self.target) or len(point.files) != len(self._all):
            return False
        self._data.size, self._data.crc = point.files[0]
        if isinstance(self.format, RowFormat):
            return self._holds_rows(self.crc)  # the unfinished ids were removed behind the rename
        header, size = self._header(self.ids), self._data.size
        if os.path.getsize(self.target) != len(header) + size:
            return False
        with disk.open_plain(self.target) as file:
            return file.read_all(len(header)) == header and disk.checksum(file, size) == (0, self.crc)

    def _holds_rows(self, crc: int) -> bool:
        try:
            return checksum(open_documents(self.target, self.format.name)) == crc
        except (OSError, ValueError):
            return False

    def _header(self, count: int) -> bytes:
        return self.format.header(self.dtype_name, count)

    def go_on(self, point: Point) -> None:
        """Cut the files back to what they had at `point`, and append behind that."""
        for each, state in zip(self._all, point.files):
            each.go_on(*state)

    def append_rows(self, batch: Any, kinds: tuple[int, ...]) -> None:
        """Take the passthrough columns of the next documents, as PassthroughWriter emits them. One thread calls this
        and flush_passthrough(); another may append ids."""
        assert self._passthrough is not None
        self._passthrough.append(batch, kinds)

    def flush_passthrough(self) -> list[State]:
        """Write the columns so far to the operating system; the state of their file, if there is one."""
        return [] if self._passthrough is None else [self._passthrough.flush()]

    def prepare(self, ids: Ids | Block) -> Ids | Block:
        """uint32 ids, all of which fit the dtype of the file, converted so that append() has little to do. Any thread
        may call it."""
        if isinstance(ids, Block) or len(ids) < _BUFFER_IDS // 4:
            return ids
        data = ids.astype(self.dtype, copy=False)
        return Block(data, crc32(data.data.cast("B")))

    def append(self, ids: Ids | Block, ends: Ends = NO_ENDS) -> None:
        """Append ids, or the result of prepare(); ends: behind how many of them documents end."""
        if len(ends) and self._ends is not None:
            self._ends.append(ends + np.uint64(self.ids))
        ids = self.prepare(ids)
        if isinstance(ids, Block):  # large enough to be written by itself
            self._flush_ids()
            self._data.write(ids.data.data.cast("B"), ids.crc)
            return
        done, count = 0, len(ids)
        while done < count:
            if self._used == _BUFFER_IDS:
                self._flush_ids()
            take = min(count - done, _BUFFER_IDS - self._used)
            self._buffer[self._used : self._used + take] = ids[done : done + take]
            self._used += take
            done += take

    def flush(self) -> list[State]:
        """Write what is buffered to the operating system; the states of the files of ids and ends."""
        self._flush_ids()
        return [each.flush() for each in (self._data, self._ends) if each is not None]

    def _flush_ids(self) -> None:
        if self._used:
            block, self._used = self._buffer[: self._used].data.cast("B"), 0
            self._data.write(block)

    def sync(self) -> None:
        """Return once every id that was flushed before would survive a power cut. Another thread may append."""
        for each in self._all:
            each.file.sync()

    def check_count(self) -> None:
        """Raises ValueError where there are more ids than the format holds."""
        most = self.format.most_ids
        if most is not None and self.ids > most:
            raise ValueError(
                f"format={self.format.name!r} holds up to {most} ids in a file, and these are more: encode fewer "
                "sources into each file, or write another format"
            )

    def finish(self, encoding: str, sources: list[str], starts: list[int]) -> None:
        """Put the finished files in their places; sync() was called before. starts: how many documents lie in front of
        each source."""
        self.check_count()
        header = self._header(self.ids)
        if header:
            self._data.put_header(header)
            self._data.file.sync()
        self._data.check(header)
        for each in self._all[1:]:
            each.check()
        facts = self._facts(encoding, sources, starts)
        for index, side in enumerate(self._sides):
            write_side(side, self.target, functools.partial(self._write_side, index, facts))
        if isinstance(self.format, RowFormat):
            remove_built(built_at(self.target))
            self.format.build(built_at(self.target), facts)
            put_in_place(built_at(self.target), self.target)
            self._data.discard()
        else:
            self._data.rename()
        self.clean()

    def _write_side(self, index: int, facts: Facts, file: disk.File) -> None:
        if self.has_index and index == len(self._sides) - 1:
            write_ends(file, facts)
        else:
            self.format.write_side(index, file, facts)

    def _facts(self, encoding: str, sources: list[str], starts: list[int]) -> Facts:
        data, ends, dtype = self._data, self._ends, STORED[self.dtype_name]
        return Facts(
            target=self.target,
            dtype=self.dtype_name,
            ids=self.ids,
            crc=self.crc,
            documents=0 if ends is None else ends.count,
            ends=lambda: iter(()) if ends is None else ends.blocks(),
            rows=lambda: iter(()) if ends is None else rows(data.file, data.header_bytes, dtype, ends),
            encoding=encoding,
            sources=tuple(sources),
            starts=tuple(starts),
            passthrough=None if self._passthrough is None else self._passthrough.settled(),
        )

    def clean(self) -> None:
        """Remove what is left beside a finished target."""
        if self._sides or isinstance(self.format, RowFormat):
            self._remove_unfinished_sides()
        for each in (self._ends, self._passthrough):
            if each is not None and each.is_open:
                each.discard()
            elif each is not None:
                disk.remove(each.path)

    def _remove_unfinished_sides(self) -> None:
        for side in self._sides:
            disk.remove(f"{side}.partial")
        remove_built(built_at(self.target))

    def discard(self) -> None:
        """Remove the unfinished files."""
        self._remove_unfinished_sides()
        for each in self._all:
            if each.is_open:
                each.discard()

    @property
    def is_open(self) -> bool:
        """Whether the unfinished files are ours, and no other process's."""
        return self._data.is_open

    def close(self) -> None:
        """Close the unfinished files; they stay on the disk."""
        after_all(*(each.close for each in self._all))
