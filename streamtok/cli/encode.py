"""streamtok encode: text in, ids out."""

from __future__ import annotations

import json
import os
import shlex
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from ..disk.outputs import files_of
from ..files.suffixes import IDS_FORMATS, ids_format_to_write
from .common import (
    add_special_option,
    check_output,
    check_sources,
    document_options,
    encoding_options,
    file_names,
    ids_dtype,
    load_encoding,
    output_option,
    progress_bar,
    specials,
    table_options,
    text_options,
)
from .operands import RULE, Text, operand, text_option
from .wording import describe, spoken

if TYPE_CHECKING:
    from ..core import Encoding
    from ..files.documents import Documents
    from ..files.sources import Reader
    from ..protocols import Ids

_STDOUT_CHUNK = 64 << 10  # ids become Python integers here, 40 times the size of the text


@click.command(epilog=RULE)
@click.argument("arguments", nargs=-1, metavar="[FILE|TEXT]...", shell_complete=file_names)
@text_option
@output_option
@click.option(
    "--format",
    type=click.Choice(["text", *IDS_FORMATS]),
    help="text: one id a line. bin: little-endian integers. npy: for numpy.load. The others: for the trainers of these "
    "names.  [default: by the suffix of OUT; on standard output text, the ids of a TEXT in one line]",
)
@click.option("--dtype", type=click.Choice(["auto", "uint16", "uint32", "int32"]), default="auto", show_default=True)
@click.option("--index", is_flag=True, help="Keep where documents end in OUT.ends, for bin, npy, nanogpt and llmc.")
@document_options
@table_options
@click.option(
    "--carry",
    metavar="NAME[:TYPE]",
    multiple=True,
    help="A column, or a key of JSON objects, whose values go with the documents into parquet, arrow or mds "
    "(repeatable). TYPE is that of values in JSON: string, int64, double, bool, json.  [default: that of all of them]",
)
@add_special_option
@click.option("--append-eot", is_flag=True, help="Put the end-of-text token behind each document.")
@click.option("--resume", is_flag=True, help="Go on where a run that did not finish stopped.")
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Threads that encode, with -o. The output is the same for every number.",
)
@click.option(
    "--device",
    default="cpu",
    show_default=True,
    metavar="cpu|cuda|cuda:N|auto",
    help="Where to encode, with -o; auto: the GPU where it is faster. The output is the same.",
)
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="A JSON object: what was written, with -o; else a TEXT's ids, an object each.",
)
@text_options
@encoding_options
@click.pass_context
def command(
    ctx: click.Context,
    /,
    arguments: tuple[str, ...],
    is_text: bool,
    output: str,
    format: str | None,
    dtype: str,
    index: bool,
    resume: bool,
    threads: int,
    device: str,
    as_json: bool,
    allow_special: tuple[str, ...],
    **options: Any,
) -> None:
    """Turn FILEs or TEXTs (standard input without) into token ids.

    .gz, .xz and .zst files are decompressed, .jsonl files are read as JSON lines, of parquet and Arrow files a
    column. With -o the work survives Ctrl-C and
    crashes: run the same command with --resume to go on.
    """
    chosen = {name: options.pop(name) for name in ("encoding", "model", "vocab", "pattern", "special")}
    _check_format(output, format, resume, index)
    if output == "-" and options["carry"]:
        raise click.UsageError("--carry is for files of a format with columns: name one with -o")
    if output == "-" and threads > 1:
        raise click.UsageError("--threads is for files: name one with -o, or leave it out")
    _check_device(device, output)
    encoding = load_encoding(**chosen)
    sources = [operand(each, is_text) for each in arguments or (None,)]
    _check_files(sources, output, format, chosen["vocab"])
    _check_json(sources, output, format, as_json)
    _check_ids(encoding, format or "bin", dtype, options["append_eot"])
    options["allowed_special"] = specials(allow_special, encoding)
    if output == "-":
        for source in sources:
            form = "json" if as_json else format or ("line" if isinstance(source, Text) else "text")
            _encode_to_stdout(encoding, source, form, dtype, options)
    else:
        options.update(format=format, dtype=dtype, index=index, resume=resume, num_threads=threads, device=device)
        _encode_to_file(ctx, encoding, sources, output, as_json, options)


def _check_format(output: str, format: str | None, resume: bool, index: bool) -> None:
    if output == "-" and resume:
        raise click.UsageError("--resume goes on with a file: name it with -o")
    if output == "-" and index:
        raise click.UsageError("--index makes a second file: name the first with -o")
    if output == "-" and format == "npy":
        raise click.UsageError("a .npy file begins with its length, known only at the end: name a file with -o")
    if output == "-" and format not in (None, "text", "bin"):
        raise click.UsageError(f"--format {format} is for files: name one with -o")
    if output != "-" and format == "text":
        raise click.UsageError("--format text is for standard output: leave out -o, or write --format bin|npy")
    if output == "-" and format == "bin" and sys.stdout.isatty():
        raise click.UsageError("binary ids would garble the terminal: name a file with -o, or pipe the output")


