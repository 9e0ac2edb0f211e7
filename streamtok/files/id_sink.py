"""Ids into `<target>.partial`, in the target's own layout, with a running checksum."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterable
from typing import Any

import numpy as np

from .. import disk
from ..disk.outputs import files_of
from ..native.checksum import crc32, joined_crc32
from ..native.steps import after_all
from .carried import Carrying
from .carried_file import CarriedFile
from .finishing import built_at, put_in_place, remove_built, rows, side_files, write_side
from .formats import open_documents
from .formats.base import STORED, Facts, Format, RowFormat, write_ends
from .formats.reading import checksum
from .growing import EndsFile, Growing
from .in_order import NO_ENDS, Block, Ends, Ids
from .journal import Mark

_BUFFER_IDS = 1 << 18  # 1 MiB of uint32: the writes are large, the memory is not


class IdSink:
    """The unfinished output of one run: ids in `<target>.partial`, where documents end in `<target>.partial.ends` and
    columns that are carried along in `<target>.partial.carried`, if these are wanted.

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
        carrying: Carrying | None = None,
    ) -> None:
        """dtype: one of `format`. index: whether the ends of documents are kept in `<target>.ends`. keeps_pages: the
        ids stay in the system's cache, because they are read again soon. carrying: the columns that are carried."""
        self.target = target
        _, self.partial, _, ends, carried = files_of(target)
        self.ids = 0
        self.crc = 0
        self.format, self.dtype_name = format, dtype
        # An int32 has the bytes of the same uint32: no id is larger.
        self.dtype = STORED["uint32" if dtype == "int32" else dtype]
        self._sides = format.sides(target)
        self.has_index = index and format.can_index
        if self.has_index:
            self._sides = [*self._sides, f"{target}.ends"]
        wants_ends = format.wants_ends or self.has_index
        self._header_bytes = format.header_bytes
        self._buffer: np.ndarray[Any, np.dtype[Any]] = np.empty(_BUFFER_IDS, dtype=self.dtype)
        self._used = 0
        self._data = Growing(self.partial, target, keeps_pages)
        self._ends = EndsFile(ends, target) if wants_ends else None
        self._carried = None if carrying is None else CarriedFile(carried, target, carrying)
        self._all: list[Growing] = [each for each in (self._data, self._ends, self._carried) if each is not None]
        # What a run of another kind may have left.
        self._unused = [*([ends] if self._ends is None else []), *([carried] if self._carried is None else [])]
        self.has_earlier_ids = False  # whether an earlier run left some in the unfinished file

    @property
    def wants_ends(self) -> bool:
        """Whether it takes the ends of documents."""
        return self._ends is not None

    @property
    def ends_crc(self) -> int:
        """CRC-32 of the ends that were flushed."""
        return 0 if self._ends is None else self._ends.crc

    @property
    def carrying(self) -> Carrying | None:
        """The columns that it takes beside the ids."""
        return None if self._carried is None else self._carried.carrying

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
        self.has_earlier_ids = self._data.file.size() > self._header_bytes

    def start(self) -> None:
        """Begin with no ids; what an earlier run left is dropped."""
        remove_built(built_at(self.target))
        self._data.file.truncate(0)
        self._data.file.write(self._header(0))
        if self._ends is not None:
            self._ends.go_on(0, 0)
        if self._carried is not None:
            self._carried.go_on(0, 0)
        for path in self._unused:
            disk.remove(path)
        disk.sync_directory(self.partial)

    def last_whole(self, marks: Iterable[Mark]) -> Mark | None:
        """The last of `marks` whose ids, ends and columns are all there and have its checksums, by one pass over the
        files."""
        best, ids, crc = None, 0, 0
        ended, ends_crc = 0, 0
        carried, carried_crc = 0, 0
        self._data.file.seek(self._header_bytes)
        for each in (self._ends, self._carried):
            if each is not None:
                each.file.seek(0)
        for mark in marks:
            if mark.ids < ids or mark.documents < ended or mark.carried < carried:
                continue  # not of this run
            missing, crc = disk.checksum(self._data.file, (mark.ids - ids) * self.dtype.itemsize, crc)
            if self._ends is not None:
                fewer, ends_crc = self._ends.checksum(mark.documents - ended, ends_crc)
                missing += fewer
            if self._carried is not None:
                fewer, carried_crc = disk.checksum(self._carried.file, mark.carried - carried, carried_crc)
                missing += fewer
            if missing:
                break
            ids, ended, carried = mark.ids, mark.documents, mark.carried
            if (crc, ends_crc, carried_crc) == (mark.crc, mark.ends_crc, mark.carried_crc):
                best = mark
        return best

    def is_finished(self, mark: Mark) -> bool:
        """Whether the target holds exactly the ids of `mark` and no unfinished ids lie beside it."""
        if os.path.exists(self.partial) or not os.path.exists(self.target):
            return False
        if isinstance(self.format, RowFormat):
            return self._holds_rows(mark.crc)  # the unfinished ids were removed behind the rename
        size = self._header_bytes + mark.ids * self.dtype.itemsize
        if os.path.getsize(self.target) != size:
            return False
        with disk.open_plain(self.target) as file:
            if file.read_all(self._header_bytes) != self._header(mark.ids):
                return False
            return disk.checksum(file, size - self._header_bytes, 0) == (0, mark.crc)

    def _holds_rows(self, crc: int) -> bool:
        try:
            return checksum(open_documents(self.target, self.format.name)) == crc
        except (OSError, ValueError):
            return False

    def _header(self, count: int) -> bytes:
        return self.format.header(self.dtype_name, count)

    def go_on(self, mark: Mark) -> None:
        """Cut the files back to the ids and ends of `mark` and append behind them."""
        self._data.file.truncate(self._header_bytes + mark.ids * self.dtype.itemsize)
        self.ids, self.crc = mark.ids, mark.crc
        if self._ends is not None:
            self._ends.go_on(mark.documents, mark.ends_crc)
        if self._carried is not None:
            self._carried.go_on(mark.carried, mark.carried_crc)

    def carry(self, batch: Any, kinds: tuple[int, ...]) -> None:
        """Take the carried columns of the next documents, as Carrier emits them. One thread calls this and
        flush_carried(); another may append ids."""
        assert self._carried is not None
        self._carried.append(batch, kinds)

    def flush_carried(self) -> tuple[int, int]:
        """Write the columns so far to the operating system; returns how many bytes they are, and their CRC-32."""
        if self._carried is None:
            return 0, 0
        self._carried.flush()
        return self._carried.size, self._carried.crc

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
            self._data.write(ids.data.data.cast("B"))
            self.crc = joined_crc32(self.crc, ids.crc, ids.data.nbytes)
            self.ids += len(ids.data)
            return
        done, count = 0, len(ids)
        while done < count:
            if self._used == _BUFFER_IDS:
                self._flush_ids()
            take = min(count - done, _BUFFER_IDS - self._used)
            self._buffer[self._used : self._used + take] = ids[done : done + take]
            self._used += take
            done += take
        self.ids += count

    def flush(self) -> None:
        """Write what is buffered to the operating system."""
        self._flush_ids()
        if self._ends is not None:
            self._ends.flush()

    def _flush_ids(self) -> None:
        if self._used:
            block = self._buffer[: self._used].data.cast("B")
            self._data.write(block)
            self.crc = crc32(block, self.crc)
            self._used = 0

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
        file = self._data.file
        if self._header_bytes:
            file.seek(0)
            file.write(self._header(self.ids))
            file.sync()
        header, size = crc32(self._header(self.ids)), self.ids * self.dtype.itemsize
        self._data.check(self._header_bytes + size, joined_crc32(header, self.crc, size))
        if self._ends is not None:
            self._ends.check_all()
        if self._carried is not None:
            self._carried.check_all()
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
        data, ends, offset = self._data, self._ends, self._header_bytes
        return Facts(
            target=self.target,
            dtype=self.dtype_name,
            ids=self.ids,
            crc=self.crc,
            documents=0 if ends is None else ends.count,
            ends=lambda: iter(()) if ends is None else ends.blocks(),
            rows=lambda: iter(()) if ends is None else rows(data.file, offset, STORED[self.dtype_name], ends),
            encoding=encoding,
            sources=tuple(sources),
            starts=tuple(starts),
            carried=None if self._carried is None else self._carried.settled(),
        )

    def clean(self) -> None:
        """Remove what is left beside a finished target."""
        if self._sides or isinstance(self.format, RowFormat):
            self._remove_unfinished_sides()
        for each in (self._ends, self._carried):
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
