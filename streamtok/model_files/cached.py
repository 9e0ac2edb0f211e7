"""Tables of models in the user's cache folder: all that loading a model's file makes, ready to be used.

A file of tables belongs to the content of the model's files, not to their names or times: each load reads these files
through and compares a checksum of all their bytes, which takes a millisecond for ten megabytes. So a file that was
changed is read anew, and a copy of a model uses the tables of the first. Tables are trusted like code, as those of the
bundled encodings are (bundled/mapped.py): what another user made or can change is passed over, and so is what another
version, or another kind of machine, wrote. A damaged file is removed.

    head         256 bytes   what they were made from
    sizes         16 bytes   of the description and of the pattern; CRC-32 of both
    description              JSON: the model's file without its lists; what has names
    pattern                  the arrays of the compiled pattern, one behind the other, and zeros
    image                    from a multiple of 64 bytes on: tokens, merges, cuts, frequent words (csrc/image/image.h)
"""

from __future__ import annotations

import json
import os
import shutil
import struct
import sys
from array import array
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from .. import disk
from ..bundled import mapped
from ..bundled.listed import ListedVocabulary
from ..bundled.merged import MergedVocabulary
from ..bundled.models import model_named
from ..bundled.packed import PackedVocabulary, pack_ranks
from ..bundled.words import read_all_words
from ..disk import cache_folder
from ..errors import VocabularyError, short_file_names, shortened, warn_user
from ..load import open_regular
from ..native.checksum import crc32, digest
from ..native.vocab import IMAGE_VERSION, Vocab
from ..native.words import chosen_words, room_for_words
from ..patterns import give_table, table_of
from ..patterns.compiled import TABLE_VERSION, CompiledPattern
from ..patterns.compose import Stage
from ..patterns.engine import splitter_of
from .description import Ranks
from .field import Field
from .gguf_head import read_head
from .model import Model, parts_of, vocabulary_of
from .read import read_model, sources_of

if TYPE_CHECKING:
    from ..patterns import Split

FORMAT = 3
"""Of a description."""

_STAGES: dict[str, Any] = {kind.__name__: kind for kind in get_args(Stage)}
_SIZES = struct.Struct("<QII")  # bytes of the description, of the pattern; CRC-32 of both
_CHUNK = 1 << 20

_LEAST_WORDS = 50_000
"""The table of pieces has room for these beside the tokens, and as many more as its size, a power of two, allows. With
twice as many, the tables of a model of 255,000 tokens are 48 MB instead of 31."""

ROOM = 128 << 20
"""Free bytes that the disk must have: twice the largest file."""

PREFIX = "model-"


class Opened(NamedTuple):
    """A Model, or Ranks; and the core's Vocab of its tables, None where
    there are none."""

    model: Model | Ranks
    vocab: Vocab | None


# ==== What tables belong to ====


@short_file_names
def _key_of(path: str) -> str:
    """A digest of the content of all files that reading the model looks at. Raises OSError and VocabularyError where
    one cannot be read."""
    room, facts = bytearray(_CHUNK), []
    for name, source in sources_of(path).items():
        facts.append(f"{len(name)}:{name}")
        if not os.path.exists(source):
            continue
        head = read_head(source)
        if head is not None:  # what lies behind it is no matter of the tokenizer
            facts.append(f"{len(head)}:{digest(head)}")
            continue
        with open_regular(source) as file, memoryview(room) as view:
            while count := file.readinto(room):  # type: ignore[attr-defined]
                facts.append(f"{count}:{digest(view[:count])}")
    return digest(" ".join(facts).encode(errors="surrogateescape"))


def _head(key: str) -> bytes:
    return mapped.head_of(f"{FORMAT} {IMAGE_VERSION} {TABLE_VERSION} {sys.byteorder} {key}")


def _place(key: str, head: bytes) -> str:
    return mapped.path_of(f"{PREFIX}{key}", head)


