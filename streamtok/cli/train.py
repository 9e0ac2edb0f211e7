"""streamtok train: learns a vocabulary from text."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Any

import click

from ..errors import shortened, shown
from .options import DOCUMENTS, Given, device_option, file_names, file_option, option, source_of, takes
from .outputs import bars, check_sources, say_stopped, telling

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


class Number(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    name = "number"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        text = str(value).strip().lower().replace("_", "").replace(",", "")
        try:
            return int(float(text[:-1]) * 1000) if text.endswith("k") else int(text)
        except (ValueError, OverflowError):
            self.fail(f"{shown(value)} is no number such as 32000 or 32k", param, ctx)


FILES = click.argument("files", nargs=-1, metavar="FILE...", shell_complete=file_names)

OUTPUT = file_option(
    "-o",
    "--output",
    required=True,
    metavar="OUT",
    help="NAME.tiktoken (and NAME.tiktoken.json), NAME.json for Hugging Face's tokenizer.json, or a folder for "
    "vocab.json and merges.txt.",
)

LIMITS = (
    option("--ties", type=click.Choice(["lexicographic", "huggingface"]), default="lexicographic", show_default=True),
    option(
        "--min-frequency", type=click.IntRange(min=0), default=0, metavar="N", help="Merge no pair seen less often."
    ),
    option("--max-token-length", type=click.IntRange(min=1), metavar="N", help="Bytes of the longest token."),
)
"""Options that say which pairs are merged."""

NAMED = (
    option(
        "--source",
        "named",
        metavar="NAME=FILE",
        multiple=True,
        help="A FILE of the source NAME, such as a language (repeatable).",
    ),
    option(
        "--weight",
        "weights",
        metavar="NAME=N",
        multiple=True,
        help="How often the text of a source counts, or of a FILE, also by a glob (repeatable).",
    ),
    option(
        "--temperature",
        type=float,
        metavar="T",
        help="Sources weigh as their size ** (1 / T): small ones more with a greater T.",
    ),
)
"""Options that name sources, and weigh them."""

PARITY = (
    option("--parity", is_flag=True, help="Merge for the --source that is compressed least."),
    option(
        "--parity-text",
        metavar="NAME=FILE",
        multiple=True,
        help="Parallel text of each source, on which --parity measures compression (repeatable).",
    ),
    option(
        "--window",
        type=click.IntRange(min=1),
        metavar="N",
        help="Of N merges in a row no source chooses more than twice its share, with --parity.",
    ),
)

RUN = (
    option("--threads", type=click.IntRange(min=1), help="Threads that count.  [default: all cores]"),
    option("--max-memory", type=_Bytes(), metavar="SIZE", help="Memory that may be taken, such as 2GB."),
    file_option(
        "--checkpoint",
        metavar="FOLDER",
        help="Where to go on from after Ctrl-C or a crash: the same command again.",
    ),
)
"""Options that say how the work is done, not what comes of it."""


@takes(
    FILES,
    option("--vocab-size", type=Number(), required=True, metavar="N", help="Tokens in all, such as 32000 or 32k."),
    OUTPUT,
    option(
        "--pattern",
        default="cl100k",
        show_default=True,
        metavar="NAME",
        help="cl100k, o200k, r50k, a regex, or 'none'.",
    ),
    option("--special", metavar="NAME", multiple=True, help="A special token (repeatable)."),
    *LIMITS,
    *NAMED,
    *PARITY,
    *DOCUMENTS,
    "errors",
    *RUN,
    file_option("--held-out", help="Report how this text is compressed as the vocabulary grows."),
    file_option("--plot", help="Draw that report, as .svg, .png or .pdf."),
    device_option("Where to count and merge."),
)
def command(given: Given) -> None:
    """Learn a vocabulary of N tokens from FILEs.

    '-' is standard input; globs are expanded. .gz, .xz and .zst files are decompressed, .jsonl files are read as JSON
    lines, of parquet and Arrow files a column. The result does not depend on threads or memory.
    """
    output = given.output
    if given.plot is not None and given.held_out is None:
        raise click.UsageError("--plot draws what --held-out reports: name a text there")
    outputs, texts = ([] if each is None else [each] for each in (given.plot, given.held_out))
    check_outputs(given, [*paths_of(given), *texts], outputs)
    from ..train import save, train

    sources = sources_of(given)
    options = {name: getattr(given, name) for name in _PASSED} | weighing(given) | {"parity": parity_of(given)}
    options["pattern"] = None if given.pattern == "none" else given.pattern
    options |= {"special_tokens": given.special, "name": name_of(output)}
    encoding = learned(given, train, sources, given.vocab_size, **options)
    save(encoding, output)
    facts = encoding.training
    click.echo(
        f"{encoding.n_vocab:,} tokens in {output}, from {facts['bytes']:,} bytes of text, "
        f"{facts['distinct_pieces']:,} distinct pieces",
        err=True,
    )
    if given.held_out is not None:
        _report(encoding, given)


_PASSED = (
    *DOCUMENTS,
    "checkpoint",
    "device",
    "errors",
    "max_memory",
    "max_token_length",
    "min_frequency",
    "threads",
    "ties",
)
"""Options that are arguments of train() under the same names."""


def _told(at: Any) -> tuple[str, int, int | None, str]:
    rate = f"{at.rate / 1e6:,.0f} MB/s" if at.stage == "count" else f"{at.merges:,} merges, {at.rate:,.0f}/s"
    return at.stage, at.done, at.total, rate


def _named(items: tuple[str, ...], flag: str) -> dict[str, list[str]]:
    """The values of an option NAME=VALUE, by name."""
    found: dict[str, list[str]] = {}
    for item in items:
        name, equals, value = item.partition("=")
        if not (name and equals and value):
            raise click.UsageError(f"{flag} {shown(item)} is not NAME=VALUE, such as de=1")
        found.setdefault(name, []).append(value)
    return found


def paths_of(given: Given) -> list[str]:
    """The FILEs that a command reads, those of its sources too."""
    parity = getattr(given, "parity_text", ())
    named = [*_named(given.named, "--source").values(), *_named(parity, "--parity-text").values()]
    return [*given.files, *(path for paths in named for path in paths)]


def sources_of(given: Given) -> Any:
    """What FILE... or --source names."""
    named = _named(given.named, "--source")
    if bool(named) == bool(given.files):
        raise click.UsageError("name text to learn from: FILE..., or --source NAME=FILE for each source, not both")
    if not named:
        return [source_of(name) for name in given.files]
    return {name: [source_of(path) for path in paths] for name, paths in named.items()}


def weighing(given: Given) -> dict[str, Any]:
    """The arguments weights and temperature."""
    weights: dict[str, float] = {}
    for item in given.weights:
        name, equals, value = item.rpartition("=")  # a name may hold one
        try:
            weights[name] = float(value)
        except ValueError:
            equals = ""
        if not name or not equals:
            raise click.UsageError(f"--weight {shown(item)} is not NAME=N, such as de=0.5")
    return {"weights": weights or None, "temperature": given.temperature}


def parity_of(given: Given) -> Any:
    """The argument parity."""
    from ..train import Parity

    texts = _named(given.parity_text, "--parity-text")
    if (texts or given.window) and not given.parity:
        raise click.UsageError("--parity-text and --window say how --parity chooses merges: add --parity")
    return Parity(dict(texts) or None, given.window) if given.parity else False


def _report(encoding: Any, given: Given) -> None:
    from ..train import draw, report

    held_out = given.held_out
    points = report(encoding, source_of(held_out), key=given.key, column=given.column, nulls=given.nulls)
    click.echo(f"{'tokens':>9}  bytes/token of {held_out}")
    for point in points:
        click.echo(f"{point.n_vocab:>9,}  {point.bytes_per_token:.3f}")
    if given.plot is not None:
        draw(points, given.plot)


# ==== What other commands that learn share ====


def name_of(output: str) -> str:
    """The name of an encoding that is saved there."""
    return os.path.basename(output).removesuffix(".json").removesuffix(".tiktoken")


def check_outputs(given: Given, read: list[str], outputs: Sequence[str] = ()) -> None:
    """Raise UsageError where the output has no folder, or would be written over the files or globs in `read`, or the
    checkpoint. outputs: what is written besides."""
    folder = os.path.dirname(os.path.realpath(given.output))
    if not os.path.isdir(folder):
        raise click.UsageError(f"there is no folder {shown(folder)} to write {shortened(given.output)} to")
    from ..files.named import matching
    from ..train.checkpoint import files_in
    from ..train.saving import files_of

    files = [path for name in read for path in matching(name)]
    kept = files_in(getattr(given, "checkpoint", None))
    check_sources([*files_of(given.output), *outputs], [*files, *kept])
    check_sources(kept, files)


def learned(given: Given, learn: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    """What learn() returns, while a bar shows how far it is; Ctrl-C says how to go on."""
    from ..train.checkpoint import is_begun

    checkpoint = given.checkpoint
    goes_on = checkpoint is not None and is_begun(checkpoint)

    def say(at: Any) -> None:
        if goes_on:
            click.echo(f"streamtok: going on from the checkpoint {checkpoint}", err=True)

    try:
        with bars(_told, "TaskProgressColumn") as move:
            return learn(*arguments, progress=telling(say, move), **options)
    except KeyboardInterrupt:
        say_stopped(given.ctx, "nothing is kept without --checkpoint FOLDER" if checkpoint is None else None)
        given.ctx.exit(130)
