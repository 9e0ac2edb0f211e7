"""streamtok dataset: text of any size into shards of ids, and what can be done with them."""

from __future__ import annotations

import dataclasses
import json
import os
from typing import TYPE_CHECKING, Any

import click

from .app import Group
from .options import Given, file_names, json_option, option, takes
from .outputs import bars

if TYPE_CHECKING:
    from ..dataset import BuildProgress, DatasetManifest, Spec

_SPEC = click.argument("spec", metavar="SPEC", shell_complete=file_names)
_FOLDER = click.argument("folder", metavar="FOLDER", shell_complete=file_names)
_JSON = json_option("A JSON object.")
_VOCABULARY = option(
    "-e", "--encoding", metavar="NAME|FILE", help="Where the dataset was made with one that is not bundled."
)


@click.group(cls=Group)
def command() -> None:
    """Turn many files into a dataset of token ids, and look at it.

    SPEC is a TOML or JSON file that names sources, vocabulary, options and the folder to write.
    """


def _read(path: str, output: str | None = None) -> Spec:
    from ..dataset import read_spec

    spec = read_spec(path)
    return spec if output is None else dataclasses.replace(spec, output=os.path.abspath(output))


# ==== plan ====


@takes(_SPEC, _JSON, group=command)
def plan(given: Given) -> None:
    """Show the shards that SPEC is cut into; nothing is encoded."""
    from ..dataset import plan as make_plan

    read = _read(given.spec)
    shards = make_plan(read.source_names(), read.shard_bytes, base=read.base, documents=read.documents)
    if given.as_json:
        rows = [dataclasses.asdict(each) for each in shards]
        click.echo(json.dumps({"shards": rows, "bytes": sum(each.size for each in shards)}))
        return
    for each in shards:
        part = "" if each.range is None else f"  {each.range.unit} {each.range.begin:,} to {each.range.end:,}"
        part = f"  and {len(each.joined) - 1:,} more, to {each.joined[-1]}" if each.joined else part
        click.echo(f"{each.size:>16,}  {each.source}{part}")
    click.echo(f"{sum(each.size for each in shards):>16,}  bytes in {len(shards):,} shards")


# ==== build ====


@takes(
    _SPEC,
    option("-o", "--output", metavar="FOLDER", help="Where to write.  [default: output in SPEC]"),
    option("--workers", type=click.IntRange(min=1), help="Processes that encode.  [default: one a core]"),
    _JSON,
    group=command,
)
def build(given: Given) -> None:
    """Encode all sources of SPEC into its folder.

    The same call goes on where an earlier one stopped. A source that cannot be read is named, all others are encoded,
    and the exit status is 1.
    """
    from ..dataset import build as run

    read = _read(given.spec, given.output)
    label = os.path.basename(read.folder)

    def told(at: BuildProgress) -> tuple[str, int, int | None, str]:
        words = f"{at.shards:,} of {at.of_shards:,} shards, {at.ids / max(at.seconds, 1e-9):,.0f} ids/s"
        return label, at.bytes_read, at.bytes_total, words

    with bars(told, "DownloadColumn") as move:
        made = run(read, workers=given.workers, progress=move)
    report(given.ctx, made, read.folder, given.as_json)


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


# ==== verify ====


@takes(_FOLDER, option("--quick", "is_quick", is_flag=True, help="Compare sizes alone."), group=command)
def verify(given: Given) -> None:
    """Compare every file of a dataset with its manifest; the exit status is 1 where one differs."""
    from ..dataset import verify as check

    problems = check(given.folder, is_quick=given.is_quick)
    for problem in problems:
        click.echo(problem)
    if problems:
        click.echo(f"streamtok: {len(problems):,} differences from the manifest", err=True)
        given.ctx.exit(1)
    click.echo("all files are as the manifest says", err=True)


# ==== merge ====


@takes(
    _FOLDER,
    option("-o", "--output", required=True, metavar="OUT", help="File or folder to write."),
    option("--format", metavar="NAME", help="As for encode.  [default: by the suffix of OUT, else that of the shards]"),
    option("--dtype", default="auto", show_default=True, metavar="NAME", help="Of the ids."),
    option("--index", is_flag=True, help="Keep where documents end, in OUT.ends."),
    option("--no-carry", is_flag=True, help="Leave out the columns that the shards carry."),
    _VOCABULARY,
    _JSON,
    group=command,
)
def merge(given: Given) -> None:
    """Join the shards of a dataset, in the order of the plan, into one output of any format."""
    from ..dataset import merge as join

    options = {name: getattr(given, name) for name in ("format", "dtype", "index")}
    encoding, carry = _loaded(given.encoding), not given.no_carry
    made = join(given.folder, given.output, encoding=encoding, carry=carry, **options)
    if given.as_json:
        click.echo(json.dumps(dataclasses.asdict(made)))
        return
    click.echo(
        f"{made.ids:,} ids of {made.documents:,} documents in {made.path} ({made.format}, {made.dtype})", err=True
    )


def _loaded(encoding: str | None) -> Any:
    from .._named import load_encoding

    return None if encoding is None else load_encoding(encoding, ".")


# ==== stats ====


@takes(
    _FOLDER,
    option("--plot", metavar="FILE", help="Draw the histogram (.png, .svg or .pdf); needs the extra plot."),
    _JSON,
    group=command,
)
def stats(given: Given) -> None:
    """Count documents, ids and ids a document, and find documents that are there more than once."""
    from ..dataset import plot_stats
    from ..dataset import stats as count

    found = count(given.folder)
    if given.plot is not None:
        plot_stats(found, given.plot)
    if given.as_json:
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


@takes(
    _FOLDER,
    option("-n", "--count", type=click.IntRange(min=1), default=5, show_default=True, help="How many places."),
    option("--seed", type=int, default=0, show_default=True, help="The same gives the same places."),
    option("--length", type=click.IntRange(min=1), default=64, show_default=True, help="Ids of each."),
    _VOCABULARY,
    _JSON,
    group=command,
)
def sample(given: Given) -> None:
    """Show random places of a dataset as text."""
    from ..dataset import sample as look

    places = look(given.folder, given.count, seed=given.seed, length=given.length, encoding=_loaded(given.encoding))
    if given.as_json:
        click.echo(json.dumps([dataclasses.asdict(place) for place in places], default=str))
        return
    for place in places:
        click.echo(f"==== {place.source}, document {place.document:,} of its shard, id {place.begin:,}")
        for name, value in place.carried.items():
            click.echo(f"== {name}: {value}")
        click.echo(place.text)
