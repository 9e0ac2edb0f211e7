"""streamtok count: how many tokens, as wc counts words."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import click

from ..errors import shown
from .common import (
    add_special_option,
    document_options,
    encoding_options,
    file_names,
    load_encoding,
    progress_bar,
    specials,
    table_options,
    text_options,
)
from .operands import RULE, Text, operand, text_option
from .wording import describe

if TYPE_CHECKING:
    from ..core import Encoding
    from ..files.documents import Documents
    from ..files.sources import Reader
    from ..protocols import Ids


class _Enough(Exception):
    """More tokens than --max: there is no need to read on."""


@dataclass
class _Count:
    path: str
    tokens: int = 0
    bytes: int = 0


@click.command(epilog=RULE)
@click.argument("arguments", nargs=-1, metavar="[FILE|TEXT]...", shell_complete=file_names)
@text_option
@click.option("--by-file", is_flag=True, help="A line for each file and one for the total.")
@click.option("--json", "as_json", is_flag=True, help="A JSON object with tokens, bytes and encoding.")
@click.option(
    "--max", "limit", type=click.IntRange(min=0), metavar="N", help="Stop and exit with status 1 above N tokens."
)
@document_options
@table_options
@add_special_option
@text_options
@encoding_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    arguments: tuple[str, ...],
    is_text: bool,
    by_file: bool,
    as_json: bool,
    limit: int | None,
    documents: str | None,
    key: str,
    column: str | None,
    nulls: str,
    add_special_tokens: bool,
    allow_special: tuple[str, ...],
    errors: str,
    **chosen: Any,
) -> None:
    """Count the tokens of FILEs or TEXTs (standard input without).

    Each is a text of its own; memory is constant.

    .gz, .xz and .zst files are decompressed, of .jsonl files the texts count, and of parquet and
    Arrow files a column, each text for itself.
    """
    encoding = load_encoding(**chosen)
    from ..files.encode import Options

    allowed = specials(allow_special, encoding)
    options = Options(
        documents,
        key,
        allowed_special=allowed,
        errors=errors,
        add_special_tokens=add_special_tokens,
        column=column,
        nulls=nulls,
    )
    counts: list[_Count] = []
    is_over = failed = False
    with progress_bar("count") as move:
        for name in arguments or ("-",):
            try:
                counts.append(_Count(name))
                source = operand(name, is_text and bool(arguments))
                if isinstance(source, Text) and not as_json:
                    counts[-1].path = shown(name)  # quoted, in one line
                _count(encoding, source, counts, options, limit, move)
            except _Enough:
                is_over = True
                break
            except (OSError, ValueError, ImportError) as error:  # as wc does: the other files still count
                failed = True
                counts.pop()
                click.echo(f"streamtok: {describe(error)}", err=True)
    if counts or not failed:  # if no file could be counted, a 0 would look like an answer
        _print(counts, encoding.name, by_file, as_json, limit if is_over else None)
    if is_over or failed:
        ctx.exit(1)


def _count(encoding: Encoding, source: Any, counts: list[_Count], options: Any, limit: int | None, move: Any) -> None:
    """Count the source, which the last of `counts` names. Raises _Enough above `limit` in all."""
    from ..files.encode import encode_sources

    this, before = counts[-1], sum(count.tokens for count in counts)
    room = None if limit is None else limit - before

    def emit(ids: Ids, _ends: object) -> None:
        this.tokens += len(ids)
        if room is not None and this.tokens > room:
            raise _Enough

    def tick(documents: Documents, reader: Reader) -> None:
        this.bytes = documents.text_bytes
        if move is not None:
            move(reader.position(), None, before + this.tokens)

    # A small first step stops soon on a small limit; without one there is nothing to stop for.
    size = 1 << 20 if limit is None else 64 << 10
    this.bytes = encode_sources(encoding, source, emit, options, chunk_size=size, tick=tick).text_bytes


def _print(counts: list[_Count], encoding: str, by_file: bool, as_json: bool, exceeded: int | None) -> None:
    tokens, size = sum(count.tokens for count in counts), sum(count.bytes for count in counts)
    if as_json:
        report: dict[str, Any] = {"encoding": encoding, "tokens": tokens, "bytes": size}
        if by_file:
            report["files"] = [asdict(count) for count in counts]
        if exceeded is not None:
            report |= {"max": exceeded, "over_max": True}  # tokens and bytes are those seen before the stop
        click.echo(json.dumps(report))
    elif exceeded is None and by_file:
        width = len(str(tokens))
        for count in counts:
            click.echo(f"{count.tokens:>{width}} {count.path}")
        click.echo(f"{tokens:>{width}} total")
    elif exceeded is None:
        click.echo(tokens)
    if exceeded is not None:
        click.echo(f"streamtok: more than {exceeded} tokens, counting stopped in {counts[-1].path}", err=True)
