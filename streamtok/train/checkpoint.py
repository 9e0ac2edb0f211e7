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
import struct
from collections.abc import Iterator
from typing import Any

from .. import disk
from .._version import __version__
from ..errors import VocabularyError, shortened, shown
from ..journal import ResumeError
from .inputs import Place
from .records import Blocks, Store, check_file, write_file

FORMAT_VERSION = 1
_RECORD = "train.json"
_BLOCK = 1 << 18  # places of the text written at a time


def is_begun(folder: str) -> bool:
    """Has an earlier run left something there to go on from?"""
    return os.path.exists(os.path.join(folder, _RECORD))


class Checkpoint:
    """The folder, opened: `place`, `store` and `pieces` are what an earlier run left. Raises ResumeError where that was
    another run, BlockingIOError while another process works here."""

    def __init__(self, folder: str, run: dict[str, Any], inputs: Any) -> None:
        self.folder, self._inputs = folder, inputs
        os.makedirs(folder, exist_ok=True)
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
            with open(path, "rb") as file:
                record = json.load(file)
            if not isinstance(record, dict) or record["format_version"] != FORMAT_VERSION:
                raise KeyError("format_version")
        except FileNotFoundError:
            return None
        except (ValueError, KeyError) as error:
            raise VocabularyError(
                f"this is no checkpoint that this release reads ({shortened(str(error))}); remove it to begin anew",
                path,
            ) from None
        return record

    def _clean(self) -> None:
        """Remove what a crash left."""
        named = {spill["name"] for spill in self.store.spills} | {_RECORD, "lock"}
        named |= {"pieces.bin"} if self.pieces is not None else set()
        named |= {self._state["name"]} if self._state else set()
        for name in os.listdir(self.folder):
            ours = name.startswith(("spill-", "state-", "pieces.bin", _RECORD))
            if ours and name not in named:
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
        learned = trainer.count - 256
        sizes = [16, 8 * learned, 4 * trainer.places]

        def blocks() -> Iterator[bytes]:
            yield struct.pack("<QQ", learned, trainer.least)
            pairs = (trainer.merge(token) for token in range(256, trainer.count))
            yield b"".join(struct.pack("<II", *pair) for pair in pairs)
            for start in range(0, trainer.places, _BLOCK):
                yield trainer.save(start, _BLOCK)

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
        path = self._path(self._state["name"])
        check_file(path, self._state["size"], self._state["crc"])
        with open(path, "rb") as file:
            learned, least = struct.unpack("<QQ", file.read(16))
            if 256 + learned > wanted or self._state["size"] != 16 + 8 * learned + 4 * trainer.places:
                return 0
            for _ in range(learned):
                trainer.add_token(*struct.unpack("<II", file.read(8)))
            for start in range(0, trainer.places, _BLOCK):
                trainer.load(start, file.read(4 * _BLOCK))
        return int(least)

    def close(self) -> None:
        """Let other runs work here; everything stays."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1


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
