"""streamtok encode: text in, ids out."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from ..disk.outputs import files_of
from ..files.suffixes import IDS_FORMATS, ids_format_to_write
from .options import (
    DOCUMENTS,
    ENCODING,
    TEXT,
    Given,
    Text,
    device_option,
    json_option,
    operand,
    operands,
    option,
    takes,
)
from .outputs import BYTES, bars, check_output, check_sources, ids_dtype, say_stopped, telling, usage
from .wording import spoken

if TYPE_CHECKING:
    from .._protocols import Ids
    from ..core import Encoding
    from ..files.documents import Documents
    from ..files.sources import Reader

_STDOUT_CHUNK = 64 << 10  # ids become Python integers here, 40 times the size of the text


@takes(
    "arguments",
    "text",
    "output",
    option(
        "--format",
        type=click.Choice(["text", *IDS_FORMATS]),
        help="text: one id a line. bin: little-endian integers. npy: for numpy.load. The others: for the trainers of "
        "these names.  [default: by the suffix of OUT; on standard output text, the ids of a TEXT in one line]",
    ),
    option("--dtype", type=click.Choice(["auto", "uint16", "uint32", "int32"]), default="auto", show_default=True),
    option("--index", is_flag=True, help="Keep where documents end in OUT.ends, for bin, npy, nanogpt and llmc."),
    *DOCUMENTS,
    option(
        "--carry",
        metavar="NAME[:TYPE]",
        multiple=True,
        help="A column, or a key of JSON objects, whose values go with the documents into parquet, arrow or mds "
        "(repeatable). TYPE is that of values in JSON: string, int64, double, bool, json.  "
        "[default: that of all of them]",
    ),
    "add_special_tokens",
    option("--append-eot", is_flag=True, help="Put the end-of-text token behind each document."),
    option("--resume", is_flag=True, help="Go on where a run that did not finish stopped."),
    option(
        "--threads",
        type=click.IntRange(min=1),
        help="Threads that encode, with -o. The output is the same for every number.  [default: as many as help]",
    ),
    device_option("Where to encode, with -o; auto: the GPU where it is faster. The output is the same."),
    json_option("A JSON object: what was written, with -o; else a TEXT's ids, an object each."),
    *TEXT,
    *ENCODING,
)
def command(given: Given) -> None:
    """Turn FILEs or TEXTs (standard input without) into token ids.

    .gz, .xz and .zst files are decompressed, .jsonl files are read as JSON lines, of parquet and Arrow files a
    column. With -o the work survives Ctrl-C and
    crashes: run the same command with --resume to go on.
    """
    _check_output(given)
    encoding = given.load()
    sources = [operand(each, given.is_text) for each in operands(given.arguments, given.is_text) or (None,)]
    _check_sources(given, sources)
    _check_ids(given, encoding)
    options = given.reading(encoding)
    if given.output != "-":
        _encode_to_file(given, encoding, sources, options)
        return
    for source in sources:
        form = given.format or ("line" if isinstance(source, Text) else "text")
        _encode_to_stdout(encoding, source, "json" if given.as_json else form, given.dtype, options)


def _check_output(given: Given) -> None:
    """Raise UsageError for options that do not go together, whatever is read."""
    from .._device import check_device

    format, terminal = given.format, sys.stdout.isatty()
    on_stdout = (
        (given.resume, "--resume goes on with a file: name it with -o"),
        (given.index, "--index makes a second file: name the first with -o"),
        (format == "npy", "a .npy file begins with its length, known only at the end: name a file with -o"),
        (format not in (None, "text", "bin"), f"--format {format} is for files: name one with -o"),
        (
            format == "bin" and terminal,
            "binary ids would garble the terminal: name a file with -o, or pipe the output",
        ),
        (given.carry, "--carry is for files of a format with columns: name one with -o"),
        ((given.threads or 1) > 1, "--threads is for files: name one with -o, or leave it out"),
    )
    in_file = ((format == "text", "--format text is for standard output: leave out -o, or write --format bin|npy"),)
    for is_wrong, why in on_stdout if given.output == "-" else in_file:
        if is_wrong:
            raise click.UsageError(why)
    with usage():
        check_device(given.device)
    if given.output == "-" and given.device != "cpu":
        raise click.UsageError("--device is for files: name one with -o, or leave it out")


def _check_sources(given: Given, sources: list[Any]) -> None:
    """Raise UsageError where a source would be written over, or does not go with the form of the output."""
    from ..files.formats import format_named

    if given.output != "-":
        check_output(given.output)
        target = os.path.realpath(given.output)
        read = [source if isinstance(source, str) else "-" for source in sources if not isinstance(source, Text)]
        check_sources(files_of(target), read, given.vocab)
        with usage():
            format_named(given.format or ids_format_to_write(given.output)).check_target(target)
    elif given.as_json and given.format is not None:
        raise click.UsageError("--json and --format are two formats: write one of them, or name a file with -o")
    elif given.as_json and not all(isinstance(source, Text) for source in sources):
        raise click.UsageError("--json holds all ids of a text in memory: name a file with -o, or give a TEXT")


def _check_ids(given: Given, encoding: Encoding) -> None:
    if given.format != "text":
        ids_dtype(encoding, given.dtype, given.format or "bin")
    if given.append_eot and "<|endoftext|>" not in encoding.special_tokens_set:
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

    done = encode_sources(
        encoding, source, emit, Options(**options), chunk_size=_STDOUT_CHUNK, tick=tick, num_threads=1
    )
    if form == "line":
        click.echo(" ".join(map(str, kept)))
    elif form == "json":
        click.echo(json.dumps({"encoding": encoding.name, "bytes": done.text_bytes, "ids": kept}))


def _encode_to_file(given: Given, encoding: Encoding, sources: list[Any], options: dict[str, Any]) -> None:
    from ..files.encode import encode_file

    for name in ("format", "dtype", "index", "resume", "device"):
        options[name] = getattr(given, name)
    label = os.path.basename(given.output)
    try:
        with bars(lambda at: (label, at.bytes_read, at.bytes_total, f"{at.ids:,} ids"), *BYTES) as move:
            tell = telling(lambda at: _say_begun(given.output, at.earlier), move)
            options.update(progress=tell, num_threads=given.threads)
            result = encode_file(encoding, sources, given.output, **options)
    except KeyboardInterrupt:
        is_kept = os.path.exists(os.path.realpath(given.output) + ".journal")
        say_stopped(given.ctx, None if is_kept else "a pipe cannot be read twice, so nothing is kept", "--resume")
        given.ctx.exit(130)
    if given.as_json:
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


def _say_begun(output: str, earlier: Any) -> None:
    """Says what became of an earlier run."""
    if earlier is None:
        return
    said = f"resuming at byte {earlier.offset:,} of {earlier.source}, behind {earlier.ids:,} ids"
    if earlier.discarded:
        said = f"the earlier partial result of {output} was discarded: {spoken(earlier.discarded)}"
    click.echo(f"streamtok: {said}", err=True)
