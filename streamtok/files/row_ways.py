"""The ways in which sources of rows become documents: rows of tables, and members of archives."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import numpy as np

from .json_lines import record_at, text_in
from .ways import BATCH, Way, carry_objects

if TYPE_CHECKING:
    from ..native.arrow import Column
    from ..native.texts import Texts


IS_NULL = "the text is null; nulls='skip' passes over such rows, nulls='empty' makes them empty documents"


def kept_rows(found: Column, nulls: str) -> tuple[Texts, Any, Any]:
    """The rows of a column that are documents: texts, their sizes in bytes, and which rows these are (int64). With
    nulls="error" those in front of the first null: there are fewer than the column has, then."""
    texts, sizes, rows = found.texts, np.empty(found.rows, np.int64), np.arange(found.rows)
    texts.facts(sizes, np.empty(found.rows, np.int64))
    if not found.null_count or nulls == "empty":
        return texts, sizes, rows
    bits = np.frombuffer(found.nulls or b"", np.uint8)
    there = np.flatnonzero(np.unpackbits(bits, count=found.rows, bitorder="little"))
    if nulls == "error":
        first = int(np.argmax(np.append(there, -1) != np.arange(len(there) + 1)))
        return texts.part(0, first), sizes[:first], rows[:first]
    spans = np.stack([there, np.zeros(len(there), np.int64), sizes[there]], axis=1)
    return texts.cut(np.ascontiguousarray(spans).ravel()), sizes[there], there


def member_text(key: str, member: bytes, errors: str) -> str:
    """The string at `key` of the JSON object that a member of an archive holds. Raises ValueError."""
    return text_in(key, record_at(member.decode("utf-8", errors)))


class _RowWay(Way):
    """A source gives batches of documents, and none of them goes on in the next one."""

    def begin(self) -> None:
        pass

    def read(self, reader: Any, size: int) -> Any:
        return reader.read_batch()

    def end(self) -> None:
        pass


class TableWay(_RowWay):
    """A row of a table is a document. run.line counts rows, whatever becomes of those that are null."""

    def feed(self, batch: Any) -> None:
        texts, sizes, there = kept_rows(batch.texts, self.run.nulls)
        self._encode(texts, sizes, batch.row + there)
        if self.run.nulls == "error" and len(there) < batch.texts.rows:
            raise ValueError(IS_NULL)
        self.run.line = batch.row
        if batch.carried is not None and self.run.carrier is not None:
            self.run.carrier.rows(batch.carried.take(there) if len(there) < batch.texts.rows else batch.carried)
        self.run.line = batch.row + batch.texts.rows

    def _encode(self, texts: Any, sizes: Any, numbers: Any) -> None:
        """Rows as documents, a part of a text's size at a time."""
        run = self.run
        ends = np.cumsum(sizes)
        at, done = 0, 0
        while at < len(sizes):
            behind = min(at + BATCH, int(np.searchsorted(ends, done + run.part)) + 1, len(sizes))
            run.encode_batch(texts.part(at, behind), numbers[at:behind])
            run.line = int(numbers[behind - 1]) + 1
            run.take(int(ends[behind - 1]) - done)
            at, done = behind, int(ends[behind - 1])


class TarWay(_RowWay):
    """A member of an archive is a document, or the string at the key of the object in it. run.line counts documents."""

    def feed(self, batch: Any) -> None:
        run = self.run
        texts: list[Any] = []
        records: list[Any] = []
        objects = itertools.repeat(None) if batch.objects is None else batch.objects
        for at, (member, beside) in enumerate(zip(batch.texts, objects)):
            try:
                record = self._record(member if batch.is_json else beside)
                texts.append(text_in(run.key, record) if batch.is_json else member)
                records.append(record)
            except ValueError:
                run.encode_batch(texts, range(batch.row, batch.row + at))
                run.line = batch.row + at
                raise
        numbers = range(batch.row, batch.row + len(texts))
        run.encode_batch(texts, numbers)
        carry_objects(run, records, numbers)
        run.line = batch.row + len(texts)
        run.take(sum(map(len, batch.texts)))

    def _record(self, member: bytes | None) -> Any:
        if member is None:
            return None
        record = record_at(member.decode("utf-8", self.run.errors))
        if not isinstance(record, dict):
            raise ValueError(f"the .json member holds a JSON {type(record).__name__}, an object is needed")
        return record
