"""streamtok train: learns a vocabulary from text."""

from __future__ import annotations

import contextlib
import os
import shlex
from collections.abc import Callable, Iterator
from typing import Any

import click

from ..errors import shortened, shown
from .common import bars_between, check_sources, document_options, file_names, table_options
from .operands import source_of

_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "ki": 1 << 10, "mi": 1 << 20, "gi": 1 << 30}


class _Bytes(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    name = "bytes"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        text = value.strip().lower().removesuffix("b")
        number = text.rstrip("kmgi")
        unit = text[len(number) :]
        try:
            return int(float(number) * _UNITS[unit])
        except (ValueError, KeyError, OverflowError):
            self.fail(f"{shown(value)} is no size such as 500MB or 2GiB", param, ctx)


class _Number(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = str(value).strip().lower().replace("_", "").replace(",", "")
        try:
            return int(float(text[:-1]) * 1000) if text.endswith("k") else int(text)
        except (ValueError, OverflowError):
            self.fail(f"{shown(value)} is no number such as 32000 or 32k", param, ctx)


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...", shell_complete=file_names)
@click.option("--vocab-size", type=_Number(), required=True, metavar="N", help="Tokens in all, such as 32000 or 32k.")
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="OUT",
    shell_complete=file_names,
    help="NAME.tiktoken (and NAME.tiktoken.json), NAME.json for Hugging Face's tokenizer.json, or a folder for "
    "vocab.json and merges.txt.",
)
@click.option(
    "--pattern", default="cl100k", show_default=True, metavar="NAME", help="cl100k, o200k, r50k, a regex, or 'none'."
)
@click.option("--special", metavar="NAME", multiple=True, help="A special token (repeatable).")
@click.option("--ties", type=click.Choice(["lexicographic", "huggingface"]), default="lexicographic", show_default=True)
@click.option(
    "--min-frequency", type=click.IntRange(min=0), default=0, metavar="N", help="Merge no pair seen less often."
)
@click.option("--max-token-length", type=click.IntRange(min=1), metavar="N", help="Bytes of the longest token.")
@document_options
@table_options
@click.option("--errors", type=click.Choice(["strict", "replace", "ignore"]), default="strict", show_default=True)
@click.option("--threads", type=click.IntRange(min=1), help="Threads that count.  [default: all cores]")
@click.option("--max-memory", type=_Bytes(), metavar="SIZE", help="Memory that may be taken, such as 2GB.")
@click.option(
    "--checkpoint",
    metavar="FOLDER",
    shell_complete=file_names,
    help="Where to go on from after Ctrl-C or a crash: the same command again.",
)
@click.option(
    "--held-out",
    metavar="FILE",
    shell_complete=file_names,
    help="Report how this text is compressed as the vocabulary grows.",
)
@click.option("--plot", metavar="FILE", shell_complete=file_names, help="Draw that report, as .svg, .png or .pdf.")
@click.option(
    "--device", default="cpu", show_default=True, metavar="cpu|cuda|cuda:N|auto", help="Where to count and merge."
)
@click.pass_context
def command(
    ctx: click.Context,
    /,
    files: tuple[str, ...],
    vocab_size: int,
    output: str,
    pattern: str,
    special: tuple[str, ...],
    checkpoint: str | None,
    held_out: str | None,
    plot: str | None,
    **options: Any,
) -> None:
    """Learn a vocabulary of N tokens from FILEs.

    '-' is standard input; globs are expanded. .gz, .xz and .zst files are decompressed, .jsonl files are read as JSON
    lines, of parquet and Arrow files a column. The result does not depend on threads or memory.
    """
    if plot is not None and held_out is None:
        raise click.UsageError("--plot draws what --held-out reports: name a text there")
    if not os.path.isdir(os.path.dirname(os.path.realpath(output))):
        folder = os.path.dirname(os.path.realpath(output))
        raise click.UsageError(f"there is no folder {shown(folder)} to write {shortened(output)} to")
    _check_outputs(files, output, held_out, plot, checkpoint)
    from ..train import save, train

    sources = [source_of(name) for name in files]
    options.update(pattern=None if pattern == "none" else pattern, special_tokens=special, checkpoint=checkpoint)
    name = os.path.basename(output).removesuffix(".json").removesuffix(".tiktoken")
    try:
        with _bar() as move:
            progress = _Teller(checkpoint, move).tell
            encoding = train(sources, vocab_size, progress=progress, name=name, **options)
    except KeyboardInterrupt:
        _say_how_to_go_on(ctx, checkpoint)
        ctx.exit(130)
    save(encoding, output)
    facts = encoding.training
    click.echo(
        f"{encoding.n_vocab:,} tokens in {output}, from {facts['bytes']:,} bytes of text, "
        f"{facts['distinct_pieces']:,} distinct pieces",
        err=True,
    )
    if held_out is not None:
        _report(encoding, held_out, plot, {name: options[name] for name in ("key", "column", "nulls")})


def _report(encoding: Any, held_out: str, plot: str | None, how: dict[str, Any]) -> None:
    from ..train import draw, report

    points = report(encoding, source_of(held_out), **how)
    click.echo(f"{'tokens':>9}  bytes/token of {held_out}")
    for point in points:
        click.echo(f"{point.n_vocab:>9,}  {point.bytes_per_token:.3f}")
    if plot is not None:
        draw(points, plot)


def _check_outputs(
    files: tuple[str, ...], output: str, held_out: str | None, plot: str | None, checkpoint: str | None
) -> None:
    """Raise UsageError where a source, the held-out text or the checkpoint would be written over."""
    from ..train.checkpoint import files_in
    from ..train.inputs import matching
    from ..train.saving import files_of

    read = [path for name in files for path in matching(name)]
    read += [] if held_out is None else [held_out]
    outputs = [*files_of(output), *([] if plot is None else [plot])]
    check_sources(outputs, [*read, *files_in(checkpoint)])
    check_sources(files_in(checkpoint), read)


class _Teller:
    """Says once that a run goes on from a checkpoint, when it does, and moves the bars."""

    def __init__(self, checkpoint: str | None, move: Callable[[Any], None] | None) -> None:
        from ..train.checkpoint import is_begun

        self._move = move
        self._said = checkpoint is None or not is_begun(checkpoint)
        self._checkpoint = checkpoint

    def tell(self, at: Any) -> None:
        if not self._said:
            click.echo(f"streamtok: going on from the checkpoint {self._checkpoint}", err=True)
        self._said = True
        if self._move is not None:
            self._move(at)


def _say_how_to_go_on(ctx: click.Context, checkpoint: str | None) -> None:
    if checkpoint is None:
        click.echo("streamtok: stopped; nothing is kept without --checkpoint FOLDER", err=True)
        return
    args = ctx.find_root().meta["streamtok.args"]
    click.echo(f"streamtok: stopped; to go on:\n  {shlex.join(['streamtok', *args])}", err=True)


@contextlib.contextmanager
def _bar() -> Iterator[Callable[[Any], None] | None]:
    """A bar on standard error for each stage, and what moves it; None when no one watches."""

    def middle(rich: Any) -> list[Any]:
        return [rich.TaskProgressColumn(), rich.TextColumn("{task.fields[rate]}")]

    with bars_between(middle) as bars:
        if bars is None:
            yield None
            return
        tasks: dict[str, Any] = {}

        def move(at: Any) -> None:
            if at.stage not in tasks:
                tasks[at.stage] = bars.add_task(at.stage, total=at.total, rate="")
            rate = f"{at.rate / 1e6:,.0f} MB/s" if at.stage == "count" else f"{at.merges:,} merges, {at.rate:,.0f}/s"
            bars.update(tasks[at.stage], completed=at.done, total=at.total, rate=rate)

        yield move