@short_file_names
def file_of(path: str | os.PathLike[str]) -> str:
    """Where the tables of a model belong.

    Raises:
        OSError: a file of the model cannot be read, or the user has no cache folder.
        VocabularyError: it is no file that a model can have.
    """
    key = _key_of(os.fspath(path))
    return _place(key, _head(key))


# ==== Opening ====


def load(path: str | os.PathLike[str], is_kept: bool, is_used: bool, normalizer: str | None = None) -> Opened:
    """A model, from tables where there are some. is_kept: whether to write them where there are none; UserWarning,
    once for each folder: it cannot be written. is_used: whether to look for them. normalizer: as for read_model(); with
    one there are no tables.

    Raises:
        VocabularyError, OSError: as read_model(); OSError: a file was changed while tables were to be written.
    """
    if normalizer is not None:
        return Opened(read_model(path, normalizer), None)
    opened = open_cached(path) if is_used else None
    if opened is not None or not is_kept:
        return opened or Opened(read_model(path), None)
    key = _key_of(os.fspath(path))
    model = _read_steady(path, key)
    try:
        place = _place(key, _head(key))
        if is_used or open_cached(path) is None:
            _keep(place, path, model)
    except OSError as error:
        _say_once(path, error)
        return Opened(model, None)
    return (open_cached(path) if is_used else None) or Opened(model, None)


_said: set[str | None] = set()
"""Folders of which the user was told that they cannot be written; None: there is none."""


def _say_once(path: str | os.PathLike[str], error: OSError) -> None:
    try:
        folder = cache_folder.folder()
    except OSError:
        folder = None
    if folder not in _said:
        _said.add(folder)
        warn_user(
            f"the tables of {shortened(os.fspath(path))} cannot be kept, and each load makes them anew; ids are the "
            f"same: {error}. Name a folder that can be written in STREAMTOK_CACHE, or leave out cache=True"
        )


def open_cached(path: str | os.PathLike[str]) -> Opened | None:
    """What the tables of a model hold; None where there are none that can be used, also where the model's own files
    cannot be read: reading them then says why."""
    name = os.fspath(path)
    try:
        key = _key_of(name)
        head = _head(key)
        place = _place(key, head)
        with disk.open_read(place, steady=True) as file:
            data = memoryview(mapped.bring(file))
        if data[: len(head)] == head:
            opened = _opened(data, name, place)
            cache_folder.note_use(place)
            return opened
    except (OSError, VocabularyError):
        return None
    except (ValueError, KeyError, TypeError, IndexError, struct.error, RecursionError):  # empty, or damaged
        pass
    cache_folder.remove(place)
    return None


def _opened(data: memoryview, path: str, place: str) -> Opened:
    """Raises ValueError, or what reading a damaged description raises."""
    size, pattern_size, crc = _SIZES.unpack_from(data, mapped.HEAD_BYTES)
    start = mapped.HEAD_BYTES + _SIZES.size
    body = data[start : start + size + pattern_size]
    if len(body) != size + pattern_size or crc32(body) != crc:
        raise ValueError("the checksum is wrong")
    about = json.loads(bytes(body[:size]))
    return revived(about, bytes(body[size:]), data[start + len(body) :], _named(about["name"], path), place)


def revived(
    about: dict[str, Any], arrays: bytes, image: memoryview, name: str, place: str, deep: bool = False
) -> Opened:
    """What described() described. Raises ValueError, or what reading a damaged description raises. place: of the file.
    deep: whether the image comes from somebody else, so that all of it is looked at."""
    decoded = {token: text.encode("latin-1") for token, text in about["decoded"]}
    try:
        vocab = mapped.over(image, about["special"], place, decoded, deep)
    except VocabularyError as error:
        raise ValueError(error.reason) from None
    split = _split(about["split"])
    if about["pattern"] is not None and split is not None:  # before anything compiles it
        give_table(split, _pattern(about["pattern"], arrays))
    model: Model | Ranks
    if about["model"] is None:
        steps = about["normalizer"]
        normalizer = None if steps is None else tuple(map(tuple, steps))
        model = Ranks(name, about["split"], _ranked(vocab), about["special"], normalizer)
    else:
        whole = Field(about["model"], name)
        model = Model(name, whole.value, _merged(vocab), tuple(about["raw"]), parts_of(whole), about["empty"])
    return Opened(model, vocab)


