"""One run of encode_file: begin or go on, encode, keep points to resume from, finish, or say what is left.

With several threads, some unpack sources, one reads and cuts, some encode, one writes, and one waits for the disk
(fsync) and keeps points: neither the device that encodes nor the disk is left idle while the other works.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from .. import disk
from .._version import __version__
from ..disk.outputs import files_of
from ..errors import shortened
from ..native.steps import after_all
from .ahead import Ahead
from .documents import Documents
from .id_sink import IdSink
from .in_order import Aside, Ends
from .journal import Journal, Point, ResumeError, check_header, open_journal, points_in, read_journal
from .options import Device, Options
from .passthrough import PassthroughWriter
from .sources import AnySource, Reader

_WRITES_AHEAD = 4  # stretches of ids that wait to be written, beside those that are being encoded
_POINTS_AHEAD = 2  # points that wait for the disk


class Earlier(NamedTuple):
    """What a run that did not finish had left, and what became of it.

    Attributes:
        ids: number of ids that were taken over.
        source: the name of the source from which this run goes on.
        offset: bytes of that source's text, decompressed, that were done.
        discarded: why nothing was taken over; "" where something was.
    """

    ids: int
    source: str
    offset: int
    discarded: str


class Progress(NamedTuple):
    """How far a run is.

    Attributes:
        bytes_read: bytes read of the files as they lie on the disk, compressed or not.
        bytes_total: bytes of all files as they lie on the disk; None where a source has no size beforehand.
        ids: number of ids so far, those of an earlier run included.
        seconds: since this call began.
        earlier: what an earlier run had left; None where none had left anything.
    """

    bytes_read: int
    bytes_total: int | None
    ids: int
    seconds: float
    earlier: Earlier | None


@dataclass(frozen=True)
class EncodedFile:
    """What encode_file wrote.

    Attributes:
        path: of the file.
        ids: number of ids in it.
        documents: number of documents.
        bytes: of text, decompressed.
        dtype: "uint16", "uint32" or "int32".
        format: its name.
        crc32: of the ids as they lie in the file.
        seconds: that this call took.
        resumed_ids: number of ids that an earlier run had written already.
        earlier: what an earlier run had left; None where none had left anything.
    """

    path: str
    ids: int
    documents: int
    bytes: int
    dtype: str
    format: str
    crc32: int
    seconds: float
    resumed_ids: int
    earlier: Earlier | None


class FileRun:
    """The work of one encode_file call, once its arguments are checked."""

    def __init__(
        self,
        encoding: Any,
        sources: list[AnySource],
        sink: IdSink,
        options: Options,
        progress: Callable[[Progress], object] | None,
        chunk_size: int,
        journal_bytes: int,
        num_threads: int,
        device: Device | None = None,
        is_shard: bool = False,
    ) -> None:
        """is_shard: its journal is begun with the first point, so that a short run has none, and of each source it is
        known how many documents it has."""
        self._is_shard = is_shard
        self._began = time.monotonic()
        self._sources, self._sink = sources, sink
        self._progress, self._chunk_size, self._journal_bytes = progress, chunk_size, journal_bytes
        self._journal_path = files_of(sink.target)[2]
        self._header = self._make_header(encoding, options)
        self._encoding_name = encoding.name
        self._starts = [0]  # documents in front of each source so far, if somebody asks for them
        self._keeps_starts = sink.format.wants_starts or (is_shard and len(sources) > 1)
        self._documents = Documents(
            encoding, self._emit, options, num_threads, device, sink.prepare, sink.dtype, sink.wants_ends
        )
        if sink.passthrough is not None:
            self._documents.passthrough = PassthroughWriter(sink.passthrough, sink.append_rows)
        self._ahead = Ahead(sources, num_threads)
        is_shared = self._documents.pipeline.num_threads > 1
        self._writer = Aside(_WRITES_AHEAD if is_shared else 0)
        self._keeper = Aside(_POINTS_AHEAD if is_shared else 0)
        self._journal: Journal | None = None
        self._index = 0  # of the source being read
        self._journaled = 0  # documents.text_bytes at the last entry
        self._resumed_ids = 0
        self._earlier: Earlier | None = None
        self._has_earlier = False  # whether ids of an earlier run are there to go on from
        self._finished_bytes = 0  # of the sources before it, as they lie on the disk
        self._position = 0  # in the source being read

    def _make_header(self, encoding: Any, options: Options) -> dict[str, Any] | None:
        """The journal's header; None when a source can be read only once, so that nothing can be resumed."""
        prints = [source.fingerprint() for source in self._sources]
        if None in prints:
            return None
        return {
            "streamtok": __version__,
            "encoding": encoding.name,
            "fingerprint": encoding.fingerprint,
            "options": {**self._sink.options(), **options.as_json(self._sources)},
            "sources": prints,
        }

    def run(self, resume: bool) -> EncodedFile:
        """Write the file. With `resume`, go on from what an earlier run left."""
        last = self._last_point() if resume else None
        if last is not None and self._was_renamed(last):
            self._sink.clean()
            disk.remove(self._journal_path)
        else:  # the end twice: it may be interrupted, too
            after_all(lambda: self._write(last is not None, resume), self._close, self._close)
        return self._result()

    def _write(self, has_points: bool, resume: bool) -> None:
        try:
            self._start(has_points, resume)
            self._encode()
            self._finish()
        except BaseException as error:
            explained = self._leave(error)
            if explained is error:
                raise
            raise explained from error

    def _last_point(self) -> Point | None:
        """The last point that an earlier run left, once it is sure that it was a run like this one."""
        if self._header is None:
            raise ResumeError(
                "cannot resume, because a source is a pipe or a stream that cannot seek, and what was read from it "
                "is gone: put the text into a file first, or start over with resume=False"
            )
        found, last = read_journal(self._journal_path)
        if found is not None:
            check_header(self._journal_path, found, self._header)
        return last

    def _start(self, has_points: bool, resume: bool) -> None:
        """Begin where the last point says whose ids are there, or at the beginning."""
        self._has_earlier = has_points
        self._sink.open()
        found = None
        if has_points:
            with open_journal(self._journal_path) as records:
                found = self._sink.last_whole(points_in(records))
        if found is not None:
            self._sink.go_on(found[0])
            self._journal = Journal.reopen(self._journal_path, found[1])
            self._go_on(found[0])
            return
        self._has_earlier = False
        if self._sink.has_earlier_ids or has_points:
            self._earlier = Earlier(0, self._sources[0].name, 0, _why_discarded(has_points, resume))
        disk.remove(self._journal_path)  # before the ids that it covers
        self._sink.start()
        if not self._is_shard:
            self._begin_journal()
        self._documents.begin(self._sources[0])

    def _begin_journal(self) -> None:
        if self._header is not None and self._journal is None:
            self._journal = Journal.create(self._journal_path, self._header, self._sink.target)

    def _go_on(self, point: Point) -> None:
        documents = self._documents
        try:
            documents.stream.setstate(point.stream)
        except ValueError as error:
            raise ResumeError(
                f"{shortened(self._journal_path)}: cannot resume: {error}; start over with resume=False"
            ) from None
        documents.documents, documents.text_bytes = point.documents, point.text_bytes
        self._starts = [0, *point.starts]
        self._index, self._journaled, self._resumed_ids = point.source, point.text_bytes, self._sink.ids
        self._finished_bytes = sum(source.size or 0 for source in self._sources[: point.source])
        self._earlier = Earlier(
            self._sink.ids, self._sources[min(point.source, len(self._sources) - 1)].name, point.offset, ""
        )
        if point.source < len(self._sources):
            source = self._sources[point.source]
            documents.begin(source, offset=point.offset, line=point.line, is_open=point.is_open)

    def _encode(self) -> None:
        self._report()
        while self._index < len(self._sources):
            opened = self._ahead.open(self._index, self._documents.offset, self._documents.line)
            self._documents.encode_source(self._sources[self._index], self._chunk_size, self._tick, opened)
            self._finished_bytes += self._position
            self._position = 0
            self._index += 1
            if self._index < len(self._sources):
                self._documents.begin(self._sources[self._index])
                if self._keeps_starts:
                    self._starts.append(self._documents.documents)

    def _emit(self, ids: Any, ends: Ends) -> None:
        self._writer.do(lambda: self._sink.append(ids, ends))

    def _tick(self, documents: Documents, reader: Reader) -> None:
        """After each chunk."""
        self._position = reader.position()
        if documents.text_bytes - self._journaled >= self._journal_bytes:
            self._keep_point(documents.offset, documents.line, documents.is_open)
        self._report()

    def _keep_point(self, offset: int = 0, line: int = 0, is_open: bool = False, is_last: bool = False) -> None:
        """Once all ids so far are written: sync them, then keep the point that covers them. Only for the last one no
        journal is begun."""
        documents, sink = self._documents, self._sink
        self._journaled = documents.text_bytes
        state = documents.state(offset) if self._header is not None else b""
        where = self._index, offset, line, is_open, documents.documents, documents.text_bytes
        starts, columns = self._starts[1:], sink.flush_passthrough()

        def written() -> None:
            point = Point(*where, [list(each) for each in (*sink.flush(), *columns)], state, starts)
            self._keeper.do(lambda: self._make_sure_of(point, is_last))

        documents.pipeline.when_done(lambda: self._writer.do(written))

    def _make_sure_of(self, point: Point, is_last: bool) -> None:
        self._sink.check_count()
        self._sink.sync()
        if not is_last:
            self._begin_journal()
        if self._journal is not None:
            self._journal.append(point)

    def _report(self) -> None:
        if self._progress is not None:
            sizes = [source.size for source in self._sources]
            total = None if None in sizes else sum(size or 0 for size in sizes)
            read = self._finished_bytes + self._position
            self._progress(Progress(read, total, self._sink.ids, time.monotonic() - self._began, self._earlier))

    def _finish(self) -> None:
        self._keep_point(is_last=True)
        self._documents.settle()
        self._writer.drain()
        self._keeper.drain()
        names = [source.name for source in self._sources]
        self._sink.finish(self._encoding_name, names, self._starts)
        disk.remove(self._journal_path)

    def _was_renamed(self, point: Point) -> bool:
        """Whether an earlier run ended between its rename and the removal of its journal: all is done then."""
        if point.source < len(self._sources) or not self._sink.was_finished(point):
            return False
        self._documents.documents, self._documents.text_bytes = point.documents, point.text_bytes
        self._starts = [0, *point.starts]
        self._resumed_ids = self._sink.ids
        return True

    def documents_of_sources(self) -> list[int]:
        """How many documents are of each source, once a shard is done."""
        return [b - a for a, b in itertools.pairwise([*self._starts, self._documents.documents])]

    def _leave(self, error: BaseException) -> BaseException:
        """Keep what a later run can go on from, remove what none can; returns the error to raise."""
        self._stop_writing()
        # The same text would be refused again. After another error, as a full disk or Ctrl-C, the ids so far are good.
        is_final = isinstance(error, ValueError) and not isinstance(error, ResumeError)
        # No text was taken, so there is nothing to go on from. Ctrl-C is no Exception: it may come at any time.
        is_unbegun = isinstance(error, Exception) and not self._has_earlier and not self._documents.text_bytes
        if self._sink.is_open and getattr(error, "filename", None) in self._sink.outputs:
            is_unbegun = False  # a full disk is no fault of text or options, and the next run may use these ids
        is_nothing_kept = self._header is None or (self._is_shard and self._journal is None)
        if self._sink.is_open and (is_nothing_kept or is_final or is_unbegun):
            self._discard()
        if not isinstance(error, OSError) or isinstance(error, BlockingIOError):
            return error
        if is_unbegun and self._header is not None:
            return error
        if self._header is None:
            hint = "a pipe cannot be read twice, so nothing is kept to resume from"
        else:
            hint = "nothing is lost: put this right and run again with resume=True"
        reason = error.strerror or str(error)
        kind = OSError if type(error).__module__ == "builtins" else type(error)
        return kind(error.errno, f"{reason}; {hint}", error.filename or self._sink.partial)

    def _discard(self) -> None:
        try:
            self._sink.discard()
            disk.remove(self._journal_path)
        except OSError:
            pass  # the error that is being raised says more

    def _stop_writing(self) -> None:
        after_all(self._writer.close, self._keeper.close)

    def _close(self) -> None:
        journal = [] if self._journal is None else [self._journal.close]
        pipeline, stop = self._documents.pipeline, self._stop_writing
        after_all(self._ahead.close, pipeline.close, stop, self._sink.close, *journal)

    def _result(self) -> EncodedFile:
        sink, documents = self._sink, self._documents
        return EncodedFile(
            path=sink.target,
            ids=sink.ids,
            documents=documents.documents,
            bytes=documents.text_bytes,
            dtype=sink.dtype_name,
            format=sink.format.name,
            crc32=sink.crc,
            seconds=time.monotonic() - self._began,
            resumed_ids=self._resumed_ids,
            earlier=self._earlier,
        )


def _why_discarded(has_points: bool, resume: bool) -> str:
    if not resume:
        return "this run was begun with resume=False"
    if not has_points:
        return "its journal holds no point to go on from"
    return "its ids are not those that its journal speaks of"
