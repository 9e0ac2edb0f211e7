"""A folder that a training run can go on from, at any moment and however it ended.

    train.json       which run it is, and how far it came: replaced as a whole
    spill-*.bin      counted pieces of the text that was read so far
    pieces.bin       all pieces, once all text is read
    state-*.bin      the text as the merges so far have left it
    lock             held while a run works here

train.json is written behind the files that it names, so whatever it says is there. Files it does not name are left over
from a crash, and are removed.
"""

from __future__ import annotations

import json
import os
import re
import struct
from array import array
from collections.abc import Callable, Iterator
from typing import Any

from .. import disk
from .._version import __version__
from ..bundled.packed import MAX_FILE_BYTES, from_little_endian, to_little_endian
from ..disk.outputs import check_apart
from ..errors import VocabularyError, shortened, shown
from ..files.journal import ResumeError
from ..native.checksum import crc32
from .inputs import Place
from .records import PARTS, Blocks, Store, check_file, read_part, write_file

FORMAT_VERSION = 2
_RECORD = "train.json"
# The names of our files, also while they are written. Files that train.json does not name are removed.
_OURS = re.compile(r"(spill-\d+\.bin|state-\d+\.bin|pieces\.bin|train\.json)(\.\d+-[0-9a-f]+\.partial)?")
_BLOCK = 1 << 18  # places of the text written at a time


def is_begun(folder: str) -> bool:
    """Whether an earlier run left something there to go on from."""
    return os.path.exists(os.path.join(folder, _RECORD))


class Checkpoint:
    """The folder, opened: `place`, `store` and `pieces` are what an earlier run left. Raises ResumeError where that was
    another run, BlockingIOError while another process works here."""

    def __init__(self, folder: str, run: dict[str, Any], inputs: Any) -> None:
        self.folder, self._inputs = folder, inputs
        os.makedirs(folder, exist_ok=True)
        check_apart(files_in(folder), ((each.name, each.where()) for each in inputs))
        self._lock = disk.open_locked(os.path.join(folder, "lock"))
        self.store = Store(folder, durable=True)
        self.place: Place | None = Place()
        self.pieces: Blocks | None = None
        self.totals = {"pieces": 0, "bytes": 0, "documents": 0}
        self._state: dict[str, Any] | None = None
        self._run = run
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def _path(self, name: str) -> str:
        return os.path.join(self.folder, name)

    def _open(self) -> None:
        record = self._read()
        if record is not None:
            _check_run(self.folder, record, self._run, self._inputs)
            self.place = Place(*record["place"])
            self.totals = record["totals"]
            self.store.spills = record["spills"]
            self._state = record["state"]
            if record["pieces"] is not None:
                pieces = record["pieces"]
                self.pieces = Blocks(None, self._path("pieces.bin"), pieces["sizes"], pieces["crc"])
            self.store.check()
            if self.pieces is not None:
                check_file(self.pieces.path, sum(self.pieces.sizes), self.pieces.crc)
        self._clean()

    def _read(self) -> dict[str, Any] | None:
        path = self._path(_RECORD)
        try:
            with disk.open_read(path) as file:
                if file.size() > MAX_FILE_BYTES:
                    raise ValueError(f"it has {file.size()} bytes")
                return _checked(json.loads(file.read_all(MAX_FILE_BYTES)))
        except FileNotFoundError:
            return None
        except RecursionError:
            reason = "it is nested too deeply"
        except ValueError as error:
            reason = str(error)
        reason = f"this is no checkpoint that this release reads ({reason}); remove it to begin anew"
        raise VocabularyError(reason, path)

    def _clean(self) -> None:
        """Remove files that a crash left."""
        named = {spill["name"] for spill in self.store.spills} | {_RECORD, "lock"}
        named |= {"pieces.bin"} if self.pieces is not None else set()
        named |= {self._state["name"]} if self._state else set()
        for name in os.listdir(self.folder):
            if _OURS.fullmatch(name) and name not in named:
                disk.remove(self._path(name))

    def _write(self) -> None:
        pieces = None if self.pieces is None else {"sizes": self.pieces.sizes, "crc": self.pieces.crc}
        record = {
            "format_version": FORMAT_VERSION,
            "streamtok": __version__,
            **self._run,
            "place": self.place,
            "totals": self.totals,
            "spills": self.store.spills,
            "pieces": pieces,
            "state": self._state,
        }
        record["crc"] = _sum_of(record)
        write_file(self._path(_RECORD), [json.dumps(record, indent=1).encode()], True)

    def save_place(self, place: Place, totals: dict[str, int]) -> None:
        """All text up to `place` is in the store."""
        self.place, self.totals = place, totals
        self._write()

    def save_pieces(self, pieces: Blocks, totals: dict[str, int]) -> None:
        """All text is read, and `pieces` lie in this folder."""
        self.pieces, self.totals = pieces, totals
        self.store.spills = []
        self._write()
        self._clean()

    @property
    def pieces_path(self) -> str:
        return self._path("pieces.bin")

    # ---- merges ----

    def save_state(self, trainer: Any) -> None:
        """What the trainer has learned, and the text as it is now."""
        name, before = f"state-{trainer.count}.bin", self._state
        if before is not None and before["name"] == name:
            return
        learned = trainer.count - trainer.given
        sizes = [16, 8 * learned, 4 * trainer.places]

        def blocks() -> Iterator[bytes]:
            yield struct.pack("<QQ", learned, trainer.least)
            pairs = (trainer.merge(token) for token in range(trainer.given, trainer.count))
            yield b"".join(struct.pack("<II", *pair) for pair in pairs)
            for start in range(0, trainer.places, _BLOCK):
                yield to_little_endian(array("I", trainer.save(start, _BLOCK)))

        crc = write_file(self._path(name), blocks(), True)
        self._state = {"name": name, "size": sum(sizes), "crc": crc}
        self._write()
        if before is not None:
            disk.remove(self._path(before["name"]))

    def load_state(self, trainer: Any, wanted: int) -> int:
        """Put back the last state; returns the count to begin from, 0 where there is none, or one of more tokens than
        are `wanted`."""
        if self._state is None:
            return 0
        path, size = self._path(self._state["name"]), self._state["size"]
        check_file(path, size, self._state["crc"])
        learned, least = struct.unpack("<QQ", read_part(path, 0, 16))
        if trainer.given + learned > wanted or size != 16 + 8 * learned + 4 * trainer.places:
            return 0
        try:
            for pair in struct.iter_unpack("<II", read_part(path, 16, 8 * learned)):
                trainer.add_token(*pair)
            for start in range(0, trainer.places, _BLOCK):
                count = min(_BLOCK, trainer.places - start)
                trainer.load(start, from_little_endian(read_part(path, 16 + 8 * learned + 4 * start, 4 * count)))
        except (ValueError, OverflowError) as error:
            raise VocabularyError(f"this file of the checkpoint is damaged: {error}", path) from None
        return int(least)

    def close(self) -> None:
        """Release the lock; all files stay."""
        self._lock.close()