def _name_of(name: str, path: str) -> list[str]:
    """The name of a model as it follows from the path that it is loaded from: what it begins with, and the rest."""
    for kind, start in (("path", path), ("folder", os.path.dirname(path) or os.curdir)):
        if name.startswith(start):
            return [kind, name[len(start) :]]
    return ["name", name]


def _named(about: list[str], path: str) -> str:
    start = {"path": path, "folder": os.path.dirname(path) or os.curdir, "name": ""}
    return start[about[0]] + about[1]


def _split(about: Any) -> Split | None:
    """A pattern, or stages by their names, with their fields."""
    if about is None or isinstance(about, str):
        return about
    return tuple(_STAGES[name](*fields) for name, fields in about)


def _pattern(about: list[Any], data: bytes) -> CompiledPattern:
    """The table of a pattern: its numbers, and the lengths of its arrays in the data, in the order of its fields."""
    at = 0
    fields: list[Any] = []
    for value in about:
        if isinstance(value, list):  # [length]
            fields.append(data[at : at + value[0]])
            at += value[0]
        else:
            fields.append(value)
    return CompiledPattern(*fields)


def _merged(vocab: Vocab) -> MergedVocabulary | ListedVocabulary:
    blob, *arrays = vocab.to_merged()
    lengths, ids, splits = (array("I", data) for data in arrays)
    return vocabulary_of(blob, lengths, ids, splits, vocab.model, model_named(vocab.model).rest(vocab.own))


def _ranked(vocab: Vocab) -> PackedVocabulary:
    blob, lengths, ids, _ = vocab.to_merged()
    kind, arrays = model_named(vocab.model), (array("I", lengths), array("I", ids))
    if kind.merges:
        return PackedVocabulary(blob, *arrays, None, None)
    return ListedVocabulary(blob, *arrays, None, kind.name, kind.rest(vocab.own))


# ==== Building ====


def build(path: str | os.PathLike[str]) -> str:
    """Writes the tables of a model unless good ones are there, and returns their path. Removes tables of models that
    nobody has used for a month.

    Raises:
        OSError: they cannot be written, or a file of the model cannot be read, or was changed meanwhile.
        VocabularyError: the model does not load.
    """
    key = _key_of(os.fspath(path))
    place = _place(key, _head(key))
    if open_cached(path) is None:
        _keep(place, path, _read_steady(path, key))
    return place


def _read_steady(path: str | os.PathLike[str], key: str) -> Model | Ranks:
    """The model of files whose digest is `key`. Raises OSError where it is another one meanwhile."""
    model = read_model(path)
    if _key_of(os.fspath(path)) != key:
        raise OSError(f"{os.fspath(path)} was changed while it was read; try again")
    return model


def _keep(place: str, path: str | os.PathLike[str], model: Model | Ranks) -> None:
    """Raises OSError where the tables cannot be written."""
    folder = os.path.dirname(place)
    os.makedirs(folder, exist_ok=True)
    if shutil.disk_usage(folder).free < ROOM:
        raise OSError(f"less than {ROOM >> 20} MB are free for the tables in {folder}")
    _write(place, os.fspath(path), model)
    _remove_unused(folder, place)


def _write(place: str, given: str, model: Model | Ranks) -> None:
    described_as = described(model)
    about = {"source": os.path.abspath(given), "name": _name_of(model.name, given), **described_as.about}
    vocab = described_as.vocabulary(words_for(described_as.vocabulary(None), described_as.stages))
    description, arrays = packed_description(about), described_as.arrays
    arrays += bytes(-(mapped.HEAD_BYTES + _SIZES.size + len(description) + len(arrays)) % 64)
    key = os.path.basename(place)[len(PREFIX) :].partition("-")[0]
    head = _head(key) + _SIZES.pack(len(description), len(arrays), crc32(description + arrays)) + description + arrays
    mapped.write_file(place, head, vocab)


