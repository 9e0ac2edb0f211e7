"""What the commands share: options for encoding and special tokens, input and output, the progress bar."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

import click
from click.shell_completion import CompletionItem

from .. import disk
from ..disk import lease
from ..disk.outputs import check_apart, files_of
from ..errors import shown
from ..files.sources import StreamSource
from ..native.checksum import crc32
from .wording import describe

if TYPE_CHECKING:
    from ..core import Encoding

_SAVED = ("vocab.json", "merges.txt", "training.json")  # what train writes into a folder
_PATTERNS = {"r50k": "R50K", "cl100k": "CL100K", "o200k": "O200K"}


def encoding_names(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """For the shell to complete."""
    import streamtok

    return [name for name in streamtok.list_encoding_names() if name.startswith(incomplete)]


def model_names(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
    """For the shell to complete."""
    from ..model import MODEL_TO_ENCODING

    return sorted(name for name in MODEL_TO_ENCODING if name.startswith(incomplete))


def file_names(ctx: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """For the shell to complete, which knows them."""
    return [CompletionItem(incomplete, type="file")]


def encoding_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that choose the encoding; `load_encoding` takes them."""
    options = (
        click.option(
            "-e",
            "--encoding",
            metavar="NAME|FILE",
            shell_complete=encoding_names,
            help="Encoding by name, or a model's tokenizer.json or folder.  [default: o200k_base]",
        ),
        click.option(
            "-m",
            "--model",
            metavar="NAME",
            shell_complete=model_names,
            help="The encoding of a model, such as gpt-4o.",
        ),
        click.option(
            "--vocab",
            metavar="FILE",
            shell_complete=file_names,
            help="Vocabulary of your own: what train wrote, or a .tiktoken file, which needs --pattern.",
        ),
        click.option("--pattern", type=click.Choice(list(_PATTERNS)), help="How texts split, with --vocab."),
        click.option("--special", metavar="NAME=ID", multiple=True, help="A special token of --vocab (repeatable)."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def load_encoding(
    encoding: str | None, model: str | None, vocab: str | None, pattern: str | None, special: Iterable[str]
) -> Any:
    """The encoding that the options name. Raises UsageError when they contradict each other."""
    if sum(name is not None for name in (encoding, model, vocab)) > 1:
        raise click.UsageError("--encoding, --model and --vocab each name an encoding: give one of them")
    if vocab is not None:
        return _load_vocab(vocab, pattern, special)
    if pattern is not None or special:
        raise click.UsageError("--pattern and --special go with --vocab: a named encoding brings its own")
    import streamtok
    from streamtok.tables import is_path

    if encoding is not None and is_path(encoding):
        from ..dataset.vocabulary import load_path

        return load_path(encoding)
    try:
        return streamtok.encoding_for_model(model) if model else streamtok.get_encoding(encoding or "o200k_base")
    except (KeyError, ValueError) as error:
        if model:
            raise click.UsageError(f"no encoding is known for the model {shown(model)}: name one with -e") from None
        names = ", ".join(streamtok.list_encoding_names())
        raise click.UsageError(f"{str(error).splitlines()[0].rstrip('.')}: write one of {names}") from None


def _is_saved(path: str) -> bool:
    """Whether `train` wrote it, so that it brings its pattern and special tokens."""
    return os.path.exists(f"{path}.json") or path.endswith(".json") or os.path.isdir(path)


def _load_vocab(path: str, pattern: str | None, special: Iterable[str]) -> Any:
    if not os.path.exists(path):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    if pattern is None and not special and _is_saved(path):
        from ..train import load

        return load(path)
    if pattern is None:
        raise click.UsageError(f"--vocab says nothing about how texts split: add --pattern {'|'.join(_PATTERNS)}")
    tokens = {}
    for item in special:
        name, equals, token = item.rpartition("=")
        if not equals or not name or not token.isdecimal():
            raise click.UsageError(f"--special {shown(item)} is not NAME=ID, such as '<|endoftext|>=50256'")
        tokens[name] = int(token)
    from .. import Encoding, patterns
    from ..load import load_tiktoken_bpe

    return Encoding(
        os.path.basename(path),
        pat_str=getattr(patterns, _PATTERNS[pattern]),
        mergeable_ranks=load_tiktoken_bpe(path),
        special_tokens=tokens,
    )


def document_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say what the documents of a file are: `documents`, None for "by the suffix", and `key`."""
    words = (
        "What a document is: a whole file, a line, or a string in the JSON object on a line.  "
        "[default: jsonl for .jsonl and .ndjson, also compressed, else text]"
    )
    key = click.option("--key", default="text", show_default=True, help="Key of the text in JSON objects.")
    return click.option("--documents", type=click.Choice(["text", "lines", "jsonl"]), help=words)(key(command))


def table_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for sources that are tables: `column`, None for the name in `key`, and `nulls`."""
    column = click.option(
        "--column",
        help="Column of the text in parquet and Arrow files; the extension of members of tar files.  "
        "[default: that of --key; txt]",
    )
    nulls = click.option(
        "--nulls",
        type=click.Choice(["error", "skip", "empty"]),
        default="error",
        show_default=True,
        help="What a null in that column is: an error, no document, an empty one.",
    )
    return column(nulls(command))


add_special_option = click.option(
    "--add-special-tokens", is_flag=True, help="Put the ids of the model's template around each document."
)


def text_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say how text is read; `specials` takes the first."""
    options = (
        click.option(
            "--allow-special",
            metavar="NAME|all",
            multiple=True,
            help="A special token to recognise in the text (repeatable), or 'all'. Others are ordinary text.",
        ),
        click.option(
            "--errors",
            type=click.Choice(["strict", "replace", "ignore"]),
            default="strict",
            show_default=True,
            help="What to do with bytes that are not UTF-8.",
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


def output_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add -o, which names the file that `output` is."""
    return click.option(
        "-o",
        "--output",
        default="-",
        metavar="OUT",
        shell_complete=file_names,
        help="File to write.  [default: standard output]",
    )(command)


def specials(names: tuple[str, ...], encoding: Encoding) -> Any:
    """The allowed_special that the names of --allow-special stand for."""
    if "all" in names:
        return "all"
    unknown = sorted(set(names) - encoding.special_tokens_set)
    if unknown:
        known = ", ".join(sorted(encoding.special_tokens_set)[:8]) or "none"
        raise click.UsageError(f"{encoding.name} has no special token {shown(unknown[0])} (it has {known})")
    return frozenset(names)


@contextlib.contextmanager
def open_input(name: str) -> Iterator[BinaryIO]:
    """A FILE argument, opened for reading bytes."""
    if name == "-":
        yield sys.stdin.buffer
        return
    with open(name, "rb") as file:
        yield file


def check_output(name: str) -> None:
    """Raise UsageError for an output that a rename would destroy."""
    if os.path.exists(name) and not os.path.isfile(name):
        raise click.UsageError(f"{name} is a directory, device or pipe: name a regular file, or '-'")


def check_sources(outputs: Iterable[str], files: Iterable[str], vocab: str | None = None) -> None:
    """Raise UsageError where a file that will be written is one of those that are read: `files`, '-' for standard
    input, and those of --vocab."""
    stdin = ("standard input", StreamSource(sys.stdin.buffer).where()) if "-" in files else ("-", None)
    names = [name for name in files if name != "-"]
    if vocab is not None:
        names += [vocab, f"{vocab}.json", *(os.path.join(vocab, name) for name in _SAVED)]
    try:
        check_apart(outputs, [stdin, *((name, name) for name in names)])
    except ValueError as error:
        raise click.UsageError(str(error)) from None


def ids_dtype(encoding: Encoding, dtype: str, format: str = "bin") -> Any:
    """The dtype of a file of ids. Raises UsageError for one that the ids of the encoding do not fit."""
    from ..files.formats import STORED, format_named

    try:
        return STORED[format_named(format).choose_dtype(encoding, dtype)]
    except ValueError as error:
        raise click.UsageError(describe(error)) from None


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


@contextlib.contextmanager
def bars_between(middle: Callable[[Any], list[Any]]) -> Iterator[Any]:
    """rich's Progress on standard error: what is done, a bar, the columns that `middle` makes of rich's module, and the
    time that remains. None when no one watches."""
    if not sys.stderr.isatty():
        yield None
        return
    from rich import progress
    from rich.console import Console

    first = progress.TextColumn("{task.description}"), progress.BarColumn()
    columns = *first, *middle(progress), progress.TimeRemainingColumn()
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        yield bars


@contextlib.contextmanager
def progress_bar(label: str) -> Iterator[Callable[[int, int | None, int], None] | None]:
    """A bar on standard error and the function that moves it (bytes, of how many, ids); None when no one watches."""

    def middle(rich: Any) -> list[Any]:
        return [rich.DownloadColumn(), rich.TransferSpeedColumn(), rich.TextColumn("{task.fields[ids]:,} ids")]

    with bars_between(middle) as bars:
        if bars is None:
            yield None
            return
        task = bars.add_task(label, total=None, ids=0)

        def move(done: int, total: int | None, ids: int) -> None:
            bars.update(task, completed=done, total=total, ids=ids)

        yield move
