"""streamtok view: the tokens of a text as a page of HTML."""

from __future__ import annotations

import os
from typing import Any

import click

from ..view import LIMIT
from .common import (
    check_output,
    check_sources,
    encoding_names,
    file_names,
    load_encoding,
    open_output,
    specials,
    text_options,
)
from .operands import RULE, Text, operand, text_option

_CHUNK = 1 << 20


@click.command(epilog=RULE)
@click.argument("argument", required=False, metavar="[FILE|TEXT]", shell_complete=file_names)
@text_option
@click.option(
    "--html",
    "output",
    required=True,
    metavar="OUT",
    shell_complete=file_names,
    help="File to write the page to; '-' is standard output.",
)
@click.option(
    "-e",
    "--encoding",
    "encodings",
    metavar="NAME|FILE",
    multiple=True,
    shell_complete=encoding_names,
    help="Encoding by name, or a model's tokenizer.json or folder; several stand side by side.  [default: o200k_base]",
)
@click.option(
    "--vocab",
    "vocabs",
    metavar="FILE",
    multiple=True,
    shell_complete=file_names,
    help="Vocabulary of your own: what train wrote (repeatable).",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    default=LIMIT,
    show_default=True,
    metavar="N",
    help="Show the first N tokens of each encoding; all are counted.",
)
@text_options
def command(
    argument: str | None,
    is_text: bool,
    output: str,
    encodings: tuple[str, ...],
    vocabs: tuple[str, ...],
    limit: int,
    allow_special: tuple[str, ...],
    errors: str,
) -> None:
    """Write a page of HTML that shows the tokens of a text.

    The page is one file and needs no network: tokens in colours, their ids and bytes under the pointer, a search, and
    with several encodings their tokens side by side. A text of any size is read; of its tokens the first N are shown.
    """
    names = encodings if encodings or vocabs else (None,)
    loaded = [load_encoding(name, None, None, None, ()) for name in names]
    loaded += [load_encoding(None, None, vocab, None, ()) for vocab in vocabs]
    source = operand(argument, is_text)
    if output != "-":
        check_output(output)
        check_sources([output], [*([source] if isinstance(source, str) else []), *vocabs])
    page = _page(loaded, source, limit, allow_special, errors)
    with open_output(output) as write:
        write(str(page).encode())


def _page(encodings: list[Any], source: Any, limit: int, allow_special: tuple[str, ...], errors: str) -> Any:
    from ..files.sources import make_sources
    from ..view.columns import Column
    from ..view.page import joined

    columns = [Column(encoding, limit) for encoding in encodings]
    streams = [
        encoding.stream_encoder(allowed_special=specials(allow_special, encoding), disallowed_special=(), errors=errors)
        for encoding in encodings
    ]
    (opened,) = make_sources(source)
    with opened.open() as reader:
        while chunk := reader.read(_CHUNK):
            for column, stream in zip(columns, streams):
                column.take(stream.feed(chunk))
    for column, stream in zip(columns, streams):
        column.take(stream.flush())
    title = "a text" if isinstance(source, Text) else os.path.basename(source) if isinstance(source, str) else "text"
    return joined(columns, f"Tokens of {title}")
