"""Columns of text in parquet and Arrow files: read batch by batch, encoded where the batches lie in memory.

pyarrow reads the files; it is imported when the first one is opened.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast

from ..errors import shortened, shown
from .arrow_package import parquet, pyarrow
from .passthrough import plain, plain_type
from .remote import InFile
from .sources import Closing, Reader, SourceError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ..native.arrow import Column

SUFFIXES = (".parquet", ".arrow", ".arrows", ".feather", ".ipc")
"""What the names of tables end in."""

# Of text, as the file's own numbers promise: what is in memory beside what pyarrow has to unpack.
_BATCH_BYTES = 4 << 20
_LEAST_ROWS = 16  # of a batch: other columns count in the file's numbers, and may be a thousand times as large
_MOST_ROWS = 1 << 16  # of a batch: what is kept about each is small beside the text
_BUFFER = 1 << 20  # bytes of a column that pyarrow reads at once
_PARQUET, _FILE = b"PAR1", b"ARROW1"  # how such files begin; another one is taken for a stream of Arrow's


class Batch(NamedTuple):
    """Rows of a table, one behind the other. passthrough: a record batch of those columns, if there are any."""

    texts: Column
    row: int  # the number of the first one, counted from the first row of the source
    passthrough: Any = None


class TableSource(InFile):
    """The column of text of a parquet or Arrow file, a document for each row.

    Args:
        path: of the file: parquet, Arrow's file format (Feather) or its stream format.
        column: its name; None for what the caller's `column` says.
        row_groups: (begin, end): the row groups begin .. end - 1 alone; of an Arrow file the record batches.
        nulls: what a null is: "error"; "skip", no document; "empty", an empty one. None for what the caller says.

    Raises:
        ValueError: row_groups is no range.
    """

    has_rows = True

    def __init__(
        self,
        path: str | bytes | os.PathLike[str],
        column: str | None = None,
        row_groups: tuple[int, int | None] | None = None,
        nulls: str | None = None,
    ) -> None:
        super().__init__(path)
        self._column, self._nulls = column, nulls
        begin, end = row_groups or (0, None)
        if begin < 0 or (end is not None and end < begin):
            raise ValueError(f"row_groups={shown(row_groups)} is no range: write (begin, end), 0 or more")
        self.row_groups = row_groups
        self._groups = begin, end
        self.column, self.nulls = column or "text", nulls or "error"
        self._starts: list[tuple[int, int]] = []  # (first row, number) of each group that was begun

    def adopt(self, column: str | None, key: str, nulls: str) -> None:
        """As AnySource.adopt."""
        self.column, self.nulls = self._column or column or key, self._nulls or nulls

    def checked_kind(self, kind: str) -> str:
        """As AnySource.checked_kind: whatever is asked for."""
        return "table"

    def fingerprint(self) -> dict[str, Any] | None:
        """As PathSource.fingerprint, with the row groups."""
        found = super().fingerprint()
        if found is None:
            raise ValueError(f"{shown(self.name)} is no regular file: a table is read in several places")
        return found if self.row_groups is None else {**found, "range": list(self.row_groups)}

    def types_of(self, names: Sequence[str]) -> list[Any]:
        """As AnySource.types_of. Raises ValueError where a column is missing or of a type that is not carried."""
        with self._file.opened(lambda raw: OpenTable(self, cast("BinaryIO", raw), 0)) as reader:
            return reader.types_of(names)

    def place_of(self, line: int) -> str:
        """The row for messages. Rows and row groups count from 0."""
        first, number = max((start for start in self._starts if start[0] <= line), default=(0, self._groups[0]))
        return f"{shortened(self.label)}, row group {number}, row {line - first}"

    def open(self, offset: int = 0, line: int = 0) -> Reader:
        """Open for reading from row `line` on."""
        return cast("Reader", self._file.opened(lambda raw: OpenTable(self, cast("BinaryIO", raw), line)))

    def check_unchanged(self, reader: Reader) -> None:
        """Raise SourceError when the file behind `reader` is not the one first seen."""
        self._file.check_same(reader.raw, self.size or 0, self.size)

    def begin_group(self, row: int, number: int) -> None:
        """The row group with this number begins at this row."""
        self._starts.append((row, number))


class OpenTable(Closing):
    """An open table: `read_batch` gives rows, `position` says about how far the file is read."""

    is_plain = False

    def __init__(self, source: TableSource, raw: BinaryIO, row: int) -> None:
        self.raw, self._source, self._skip, self._row = raw, source, row, row
        self._done = 0.0  # of the file
        magic = raw.read(len(_FILE))
        raw.seek(0)
        pa = pyarrow()
        from ..arrow import ColumnError

        self._errors = (pa.ArrowException, OSError, ColumnError, UnicodeError, OverflowError, MemoryError)
        try:
            if magic.startswith(_PARQUET):
                file = parquet().ParquetFile(raw, pre_buffer=False, buffer_size=_BUFFER)
                self._open: Callable[[], Any] = lambda: file.schema_arrow
                self._batches = self._of_parquet(file)
            else:
                opened = pa.ipc.open_file if magic.startswith(_FILE) else pa.ipc.open_stream
                self._open = lambda: opened(raw).schema
                self._batches = self._of_arrow(pa, magic.startswith(_FILE))
        except self._errors as error:
            raise self._damaged(error) from None

    def read_batch(self) -> Batch | None:
        """The next rows; None at the end."""
        try:
            found = next(self._batches, None)
        except self._errors as error:
            raise self._damaged(error, self._source.place_of(self._row)) from None
        if found is not None:
            self._row = found.row + found.texts.rows
        return found

    def position(self) -> int:
        """Bytes of the file read so far, as far as that is known."""
        return int((self._source.size or 0) * self._done)

    def close(self) -> None:
        """Close the file."""
        self.raw.close()

    def _damaged(self, error: Exception, where: str = "") -> SourceError:
        reason = " ".join(str(error).split()) or type(error).__name__
        if isinstance(error, OSError) and type(error).__module__ == "builtins" and error.errno:
            return SourceError(error.errno, error.strerror, self._source.name)
        place = f", at {where}" if where else ""
        return SourceError(errno.EBADMSG, f"the table cannot be read{place}: {shortened(reason)}", self._source.name)

    def _chosen(self, count: int) -> range:
        begin, end = self._source._groups
        if begin > count or (end or 0) > count:
            raise ValueError(
                f"{shortened(self._source.name)} has {count} row groups, and row_groups={self._source.row_groups} "
                "asks for more"
            )
        return range(begin, count if end is None else end)

    def types_of(self, names: Sequence[str]) -> list[Any]:
        """The types in which these columns are carried."""
        try:
            schema = self._open()
        except self._errors as error:
            raise self._damaged(error) from None
        types = []
        for name in names:
            field = schema.field(self._place(schema, name, "carry="))
            try:
                types.append(plain_type(field.type))
            except ValueError as error:
                raise ValueError(f"{shortened(self._source.name)}: column {shown(name)}: {error}") from None
        return types

    def _place(self, schema: Any, wanted: str, option: str) -> int:
        """The place of the column of this name. Raises ValueError where there is none."""
        places = schema.get_all_field_indices(wanted)
        if len(places) != 1:
            count = len(places) or "no"
            raise ValueError(
                f"{shortened(self._source.name)}: {count} columns are called {shown(wanted)}; there are "
                f"{shown(schema.names)}: name one with {option}"
            )
        return int(places[0])

    def _places(self, schema: Any) -> list[int]:
        """The places of all columns that are read."""
        carried = [self._place(schema, name, "carry=") for name in self._source.carry]
        return sorted({self._column(schema), *carried})

    def _column(self, schema: Any) -> int:
        """The place of the column. Raises ValueError where there is none, or it holds no text."""
        name, wanted = shortened(self._source.name), self._source.column
        place = self._place(schema, wanted, "column=")
        kind = schema.field(place).type
        if str(kind.value_type if str(kind).startswith("dictionary<") else kind) not in _TEXT:
            raise ValueError(
                f"{name}: column {shown(wanted)} is of type {shortened(str(kind))}, and a column of text is needed: "
                "name another with column="
            )
        return place

    def _of_parquet(self, file: Any) -> Iterator[Batch]:
        facts = file.metadata
        names = [file.schema_arrow.names[place] for place in self._places(file.schema_arrow)]
        chosen = self._chosen(facts.num_row_groups)
        row = 0
        for done, number in enumerate(chosen):
            group = facts.row_group(number)
            self._source.begin_group(row, number)
            if row + group.num_rows > self._skip:
                # The numbers of single columns would say more; with a damaged file asking for them ends the process.
                rows = _BATCH_BYTES * group.num_rows // max(1, group.total_byte_size)
                size = max(1, min(_MOST_ROWS, max(_LEAST_ROWS, rows)))
                at = row
                for batch in file.iter_batches(size, row_groups=[number], columns=names, use_threads=False):
                    yield from self._rest(batch, at)
                    at += batch.num_rows
                    self._done = (done + (at - row) / max(1, group.num_rows)) / len(chosen)
            row += group.num_rows

    def _of_arrow(self, pa: Any, is_file: bool) -> Iterator[Batch]:
        if is_file:
            file = pa.ipc.open_file(self.raw)
            places = self._places(file.schema)
            file = pa.ipc.open_file(self.raw, options=pa.ipc.IpcReadOptions(included_fields=places, use_threads=False))
            chosen = self._chosen(file.num_record_batches)
            batches = ((number, file.get_batch(number)) for number in chosen)
        else:
            file = pa.ipc.open_stream(self.raw)
            places = self._places(file.schema)
            self.raw.seek(0)
            file = pa.ipc.open_stream(
                self.raw, options=pa.ipc.IpcReadOptions(included_fields=places, use_threads=False)
            )
            begin, end = self._source._groups
            batches = (
                (number, batch)
                for number, batch in enumerate(file)
                if begin <= number and (end is None or number < end)
            )
        row = 0
        for number, batch in batches:
            self._source.begin_group(row, number)
            for at in range(0, batch.num_rows, _MOST_ROWS):
                yield from self._rest(batch[at : at + _MOST_ROWS], row + at)
            row += batch.num_rows
            self._done = min(1.0, self.raw.tell() / max(1, self._source.size or 1))

    def _rest(self, batch: Any, row: int) -> Iterator[Batch]:
        """What is left of a batch that begins at `row`, behind the rows that are to be passed over."""
        from ..arrow import column_of

        if row + batch.num_rows > self._skip:
            first = max(0, self._skip - row)
            batch = batch[first:] if first else batch
            carry, schema = self._source.carry, batch.schema
            columns = [plain(batch.column(schema.get_field_index(name))) for name in carry]
            made = pyarrow().record_batch(columns, names=list(carry)) if carry else None
            yield Batch(column_of(batch.column(schema.get_field_index(self._source.column))), row + first, made)


_TEXT = ("string", "large_string", "string_view", "binary", "large_binary", "binary_view")
