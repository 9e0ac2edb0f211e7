"""streamtok truncate: the beginning of a text, of so many tokens."""

from __future__ import annotations

import codecs
import sys
from typing import Any

import click

from .common import encoding_options, file_names, load_encoding, specials, text_options
from .operands import RULE, operand, text_option

_CHUNK = 64 << 10


@click.command(epilog=RULE)
@click.argument("argument", required=False, metavar="[FILE|TEXT]", shell_complete=file_names)
@text_option
@click.option("-n", "--tokens", type=click.IntRange(min=0), required=True, metavar="N", help="Tokens to keep.")
@text_options
@encoding_options
def command(
    argument: str | None, is_text: bool, tokens: int, allow_special: tuple[str, ...], errors: str, **chosen: Any
) -> None:
    """Write the beginning of a text, up to N tokens.

    It goes to standard output: the longest beginning that has no more tokens and ends between two characters. Of a
    long FILE little more is read than is written.
    """
    encoding = load_encoding(**chosen)
    allowed = specials(allow_special, encoding)
    text = _beginning(encoding, operand(argument, is_text), tokens, allowed, errors)
    head = encoding.truncate(text, tokens, allowed_special=allowed, disallowed_special=())
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


def _beginning(encoding: Any, source: Any, tokens: int, allowed: Any, errors: str) -> str:
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
                encoding,
                kept,
                emit,
                Options("text", allowed_special=allowed, errors=errors),
                chunk_size=_CHUNK,
                tick=tick,
            )
            is_whole = True
        except _Enough:
            is_whole = False
    return codecs.getincrementaldecoder("utf-8")(errors).decode(bytes(kept.data), is_whole)
