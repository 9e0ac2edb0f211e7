"""Cuts the bytes of sources into documents and encodes each one by itself, in bounded memory.

"text": a source is a document. "lines": a line is one; "\n" or "\r\n" ends it and is no part of it, an empty line is
an empty document. "jsonl": the string at `key` in the object on each line is one; blank lines are none.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from .sources import PathSource, Reader, StreamSource

Ids = np.ndarray[Any, np.dtype[np.uint32]]
Emit = Callable[[Ids], object]
Tick = Callable[["Documents", Reader], object]

_BATCH = 1 << 14  # documents encoded at once: what is kept about each is small beside the text
_NO_IDS: Ids = np.empty(0, dtype=np.uint32)


@dataclass(frozen=True)
class Options:
    """What decides the ids of an output, apart from the encoding and the sources."""

    documents: str = "text"
    key: str = "text"
    append_eot: bool = False
    allowed_special: Set[str] | str = frozenset()
    disallowed_special: Set[str] | str = frozenset()
    errors: str = "strict"

    def __post_init__(self) -> None:
        if self.documents not in _KINDS:
            raise ValueError(f"documents={self.documents!r} is unknown: write one of {', '.join(map(repr, _KINDS))}")
        if self.errors not in ("strict", "replace", "ignore"):
            raise ValueError(f"errors={self.errors!r} is unknown: write 'strict', 'replace' or 'ignore'")
        for name in ("allowed_special", "disallowed_special"):
            value = getattr(self, name)
            if isinstance(value, str) and value != "all":
                raise ValueError(f"{name}={value!r} is one string: write a set of names, or 'all'")
            object.__setattr__(self, name, value if value == "all" else frozenset(value))

    def as_json(self) -> dict[str, Any]:
        """These options as a journal keeps them."""
        record = {name: getattr(self, name) for name in ("documents", "append_eot", "errors")}
        for name in ("allowed_special", "disallowed_special"):
            names = getattr(self, name)
            record[name] = names if names == "all" else sorted(names)
        return {**record, "key": self.key if self.documents == "jsonl" else None}


class Documents:
    """One stream encoder over many documents: `begin`, `feed` ..., `end` for each source.

    Ids leave through `emit`, a callable that takes a uint32 array and keeps no reference to it. After an error the
    object is of no more use.
    """

    def __init__(self, encoding: Any, emit: Emit, options: Options) -> None:
        self.emit = emit
        self.options = options
        self._specials = {
            "allowed_special": options.allowed_special,
            "disallowed_special": options.disallowed_special,
            "errors": options.errors,
        }
        self.stream = encoding.stream_encoder(**self._specials)
        self._encode_ragged = encoding.encode_ragged
        self.documents = 0  # ended
        self.text_bytes = 0  # taken, over all sources
        self.begin("<text>")
        self._eot = _eot_ids(encoding) if options.append_eot else _NO_IDS

    def begin(self, name: str, *, offset: int = 0, line: int = 0, is_open: bool = False) -> None:
        """Start on a source, from where an earlier run stood if it did."""
        self.name, self.offset, self.line, self.is_open = name, offset, line, is_open

    def encode_source(self, source: PathSource | StreamSource, chunk_size: int, tick: Tick | None = None) -> None:
        """Read `source` from `self.offset` to its end; tick(self, reader) follows each chunk."""
        with source.open(self.offset) as reader:
            while chunk := reader.read(chunk_size):
                self.feed(chunk)
                if tick is not None:
                    tick(self, reader)
            source.check_unchanged(reader)
        self.end()

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes of the source.

        Raises UnicodeDecodeError or ValueError naming the source (and the line) for text that is refused.
        """
        try:
            self._feed(chunk)
        except ValueError as error:
            raise self._located(error) from None

    def end(self) -> None:
        """The source ends, and with it the document that it is in."""
        try:
            self._end()
        except ValueError as error:
            raise self._located(error) from None

    def _feed(self, chunk: bytes) -> None:
        raise NotImplementedError

    def _end(self) -> None:
        raise NotImplementedError

    def _take(self, n: int) -> None:
        """Count `n` bytes of the source as done: a later run need not see them again."""
        self.offset += n
        self.text_bytes += n

    def _close_document(self) -> None:
        self.emit(self.stream.flush())
        self.emit(self._eot)
        self.documents += 1
        self.is_open = False

    def _encode_batch(self, texts: list[Any], lines: Iterable[int]) -> None:
        """Encode whole documents at once, several times as fast as one by one; `lines` are where they stand."""
        try:
            ids, indptr = self._encode_ragged(texts, num_threads=1, **self._specials)
        except ValueError:
            for self.line, text in zip(lines, texts):  # which one is it?
                self.stream.feed(text)
                self.stream.flush()
            raise
        self.emit(np.insert(ids, indptr[1:], self._eot[0]) if len(self._eot) else ids)
        self.documents += len(texts)

    def _located(self, error: ValueError) -> ValueError:
        where = self.name if self.options.documents == "text" else f"{self.name}, line {self.line + 1}"
        if isinstance(error, UnicodeDecodeError):
            hint = f"{error.reason} (in {where}; errors='replace' puts U+FFFD in the place of such bytes)"
            return UnicodeDecodeError(error.encoding, error.object, error.start, error.end, hint)
        return ValueError(f"{where}: {error}")


