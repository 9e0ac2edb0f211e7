"""streamtok truncate: the beginning of a text, of so many tokens."""

from __future__ import annotations

import codecs
import sys
from typing import Any

import click

from .options import ENCODING, TEXT, Given, option, takes

_CHUNK = 64 << 10


@takes(
    "argument",
    "text",
    option("-n", "--tokens", type=click.IntRange(min=0), required=True, metavar="N", help="Tokens to keep."),
    *TEXT,
    *ENCODING,
)
def command(given: Given) -> None:
    """Write the beginning of a text, up to N tokens.

    It goes to standard output: the longest beginning that has no more tokens and ends between two characters. Of a
    long FILE little more is read than is written.
    """
    encoding = given.load()
    options = given.reading(encoding)
    text = _beginning(encoding, given.source(), given.tokens, options)
    allowed = options["allowed_special"]
    head = encoding.truncate(text, given.tokens, allowed_special=allowed, disallowed_special=())
    sys.stdout.buffer.write(head.encode())
    if sys.stdout.isatty():
        click.echo()


class _Enough(Exception):
    """Raised when the text read so far has more tokens than wanted."""


class _Kept:
    """A stream that keeps what was read of it."""

    def __init__(self, reader: Any, name: str) -> None:
        self._reader, self.name = reader, name
        self.data = bytearray()

    def read(self, n: int) -> bytes:
        chunk: bytes = self._reader.read(n)
        self.data += chunk
        return chunk

    def seekable(self) -> bool:
        return False


def _beginning(encoding: Any, source: Any, tokens: int, options: dict[str, Any]) -> str:
    """The text of the source, or a beginning of which a stream has returned more than `tokens` ids: these are final, so
    no longer beginning has fewer."""
    from ..files.encode import Options, encode_sources
    from ..files.sources import make_sources

    found = 0

    def emit(ids: Any, _ends: object) -> None:
        nonlocal found
        found += len(ids)

    def tick(documents: Any, reader: Any) -> None:
        if found > tokens:
            raise _Enough

    (opened,) = make_sources(source)
    with opened.open() as reader:
        kept = _Kept(reader, opened.name)
        try:
            encode_sources(
                encoding, kept, emit, Options("text", **options), chunk_size=_CHUNK, tick=tick, num_threads=1
            )
            is_whole = True
        except _Enough:
            is_whole = False
    return codecs.getincrementaldecoder("utf-8")(options["errors"]).decode(bytes(kept.data), is_whole)
