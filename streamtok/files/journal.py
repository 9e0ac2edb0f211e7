"""The journal beside an unfinished output: how far a run came, so that another run can go on.

One line an entry, `<crc32 of the rest, 8 hex digits> <JSON>\n`. The first line is the header (what was
encoded, with which vocabulary and options), every other one a point to which the output can be cut back. A line
is written after the ids that it speaks of are on the disk, so a whole line is a promise; half a line at the
end is what a crash leaves and is passed over.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import itertools
import json
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from .. import disk
from ..errors import shortened, shown

FORMAT_VERSION = 2


class ResumeError(ValueError):
    """A run cannot go on from what an earlier one left; the message says what is in the way."""


@dataclass(frozen=True)
class Point:
    """Where a run stood: all that the next one needs to write the same bytes."""

    source: int = 0  # index of the source being read
    offset: int = 0  # bytes of its (decompressed) text taken
    line: int = 0  # lines of it that ended before `offset`
    is_open: bool = False  # a document has begun and not ended
    documents: int = 0  # documents ended, over all sources
    text_bytes: int = 0  # bytes of text taken, over all sources
    files: list[list[int]] = field(default_factory=list)  # of each unfinished file: bytes, and their crc32
    stream: bytes = b""  # StreamEncoder.getstate()
    starts: list[int] = field(default_factory=list)  # documents in front of each source but the first, if asked for


def _to_line(record: dict[str, Any]) -> bytes:
    body = json.dumps(record, separators=(",", ":"), sort_keys=True).encode("ascii")
    return b"%08x %s\n" % (zlib.crc32(body), body)


def _from_line(line: bytes) -> dict[str, Any] | None:
    """The record of a line, None when the line is not whole."""
    if len(line) < 10 or line[8:9] != b" " or not line.endswith(b"\n"):
        return None
    body = line[9:-1]
    if b"%08x" % zlib.crc32(body) != line[:8]:
        return None
    try:
        record = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _to_point(record: dict[str, Any]) -> Point | None:
    """The point in a record, None when a field is missing, strange or of another type."""
    fields = {name: value for name, value in record.items() if name != "kind"}
    try:
        fields["stream"] = base64.b64decode(fields["stream"], validate=True)
        point = Point(**fields)
    except (KeyError, TypeError, binascii.Error, ValueError):
        return None
    if type(point.starts) is not list or type(point.files) is not list:
        return None
    if not all(type(each) is list and len(each) == 2 for each in point.files):
        return None
    counts = [value for name, value in vars(point).items() if name not in ("is_open", "stream", "starts", "files")]
    counts += [*point.starts, *(count for each in point.files for count in each)]
    whole = all(type(count) is int and count >= 0 for count in counts) and type(point.is_open) is bool
    return point if whole else None


def _is_header(record: dict[str, Any]) -> bool:
    """Whether it has the parts of a header, each of its type. Their values are compared later."""
    sources = record.get("sources")
    return (
        record.get("kind") == "header"
        and isinstance(record.get("options"), dict)
        and isinstance(sources, list)
        and all(isinstance(each, dict) and {"name", "size", "sha256", "mtime_ns"} <= each.keys() for each in sources)
    )


class Journal:
    """An open journal that entries are appended to."""

    def __init__(self, file: disk.File) -> None:
        self._file = file

    @classmethod
    def create(cls, path: str, header: dict[str, Any], like: str | None = None) -> Journal:
        """Begin a journal at `path`, where none is, with its header on the disk; no more readable than the file `like`:
        the states that it holds are parts of the text."""
        journal = cls(disk.open_new(path, like))
        try:
            journal._append({"kind": "header", "format_version": FORMAT_VERSION, **header})
            disk.sync_directory(path)
        except BaseException:
            journal.close()
            raise
        return journal

    @classmethod
    def reopen(cls, path: str, end: int) -> Journal:
        """Go on after the entry that ends at byte `end`; what stood behind it is cut off."""
        journal = cls(disk.open_own(path))
        try:
            journal._file.truncate(end)
        except BaseException:
            journal.close()
            raise
        return journal

    def append(self, point: Point) -> None:
        """Write the entry of `point`, whose ids are on the disk already; returns once the entry is on the disk."""
        record = asdict(point)
        record["stream"] = base64.b64encode(point.stream).decode("ascii")
        self._append({"kind": "point", **record})

    def _append(self, record: dict[str, Any]) -> None:
        self._file.write(_to_line(record))
        self._file.sync()

    def close(self) -> None:
        """Close the file; it stays on the disk."""
        self._file.close()


@contextlib.contextmanager
def open_journal(path: str) -> Iterator[Iterator[tuple[dict[str, Any] | None, int]]]:
    """Open a journal for reading. As a context it gives the record of each line, None for one that is not whole, and
    the byte behind it."""
    with disk.open_read(path) as file, disk.named(path), open(file.fd, "rb", closefd=False) as lines:
        yield _records(lines)


def _records(lines: Iterable[bytes]) -> Iterator[tuple[dict[str, Any] | None, int]]:
    end = 0
    for line in lines:
        end += len(line)
        yield _from_line(line), end


def points_in(records: Iterable[tuple[dict[str, Any] | None, int]]) -> Iterator[tuple[Point, int]]:
    """The whole points among the records of a journal, each with the byte behind it."""
    for record, end in records:
        point = _to_point(record) if record is not None and record.get("kind") == "point" else None
        if point is not None:
            yield point, end


def read_journal(path: str) -> tuple[dict[str, Any] | None, Point | None]:
    """Return the header and the last point of the journal.

    The header is None when there is no journal or nothing whole in it. Raises ResumeError when points are there and
    the header that they belong to is damaged, OSError when the file cannot be read.
    """
    header, point = None, None
    with contextlib.suppress(FileNotFoundError), open_journal(path) as records:
        first, _ = next(records, (None, 0))
        header = first if first is not None and _is_header(first) else None
        for point, _ in points_in(itertools.chain([(first, 0)], records)):  # noqa: B007
            pass
    if header is None and point is not None:
        raise ResumeError(
            f"{shortened(path)}: the header of the journal is damaged, so nothing says which source and options the "
            "entries below it belong to; start over with resume=False"
        )
    return header, point


def check_header(path: str, found: dict[str, Any], wanted: dict[str, Any]) -> None:
    """Raise ResumeError unless the journal `found` at `path` belongs to the run that `wanted` describes."""
    changes = list(_changes(found, {"format_version": FORMAT_VERSION, **wanted}))
    if changes:
        raise ResumeError(
            f"{shortened(path)}: cannot resume, because " + "; ".join(changes) + ". Put back what the first run had, "
            "or start over with resume=False"
        )


def _changes(found: dict[str, Any], wanted: dict[str, Any]) -> Iterator[str]:
    """Say, one phrase a change, how the run that is wanted differs from the one that wrote the journal."""
    if found.get("format_version") != wanted["format_version"]:
        version = shown(found.get("format_version"))
        yield f"the journal has format version {version}, this release reads {FORMAT_VERSION}"
        return
    if found.get("streamtok") != wanted["streamtok"]:
        yield f"streamtok {shown(found.get('streamtok'))} began it and this is streamtok {wanted['streamtok']}"
    yield from changes_of_ids(found, wanted)
    yield from _source_changes(found["sources"], wanted["sources"])


def changes_of_ids(found: dict[str, Any], wanted: dict[str, Any]) -> Iterator[str]:
    """What of two records decides other ids for the same text: `encoding`, its `fingerprint`, `options`. A phrase a
    change."""
    if found.get("encoding") != wanted["encoding"]:
        yield f"the encoding was {shown(found.get('encoding'))} and is {shown(wanted['encoding'])}"
    elif found.get("fingerprint") != wanted["fingerprint"]:
        yield f"the vocabulary, pattern or special tokens of {shown(wanted['encoding'])} changed"
    before = found["options"]
    for name, value in wanted["options"].items():
        if before.get(name) != value:
            yield f"option {name} was {shown(before.get(name))} and is {shown(value)}"


def _source_changes(before: list[dict[str, Any]], now: list[dict[str, Any]]) -> Iterator[str]:
    if len(before) != len(now):
        yield f"there were {len(before)} sources and there are {len(now)}"
        return
    for old, new in zip(before, now):
        name = shortened(new["name"])
        if old.get("range") != new.get("range"):
            yield f"the range of source {name} was {shown(old.get('range'))} and is {shown(new.get('range'))}"
        elif old["size"] != new["size"]:
            yield f"source {name} had {shown(old['size'])} bytes and has {new['size']}"
        elif old["sha256"] != new["sha256"]:
            yield f"the content of source {name} changed"
        elif old["mtime_ns"] != new["mtime_ns"]:
            yield f"source {name} was modified after the first run (its modification time changed)"
