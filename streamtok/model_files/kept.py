"""Tables of models, opened: where they lie, and what they keep of a model so that an encoding can be made at once.

Reading the rest of a description, and importing what reads it, takes ten times as long, so it waits until somebody asks
for it. What is imported here is what every process that loads a model waits for.
"""

from __future__ import annotations

import json
import os
import struct
import sys

from .. import disk
from ..bundled import mapped
from ..disk import cache_folder
from ..errors import VocabularyError, short_file_names
from ..load import open_regular
from ..native.checksum import crc32, digest
from ..native.matcher import ALONE, Matcher
from ..native.pattern import Pattern
from ..native.steps import lazy
from ..native.vocab import IMAGE_VERSION, Vocab
from ..patterns import FAMILIES, TABLE_VERSION
from .gguf_head import read_head
from .sources import sources_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any, TypeVar

    from .description import Ranks
    from .model import Model

    _T = TypeVar("_T")

MAGIC = b"stmodel\x1a"
"""What a compiled model begins with (compiled.py)."""

FORMAT = 3
"""Of a description."""

PREFIX = "model-"

SIZES = struct.Struct("<QII")  # bytes of the description, of the pattern; CRC-32 of both
_CHUNK = 1 << 20


# ==== What tables belong to ====


@short_file_names
def key_of(path: str) -> str:
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


def head_of(key: str) -> bytes:
    return mapped.head_of(f"{FORMAT} {IMAGE_VERSION} {TABLE_VERSION} {sys.byteorder} {key}")


def place_of(key: str, head: bytes) -> str:
    return mapped.path_of(f"{PREFIX}{key}", head)


# ==== What they hold ====


class Found:
    """What lies in tables: the description, the arrays of the pattern, the name of the model, the core's Vocab."""

    def __init__(self, about: dict[str, Any], arrays: bytes, name: str, vocab: Vocab) -> None:
        self.about, self.arrays, self.name, self.vocab = about, arrays, name, vocab


def open_tables(path: str | os.PathLike[str], make: Callable[[Found], _T]) -> _T | None:
    """What make() makes of the tables of a model; None where there are none that can be used."""
    name = os.fspath(path)
    try:
        key = key_of(name)
        head = head_of(key)
        place = place_of(key, head)
        with disk.open_read(place, steady=True) as file:
            data = memoryview(mapped.bring(file))
        if data[: len(head)] == head:
            made = make(_found(data, name, place))
            cache_folder.note_use(place)
            return made
    except (OSError, VocabularyError):
        return None
    except (ValueError, KeyError, TypeError, IndexError, struct.error, RecursionError):  # empty, or damaged
        pass
    cache_folder.remove(place)
    return None


def _found(data: memoryview, path: str, place: str) -> Found:
    """Raises ValueError, or what reading a damaged description raises."""
    size, pattern_size, crc = SIZES.unpack_from(data, mapped.HEAD_BYTES)
    start = mapped.HEAD_BYTES + SIZES.size
    body = data[start : start + size + pattern_size]
    if len(body) != size + pattern_size or crc32(body) != crc:
        raise ValueError("the checksum is wrong")
    about = json.loads(bytes(body[:size]))
    vocab = vocab_of(about, data[start + len(body) :], place)
    return Found(about, bytes(body[size:]), _named(about["name"], path), vocab)


def vocab_of(about: dict[str, Any], image: memoryview, place: str, deep: bool = False) -> Vocab:
    """Raises ValueError: it is no image. Arguments as for mapped.over()."""
    decoded = {token: text.encode("latin-1") for token, text in about["decoded"]}
    try:
        return mapped.over(image, about["special"], place, decoded, deep)
    except VocabularyError as error:
        raise ValueError(error.reason) from None


def _named(about: list[str], path: str) -> str:
    start = {"path": path, "folder": os.path.dirname(path) or os.curdir, "name": ""}
    return start[about[0]] + about[1]


def fields_of(about: list[Any], data: bytes) -> list[Any]:
    """Those of the table of a pattern: its numbers, and its arrays, which lie in the data one behind the other."""
    at = 0
    fields: list[Any] = []
    for value in about:
        if isinstance(value, list):  # [length]
            fields.append(data[at : at + value[0]])
            at += value[0]
        else:
            fields.append(value)
    return fields


# ==== What is kept of a model ====


def facts_of(model: Model) -> dict[str, Any] | None:
    """What KeptModel needs, in words of JSON; None where it is more than it can say."""
    names, splitter = model.added_names, model.splitter
    sought = [(token.content, names.sought(token.content).flags) for token in model.parts.added]
    steps = model.normalizer
    are_plain = all(isinstance(value, (str, int)) for step in steps for value in step)
    if splitter is None or model.parts.decoder_rules is not None or not names.at_once or not are_plain:
        return None
    if any(flags & ALONE for _, flags in sought):  # asks which characters are those of words
        return None
    return {
        "template": model.template,
        "normalizer": steps,
        "pattern": model.pattern,
        "family": splitter.family,
        "special": model.special,
        "plain": model.plain,
        "skipped": sorted(names.skipped),
        "flags": {name: flags for name, flags in sought if flags},
    }


class KeptModel:
    """A Model whose description is read when somebody asks for more than what an encoding is made of: by whole()."""

    def __init__(self, found: Found, whole: Callable[[Found], Model | Ranks]) -> None:
        facts = found.about["kept"]
        self._found, self._read = found, whole
        self.name = found.name
        self.template = tuple(map(tuple, facts["template"]))
        self.normalizer = tuple(map(tuple, facts["normalizer"]))
        self.pattern, self.special, self.plain = facts["pattern"], facts["special"], facts["plain"]
        self.added_names = _KeptNames(self, facts)

    has_decoder_rules = False

    @lazy
    def whole(self) -> Model:
        return self._read(self._found)  # type: ignore[return-value]

    @lazy
    def splitter(self) -> Pattern:
        """What of the core splits as the pattern does."""
        about, family = self._found.about, self._found.about["kept"]["family"]
        if family in FAMILIES or family == "none":
            return Pattern(family)
        return Pattern(_Table(*fields_of(about["pattern"], self._found.arrays)), None if family == "table" else family)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.whole, name)

    def __reduce__(self) -> tuple[Any, ...]:
        return self.whole.__reduce__()


class _KeptNames:
    """What finds added tokens in texts, as AddedTokens where all are sought at once."""

    def __init__(self, model: KeptModel, facts: dict[str, Any]) -> None:
        self._model = model
        self._flags, self._ids = facts["flags"], facts["special"] | facts["plain"]
        self.skipped = set(facts["skipped"])

    def matcher(self, names: Sequence[str]) -> Matcher | None:
        flags = [self._flags.get(name, 0) for name in names]
        return Matcher(names, [self._ids[name] for name in names], flags if any(flags) else None) if names else None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model.whole.added_names, name)


class _Table:
    """A patterns.compiled.CompiledPattern, for the core alone."""

    def __init__(self, *fields: Any) -> None:
        self.classes, self.class_index, self.class_blocks, self.states = fields[:4]
        self.entries, self.ops, self.drops, self.table_version = fields[4:]
