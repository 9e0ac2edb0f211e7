"""streamtok inspect: shows where tokens begin and end in a text."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from ..view.parts import Tokens
from .options import ENCODING, TEXT, Given, json_option, option, takes
from .token_view import Bordered, Coloured, Json, Quoted, console, is_coloured

if TYPE_CHECKING:
    from ..core import Encoding

_CHUNK = 16 << 10  # every token becomes a few Python objects
_COUNTED_CHUNK = 1 << 20  # where most of them may be counted only
_TERMINAL_LIMIT = 2000  # tokens: some screens full


@takes(
    "argument",
    "text",
    option("--ids", is_flag=True, help="One token a line: position, id, token."),
    option(
        "--limit",
        type=click.IntRange(min=0),
        metavar="N",
        help=f"Show the first N tokens; all are counted.  [default: {_TERMINAL_LIMIT} on a terminal, else all]",
    ),
    json_option("A JSON object with tokens and totals."),
    "color",
    *TEXT,
    *ENCODING,
)
def command(given: Given) -> None:
    r"""Show where a text is cut into tokens.

    On a terminal tokens stand side by side, coloured in turn, or with borders between them where there are no colours;
    in a pipe there is one a line, quoted. Bytes of a character that is split among tokens are shown as <e2><98>, and
    the character behind its last byte; special tokens are marked. Totals of ids, bytes and characters go to standard
    error.
    """
    from ..files.encode import Options, encode_sources

    encoding, limit = given.load(), given.limit
    source = given.source()
    options = Options("text", **given.reading(encoding))
    if limit is None and sys.stdout.isatty() and not given.as_json:
        limit = _TERMINAL_LIMIT
    view = _view(encoding, given.ids, given.as_json, given.color)
    tokens = Tokens(encoding, limit, view.show)
    chunk = _CHUNK if limit is None else _COUNTED_CHUNK
    done = encode_sources(
        encoding, source, lambda ids, _ends: tokens.take(ids), options, chunk_size=chunk, num_threads=1
    )
    view.end()
    _print_totals(tokens, done.text_bytes, given.as_json)


def _view(encoding: Encoding, ids: bool, as_json: bool, color: str) -> Any:
    if as_json:
        return Json(encoding.name)
    if is_coloured(color):
        return Coloured(console(color), ids)
    return Bordered() if sys.stdout.isatty() and not ids else Quoted(ids)


def _print_totals(totals: Tokens, text_bytes: int, as_json: bool) -> None:
    if as_json:
        report = {"ids": totals.ids, "bytes": text_bytes, "characters": totals.characters, "shown": totals.shown}
        click.echo(json.dumps(report)[1:])
        return
    part = "" if totals.shown in (0, totals.ids) else f"; shown are the first {totals.shown:,} ids (--limit)"
    click.echo(f"{totals.ids:,} ids, {text_bytes:,} bytes, {totals.characters:,} characters{part}", err=True)
