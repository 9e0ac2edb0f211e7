"""streamtok verify-vectors: whether a model gives the ids of a file."""

from __future__ import annotations

import click

from ..errors import shown
from .options import ENCODING, Given, file_names, takes


@takes(
    click.argument("file", metavar="FILE", shell_complete=file_names),
    click.argument("other", required=False, metavar="[OTHER]", shell_complete=file_names),
    *ENCODING,
)
def command(given: Given) -> None:
    """Compare an encoding, or the file OTHER, with FILE.

    FILE is what `streamtok vectors` wrote. Without an encoding and OTHER it is the one that FILE names. The first
    difference is named, and the status is 1.
    """
    from ..load import read_file
    from ..vectors import first_difference, read

    record = read(read_file(given.file), given.file)
    encoding = other = None
    if given.other is not None:
        other = read(read_file(given.other), given.other)
    else:
        if not (given.encoding or given.model or given.vocab):
            given.encoding = record["encoding"]["name"]
        encoding = given.load()
    found = first_difference(record, encoding, other)
    if found is not None:
        click.echo(f"streamtok: {found}", err=True)
        raise SystemExit(1)
    ids = sum(len(each["ids"]) for each in record["vectors"])
    name = shown(given.other) if encoding is None else shown(encoding.name)
    click.echo(f"{len(record['vectors'])} texts, {ids:,} ids: {name} has the same")