def files_in(folder: str | None) -> list[str]:
    """What a run with this checkpoint writes or removes; nothing without one."""
    if folder is None:
        return []
    found = [name for name in os.listdir(folder) if _OURS.fullmatch(name)] if os.path.isdir(folder) else []
    return [os.path.join(folder, name) for name in (_RECORD, "pieces.bin", "lock", *found)]


def _sum_of(record: dict[str, Any]) -> int:
    """The CRC-32 of all that train.json says, but for the field itself, however it is laid out."""
    rest = {name: value for name, value in record.items() if name != "crc"}
    return crc32(json.dumps(rest, sort_keys=True).encode())


def _checked(record: Any) -> dict[str, Any]:
    """What train.json says. Raises ValueError, which names the field, where it is not what _write() wrote."""
    if not isinstance(record, dict) or record.get("format_version") != FORMAT_VERSION:
        raise ValueError("format_version")
    for name, is_right in _FIELDS.items():
        if name not in record or not is_right(record[name]):
            raise ValueError(f"the field {name!r}")
    if record.get("crc") != _sum_of(record):
        raise ValueError("its CRC-32 is wrong")
    return record


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def _are_counts(values: Any, number: int | None = None) -> bool:
    return isinstance(values, list) and all(map(_is_count, values)) and number in (None, len(values))


def _has(record: Any, name: str | None, **fields: Callable[[Any], bool]) -> bool:
    """An object with these fields, and a `name` by this pattern."""
    if not isinstance(record, dict):
        return False
    if not all(field in record and is_right(record[field]) for field, is_right in fields.items()):
        return False
    return name is None or (isinstance(record.get("name"), str) and re.fullmatch(name, record["name"]) is not None)


_FIELDS: dict[str, Callable[[Any], bool]] = {
    "options": lambda value: isinstance(value, dict),
    "inputs": lambda value: isinstance(value, list) and all(each is None or isinstance(each, dict) for each in value),
    "place": lambda value: _are_counts(value, len(Place._fields)),
    "totals": lambda value: _has(value, None, pieces=_is_count, bytes=_is_count, documents=_is_count),
    "spills": lambda value: (
        isinstance(value, list)
        and all(_has(each, r"spill-\d{6,}\.bin", sizes=_are_parts, crc=_is_count) for each in value)
    ),
    "pieces": lambda value: value is None or _has(value, None, sizes=_are_counts, crc=_is_count),
    "state": lambda value: value is None or _has(value, r"state-\d+\.bin", size=_is_count, crc=_is_count),
}


def _are_parts(value: Any) -> bool:
    return _are_counts(value, PARTS)


def _check_run(folder: str, found: dict[str, Any], wanted: dict[str, Any], inputs: Any) -> None:
    """Raise ResumeError unless the options are those of the run that began, and the inputs as far as it has read them:
    what it has not come to may have been mended, added or left out since."""
    changes = [
        f"option {name} was {shown(found['options'].get(name))} and is {shown(value)}"
        for name, value in wanted["options"].items()
        if found["options"].get(name) != value
    ]
    before, now, place = found["inputs"], wanted["inputs"], Place(*found["place"])
    if found["pieces"] is None:
        begun = place.input + (place.offset > 0)
        before, now = before[:begun], now[:begun]
    if len(before) != len(now):
        changes.append(f"there were {len(before)} sources and are {len(now)}")
    for index, (was, each) in enumerate(zip(before, now)):
        half_read = found["pieces"] is None and index == place.input and each is not None
        if was != each and not (half_read and inputs[index].begins_as(place)):
            changes.append(f"the source {shown((each or was or {}).get('name'))} is not the one that was read")
    if changes:
        raise ResumeError(
            f"{shortened(folder)}: this checkpoint is of another run: {'; '.join(changes)}. Put back what that run "
            "had, or name another folder"
        )
