"""A model as one file, .stm: its tables ready to be used, and all that this package, or a program in another language
through csrc/streamtok.h, needs besides them. No other file, and nothing that was built before, is looked at.

    head         128 bytes   kind, versions, byte order, checksum of all behind it, places (csrc/compiled/compiled.h)
    description              JSON: what described() gives, for this package
    pattern                  the arrays of the compiled pattern, for this package
    parts                    what core_parts() gives, for the core
    image                    tokens, merges, cuts, frequent words (csrc/image/image.h)

It is for machines of one byte order and for versions of the package with the same tables; others refuse it. It may come
from anybody, so all of it is looked at when it is opened.
"""

from __future__ import annotations

import json
import os
import struct
from typing import Any

from .. import disk
from ..bundled import mapped
from ..bundled.models import is_built_in
from ..errors import VocabularyError, shown
from ..native.checksum import sum64
from ..native.vocab import IMAGE_VERSION, Vocab
from ..patterns import TABLE_VERSION
from ..patterns.engine import splitter_of
from . import cached
from .core_parts import core_parts
from .description import Ranks
from .kept import FORMAT, MAGIC

VERSION = 1
"""Of the head and the parts: ST_COMPILED_VERSION of csrc/compiled/compiled.h."""

_ALIGNMENT = 64
_HEAD = struct.Struct("=8sIIQQIII4x8Q")  # st_compiled_header
_HEAD_BYTES = 128
_CHECKED_FROM = 24  # behind the checksum
_BYTE_ORDER = 0x01020304


# ==== Opening ====


def open_compiled(path: str) -> tuple[Any, Vocab | None, tuple[dict[str, str], dict[str, str]]]:
    """Raises VocabularyError: it is no compiled model, is damaged, or is for other versions or machines. OSError."""
    try:
        with disk.open_plain(path) as file:
            data = memoryview(mapped.bring(file))
        sections = _sections(data)
        about = json.loads(bytes(sections[0]))
        opened = cached.revived(about, bytes(sections[1]), sections[3], str(about["name"]), path, deep=True)
        templates, named = about["chat"] or ({}, {})
        return (*opened, (dict(templates), dict(named)))
    except VocabularyError as error:
        raise VocabularyError(f"this compiled model cannot be used: {error.reason}", path) from None
    except (
        ValueError,
        KeyError,
        TypeError,
        IndexError,
        AttributeError,
        struct.error,
        RecursionError,
        OverflowError,
    ) as e:
        raise VocabularyError(f"the compiled model is damaged ({shown(str(e))}): compile it anew", path) from None


def _sections(data: memoryview) -> list[memoryview]:
    if len(data) < _HEAD_BYTES:
        raise VocabularyError("the file is cut off: compile it anew")
    _, version, order, checksum, size, image, table, form, *places = _HEAD.unpack_from(data)
    if order != _BYTE_ORDER:
        raise VocabularyError("it was compiled for machines of another byte order: compile it on this one")
    if (version, image, table, form) != _versions():
        raise VocabularyError("another version of streamtok compiled it: compile it anew with this one")
    if size != len(data) or checksum != sum64(data[_CHECKED_FROM:]):
        raise VocabularyError("its checksum is wrong, or it is cut off: compile it anew")
    found = []
    for start, length in zip(places[0::2], places[1::2]):
        if start > size or length > size - start or start % _ALIGNMENT:
            raise VocabularyError("a part of it lies outside of the file: compile it anew")
        found.append(data[start : start + length])
    return found


def _versions() -> tuple[int, int, int, int]:
    return VERSION, IMAGE_VERSION, TABLE_VERSION, FORMAT


# ==== Compiling ====


def compile_encoding(encoding: Any, path: str | os.PathLike[str], words: bool) -> None:
    """Encoding.compile()."""
    data = to_bytes(encoding, words)
    disk.replace(os.fspath(path), lambda file: file.write(data))


def to_bytes(encoding: Any, words: bool) -> bytearray:
    """An Encoding as the bytes of a compiled model. words: whether frequent words are among its tables.

    Raises VocabularyError: it is one that only this package can use.
    """
    _check(encoding)
    name = encoding.name
    model = encoding._model or Ranks(
        name, encoding._pat_str, encoding._packed, encoding._special_tokens, _steps(encoding)
    )
    made = cached.described(model)
    about = {"name": name, "chat": encoding._chat_kept if encoding._model is not None else None, **made.about}
    about.pop("kept", None)  # who made such a file may be anybody: all facts come from the description
    try:
        description = cached.packed_description(about)
    except TypeError:
        raise _refused(name, "its normalizer is not one that a file can say: load it from the model's file") from None
    image = _tables_of(encoding, made, words).to_image()
    return _joined([description, made.arrays, core_parts(encoding), image])


def _steps(encoding: Any) -> tuple[tuple[Any, ...], ...] | None:
    return None if encoding._normalizer is None else encoding._normalizer.steps


def _check(encoding: Any) -> None:
    if splitter_of(encoding._split) is None:
        reason = (
            "its pattern goes through the package regex, which no other language has: write one that a table can "
            "express (docs/custom_patterns.md), pattern_engine says which it is"
        )
        raise _refused(encoding.name, reason)
    if not is_built_in(encoding._kind.name):
        reason = f"its model, {shown(encoding._kind.name)}, was added by this program, and no other one has it"
        raise _refused(encoding.name, reason)


def _refused(name: str, reason: str) -> VocabularyError:
    return VocabularyError(f"{shown(name)} cannot be compiled: {reason}")


def _tables_of(encoding: Any, made: cached.Described, words: bool) -> Vocab:
    """The vocabulary with frequent words, or without; those that were opened have them already."""
    vocab: Vocab = encoding._vocab
    if not words:
        return made.vocabulary(None) if vocab.path is not None else vocab
    return vocab if vocab.path is not None else made.vocabulary(cached.words_for(vocab, made.stages))


def _joined(parts: list[bytes]) -> bytearray:
    data, places = bytearray(_HEAD_BYTES), []
    for part in parts:
        places += [len(data), len(part)]
        data += part
        data += bytes(-len(data) % _ALIGNMENT)
    size = places[-2] + places[-1]
    del data[size:]
    version, *others = _versions()
    _HEAD.pack_into(data, 0, MAGIC, version, _BYTE_ORDER, 0, size, *others, *places)
    struct.pack_into("=Q", data, _CHECKED_FROM - 8, sum64(memoryview(data)[_CHECKED_FROM:]))
    return data
