"""streamtok dataset: text of any size into shards of ids, and what can be done with them."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from .app import answered
from .common import bars_between, file_names

if TYPE_CHECKING:
    from ..dataset import BuildProgress, DatasetManifest, Spec

_spec = click.argument("spec", metavar="SPEC", shell_complete=file_names)
_folder = click.argument("folder", metavar="FOLDER", shell_complete=file_names)
_json = click.option("--json", "as_json", is_flag=True, help="A JSON object.")
_vocabulary = click.option(
    "-e", "--encoding", metavar="NAME|FILE", help="Where the dataset was made with one that is not bundled."
)
_output = click.option("-o", "--output", metavar="FOLDER", help="Where to write.  [default: output in SPEC]")


class _Group(click.Group):
    """Messages name the options of its commands."""

    def invoke(self, ctx: click.Context) -> object:
        with answered(ctx):
            return super().invoke(ctx)


@click.group(cls=_Group)
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
        part = f"  and {len(each.joined) - 1:,} more, to {each.joined[-1]}" if each.joined else part
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
        click.echo(f"streamtok: {len(problems):,} differences from the manifest", err=True)
        ctx.exit(1)
    click.echo("all files are as the manifest says", err=True)


# ==== merge ====


@command.command()
@_folder
@click.option("-o", "--output", required=True, metavar="OUT", help="File or folder to write.")
@click.option(
    "--format", metavar="NAME", help="As for encode.  [default: by the suffix of OUT, else that of the shards]"
)
@click.option("--dtype", default="auto", show_default=True, metavar="NAME", help="Of the ids.")
@click.option("--index", is_flag=True, help="Keep where documents end, in OUT.ends.")
@click.option("--no-carry", is_flag=True, help="Leave out the columns that the shards carry.")
@_vocabulary
@_json
def merge(
    folder: str,
    output: str,
    format: str | None,
    dtype: str,
    index: bool,
    no_carry: bool,
    encoding: str | None,
    as_json: bool,
) -> None:
    """Join the shards of a dataset, in the order of the plan, into one output of any format."""
    from ..dataset import merge as join

    made = join(folder, output, format=format, dtype=dtype, index=index, encoding=_loaded(encoding), carry=not no_carry)
    if as_json:
        click.echo(json.dumps(dataclasses.asdict(made)))
        return
    click.echo(
        f"{made.ids:,} ids of {made.documents:,} documents in {made.path} ({made.format}, {made.dtype})", err=True
    )


def _loaded(encoding: str | None) -> Any:
    from ..dataset.vocabulary import load_encoding

    return None if encoding is None else load_encoding(encoding, ".")


# ==== stats ====


@command.command()
@_folder
@click.option("--plot", metavar="FILE", help="Draw the histogram (.png, .svg or .pdf); needs the extra plot.")
@_json
def stats(folder: str, plot: str | None, as_json: bool) -> None:
    """Count documents, ids and ids a document, and find documents that are there more than once."""
    from ..dataset import plot_stats
    from ..dataset import stats as count

    found = count(folder)
    if plot is not None:
        plot_stats(found, plot)
    if as_json:
        click.echo(json.dumps(dataclasses.asdict(found)))
        return
    for name in ("shards", "documents", "ids", "bytes", "duplicates", "duplicate_ids"):
        click.echo(f"{name.replace('_', ' '):<16}{getattr(found, name):>18,}")
    for name, value in found.ids_per_document.items():
        click.echo(f"{'ids, ' + name:<16}{value:>18,.1f}")
    most = max((documents for _, documents in found.histogram), default=0)
    for least, documents in found.histogram:
        name = f"{least:,}" if least < 2 else f"{least:,} to {2 * least - 1:,}"
        click.echo(f"{name:<24}{documents:>10,}  {'#' * round(40 * documents / most)}")


# ==== sample ====


@command.command()
@_folder
@click.option("-n", "--count", type=click.IntRange(min=1), default=5, show_default=True, help="How many places.")
@click.option("--seed", type=int, default=0, show_default=True, help="The same gives the same places.")
@click.option("--length", type=click.IntRange(min=1), default=64, show_default=True, help="Ids of each.")
@_vocabulary
@_json
def sample(folder: str, count: int, seed: int, length: int, encoding: str | None, as_json: bool) -> None:
    """Show random places of a dataset as text."""
    from ..dataset import sample as look

    places = look(folder, count, seed=seed, length=length, encoding=_loaded(encoding))
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(place) for place in places], default=str))
        return
    for place in places:
        click.echo(f"==== {place.source}, document {place.document:,} of its shard, id {place.begin:,}")
        for name, value in place.carried.items():
            click.echo(f"== {name}: {value}")
        click.echo(place.text)
