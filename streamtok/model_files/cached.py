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
from ..errors import short_file_names, shortened, warn_user
from ..native.checksum import crc32
from ..native.vocab import Vocab
from ..native.words import chosen_words, room_for_words
from ..patterns import give_table, table_of
from ..patterns.compiled import CompiledPattern
from ..patterns.compose import Stage
from ..patterns.engine import splitter_of
from .description import Ranks
from .field import Field
from .kept import PREFIX, SIZES, Found, facts_of, fields_of, head_of, key_of, open_tables, place_of, vocab_of
from .model import Model, parts_of, vocabulary_of

if TYPE_CHECKING:
    from ..patterns import Split

_STAGES: dict[str, Any] = {kind.__name__: kind for kind in get_args(Stage)}

_LEAST_WORDS = 50_000
"""The table of pieces has room for these beside the tokens, and as many more as its size, a power of two, allows. With
twice as many, the tables of a model of 255,000 tokens are 48 MB instead of 31."""

ROOM = 128 << 20
"""Free bytes that the disk must have: twice the largest file."""


class Opened(NamedTuple):
    """A Model, or Ranks; and the core's Vocab of its tables, None where
    there are none."""

    model: Model | Ranks
    vocab: Vocab | None


# ==== What tables belong to ====


@short_file_names
def file_of(path: str | os.PathLike[str]) -> str:
    """Where the tables of a model belong.

    Raises:
        OSError: a file of the model cannot be read, or the user has no cache folder.
        VocabularyError: it is no file that a model can have.
    """
    key = key_of(os.fspath(path))
    return place_of(key, head_of(key))


# ==== Opening ====


def read_model(path: str | os.PathLike[str], normalizer: str | None = None) -> Model | Ranks:
    """That of read.py, which is imported where there are no tables: it takes longer than opening them."""
    from . import read

    return read.read_model(path, normalizer)


def load(
    path: str | os.PathLike[str], is_kept: bool, is_used: bool, normalizer: str | None = None
) -> tuple[Model | Ranks, bool]:
    """The model where there are no tables, and whether there are some to be used now. Arguments as for load.load()."""
    if normalizer is not None or not is_kept:
        return read_model(path, normalizer), False
    key = key_of(os.fspath(path))
    model = _read_steady(path, key)
    try:
        place = place_of(key, head_of(key))
        if is_used or open_cached(path) is None:
            _keep(place, path, model)
    except OSError as error:
        _say_once(path, error)
        return model, False
    return model, is_used


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
    return open_tables(path, lambda found: Opened(model_of(found), found.vocab))


def revived(
    about: dict[str, Any], arrays: bytes, image: memoryview, name: str, place: str, deep: bool = False
) -> Opened:
    """What described() described. Raises ValueError, or what reading a damaged description raises. place: of the file.
    deep: whether the image comes from somebody else, so that all of it is looked at."""
    vocab = vocab_of(about, image, place, deep)
    return Opened(model_of(Found(about, arrays, name, vocab)), vocab)


def model_of(found: Found) -> Model | Ranks:
    """The Model, or Ranks, of a description."""
    about, arrays, name, vocab = found.about, found.arrays, found.name, found.vocab
    split = _split(about["split"])
    if about["pattern"] is not None and split is not None:  # before anything compiles it
        give_table(split, CompiledPattern(*fields_of(about["pattern"], arrays)))
    if about["model"] is None:
        steps = about["normalizer"]
        normalizer = None if steps is None else tuple(map(tuple, steps))
        return Ranks(name, about["split"], _ranked(vocab), about["special"], normalizer)
    whole = Field(about["model"], name)
    return Model(name, whole.value, _merged(vocab), tuple(about["raw"]), parts_of(whole), about["empty"])


def _name_of(name: str, path: str) -> list[str]:
    """The name of a model as it follows from the path that it is loaded from: what it begins with, and the rest."""
    for kind, start in (("path", path), ("folder", os.path.dirname(path) or os.curdir)):
        if name.startswith(start):
            return [kind, name[len(start) :]]
    return ["name", name]


def _split(about: Any) -> Split | None:
    """A pattern, or stages by their names, with their fields."""
    if about is None or isinstance(about, str):
        return about
    return tuple(_STAGES[name](*fields) for name, fields in about)


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
    key = key_of(os.fspath(path))
    place = place_of(key, head_of(key))
    if open_cached(path) is None:
        _keep(place, path, _read_steady(path, key))
    return place


def _read_steady(path: str | os.PathLike[str], key: str) -> Model | Ranks:
    """The model of files whose digest is `key`. Raises OSError where it is another one meanwhile."""
    model = read_model(path)
    if key_of(os.fspath(path)) != key:
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
    arrays += bytes(-(mapped.HEAD_BYTES + SIZES.size + len(description) + len(arrays)) % 64)
    key = os.path.basename(place)[len(PREFIX) :].partition("-")[0]
    head = head_of(key) + SIZES.pack(len(description), len(arrays), crc32(description + arrays)) + description + arrays
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
    if not isinstance(model, Ranks):
        packed, split, decoded = model.vocabulary, model.parts.stages, model.decoded
        stages = model.stages if model.parts.model.by_bytes else None  # the lists have words with blanks
        about |= {"model": model.record, "raw": model.raw, "empty": model.empty}
        about["split"] = [[type(stage).__name__, list(stage)] for stage in split]
        about["kept"] = facts_of(model)
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
            head = file.read_all(mapped.HEAD_BYTES + SIZES.size)
            size = SIZES.unpack_from(head, mapped.HEAD_BYTES)[0]
            return str(json.loads(file.read_all(min(size, 64 << 20)))["source"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError, struct.error):
        return None
