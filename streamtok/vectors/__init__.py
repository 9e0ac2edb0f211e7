"""Golden vectors: the ids of a model on texts that are fixed, as a file that two versions or two libraries compare.

docs/vectors.md has the format. `streamtok vectors` and `streamtok verify-vectors` are the commands.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from .._version import __version__
from ..errors import VocabularyError, shown
from .texts import SET, texts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..core import Encoding

__all__ = ["Difference", "first_difference", "make", "read", "texts"]

FORMAT, VERSION = "tokenizer-vectors", 1


class Difference(NamedTuple):
    """The first text whose ids differ, and the first id of it; None: one of the two has none there."""

    number: int
    text: str
    place: int
    wanted: int | None
    found: int | None

    def __str__(self) -> str:
        wanted, found = ("none" if token is None else token for token in (self.wanted, self.found))
        return f"text {self.number}, {shown(self.text)}: id {self.place} is {wanted} in the file, and {found} here"


def make(encoding: Encoding) -> dict[str, Any]:
    """The record of an encoding: the ids of each text, as ordinary text without a template."""
    vectors = [{"text": text, "ids": encoding.encode(text, disallowed_special=())} for text in texts()]
    return {
        "format": FORMAT,
        "version": VERSION,
        "made_by": f"streamtok {__version__}",
        "encoding": {"name": encoding.name, "n_vocab": encoding.n_vocab, "fingerprint": encoding.fingerprint},
        "texts": {"set": SET, "sha256": _digest([each["text"] for each in vectors])},
        "ids_sha256": _digest([each["ids"] for each in vectors]),
        "vectors": vectors,
    }


def dumps(record: dict[str, Any]) -> str:
    """A record as a file has it: a line for each text."""
    lines = ",\n".join("  " + json.dumps(each, ensure_ascii=True) for each in record["vectors"])
    head = json.dumps({key: value for key, value in record.items() if key != "vectors"}, indent=1)
    return f'{head[:-2]},\n "vectors": [\n{lines}\n ]\n}}\n'


def read(data: bytes, path: str) -> dict[str, Any]:
    """The record of a file. VocabularyError: it is damaged, or something else."""
    try:
        record = json.loads(data)
        known = record["format"] == FORMAT and record["version"] == VERSION
        vectors = [(each["text"], each["ids"]) for each in record["vectors"]]
        digests = record["texts"]["sha256"], record["ids_sha256"]
        record["encoding"]["name"]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise VocabularyError("this is no file of vectors: make one with streamtok vectors", path) from None
    if not known:
        raise VocabularyError(
            f"format {shown(record['format'])}, version {shown(record['version'])}: "
            f"{FORMAT}, version {VERSION}, is read",
            path,
        )
    for i, (text, ids) in enumerate(vectors):
        if type(text) is not str or type(ids) is not list or not all(type(token) is int for token in ids):
            raise VocabularyError(f"vectors[{i}] is not a text and a list of ids", path)
    for name, digest, part in (("texts", digests[0], 0), ("ids", digests[1], 1)):
        if _digest([each[part] for each in vectors]) != digest:
            raise VocabularyError(f"the {name} are not those that their sha256 was made of: the file was changed", path)
    return dict(record)


def first_difference(
    record: dict[str, Any], encoding: Encoding | None, other: dict[str, Any] | None = None
) -> Difference | None:
    """The first difference between a record and an encoding, or another record; None: there is none.

    Raises:
        ValueError: the two records are of different texts.
    """
    vectors: Sequence[Any] = record["vectors"]
    if other is not None and [each["text"] for each in other["vectors"]] != [each["text"] for each in vectors]:
        raise ValueError("the two files are of different texts: make both with the same release, or of the same texts")
    for number, vector in enumerate(vectors):
        if other is not None:
            found = other["vectors"][number]["ids"]
        else:
            assert encoding is not None
            found = encoding.encode(vector["text"], disallowed_special=())
        wanted = vector["ids"]
        if wanted != found:
            same = next((i for i, (a, b) in enumerate(zip(wanted, found)) if a != b), min(len(wanted), len(found)))
            pair = (row[same] if same < len(row) else None for row in (wanted, found))
            return Difference(number, vector["text"], same, *pair)
    return None


def _digest(value: Any) -> str:
    """sha256 of JSON in ASCII without blanks."""
    return hashlib.sha256(json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode()).hexdigest()
