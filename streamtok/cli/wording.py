"""Errors in one line and in the words of the command: `--resume`, where the library says resume=True."""

from __future__ import annotations

import os
import re

import click

from ..errors import shortened

# Arguments of the library whose options have another name.
_RENAMED = {
    "num_threads": "--threads",
    "allowed_special": "--allow-special",
    "special_tokens": "--special",
    "pat_str": "--pattern",
    "dst": "--output",
}

# Calls of Python that messages advise. They are of no use in a shell, so that clause is left out.
_ADVISED_CALL = re.compile(r"(?:^|; |, or )(?:(?!; |, or ).)*\b(?:iter|GpuEncoder)\((?:\w*|\w+=\.\.\.)\)")

_VALUE = r"""'[^'\n]*'|"[^"\n]*"|[\w.+-]*\w"""
_PLAIN = re.compile(r"[\w.:/+-]+")


def describe(error: BaseException) -> str:
    """The error in one line, the file first."""
    if isinstance(error, OSError) and error.strerror:
        place = f"{shortened(os.fsdecode(error.filename))}: " if error.filename else ""
        return place + spoken(error.strerror)
    if isinstance(error, MemoryError) and not isinstance(error, RuntimeError):  # a device's says more
        return "out of memory"
    text = str(error.args[0]) if isinstance(error, KeyError) and error.args else str(error)
    return spoken(" ".join(text.split()))


def spoken(message: str, command: click.Command | None = None) -> str:
    """The library's message with the options of the command in the place of the arguments that they stand for.

    Every argument that is named with its value (errors='replace', resume=True, key=), as `option NAME`, or whose name
    cannot be another word (min_frequency, special_tokens[1]) becomes its option. Quoted text stays as it is. Advice to
    call a function is left out.
    command: the one whose options are meant, by default the one that runs.
    """
    message = _ADVISED_CALL.sub("", message).removeprefix("; ") or message
    options = _options(command or _running())
    if not options:
        return message
    names = "|".join(sorted(map(re.escape, options), key=len, reverse=True))
    sure = "|".join(name for name in map(re.escape, options) if "_" in name or name in _RENAMED) or "(?!)"
    pattern = re.compile(
        rf"(?P<quoted>(?<!\w)(?:'[^'\n]*'|\"[^\"\n]*\")(?!\w))"
        rf"|(?<![\w.'\"/{{-])(?:(?P<without>with )?(?P<name>{names})=(?!=)(?:(?P<value>{_VALUE}))?"
        rf"|option (?P<option>{names})(?![\w=])"
        rf"|(?P<item>{names})\[(?P<index>\d+)\]"
        rf"|(?P<word>{sure})(?![\w=('\"/.]))"
    )
    return pattern.sub(lambda found: _replacement(found, options), message)


def _replacement(found: re.Match[str], options: dict[str, str]) -> str:
    if found["quoted"]:
        return found[0]
    name, value = found["name"], found["value"]
    if name is None:
        index = found["index"]
        return options[found["option"] or found["item"] or found["word"]] + (f" {int(index) + 1}" if index else "")
    if value in ("False", "None"):
        return f"{'without' if found['without'] else 'no'} {options[name]}"
    shown = options[name] if value in (None, "True") else f"{options[name]} {_unquoted(value)}"
    return (found["without"] or "") + shown


def _unquoted(value: str) -> str:
    """'replace' as one types it; a value with blanks or signs in it keeps its quotes."""
    return value[1:-1] if value[0] in "'\"" and _PLAIN.fullmatch(value[1:-1]) else value


def _options(command: click.Command | None) -> dict[str, str]:
    """Arguments of the library, and the options of the command that set them."""
    if command is None:
        return {}
    longest = {each.name: max(each.opts, key=len) for each in command.params if isinstance(each, click.Option)}
    known = {name: option for name, option in longest.items() if name is not None}
    return known | {name: option for name, option in _RENAMED.items() if option in known.values()}


def _running() -> click.Command | None:
    """The command that was called; None before it is known."""
    ctx = click.get_current_context(silent=True)
    if ctx is not None and isinstance(ctx.command, click.Group) and ctx.invoked_subcommand:
        return ctx.command.get_command(ctx, ctx.invoked_subcommand)
    return None if ctx is None else ctx.command
