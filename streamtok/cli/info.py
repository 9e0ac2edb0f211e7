"""streamtok info: versions, engines and encodings."""

from __future__ import annotations

import json
from typing import Any

import click

from .options import Given, json_option, takes


@takes(json_option("A JSON object."))
def command(given: Given) -> None:
    """Show versions, engines and encodings.

    For a bug report, or to see what a machine offers.
    """
    import streamtok

    report: dict[str, Any] = dict(streamtok.info())
    report["encodings"] = {name: streamtok.get_encoding(name).n_vocab for name in streamtok.list_encoding_names()}
    if given.as_json:
        click.echo(json.dumps(report, default=str))
        return
    for name, value in report.items():
        if name == "encodings":
            for encoding, n_vocab in value.items():
                click.echo(f"{'encoding':<16}{encoding:<16}{n_vocab:>7} ids")
        elif name == "tables":
            built = ", ".join(f"{vocabulary} {size / 1e6:.1f} MB" for vocabulary, size in value["built"].items())
            click.echo(f"{'tables':<16}{value['use']}; in {value['folder']}: {built or 'none'}")
        else:
            shown = ", ".join(map(str, value)) if isinstance(value, list) else value
            click.echo(f"{name:<16}{shown}")
