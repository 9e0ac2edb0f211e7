"""streamtok tables: build, list and remove the tables in the user's cache folder."""

from __future__ import annotations

import os

import click

from .common import encoding_names


@click.command()
@click.argument("names", metavar="[ENCODING]...", nargs=-1, shell_complete=encoding_names)
@click.option("--remove", is_flag=True, help="Remove them, those of other versions too.")
def command(names: tuple[str, ...], remove: bool) -> None:
    """Build the tables of all frequent words.

    For all bundled encodings or for those named; it says where they are. They make encoding some percent faster; ids do
    not depend on them. The folder is in the user's cache, or where STREAMTOK_CACHE says.
    """
    from .. import tables

    try:
        tables.vocabularies(names)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if remove:
        removed = tables.remove(*names)
        for path in removed:
            click.echo(f"removed  {path}")
        if not removed:
            click.echo("there are none")
        return
    for name, path in tables.build(*names).items():
        click.echo(f"{name:<12} {os.stat(path).st_size / 1e6:5.1f} MB  {path}")
    if tables.status()["use"] == "package":
        click.echo("STREAMTOK_TABLES is set: processes use the package's tables, not these", err=True)
