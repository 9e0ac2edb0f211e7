"""streamtok encodings: which encodings there are."""

from __future__ import annotations

import json

import click

from .options import Given, json_option, takes


@takes(json_option("A JSON list of objects."))
def command(given: Given) -> None:
    """List the encodings.

    Each with the family of its pattern and how many ids it has. The families are those of --pattern; 'own' is a pattern
    of its own.
    """
    import streamtok

    from ..patterns import family_of

    rows = []
    for name in streamtok.list_encoding_names():
        encoding = streamtok.get_encoding(name)
        rows.append({"name": name, "pattern": family_of(encoding._pat_str) or "own", "n_vocab": encoding.n_vocab})
    if given.as_json:
        click.echo(json.dumps(rows))
        return
    for row in rows:
        click.echo(f"{row['name']:<16}{row['pattern']:<8}{row['n_vocab']:>8,} ids")
