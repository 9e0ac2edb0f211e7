"""streamtok view: the tokens of a text as a page of HTML."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import click

from ..errors import shortened
from ..files.suffixes import IDS_FORMATS
from ..view import LIMIT
from ..view.columns import Column
from ..view.page import joined
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
from .decode import bytes_of
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
@click.option(
    "--document",
    "number",
    type=click.IntRange(min=0),
    metavar="N",
    help="FILE holds ids, or is a dataset: show its document N, from 0.",
)
@click.option("--format", type=click.Choice(IDS_FORMATS), help="Of these ids.  [default: by names and files beside it]")
@click.option("--dtype", type=click.Choice(["uint16", "uint32"]), help="Of these ids, where nothing else tells it.")
@text_options
def command(
    argument: str | None,
    is_text: bool,
    output: str,
    number: int | None,
    format: str | None,
    dtype: str | None,
    encodings: tuple[str, ...],
    vocabs: tuple[str, ...],
    limit: int,
    allow_special: tuple[str, ...],
    errors: str,
) -> None:
    """Show the tokens of a text or of a document as a page of HTML.

    The page is one file and needs no network: tokens in colours, their ids and bytes under the pointer, a search, and
    with several encodings their tokens side by side. A text of any size is read; of its tokens the first N are shown.

    With --document FILE is what encode or dataset build wrote. The first encoding is that of the ids, by default the
    one that a dataset names; what others make of the same text stands beside it.
    """
    if number is None and (format or dtype):
        raise click.UsageError("--format and --dtype are about ids: add --document N")
    source = operand(argument, is_text)
    ids = None if number is None else _Ids(source, number, format, dtype)
    loaded = [load_encoding(name, None, None, None, ()) for name in encodings]
    loaded += [load_encoding(None, None, vocab, None, ()) for vocab in vocabs]
    if not loaded:
        loaded = [load_encoding(None, None, None, None, ()) if ids is None else ids.own_encoding()]
    if output != "-":
        check_output(output)
        check_sources([output], [*([source] if isinstance(source, str) else []), *vocabs])
    columns = [Column(encoding, limit) for encoding in loaded]
    if ids is None:
        _encode(columns, _chunks_of(source), allow_special, errors)
        title = _title_of(source)
    else:
        _encode(columns[1:], ids.decoded(columns[0]), allow_special, errors)
        title = ids.title
    with open_output(output) as write:
        write(str(joined(columns, f"Tokens of {title}")).encode())


def _title_of(source: Any) -> str:
    if isinstance(source, Text):
        return "a text"
    return os.path.basename(source) if isinstance(source, str) else "text"


def _chunks_of(source: Any) -> Iterator[bytes]:
    from ..files.sources import make_sources

    (opened,) = make_sources(source)
    with opened.open() as reader:
        while chunk := reader.read(_CHUNK):
            yield chunk


def _encode(columns: list[Column], chunks: Iterator[bytes], allow_special: tuple[str, ...], errors: str) -> None:
    """The ids of the text into each column."""
    streams = [
        column.encoding.stream_encoder(
            allowed_special=specials(allow_special, column.encoding), disallowed_special=(), errors=errors
        )
        for column in columns
    ]
    for chunk in chunks:
        for column, stream in zip(columns, streams):
            column.take(stream.feed(chunk))
    for column, stream in zip(columns, streams):
        column.take(stream.flush())


class _Ids:
    """Document `number` of a file of ids, or of a dataset."""

    def __init__(self, path: Any, number: int, format: str | None, dtype: str | None) -> None:
        if not isinstance(path, str):
            raise click.UsageError("--document is about files of ids and datasets: name one")
        self._dataset = None
        try:
            if format is None and os.path.exists(os.path.join(path, "manifest.json")):
                from ..dataset.reading import Shards

                shards = Shards(path)
                self._dataset, self._ids = shards.dataset, shards.document(number).ids
            else:
                from ..files.formats import open_documents

                self._ids = open_documents(path, format, dtype)[number]
        except IndexError as error:
            raise ValueError(f"{shortened(path)}: {error}, and the first is 0") from None
        self.title = f"document {number:,} of {os.path.basename(os.path.abspath(path))}"

    def own_encoding(self) -> Any:
        """The encoding that made the ids, if they tell it; else that of all commands."""
        if self._dataset is None:
            return load_encoding(None, None, None, None, ())
        from ..dataset.reading import encoding_of

        return encoding_of(self._dataset, None)

    def decoded(self, column: Column) -> Iterator[bytes]:
        """The text of the ids, which go into the column of their encoding."""
        if self._dataset is not None:
            from ..dataset.reading import encoding_of

            encoding_of(self._dataset, column.encoding)  # raises where it is another
        for at in range(0, len(self._ids), _CHUNK):
            ids = self._ids[at : at + _CHUNK]
            text = bytes_of(column.encoding, ids, at)
            column.take(ids)
            yield text