def _eot_ids(encoding: Any) -> Ids:
    try:
        return np.array([encoding.eot_token], dtype=np.uint32)
    except KeyError:
        raise ValueError(
            f"append_eot=True, but the encoding {encoding.name!r} has no <|endoftext|> token to append: "
            "leave append_eot out or choose another encoding"
        ) from None


class TextDocuments(Documents):
    """A source is a document."""

    def _feed(self, chunk: bytes) -> None:
        self.emit(self.stream.feed(chunk))
        self._take(len(chunk))

    def _end(self) -> None:
        self._close_document()


class LineDocuments(Documents):
    r"""A line is a document. A line of any length is streamed; only a "\r" that may begin "\r\n" is held back."""

    def begin(self, name: str, **where: Any) -> None:
        super().begin(name, **where)
        self._held = b""

    def _feed(self, chunk: bytes) -> None:
        chunk = self._held + chunk if self._held else chunk
        *lines, rest = chunk.split(b"\n")
        taken = len(chunk) - len(rest)
        if b"\r" in chunk:
            lines = [line[:-1] if line.endswith(b"\r") else line for line in lines]
        if self.is_open and lines:
            self.emit(self.stream.feed(lines.pop(0)))
            self._close_document()
            self.line += 1
        for at in range(0, len(lines), _BATCH):
            batch = lines[at : at + _BATCH]
            self._encode_batch(batch, itertools.count(self.line))
            self.line += len(batch)
        self._take(taken)
        self._held = b"\r" if rest.endswith(b"\r") else b""
        self._feed_part(rest[:-1] if self._held else rest)

    def _feed_part(self, part: bytes) -> None:
        if part:
            self.is_open = True
            self.emit(self.stream.feed(part))
            self._take(len(part))

    def _end(self) -> None:
        self._feed_part(self._held)  # no "\n" came, so it is text
        self._held = b""
        if self.is_open:
            self._close_document()


class JsonDocuments(Documents):
    """The string at `key` of the object on a line is a document. One line is held in memory at a time."""

    def begin(self, name: str, **where: Any) -> None:
        super().begin(name, **where)
        self._parts: list[bytes] = []  # the line that has not ended

    def _feed(self, chunk: bytes) -> None:
        head, newline, chunk = chunk.partition(b"\n")
        self._parts.append(head)
        if not newline:
            return
        first = b"".join(self._parts)
        *whole, rest = chunk.split(b"\n")
        self._parts = [rest]
        self._encode_lines([first, *whole])
        self._take(len(first) + 1 + len(chunk) - len(rest))

    def _end(self) -> None:
        line = b"".join(self._parts)
        self._parts = []
        self._encode_lines([line])
        self._take(len(line))

    def _encode_lines(self, lines: list[bytes]) -> None:
        for at in range(0, len(lines), _BATCH):
            numbers, texts = [], []
            for line in lines[at : at + _BATCH]:
                text = line.decode("utf-8", self.options.errors)
                if self.line == 0:
                    text = text.removeprefix("\ufeff")  # a byte order mark is no JSON
                if text.strip():
                    texts.append(self._value(text))
                    numbers.append(self.line)
                self.line += 1
            self._encode_batch(texts, numbers)

    def _value(self, text: str) -> str:
        key = self.options.key
        try:
            record = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"not a JSON object ({error}); mend the line, or read it with documents='lines'") from None
        if not isinstance(record, dict):
            raise ValueError(f"the line holds a JSON {type(record).__name__}, an object with {key!r} is needed")
        if key not in record:
            raise ValueError(f"the object has no {key!r}, its keys are {_shortened(list(record))}; name one with key=")
        value = record[key]
        if not isinstance(value, str):
            raise ValueError(f"the value of {key!r} is {_shortened(value)}, a string is needed")
        return value


def _shortened(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


_KINDS = {"text": TextDocuments, "lines": LineDocuments, "jsonl": JsonDocuments}


def make_documents(encoding: Any, emit: Emit, options: Options) -> Documents:
    """The Documents for options.documents. Raises ValueError when an eot token is asked for and there is none."""
    return _KINDS[options.documents](encoding, emit, options)
