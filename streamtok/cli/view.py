"""streamtok view: the tokens of a text as a page of HTML."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import click

from ..errors import shortened
from ..files.suffixes import IDS_FORMATS
from ..view import LIMIT
from ..view.page import Column, joined
from .decode import bytes_of
from .options import TEXT, Given, Text, encoding_names, file_option, load_encoding, option, specials, takes
from .outputs import check_output, check_sources, open_output

_CHUNK = 1 << 20


@takes(
    "argument",
    "text",
    file_option(
        "--html", "output", required=True, metavar="OUT", help="File to write the page to; '-' is standard output."
    ),
    option(
        "-e",
        "--encoding",
        "encodings",
        metavar="NAME|FILE",
        multiple=True,
        shell_complete=encoding_names,
        help="Encoding by name, or a model's tokenizer.json or folder; several stand side by side.  "
        "[default: o200k_base]",
    ),
    file_option("--vocab", "vocabs", multiple=True, help="Vocabulary of your own: what train wrote (repeatable)."),
    option(
        "--limit",
        type=click.IntRange(min=1),
        default=LIMIT,
        show_default=True,
        metavar="N",
        help="Show the first N tokens of each encoding; all are counted.",
    ),
    option(
        "--document",
        "number",
        type=click.IntRange(min=0),
        metavar="N",
        help="FILE holds ids, or is a dataset: show its document N, from 0.",
    ),
    option("--format", type=click.Choice(IDS_FORMATS), help="Of these ids.  [default: by names and files beside it]"),
    option("--dtype", type=click.Choice(["uint16", "uint32"]), help="Of these ids, where nothing else tells it."),
    *TEXT,
)
def command(given: Given) -> None:
    """Show the tokens of a text or of a document as a page of HTML.

    The page is one file and needs no network: tokens in colours, their ids and bytes under the pointer, a search, and
    with several encodings their tokens side by side. A text of any size is read; of its tokens the first N are shown.

    With --document FILE is what encode or dataset build wrote. The first encoding is that of the ids, by default the
    one that a dataset names; what others make of the same text stands beside it.
    """
    number, output = given.number, given.output
    if number is None and (given.format or given.dtype):
        raise click.UsageError("--format and --dtype are about ids: add --document N")
    source = given.source()
    ids = None if number is None else _Ids(source, number, given.format, given.dtype)
    loaded = [load_encoding(name) for name in given.encodings]
    loaded += [load_encoding(vocab=vocab) for vocab in given.vocabs]
    if not loaded:
        loaded = [load_encoding() if ids is None else ids.own_encoding()]
    if output != "-":
        check_output(output)
        check_sources([output], [*([source] if isinstance(source, str) else []), *given.vocabs])
    columns = [Column(encoding, given.limit) for encoding in loaded]
    if ids is None:
        _encode(columns, _chunks_of(source), given)
        title = _title_of(source)
    else:
        _encode(columns[1:], ids.decoded(columns[0]), given)
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


def _encode(columns: list[Column], chunks: Iterator[bytes], given: Given) -> None:
    """The ids of the text into each column."""
    streams = [
        column.encoding.stream_encoder(
            allowed_special=specials(given.allow_special, column.encoding), disallowed_special=(), errors=given.errors
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
            return load_encoding()
        from ..dataset.reading import encoding_of

        return encoding_of(self._dataset, None)

    def decoded(self, column: Column) -> Iterator[bytes]:
        """The text of the ids, which go into the column of their encoding."""
        from ..model_files.decoder_rules import Begun, last_bytes

        if self._dataset is not None:
            from ..dataset.reading import encoding_of

            encoding_of(self._dataset, column.encoding)  # raises where it is another
        place = Begun()
        for at in range(0, len(self._ids), _CHUNK):
            ids = self._ids[at : at + _CHUNK]
            text, place = bytes_of(column.encoding, place, ids, at)
            column.take(ids)
            yield text
        yield last_bytes(column.encoding, place)
