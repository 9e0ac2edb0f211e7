"""The options of all commands, each said once: a command names those it has, and gets what was given as one object."""

from __future__ import annotations

import errno
import functools
import io
import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from ..errors import VocabularyError, shown

if TYPE_CHECKING:
    from ..core import Encoding

_PATTERNS = {"r50k": "R50K", "cl100k": "CL100K", "o200k": "O200K"}

RULE = (
    "An argument is the FILE of that name or URL; '-' is standard input. Where there is no such file, it is the TEXT "
    "itself, unless it looks like a path: with a slash, with the suffix of a file at its end, or as a pattern such as "
    "*.md. "
    "Those are missing files. --text takes all arguments for texts; a text that begins with - stands behind --."
)


# ==== What the shell completes ====


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


# ==== The options ====

ENCODING = ("encoding", "model", "vocab", "pattern", "special")
"""Those that choose the encoding: Given.load() takes them."""

DOCUMENTS = ("documents", "key", "column", "nulls")
"""Those that say what the documents of a source are."""

TEXT = ("allow_special", "errors")
"""Those that say how text is read."""

Decorator = Callable[[Any], Any]

option = click.option


def file_option(*names: str, **settings: Any) -> Decorator:
    """An option that names a file, which the shell completes."""
    return click.option(*names, shell_complete=file_names, **{"metavar": "FILE", **settings})


def json_option(words: str) -> Decorator:
    """--json, with what it prints."""
    return click.option("--json", "as_json", is_flag=True, help=words)


def device_option(words: str) -> Decorator:
    """--device, with what it is for."""
    return click.option("--device", default="cpu", show_default=True, metavar="cpu|cuda|cuda:N|auto", help=words)


_TABLE: dict[str, Decorator] = {
    "arguments": click.argument("arguments", nargs=-1, metavar="[FILE|TEXT]...", shell_complete=file_names),
    "argument": click.argument("argument", required=False, metavar="[FILE|TEXT]", shell_complete=file_names),
    "text": click.option(
        "-t", "--text", "is_text", is_flag=True, help="Arguments are texts, even if files have those names."
    ),
    "output": file_option(
        "-o", "--output", default="-", metavar="OUT", help="File to write.  [default: standard output]"
    ),
    "encoding": click.option(
        "-e",
        "--encoding",
        metavar="NAME|FILE",
        shell_complete=encoding_names,
        help="Encoding by name, or a model's tokenizer.json or folder.  [default: o200k_base]",
    ),
    "model": click.option(
        "-m", "--model", metavar="NAME", shell_complete=model_names, help="The encoding of a model, such as gpt-4o."
    ),
    "vocab": file_option(
        "--vocab", help="Vocabulary of your own: what train wrote, or a .tiktoken file, which needs --pattern."
    ),
    "pattern": click.option("--pattern", type=click.Choice(list(_PATTERNS)), help="How texts split, with --vocab."),
    "special": click.option(
        "--special", metavar="NAME=ID", multiple=True, help="A special token of --vocab (repeatable)."
    ),
    "documents": click.option(
        "--documents",
        type=click.Choice(["text", "lines", "jsonl"]),
        help="What a document is: a whole file, a line, or a string in the JSON object on a line.  "
        "[default: jsonl for .jsonl and .ndjson, also compressed, else text]",
    ),
    "key": click.option("--key", default="text", show_default=True, help="Key of the text in JSON objects."),
    "column": click.option(
        "--column",
        help="Column of the text in parquet and Arrow files; the extension of members of tar files.  "
        "[default: that of --key; txt]",
    ),
    "nulls": click.option(
        "--nulls",
        type=click.Choice(["error", "skip", "empty"]),
        default="error",
        show_default=True,
        help="What a null in that column is: an error, no document, an empty one.",
    ),
    "add_special_tokens": click.option(
        "--add-special-tokens", is_flag=True, help="Put the ids of the model's template around each document."
    ),
    "allow_special": click.option(
        "--allow-special",
        metavar="NAME|all",
        multiple=True,
        help="A special token to recognise in the text (repeatable), or 'all'. Others are ordinary text.",
    ),
    "errors": click.option(
        "--errors",
        type=click.Choice(["strict", "replace", "ignore"]),
        default="strict",
        show_default=True,
        help="What to do with bytes that are not UTF-8.",
    ),
    "color": click.option(
        "--color",
        type=click.Choice(["auto", "always", "never"]),
        default="auto",
        show_default=True,
        help="auto: on a terminal, unless NO_COLOR is set or TERM is dumb.",
    ),
}


class Given(SimpleNamespace):
    """What a command was given, each value under the name of its option in Python; and what these stand for."""

    ctx: click.Context

    def load(self) -> Encoding:
        """The encoding that the options ENCODING name."""
        found: Encoding = load_encoding(**{name: getattr(self, name) for name in ENCODING})
        return found

    def names_encoding(self) -> bool:
        """Whether one of them was given."""
        return any(getattr(self, name) is not None for name in ("encoding", "model", "vocab"))

    def source(self) -> Any:
        """What the one argument names."""
        return operand(self.argument, self.is_text)

    def reading(self, encoding: Encoding) -> dict[str, Any]:
        """Arguments of files.encode.Options."""
        names = (*DOCUMENTS, "carry", "add_special_tokens", "append_eot", "errors")
        chosen = {name: value for name, value in vars(self).items() if name in names}
        return {**chosen, "allowed_special": specials(self.allow_special, encoding)}


