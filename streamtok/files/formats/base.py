"""What a format of the output is: the interface that every module of this folder fills, and what they share.

While a run lasts, every format has the same unfinished files: the ids, behind space for the format's header, and
where documents end. What a format does with them at the end depends on nothing else, so that it can be done again
after a crash: `sides` for a format whose data file is the ids, `build` for one that holds rows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import shown

if TYPE_CHECKING:
    from ..._protocols import Encoding
    from ...disk import File
    from ..passthrough import Passthrough
    from ..passthrough_file import PassthroughColumns

Blocks = Callable[[], Iterator[np.ndarray[Any, np.dtype[np.uint64]]]]
Rows = Callable[[], Iterator[tuple[np.ndarray[Any, np.dtype[Any]], np.ndarray[Any, np.dtype[np.int64]]]]]

STORED: dict[str, np.dtype[Any]] = {"uint16": np.dtype("<u2"), "uint32": np.dtype("<u4"), "int32": np.dtype("<i4")}
"""How ids of each dtype lie in a file."""


@dataclass(frozen=True)
class Facts:
    """What is known at the end of a run.

    Attributes:
        target: path of the output.
        dtype: name of the dtype of the ids.
        ids: how many.
        crc: CRC-32 of the ids as they lie in the unfinished file.
        documents: how many.
        ends: the ends of all documents, in ids (uint64), block by block from the first; to be called as often as
            needed. Empty for a format without documents.
        rows: all documents, some at a time: their ids, and behind how many of these each ends (int64); likewise.
        encoding: name of the encoding.
        sources: names of the sources.
        starts: how many documents lie in front of each source, where the format wants to know.
        passthrough: the passthrough columns, a row for each document; None where there are none.
    """

    target: str
    dtype: str
    ids: int
    crc: int
    documents: int
    ends: Blocks
    rows: Rows
    encoding: str
    sources: tuple[str, ...]
    starts: tuple[int, ...]
    passthrough: PassthroughColumns | None = None


class Format:
    """A format whose data file is a header and the ids.

    Attributes:
        name: for `format=`.
        dtypes: the dtypes of ids that it can hold, the smallest first.
        header_bytes: in front of the ids.
        most_ids: that a file holds; None for any number.
        wants_ends: whether it needs to know where documents end.
        wants_starts: whether it needs to know which documents are of which source.
        keeps_empty: whether an empty document stays one.
        can_index: whether the ends are kept in `<dst>.ends` where that is asked for.
    """

    name = ""
    dtypes: tuple[str, ...] = ("uint16", "uint32")
    header_bytes = 0
    most_ids: int | None = None
    wants_ends = False
    wants_starts = False
    keeps_empty = True
    can_index = False

    def choose_dtype(self, encoding: Encoding, dtype: str) -> str:
        """The name of the dtype of the ids: "auto" is the smallest that every id of the encoding fits.

        Raises ValueError where ids would be wrapped, and for a dtype that the format does not have.
        """
        fitting = [each for each in self.dtypes if encoding.max_token_value <= np.iinfo(STORED[each]).max]
        if not fitting:
            raise ValueError(
                f"format={self.name!r} holds ids up to {np.iinfo(STORED[self.dtypes[-1]]).max}, and "
                f"{shown(encoding.name)} has ids up to {encoding.max_token_value}: choose another format or encoding"
            )
        if dtype == "auto":
            return self._automatic(encoding, fitting)
        if dtype not in self.dtypes:
            known = ", ".join(map(repr, self.dtypes))
            what = f"is none of format={self.name!r}" if dtype in STORED else "is unknown"
            raise ValueError(f"dtype={shown(dtype)} {what}: write 'auto' or one of {known}")
        if dtype not in fitting:
            raise ValueError(
                f"dtype={dtype!r} holds ids up to {np.iinfo(STORED[dtype]).max}, and {shown(encoding.name)} has ids "
                f"up to {encoding.max_token_value}: write dtype={fitting[0]!r} or 'auto'"
            )
        return dtype

    def _automatic(self, encoding: Encoding, fitting: list[str]) -> str:
        return fitting[0]

    def check_target(self, target: str) -> None:
        """Raises ValueError where the name of the output does not go with the format."""

    def check_machine(self) -> None:
        """Raises ImportError where a package is missing that the format needs."""

    def check_passthrough(self, passthrough: Passthrough) -> None:
        """Raises ValueError for columns that the format has no place for."""
        raise ValueError(
            f"format={self.name!r} has no place for passthrough columns: leave carry out, or write format='parquet', "
            "format='arrow' or format='mds'"
        )

    def header(self, dtype: str, count: int) -> bytes:
        """`header_bytes` bytes in front of `count` ids."""
        return b""

    def sides(self, target: str) -> list[str]:
        """The files beside the output, in the order of write_side()."""
        return []

    def write_side(self, index: int, file: File, facts: Facts) -> None:
        """Write the file sides()[index] from its beginning."""
        raise NotImplementedError


class RowFormat(Format):
    """A format that is written at the end, from the ids and the ends of documents.

    Attributes:
        is_folder: whether the output is a folder.
    """

    wants_ends = True
    is_folder = False

    def build(self, out: str, facts: Facts) -> None:
        """Write the output under the name `out`, which does not exist, and put it on the disk."""
        raise NotImplementedError


_COLUMN_BYTES = 16 << 20  # of the passthrough columns in what is written at once, if no row has more


def rows_with_columns(facts: Facts) -> Iterator[tuple[Any, Any, list[Any]]]:
    """As Facts.rows, with the arrays of the passthrough columns: fewer documents at a time where values are large."""
    if facts.passthrough is None:
        for ids, ends in facts.rows():
            yield ids, ends, []
        return
    reader = facts.passthrough.reader()
    for ids, ends in facts.rows():
        begin = done = 0
        while done < len(ends):
            columns = reader.take(len(ends) - done, _COLUMN_BYTES)
            done, first = done + len(columns[0]), done
            end = int(ends[done - 1])
            yield ids[begin:end], ends[first:done] - begin, columns
            begin = end


def with_suffix(target: str, format: str, suffix: str, why: str) -> str:
    """The target without this suffix. Raises ValueError where it ends in another."""
    stem, found = os.path.splitext(target)
    if found.lower() != suffix:
        raise ValueError(f"dst={shown(target)}: format={format!r} writes NAME{suffix} {why}: name it so")
    return stem


def write_ends(file: File, facts: Facts) -> None:
    """The ends as they are: uint64, little-endian, and nothing else."""
    for ends in facts.ends():
        file.write(ends.astype("<u8", copy=False))


def lengths(facts: Facts) -> Iterator[np.ndarray[Any, np.dtype[np.uint64]]]:
    """How many ids each document has, block by block."""
    before = np.zeros(1, np.uint64)
    for ends in facts.ends():
        yield np.diff(ends, prepend=before)
        before = ends[-1:]
