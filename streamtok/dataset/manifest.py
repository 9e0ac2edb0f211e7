"""Manifests: what a shard holds, beside its files, and what the dataset holds. Nothing in them depends on when, where
or in which order the shards were made."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

from .. import disk
from ..errors import shortened, shown
from .plan import Range

FORMAT_VERSION = 1
MANIFEST = "manifest.json"
"""The manifest of the dataset, in its folder."""

SHARD_SUFFIX = ".shard.json"
"""Behind the name of a shard: its manifest."""

_CHECKSUM = "sha256"
"""The member that write() adds: of the record without it. Files of earlier releases have none."""

_NAME = re.compile(r"[0-9a-f]{32}")

_UNFINISHED = re.compile(r"\.json\.\d+-[0-9a-f]{8}\.partial$")  # as disk.replace() names it

_READ = 1 << 18  # bytes hashed at once: what is read is still in the cache of the core


@dataclass(frozen=True)
class FileFacts:
    """A finished file: its path in the dataset's folder, bytes, sha256 in hex."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """What a shard is and holds.

    Attributes:
        name: a hash of all that decides its content: source, range, vocabulary and options.
        source: name, size and sha256 of the first and last 64 KB of the source, and the time when it was changed last.
        range: the part of the source; None for all of it.
        encoding: the name of the encoding.
        fingerprint: sha256 of tokens, ranks, pattern and special tokens.
        options: format, dtype and what decides the ids.
        documents: number of documents.
        ids: number of ids.
        bytes: of text, decompressed.
        files: the finished files, the one with the ids first.
        joined: of a shard of several sources, what `source` says of each, in their order, and its documents.
        is_sealed: whether the file that it was read from has a checksum.
    """

    name: str
    source: dict[str, Any]
    range: Range | None
    encoding: str
    fingerprint: str
    options: dict[str, Any]
    documents: int
    ids: int
    bytes: int
    files: tuple[FileFacts, ...]
    joined: tuple[dict[str, Any], ...] = ()
    is_sealed: bool = field(default=False, compare=False)

    def as_json(self) -> dict[str, Any]:
        """As it lies in a file."""
        range = None if self.range is None else list(self.range)
        record = {"format_version": FORMAT_VERSION, "kind": "shard", **asdict(self), "range": range}
        del record["is_sealed"]
        if not self.joined:
            del record["joined"]
        return record

    @classmethod
    def from_json(cls, record: dict[str, Any], is_sealed: bool = False) -> Manifest:
        """Raises KeyError, TypeError or ValueError for what is no manifest."""
        values = _of_kind(record, "shard")
        values["range"] = None if values["range"] is None else _range_of(values["range"])
        values["files"] = tuple(_facts_of(each) for each in values["files"])
        values["joined"] = tuple(values.get("joined", ()))
        manifest = cls(**values, is_sealed=is_sealed)
        for each in manifest.joined:
            _check_texts(each["name"])
            _check_counts(each["documents"])
        _check_counts(manifest.documents, manifest.ids, manifest.bytes)
        _check_texts(manifest.encoding, manifest.fingerprint, manifest.source["name"])
        _check_name(manifest.name)
        if not manifest.files or not isinstance(manifest.options, dict):
            raise ValueError
        return manifest


@dataclass(frozen=True)
class DatasetManifest:
    """What a dataset holds.

    Attributes:
        encoding, fingerprint, options: as in Manifest, of all shards.
        documents, ids, bytes: of all shards.
        shards: of each shard in the order of the plan: name, source (its name), range, documents, ids, bytes, files; of
            one of several sources also joined: the name of each and its documents.
        failed: of each shard that could not be made: source, range and the error. Empty where all is well.
    """

    encoding: str
    fingerprint: str
    options: dict[str, Any]
    documents: int
    ids: int
    bytes: int
    shards: tuple[dict[str, Any], ...]
    failed: tuple[dict[str, Any], ...]

    @property
    def is_complete(self) -> bool:
        """Whether every shard of the plan is there."""
        return not self.failed

    @classmethod
    def of(
        cls,
        encoding: str,
        fingerprint: str,
        options: dict[str, Any],
        shards: Iterable[Manifest],
        failed: Iterable[dict[str, Any]],
    ) -> DatasetManifest:
        """The manifest of these shards, which are in the order of the plan."""
        made = list(shards)
        return cls(
            encoding,
            fingerprint,
            options,
            sum(each.documents for each in made),
            sum(each.ids for each in made),
            sum(each.bytes for each in made),
            tuple(map(entry_of, made)),
            tuple(failed),
        )

    def as_json(self) -> dict[str, Any]:
        """As it lies in a file."""
        return {"format_version": FORMAT_VERSION, "kind": "dataset", **asdict(self)}

    def files(self) -> list[tuple[dict[str, Any], list[FileFacts]]]:
        """Each shard with its files."""
        return [(shard, [FileFacts(**each) for each in shard["files"]]) for shard in self.shards]


def sources_of(entry: dict[str, Any]) -> list[tuple[str, int]]:
    """The sources of a shard in the manifest of a dataset, and how many documents it has of each, in their order."""
    if "joined" in entry:
        return [(name, documents) for name, documents in entry["joined"]]
    return [(entry["source"], entry["documents"])]


def entry_of(shard: Manifest) -> dict[str, Any]:
    """What the manifest of the dataset says of a shard."""
    joined = [[each["name"], each["documents"]] for each in shard.joined]
    return {
        **({"joined": joined} if joined else {}),
        "name": shard.name,
        "source": shard.source["name"],
        "range": None if shard.range is None else list(shard.range),
        "documents": shard.documents,
        "ids": shard.ids,
        "bytes": shard.bytes,
        "files": [asdict(each) for each in shard.files],
    }


# ==== Reading and writing ====


def write(path: str, record: dict[str, Any]) -> None:
    """Put the record and its checksum at `path`, whole or not at all, so that it survives a power cut."""
    data = _written(record)
    disk.replace(path, lambda file: file.write(data), durable=True)


def _written(record: dict[str, Any]) -> bytes:
    """The bytes of a file with this record."""
    digest = hashlib.sha256(_plainly(record)).hexdigest()
    return _plainly({**record, _CHECKSUM: digest})


def _plainly(record: dict[str, Any]) -> bytes:
    return (json.dumps(record, indent=1, sort_keys=True) + "\n").encode()


def remove_unfinished(folder: str) -> None:
    """Remove what write() leaves where the process is killed. Nobody else may be writing there."""
    for name in os.listdir(folder):
        if _UNFINISHED.search(name):
            disk.remove(os.path.join(folder, name))


def read_shard(path: str) -> Manifest:
    """The manifest of a shard. Raises ValueError for what is none, OSError."""
    try:
        return Manifest.from_json(*_read(path))
    except (KeyError, TypeError, ValueError):
        raise _no_manifest(path, "a shard") from None


def read_dataset(folder: str | os.PathLike[str]) -> DatasetManifest:
    """The manifest of the dataset in a folder.

    Raises ValueError for what is none, FileNotFoundError where there is none: the build has not ended.
    """
    path = os.path.join(os.fspath(folder), MANIFEST)
    try:
        values = _of_kind(_read(path)[0], "dataset")
        values["shards"], values["failed"] = tuple(values["shards"]), tuple(values["failed"])
        manifest = DatasetManifest(**values)
        _check_counts(manifest.documents, manifest.ids, manifest.bytes)
        for shard in manifest.shards:
            _check_counts(shard["documents"], shard["ids"], shard["bytes"])
            _check_texts(shard["source"])
            _check_name(shard["name"])
            counts = sources_of(shard)
            _check_texts(*(name for name, _ in counts))
            _check_counts(*(count for _, count in counts))
            if sum(count for _, count in counts) != shard["documents"]:
                raise ValueError
            if not [_facts_of(each) for each in shard["files"]]:
                raise ValueError
        for each in manifest.failed:
            _check_texts(each["source"], each["error"])
    except (KeyError, TypeError, ValueError):
        raise _no_manifest(path, "a dataset") from None
    return manifest


def read_any(path: str) -> Any:
    """The record of a file; None where it is damaged."""
    try:
        return _read(path)[0]
    except ValueError:
        return None


def _read(path: str) -> tuple[Any, bool]:
    """The record of a file, and whether it has a checksum. Raises ValueError for another file than write() makes."""
    with disk.open_plain(path) as file:
        data = file.read_all(file.size())
    try:
        record = json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    is_sealed = isinstance(record, dict) and _CHECKSUM in record
    if is_sealed:
        del record[_CHECKSUM]
        if _written(record) != data:
            raise ValueError("its checksum is wrong")
    return record, is_sealed


def _no_manifest(path: str, of_what: str) -> ValueError:
    return ValueError(
        f"{shortened(path)}: this is not the manifest of {of_what} that this release writes, or it is damaged: "
        "remove it, and build again"
    )


def _of_kind(record: Any, kind: str) -> dict[str, Any]:
    values = dict(record)
    if (values.pop("format_version"), values.pop("kind")) != (FORMAT_VERSION, kind):
        raise ValueError
    return values


def _range_of(value: Any) -> Range:
    unit, begin, end = value
    _check_texts(unit)
    _check_counts(begin, end)
    return Range(unit, begin, end)


def _facts_of(value: Any) -> FileFacts:
    facts = FileFacts(**value)
    _check_texts(facts.name, facts.sha256)
    _check_counts(facts.size)
    inside = os.path.normpath(facts.name)
    if "\0" in inside or os.path.isabs(inside) or inside.split(os.sep)[0] in ("..", "."):
        raise ValueError  # a manifest does not lead out of its folder
    return facts


def _check_name(value: Any) -> None:
    if _NAME.fullmatch(value) is None:
        raise ValueError


def _check_counts(*values: Any) -> None:
    if not all(type(value) is int and value >= 0 for value in values):
        raise ValueError


def _check_texts(*values: Any) -> None:
    if not all(isinstance(value, str) for value in values):
        raise TypeError


# ==== Hashes ====


def name_of(inputs: dict[str, Any]) -> str:
    """32 hex digits that stand for these inputs of a shard."""
    body = json.dumps(inputs, sort_keys=True, separators=(",", ":")).encode()
    return hashlib.sha256(body).hexdigest()[:32]


def facts_of_file(folder: str, name: str) -> FileFacts:
    """Size and sha256 of the file of this name in `folder`."""
    digest, size = hashlib.sha256(), 0
    with disk.open_plain(os.path.join(folder, name)) as file:
        buffer = memoryview(bytearray(_READ))
        while count := file.read_into(buffer):
            digest.update(buffer[:count])
            size += count
    return FileFacts(name.replace(os.sep, "/"), size, digest.hexdigest())


def difference(folder: str, facts: FileFacts, *, is_hashed: bool = True) -> str:
    """How a file in `folder` differs from what a manifest says; "" where it does not. is_hashed: read it, too."""
    try:
        size = os.stat(os.path.join(folder, facts.name)).st_size
        if size != facts.size:
            return f"{shown(facts.name)} has {size} bytes, and the manifest says {facts.size}"
        if is_hashed and facts_of_file(folder, facts.name).sha256 != facts.sha256:
            return f"{shown(facts.name)} has other content than the manifest says (sha256)"
    except FileNotFoundError:
        return f"{shown(facts.name)} is missing"
    return ""
