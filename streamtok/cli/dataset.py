"""streamtok dataset: text of any size into shards of ids, and what can be done with them."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from .common import bars_between, file_names

if TYPE_CHECKING:
    from ..dataset import BuildProgress, DatasetManifest, Spec

_spec = click.argument("spec", metavar="SPEC", shell_complete=file_names)
_folder = click.argument("folder", metavar="FOLDER", shell_complete=file_names)
_json = click.option("--json", "as_json", is_flag=True, help="A JSON object.")
_output = click.option("-o", "--output", metavar="FOLDER", help="Where to write.  [default: output in SPEC]")


@click.group()
def command() -> None:
    """Turn many files into a dataset of token ids, and look at it.

    SPEC is a TOML or JSON file that names sources, vocabulary, options and the folder to write.
    """


def _read(path: str, output: str | None = None) -> Spec:
    from ..dataset import read_spec

    spec = read_spec(path)
    return spec if output is None else dataclasses.replace(spec, output=os.path.abspath(output))


# ==== plan ====


@command.command()
@_spec
@_json
def plan(spec: str, as_json: bool) -> None:
    """Show the shards that SPEC is cut into; nothing is encoded."""
    from ..dataset import plan as make_plan

    read = _read(spec)
    shards = make_plan(read.source_names(), read.shard_bytes, base=read.base, documents=read.documents)
    if as_json:
        rows = [{**dataclasses.asdict(each), "range": each.range and list(each.range)} for each in shards]
        click.echo(json.dumps({"shards": rows, "bytes": sum(each.size for each in shards)}))
        return
    for each in shards:
        part = "" if each.range is None else f"  {each.range.unit} {each.range.begin:,} to {each.range.end:,}"
        click.echo(f"{each.size:>16,}  {each.source}{part}")
    click.echo(f"{sum(each.size for each in shards):>16,}  bytes in {len(shards):,} shards")


# ==== build ====


@command.command()
@_spec
@_output
@click.option("--workers", type=click.IntRange(min=1), help="Processes that encode.  [default: one a core]")
@_json
@click.pass_context
def build(ctx: click.Context, spec: str, output: str | None, workers: int | None, as_json: bool) -> None:
    """Encode all sources of SPEC into its folder.

    The same call goes on where an earlier one stopped. A source that cannot be read is named, all others are encoded,
    and the exit status is 1.
    """
    from ..dataset import build as run

    read = _read(spec, output)
    with _bar(os.path.basename(read.folder)) as move:
        made = run(read, workers=workers, progress=move)
    report(ctx, made, read.folder, as_json)


def report(ctx: click.Context, made: DatasetManifest, folder: str, as_json: bool) -> None:
    """Say what was built; the exit status is 1 where a source failed."""
    if as_json:
        totals = {name: getattr(made, name) for name in ("documents", "ids", "bytes")}
        click.echo(json.dumps({"folder": folder, **totals, "shards": len(made.shards), "failed": made.failed}))
    else:
        click.echo(
            f"{made.ids:,} ids of {made.documents:,} documents in {len(made.shards):,} shards in {folder}", err=True
        )
    for each in made.failed:
        click.echo(f"streamtok: not encoded: {each['source']}: {each['error']}", err=True)
    if made.failed:
        ctx.exit(1)


@contextmanager
def _bar(label: str) -> Iterator[Any]:
    """What moves a bar on standard error; None when no one watches."""

    def middle(rich: Any) -> list[Any]:
        return [rich.DownloadColumn(), rich.TextColumn("{task.fields[shards]} shards, {task.fields[rate]:,.0f} ids/s")]

    with bars_between(middle) as bars:
        if bars is None:
            yield None
            return
        task = bars.add_task(label, total=None, shards="0", rate=0.0)

        def move(at: BuildProgress) -> None:
            rate = at.ids / max(at.seconds, 1e-9)
            shards = f"{at.shards:,} of {at.of_shards:,}"
            bars.update(task, completed=at.bytes_read, total=at.bytes_total, shards=shards, rate=rate)

        yield move


# ==== verify ====


@command.command()
@_folder
@click.option("--quick", "is_quick", is_flag=True, help="Compare sizes alone.")
@click.pass_context
def verify(ctx: click.Context, folder: str, is_quick: bool) -> None:
    """Compare every file of a dataset with its manifest; the exit status is 1 where one differs."""
    from ..dataset import verify as check

    problems = check(folder, is_quick=is_quick)
    for problem in problems:
        click.echo(problem)
    if problems:
        ctx.exit(1)
    click.echo("all files are as the manifest says", err=True)
