"""What an argument stands for: standard input, a file, or the text itself. One rule for all commands."""

from __future__ import annotations

import errno
import io
import os
import re
import sys
from collections.abc import Callable
from typing import Any

import click

from ..errors import shown

RULE = (
    "An argument is the FILE of that name or URL; '-' is standard input. Where there is no such file, it is the TEXT "
    "itself, unless it looks like a path: with a slash, with the suffix of a file at its end, or as a pattern such as "
    "*.md. "
    "Those are missing files. --text takes all arguments for texts; a text that begins with - stands behind --."
)

_SUFFIX = re.compile(r"\.(?=\w*[A-Za-z])\w{1,8}$", re.ASCII)
_GLOB = re.compile(r"\S*[*\[]\S*")
_WORD = re.compile(r"[\w.+-]+", re.ASCII)


class Text(io.BytesIO):
    """A text that was an argument, as a source of bytes."""

    name = "the text"  # what messages call it


def text_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add --text; `operand` takes it as `is_text`."""
    words = "Arguments are texts, even if files have those names."
    return click.option("-t", "--text", "is_text", is_flag=True, help=words)(command)


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
            reason = f"{os.strerror(errno.ENOENT)}; if that is the text itself, add --text"
            raise FileNotFoundError(errno.ENOENT, reason, argument)
        if _WORD.fullmatch(argument):  # it might have been meant as a file
            name = shown(argument)
            click.echo(f"streamtok: there is no file {name}, so it is taken for a text; --text says so", err=True)
    return Text(argument.encode("utf-8", "surrogateescape"))
