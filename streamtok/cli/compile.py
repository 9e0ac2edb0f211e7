"""streamtok compile: an encoding as one file."""

from __future__ import annotations

import os

import click

from .options import ENCODING, Given, file_names, file_option, option, takes
from .outputs import check_output


@takes(
    click.argument("source", required=False, metavar="[FILE]", shell_complete=file_names),
    file_option("-o", "--output", required=True, metavar="OUT", help="File to write, such as model.stm."),
    *ENCODING,
    option("--no-words", is_flag=True, help="Without frequent words: some megabytes less, some percent slower."),
)
def command(given: Given) -> None:
    """Write a model as one file that every language opens.

    FILE is a tokenizer.json, .model, .gguf, folder or another file that -e takes. The file that is written has tables,
    pattern, special tokens, normalizer, decoder and template; -e takes it, too, and so does the C library
    (docs/c_api.md). It is for machines and versions like this one: compile it anew for others.
    """
    if given.source is not None:
        if given.encoding is not None:
            raise click.UsageError("FILE and --encoding each name an encoding: give one of them")
        given.encoding = given.source
    encoding = given.load()
    check_output(given.output)
    encoding.compile(given.output, words=not given.no_words)
    click.echo(f"{encoding.name}: {os.path.getsize(given.output) / 1e6:.1f} MB in {given.output}")
