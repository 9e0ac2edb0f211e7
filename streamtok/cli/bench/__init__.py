"""streamtok bench: how fast this machine encodes a file, and how fast others do, after a check of the ids."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from ...errors import shown
from ..colour import color_option, console
from ..common import encoding_names, file_names, load_encoding
from ..operands import source_of
from .contenders import FED, REFERENCE, RIVALS, Entry, Vocabulary

if TYPE_CHECKING:
    from .sample import Sample


def _names(ctx: click.Context, parameter: click.Parameter, value: str | None) -> list[str] | None:
    """The rivals that --against names; None where it is not given."""
    if value is None:
        return None
    names = list(dict.fromkeys(name.strip() for name in value.split(",") if name.strip()))
    for name in names:
        if name not in RIVALS:
            raise click.BadParameter(f"{shown(name)} is none of {', '.join(RIVALS)}")
        if not _is_installed(name):
            raise click.BadParameter(
                f"{name} is not installed: pip install {RIVALS[name].package}, or leave it out of --against"
            )
    return names


def _numbers(ctx: click.Context, parameter: click.Parameter, value: str | None) -> list[int]:
    words = [word.strip() for word in (value or "").split(",") if word.strip()]
    if not all(word.isdecimal() and 0 < int(word) <= 1024 for word in words):
        raise click.BadParameter(f"{shown(value)} is no list of numbers of threads: write 4, or 1,2,4")
    return list(dict.fromkeys(map(int, words)))


def _is_installed(rival: str) -> bool:
    try:
        return find_spec(RIVALS[rival].module) is not None
    except ValueError:  # a module without a spec: put in sys.modules by hand
        return RIVALS[rival].module in sys.modules


@click.command()
@click.argument("file", metavar="FILE", shell_complete=file_names)
@click.option(
    "-e",
    "--encoding",
    metavar="NAME",
    default="o200k_base",
    show_default=True,
    shell_complete=encoding_names,
    help="Encoding by name.",
)
@click.option(
    "--against",
    metavar="NAME,...",
    callback=_names,
    help=f"Whom to time beside us: {', '.join(RIVALS)}.  [default: tiktoken, if it is installed]",
)
@click.option("--threads", metavar="N,...", callback=_numbers, help="Also time batches on so many threads.")
@click.option("--json", "as_json", is_flag=True, help="A JSON object with all figures.")
@color_option
def command(file: str, encoding: str, against: list[str] | None, threads: list[int], as_json: bool, color: str) -> None:
    """Measure how fast FILE is encoded, after a check of the ids.

    '-' is standard input. The ids are compared first: with tiktoken's, or with those of the reference engine where
    tiktoken is not installed. If they differ, nothing is timed. Then every row gets a process of its own, and they take
    turns: cold is the first call in it (three processes), warm are five later ones, each with text that was not there
    before. At most the first 24 MiB of FILE are used, in six slices; .gz, .xz and .zst files are decompressed.
    """
    chosen = load_encoding(encoding, None, None, None, ())
    if against is None:
        against = ["tiktoken"] if _is_installed("tiktoken") else []
    from .report import print_report
    from .sample import read_sample

    sample = read_sample("standard input" if file == "-" else file, source_of(file))
    with _saying("checking ids") as say:
        figures = measure(sample, chosen, against, threads, say)
    if as_json:
        click.echo(json.dumps(figures))
    else:
        print_report(figures, console(color))


def measure(
    sample: Sample, encoding: Any, against: list[str], threads: list[int], say: Callable[[str], object]
) -> dict[str, Any]:
    """Check the ids, then time: the figures that --json prints. `say` is told what goes on.

    Raises ValueError where ids of ours differ; nothing was timed then.
    """
    from .gate import Gate
    from .report import describe_machine, report
    from .timing import time_entries

    ours = [Entry("streamtok"), Entry(FED), *(Entry("streamtok", n) for n in threads)]
    rivals = [Entry(name, n) for name in against for n in (None, *threads)]
    with tempfile.TemporaryDirectory() as folder:
        vocabulary = _write_vocabulary(encoding, folder)
        gate = Gate(sample, vocabulary, "tiktoken" if _is_installed("tiktoken") else REFERENCE)
        gate.check(ours + rivals)
        path = os.path.join(folder, "sample")
        with open(path, "wb") as out:
            out.write(sample.data)
        say("timing")
        timings = time_entries(gate, [entry for entry in ours + rivals if entry not in gate.refused], path)
    return report(gate, timings, describe_machine(against))


def _write_vocabulary(encoding: Any, folder: str) -> Vocabulary:
    """What rivals are made from; their loaders go by the name of the file."""
    path = os.path.join(folder, f"{encoding.name}.tiktoken")
    from ...load import dump_tiktoken_bpe

    dump_tiktoken_bpe(encoding._mergeable_ranks, path)
    return Vocabulary(encoding.name, path, encoding._pat_str, encoding._special_tokens)


@contextlib.contextmanager
def _saying(text: str) -> Iterator[Callable[[str], object]]:
    """Show the current step on a terminal; gives the function that changes the text."""
    if not sys.stderr.isatty():
        yield lambda text: None
        return
    from rich.console import Console

    with Console(stderr=True).status(text) as status:
        yield status.update