class Described(NamedTuple):
    """A model in words of JSON and arrays.

    about, arrays: what revived() takes. stages: what splits texts into words as lists have them; None: something else.
    packed, decoded: the vocabulary, and what has names.
    """

    about: dict[str, Any]
    arrays: bytes
    stages: Split | None
    packed: PackedVocabulary
    decoded: dict[int, bytes]

    def vocabulary(self, words: tuple[bytes, bytes] | None) -> Vocab:
        return mapped.build_vocabulary(self.packed, self.about["special"], words, self.decoded)


def described(model: Model | Ranks) -> Described:
    """All that a Model or Ranks consists of, but for its name."""
    about: dict[str, Any] = {"model": None, "special": {}, "decoded": [], "raw": []}
    packed: PackedVocabulary
    split: Split | None
    stages: Split | None
    if isinstance(model, Model):
        packed, split, decoded = model.vocabulary, model.parts.stages, model.decoded
        stages = model.stages if model.parts.model.by_bytes else None  # the lists have words with blanks
        about |= {"model": model.record, "raw": model.raw, "empty": model.empty}
        about["split"] = [[type(stage).__name__, list(stage)] for stage in split]
        about["decoded"] = [[token, text.decode("latin-1")] for token, text in decoded.items()]
    else:
        ranks, split, decoded = model.mergeable_ranks, model.pat_str, {}
        packed = ranks if isinstance(ranks, PackedVocabulary) else pack_ranks(dict(ranks))
        about |= {"split": split, "special": model.special_tokens, "normalizer": model.normalizer}
        stages = split
    table = None if split is None else table_of(split)
    about["pattern"] = None if table is None else [[len(x)] if isinstance(x, bytes) else x for x in table]
    arrays = b"" if table is None else b"".join(x for x in table if isinstance(x, bytes))
    return Described(about, arrays, stages, packed, decoded)


def packed_description(about: dict[str, Any]) -> bytes:
    return json.dumps(about, ensure_ascii=True, separators=(",", ":")).encode()


def words_for(vocab: Vocab, split: Split | None) -> tuple[bytes, bytes] | None:
    """The frequent words that a pattern gives as one piece and that are no tokens; None where none can be of use: there
    is no pattern, or the core does not split by it."""
    splitter = None if split is None else splitter_of(split)
    if splitter is None:
        return None
    return chosen_words(vocab, splitter, *read_all_words(), room_for_words(vocab, _LEAST_WORDS))


def _remove_unused(folder: str, place: str) -> None:
    for other in done_with():
        if other != place and (not other.endswith(".tables") or cache_folder.is_unused(other)):
            cache_folder.remove(other)


# ==== What is there ====


def done_with(path: str | os.PathLike[str] | None = None) -> list[str]:
    """The user's files that hold tables of models, of any version, and what killed processes left behind. path: of this
    model alone.

    Raises:
        OSError, VocabularyError: as for file_of().
    """
    prefix = PREFIX if path is None else os.path.basename(file_of(path)).rpartition("-")[0] + "-"
    folder = mapped.tables_folder()
    try:
        found = [os.path.join(folder, file) for file in sorted(os.listdir(folder)) if file.startswith(prefix)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [place for place in found if place.endswith(".tables") or cache_folder.is_stale(place)]


def source_of(place: str) -> str | None:
    """The path of the model that tables were built from; None where the file does not say."""
    try:
        with disk.open_read(place, steady=True) as file:
            head = file.read_all(mapped.HEAD_BYTES + _SIZES.size)
            size = _SIZES.unpack_from(head, mapped.HEAD_BYTES)[0]
            return str(json.loads(file.read_all(min(size, 64 << 20)))["source"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError, struct.error):
        return None