def _check_device(device: str, output: str) -> None:
    from ..device import check_device

    try:
        check_device(device)
    except ValueError as error:
        raise click.UsageError(describe(error)) from None
    if output == "-" and device != "cpu":
        raise click.UsageError("--device is for files: name one with -o, or leave it out")


def _check_files(sources: list[Any], output: str, format: str | None, vocab: str | None) -> None:
    if output == "-":
        return
    check_output(output)
    read = [source if isinstance(source, str) else "-" for source in sources if not isinstance(source, Text)]
    check_sources(files_of(os.path.realpath(output)), read, vocab)
    from ..files.formats import format_named

    try:
        format_named(format or ids_format_to_write(output)).check_target(os.path.realpath(output))
    except ValueError as error:
        raise click.UsageError(describe(error)) from None


def _check_json(sources: list[Any], output: str, format: str | None, as_json: bool) -> None:
    if not as_json or output != "-":
        return
    if format is not None:
        raise click.UsageError("--json and --format are two formats: write one of them, or name a file with -o")
    if not all(isinstance(source, Text) for source in sources):
        raise click.UsageError("--json holds all ids of a text in memory: name a file with -o, or give a TEXT")


def _check_ids(encoding: Encoding, format: str, dtype: str, append_eot: bool) -> None:
    if format != "text":
        ids_dtype(encoding, dtype, format)
    if append_eot and "<|endoftext|>" not in encoding.special_tokens_set:
        raise click.UsageError(f"--append-eot: {encoding.name} has no <|endoftext|>; with --vocab, --special gives one")


def _encode_to_stdout(encoding: Encoding, source: Any, form: str, dtype: str, options: dict[str, Any]) -> None:
    """form: "text" is an id a line, "line" all in one, "json" an object, "bin" integers of the dtype."""
    from ..files.encode import Options, choose_dtype, encode_sources

    stdout = sys.stdout.buffer
    binary = choose_dtype(encoding, dtype)
    kept: list[int] = []

    def emit(ids: Ids, _ends: object) -> None:
        if form == "bin":
            stdout.write(ids.astype(binary, copy=False).tobytes())
        elif form != "text":
            kept.extend(ids.tolist())
        elif len(ids):
            stdout.write(("\n".join(map(str, ids.tolist())) + "\n").encode("ascii"))

    def tick(documents: Documents, reader: Reader) -> None:
        stdout.flush()

    done = encode_sources(encoding, source, emit, Options(**options), chunk_size=_STDOUT_CHUNK, tick=tick)
    if form == "line":
        click.echo(" ".join(map(str, kept)))
    elif form == "json":
        click.echo(json.dumps({"encoding": encoding.name, "bytes": done.text_bytes, "ids": kept}))


def _encode_to_file(
    ctx: click.Context, encoding: Encoding, sources: list[Any], output: str, as_json: bool, options: dict[str, Any]
) -> None:
    from ..files.encode import encode_file

    try:
        with progress_bar(os.path.basename(output)) as move:
            teller = _Teller(output, move)
            result = encode_file(encoding, sources, output, progress=teller.tell, **options)
    except KeyboardInterrupt:
        _say_how_to_resume(ctx, output)
        ctx.exit(130)
    if as_json:
        names = [source if isinstance(source, str) else getattr(source, "name", None) for source in sources]
        written = asdict(result)
        output, _ = written.pop("path"), written.pop("earlier")
        click.echo(json.dumps({"encoding": encoding.name, "sources": names, "output": output, **written}))
    elif move is not None:
        rate = result.bytes / max(result.seconds, 1e-9) / 1e6
        click.echo(
            f"{result.ids:,} ids in {result.path} ({result.format}, {result.dtype}), "
            f"documents: {result.documents:,}, {result.bytes:,} bytes of text, {rate:,.0f} MB/s",
            err=True,
        )


class _Teller:
    """Says at the beginning of a run what became of an earlier one, and moves the bar."""

    def __init__(self, output: str, move: Any) -> None:
        self._output, self._move = output, move
        self._is_begun = False

    def tell(self, at: Any) -> None:
        if not self._is_begun and at.earlier is not None:
            click.echo(f"streamtok: {self._said(at.earlier)}", err=True)
        self._is_begun = True
        if self._move is not None:
            self._move(at.bytes_read, at.bytes_total, at.ids)

    def _said(self, earlier: Any) -> str:
        if earlier.discarded:
            return f"the earlier partial result of {self._output} was discarded: {spoken(earlier.discarded)}"
        return f"resuming at byte {earlier.offset:,} of {earlier.source}, behind {earlier.ids:,} ids"


def _say_how_to_resume(ctx: click.Context, output: str) -> None:
    if not os.path.exists(os.path.realpath(output) + ".journal"):
        click.echo("streamtok: stopped; a pipe cannot be read twice, so nothing is kept", err=True)
        return
    args = ctx.find_root().meta["streamtok.args"]
    again = args if "--resume" in args else [args[0], "--resume", *args[1:]]
    click.echo(f"streamtok: stopped; to go on:\n  {shlex.join(['streamtok', *again])}", err=True)
