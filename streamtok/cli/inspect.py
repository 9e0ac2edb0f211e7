"""streamtok inspect: shows where tokens begin and end in a text."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from ..view.parts import Splitter, Token
from .colour import color_option, console, is_coloured
from .common import encoding_options, file_names, load_encoding, specials, text_options
from .operands import RULE, operand, text_option
from .token_view import Bordered, Coloured, Json, Quoted

if TYPE_CHECKING:
    from ..core import Encoding

_CHUNK = 16 << 10  # every token becomes a few Python objects
_COUNTED_CHUNK = 1 << 20  # where most of them may be counted only
_TERMINAL_LIMIT = 2000  # tokens: some screens full


@click.command(epilog=RULE)
@click.argument("argument", required=False, metavar="[FILE|TEXT]", shell_complete=file_names)
@text_option
@click.option("--ids", is_flag=True, help="One token a line: position, id, token.")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    metavar="N",
    help=f"Show the first N tokens; all are counted.  [default: {_TERMINAL_LIMIT} on a terminal, else all]",
)
@click.option("--json", "as_json", is_flag=True, help="A JSON object with tokens and totals.")
@color_option
@text_options
@encoding_options
def command(
    argument: str | None,
    is_text: bool,
    ids: bool,
    limit: int | None,
    as_json: bool,
    color: str,
    allow_special: tuple[str, ...],
    errors: str,
    **chosen: Any,
) -> None:
    r"""Show where a text is cut into tokens.

    On a terminal tokens stand side by side, coloured in turn, or with borders between them where there are no colours;
    in a pipe there is one a line, quoted. Bytes of a character that is split among tokens are shown as <e2><98>, and
    the character behind its last byte; special tokens are marked. Totals of ids, bytes and characters go to standard
    error.
    """
    encoding = load_encoding(**chosen)
    source = operand(argument, is_text)
    from ..files.encode import Options, encode_sources

    options = Options("text", allowed_special=specials(allow_special, encoding), errors=errors)
    if limit is None and sys.stdout.isatty() and not as_json:
        limit = _TERMINAL_LIMIT
    totals = _Totals(encoding, _view(encoding, ids, as_json, color), limit)
    chunk = _CHUNK if limit is None else _COUNTED_CHUNK
    done = encode_sources(encoding, source, totals.take, options, chunk_size=chunk)
    totals.end()
    _print_totals(totals, done.text_bytes, as_json)


def _view(encoding: Encoding, ids: bool, as_json: bool, color: str) -> Any:
    if as_json:
        return Json(encoding.name)
    if is_coloured(color):
        return Coloured(console(color), ids)
    return Bordered() if sys.stdout.isatty() and not ids else Quoted(ids)


def _print_totals(totals: _Totals, text_bytes: int, as_json: bool) -> None:
    if as_json:
        report = {"ids": totals.ids, "bytes": text_bytes, "characters": totals.characters, "shown": totals.shown}
        click.echo(json.dumps(report)[1:])
        return
    part = "" if totals.shown in (0, totals.ids) else f"; shown are the first {totals.shown:,} ids (--limit)"
    click.echo(f"{totals.ids:,} ids, {text_bytes:,} bytes, {totals.characters:,} characters{part}", err=True)


class _Totals:
    """Counts what comes, and shows the first `limit` ids of it, all for None."""

    def __init__(self, encoding: Encoding, view: Any, limit: int | None) -> None:
        self._encoding, self._view, self._limit = encoding, view, limit
        self._splitter = Splitter()
        self._offset = 0
        self.ids = self.characters = self.shown = 0

    def take(self, ids: Any, _ends: object) -> None:
        """The next ids of the text."""
        room = len(ids) if self._limit is None else min(len(ids), self._limit - self.shown)
        tokens = ids[:room].tolist()
        for token, data in zip(tokens, self._encoding.decode_tokens_bytes(tokens)):
            is_special = self._encoding.is_special_token(token)
            parts = list(self._splitter.parts(data))
            self._view.show(Token(self.shown, token, data, self._offset, is_special, parts))
            self._offset += len(data)
            self.shown += 1
        self.ids += len(ids)
        self.characters += _characters(self._encoding.decode_bytes(ids))

    def end(self) -> None:
        """No more ids come."""
        self._view.end()


def _characters(data: bytes) -> int:
    """Characters that begin in the UTF-8."""
    import numpy as np

    codes = np.frombuffer(data, np.int8)
    return int((codes >= -64).sum())  # all but 0x80 to 0xbf, which go on with one