def takes(*options: str | Decorator, group: Any = click, **settings: Any) -> Callable[[Any], click.Command]:
    """Makes a command of a function that takes a Given. options: names of the table, or decorators of click's."""

    def made(function: Callable[[Given], None]) -> click.Command:
        @click.pass_context
        @functools.wraps(function)
        def call(ctx: click.Context, /, **values: Any) -> None:
            function(Given(ctx=ctx, **values))

        for each in reversed(options):
            (_TABLE[each] if isinstance(each, str) else each)(call)
        if "text" in options:
            settings.setdefault("epilog", RULE)
        found: click.Command = group.command(**settings)(call)
        return found

    return made


# ==== What an argument stands for: one rule for all commands ====

_SUFFIX = re.compile(r"\.(?=\w*[A-Za-z])\w{1,8}$", re.ASCII)
_GLOB = re.compile(r"\S*[*\[]\S*")
_WORD = re.compile(r"[\w.+-]+", re.ASCII)
_ADD_TEXT = "if that is the text itself, add --text"


class Text(io.BytesIO):
    """A text that was an argument, as a source of bytes."""

    name = "the text"  # what messages call it


def source_of(name: str) -> Any:
    """What encode_file reads for a FILE argument: standard input for "-"."""
    return sys.stdin.buffer if name == "-" else name


def looks_like_path(argument: str) -> bool:
    """Is it the name of a file rather than a text?"""
    separators = {"/", os.sep, os.altsep or os.sep}
    if "\n" in argument:
        return False
    is_glob = _GLOB.fullmatch(argument) is not None
    return is_glob or any(each in argument for each in separators) or _SUFFIX.search(argument) is not None


def operands(arguments: Sequence[str], is_text: bool = False) -> list[str]:
    """The arguments, with the files of folders and of globs in their place.

    Raises FileNotFoundError where there is none."""
    found: list[str] = []
    for each in arguments:
        is_glob = _GLOB.fullmatch(each) is not None and not os.path.lexists(each)
        if is_text or not (is_glob or os.path.isdir(each)):
            found.append(each)
            continue
        from ..files.named import files_named

        try:
            found += files_named(each)
        except FileNotFoundError as error:
            raise FileNotFoundError(error.errno, f"{error.strerror}; {_ADD_TEXT}", each) from None
    return found


def operand(argument: str | None, is_text: bool = False) -> Any:
    """The source that an argument names, as encode_file takes it: a path, standard input (also for None), or a Text.

    Raises FileNotFoundError for a missing file.
    """
    if argument is None:
        return source_of("-")
    if not is_text:
        if argument == "-" or os.path.lexists(argument):
            return source_of(argument)
        if not argument:
            raise FileNotFoundError(errno.ENOENT, "an empty argument names no file; for an empty text add --text")
        from ..files.remote import is_url

        if is_url(argument):
            return argument
        if looks_like_path(argument):
            reason = f"{os.strerror(errno.ENOENT)}; {_ADD_TEXT}"
            raise FileNotFoundError(errno.ENOENT, reason, argument)
        if _WORD.fullmatch(argument):  # it might have been meant as a file
            name = shown(argument)
            click.echo(f"streamtok: there is no file {name}, so it is taken for a text; --text says so", err=True)
    return Text(argument.encode("utf-8", "surrogateescape"))


# ==== What options stand for ====


def load_encoding(
    encoding: str | None = None,
    model: str | None = None,
    vocab: str | None = None,
    pattern: str | None = None,
    special: Iterable[str] = (),
) -> Any:
    """The encoding that the options name. Raises UsageError when they contradict each other."""
    if sum(name is not None for name in (encoding, model, vocab)) > 1:
        raise click.UsageError("--encoding, --model and --vocab each name an encoding: give one of them")
    if vocab is not None:
        return _load_vocab(vocab, pattern, special)
    if pattern is not None or special:
        raise click.UsageError("--pattern and --special go with --vocab: a named encoding brings its own")
    from .. import _named, encoding_for_model

    if model is None:
        try:
            return _named.load_encoding(encoding or "o200k_base", "")
        except VocabularyError:
            raise
        except ValueError as error:
            raise click.UsageError(str(error)) from None
    try:
        return encoding_for_model(model)
    except KeyError:
        raise click.UsageError(f"no encoding is known for the model {shown(model)}: name one with -e") from None


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


def specials(names: tuple[str, ...], encoding: Encoding) -> Any:
    """The allowed_special that the names of --allow-special stand for."""
    if "all" in names:
        return "all"
    unknown = sorted(set(names) - encoding.special_tokens_set)
    if unknown:
        known = ", ".join(sorted(encoding.special_tokens_set)[:8]) or "none"
        raise click.UsageError(f"{encoding.name} has no special token {shown(unknown[0])} (it has {known})")
    return frozenset(names)
