"""What the commands read and write: files checked before any work, an output that appears whole, and bars meanwhile."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from .. import disk
from ..disk import lease
from ..disk.outputs import check_apart, files_of
from ..native.checksum import crc32
from .wording import describe

if TYPE_CHECKING:
    from ..core import Encoding

_SAVED = ("vocab.json", "merges.txt", "training.json")  # what train writes into a folder


# ==== Checks ====


@contextlib.contextmanager
def usage() -> Iterator[None]:
    """A ValueError inside is a mistake in how the command was called."""
    try:
        yield
    except ValueError as error:
        raise click.UsageError(describe(error)) from None


def check_output(name: str) -> None:
    """Raise UsageError for an output that a rename would destroy."""
    if os.path.exists(name) and not os.path.isfile(name):
        raise click.UsageError(f"{name} is a directory, device or pipe: name a regular file, or '-'")


def check_sources(outputs: Iterable[str], files: Iterable[str], vocab: str | None = None) -> None:
    """Raise UsageError where a file that will be written is one of those that are read: `files`, '-' for standard
    input, and those of --vocab."""
    from ..files.sources import StreamSource

    stdin = ("standard input", StreamSource(sys.stdin.buffer).where()) if "-" in files else ("-", None)
    names = [name for name in files if name != "-"]
    if vocab is not None:
        names += [vocab, f"{vocab}.json", *(os.path.join(vocab, name) for name in _SAVED)]
    with usage():
        check_apart(outputs, [stdin, *((name, name) for name in names)])


def ids_dtype(encoding: Encoding, dtype: str, format: str = "bin") -> Any:
    """The dtype of a file of ids. Raises UsageError for one that the ids of the encoding do not fit."""
    from ..files.formats import STORED, format_named

    with usage():
        return STORED[format_named(format).choose_dtype(encoding, dtype)]


# ==== Files ====


@contextlib.contextmanager
def open_input(name: str) -> Iterator[BinaryIO]:
    """A FILE argument, opened for reading bytes."""
    if name == "-":
        yield sys.stdin.buffer
        return
    with open(name, "rb") as file:
        yield file


@contextlib.contextmanager
def open_output(name: str) -> Iterator[Callable[[bytes], object]]:
    """A function that writes bytes: to standard output for "-", else to a file that appears when all went well."""
    if name == "-":
        stdout = sys.stdout.buffer
        yield stdout.write
        stdout.flush()
        return
    check_output(name)
    target = os.path.realpath(name)
    partial = files_of(target)[1]
    file, crc = disk.open_locked(partial, target), 0

    def write(data: bytes) -> None:
        nonlocal crc
        file.write(data)
        crc = crc32(data, crc)

    with file, lease.take(file) as held:
        try:
            file.truncate(0)
            yield write
            file.sync()
            disk.check_whole(file, file.written, None if held.settle() else crc)
            if os.name == "nt":
                file.close()  # an open file cannot be renamed there
            disk.rename(partial, target)
        except BaseException:
            if file.fd < 0 or file.is_in_place():
                disk.remove(partial)
            raise


# ==== While a run lasts ====


@contextlib.contextmanager
def bars(told: Callable[..., tuple[str, int, int | None, str]], *columns: str) -> Iterator[Callable[..., None] | None]:
    """What moves bars on standard error, one for each label; None when no one watches.

    told: makes of what is reported (label, what is done, of how much, words). columns: classes of rich.progress that
    stand between the bar and the words; the time that remains stands behind them.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich import progress
    from rich.console import Console

    first = progress.TextColumn("{task.description}"), progress.BarColumn()
    middle = [getattr(progress, name)() for name in columns]
    last = progress.TextColumn("{task.fields[words]}"), progress.TimeRemainingColumn()
    tasks: dict[str, Any] = {}
    with progress.Progress(*first, *middle, *last, console=Console(stderr=True), transient=True) as shown:

        def move(*at: Any) -> None:
            label, done, total, words = told(*at)
            if label not in tasks:
                tasks[label] = shown.add_task(label, total=total, words=words)
            shown.update(tasks[label], completed=done, total=total, words=words)

        yield move


BYTES = "DownloadColumn", "TransferSpeedColumn"
"""Columns of bars() for bytes that are read."""


def telling(say: Callable[[Any], None], move: Callable[[Any], None] | None) -> Callable[[Any], None]:
    """What takes the reports of a run: with the first one it says what became of an earlier run; each moves the bar."""
    unsaid = [say]

    def tell(at: Any) -> None:
        if unsaid:
            unsaid.pop()(at)
        if move is not None:
            move(at)

    return tell


def say_stopped(ctx: click.Context, lost: str | None, *flags: str) -> None:
    """Says how to go on with a run that Ctrl-C ended: by the same command, with these flags. lost: why it cannot."""
    if lost is not None:
        click.echo(f"streamtok: stopped; {lost}", err=True)
        return
    name, *args = ctx.find_root().meta["streamtok.args"]
    again = ["streamtok", name, *(flag for flag in flags if flag not in args), *args]
    click.echo(f"streamtok: stopped; to go on:\n  {shlex.join(again)}", err=True)
