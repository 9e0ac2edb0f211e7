"""streamtok tables: build, list and remove the tables in the user's cache folder."""

from __future__ import annotations

import os
from typing import Any

import click

from .options import Given, encoding_names, option, takes
from .outputs import usage

_ACTIONS = "build", "list", "remove"


@takes(
    click.argument("names", metavar="[build|list|remove] [ENCODING|FILE]...", nargs=-1, shell_complete=encoding_names),
    option("--remove", is_flag=True, help="The same as the word remove."),
)
def command(given: Given) -> None:
    """Build the tables of all frequent words, or those of a model.

    For all bundled encodings, or for the encodings and files of models that are named; it says where they are. They
    make encoding some percent faster, and a model loads in some milliseconds; ids do not depend on them. The folder is
    in the user's cache, or where STREAMTOK_CACHE says.
    """
    from .. import tables

    names = given.names
    action = names[0] if names and names[0] in _ACTIONS else "build"
    names = names[1:] if names and names[0] in _ACTIONS else names
    with usage():
        tables.vocabularies([name for name in names if not tables.is_path(name)])
    if given.remove or action == "remove":
        removed = tables.remove(*names)
        for path in removed:
            click.echo(f"removed  {path}")
        if not removed:
            click.echo("there are none")
        return
    if action == "list":
        _list(tables.status())
        return
    for name, path in tables.build(*names).items():
        click.echo(f"{name:<12} {os.stat(path).st_size / 1e6:5.1f} MB  {path}")
    if tables.status()["use"] == "package":
        click.echo("STREAMTOK_TABLES is set: processes use the package's tables, not these", err=True)


def _list(status: dict[str, Any]) -> None:
    for name, size in status["built"].items():
        click.echo(f"{name:<12} {size / 1e6:5.1f} MB")
    for path, (source, size) in status["models"].items():
        click.echo(f"{source or 'a model':<12} {size / 1e6:5.1f} MB  {path}")
    if not status["built"] and not status["models"]:
        click.echo("there are none")
