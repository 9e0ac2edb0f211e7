"""streamtok count: how many tokens, as wc counts words."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import click

from ..errors import shown
from .options import DOCUMENTS, ENCODING, TEXT, Given, Text, json_option, operand, operands, option, takes
from .outputs import BYTES, bars
from .wording import describe

if TYPE_CHECKING:
    from .._protocols import Ids
    from ..core import Encoding
    from ..files.documents import Documents
    from ..files.sources import Reader


class _Enough(Exception):
    """More tokens than --max: there is no need to read on."""


class _Count:
    def __init__(self, path: str) -> None:
        self.path, self.tokens, self.bytes = path, 0, 0


@takes(
    "arguments",
    "text",
    option("--by-file", is_flag=True, help="A line for each file and one for the total, also for one file."),
    json_option("A JSON object with tokens, bytes and encoding."),
    option(
        "--max", "limit", type=click.IntRange(min=0), metavar="N", help="Stop and exit with status 1 above N tokens."
    ),
    *DOCUMENTS,
    "add_special_tokens",
    *TEXT,
    *ENCODING,
)
def command(given: Given) -> None:
    """Count the tokens of FILEs or TEXTs (standard input without).

    Each is a text of its own, with a line of its own where there are several, and one for the total; memory is
    constant. A folder stands for the files of text in it.

    .gz, .xz and .zst files are decompressed, of .jsonl files the texts count, and of parquet and
    Arrow files a column, each text for itself.
    """
    encoding, limit = given.load(), given.limit
    reading = given.reading(encoding)
    counts: list[_Count] = []
    names, failed = _named(given)
    is_over = False
    sizes = [os.path.getsize(name) if os.path.isfile(name) else None for name in names]
    total = None if None in sizes else sum(size or 0 for size in sizes)
    done = 0
    with bars(lambda at, ids: ("count", done + at, total, f"{ids:,} ids"), *BYTES) as move:
        for name, size in zip(names, sizes):
            try:
                counts.append(_Count(name))
                source = operand(name, given.is_text and bool(given.arguments))
                if isinstance(source, Text) and not given.as_json:
                    counts[-1].path = shown(name)  # quoted, in one line
                if isinstance(source, Text) and given.documents in (None, "text"):
                    _count_text(encoding, source, counts, reading, limit)
                else:
                    _count(encoding, source, counts, reading, limit, move)
            except _Enough:
                is_over = True
                break
            except (OSError, ValueError, ImportError) as error:  # as wc does: the other files still count
                failed = True
                counts.pop()
                click.echo(f"streamtok: {describe(error)}", err=True)
            done += size or 0
    if counts or not failed:  # if no file could be counted, a 0 would look like an answer
        _print(counts, encoding.name, given, limit if is_over else None)
    if is_over or failed:
        given.ctx.exit(1)


def _named(given: Given) -> tuple[list[str], bool]:
    """(names of files and texts, whether an argument stands for none)."""
    names: list[str] = []
    failed = False
    for each in given.arguments or ("-",):
        try:
            names += operands([each], given.is_text and bool(given.arguments))
        except FileNotFoundError as error:
            failed = True
            click.echo(f"streamtok: {describe(error)}", err=True)
    return names, failed


def _count_text(encoding: Encoding, text: Text, counts: list[_Count], reading: Any, limit: int | None) -> None:
    """Count a text that was an argument: what reads files takes longer to load than such a text to encode."""
    this, data = counts[-1], text.getvalue()
    choices = {name: reading[name] for name in ("allowed_special", "add_special_tokens", "errors")}
    this.tokens, this.bytes = encoding.count(data, disallowed_special=(), **choices), len(data)
    if limit is not None and sum(count.tokens for count in counts) > limit:
        raise _Enough


def _count(encoding: Encoding, source: Any, counts: list[_Count], reading: Any, limit: int | None, move: Any) -> None:
    """Count the source, which the last of `counts` names. Raises _Enough above `limit` in all."""
    from ..files.encode import Options, encode_sources

    this, before = counts[-1], sum(count.tokens for count in counts)
    room = None if limit is None else limit - before

    def emit(ids: Ids, _ends: object) -> None:
        this.tokens += len(ids)
        if room is not None and this.tokens > room:
            raise _Enough

    def tick(documents: Documents, reader: Reader) -> None:
        this.bytes = documents.text_bytes
        if move is not None:
            move(reader.position(), before + this.tokens)

    # A small first step stops soon on a small limit; without one there is nothing to stop for.
    size, threads = (1 << 20, None) if limit is None else (64 << 10, 1)
    options = Options(**reading)
    done = encode_sources(encoding, source, emit, options, chunk_size=size, tick=tick, num_threads=threads)
    this.bytes = done.text_bytes


def _print(counts: list[_Count], encoding: str, given: Given, exceeded: int | None) -> None:
    tokens, size = sum(count.tokens for count in counts), sum(count.bytes for count in counts)
    if given.as_json:
        report: dict[str, Any] = {"encoding": encoding, "tokens": tokens, "bytes": size}
        if given.by_file:
            report["files"] = [vars(count) for count in counts]
        if exceeded is not None:
            report |= {"max": exceeded, "over_max": True}  # tokens and bytes are those seen before the stop
        click.echo(json.dumps(report))
    elif exceeded is None and (given.by_file or len(counts) > 1):
        width = len(str(tokens))
        for count in counts:
            click.echo(f"{count.tokens:>{width}} {count.path}")
        click.echo(f"{tokens:>{width}} total")
    elif exceeded is None:
        click.echo(tokens)
    if exceeded is not None:
        click.echo(f"streamtok: more than {exceeded} tokens, counting stopped in {counts[-1].path}", err=True)
