"""How tokens are shown: one a line and quoted, or side by side, told apart by colours or by borders."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

import click

from ..view.parts import Token, visible

# Of the eight colours that every terminal tells apart; finer ones fall together where there are only eight.
_STYLES = ("black on cyan", "black on yellow", "black on green", "black on magenta")
_SPECIAL = "bold white on red"


def is_coloured(choice: str) -> bool:
    """Whether standard output is coloured: what --color means for every command."""
    if choice != "auto":
        return choice == "always"
    is_plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") in ("dumb", "unknown")
    return sys.stdout.isatty() and not is_plain


def console(choice: str) -> Any:
    """rich's Console for standard output, which colours as is_coloured() says."""
    from rich.console import Console

    coloured = is_coloured(choice)
    system: Any = "standard" if choice == "always" else "auto" if coloured else None
    return Console(highlight=False, force_terminal=coloured, color_system=system, no_color=not coloured)


def _escaped(parts: list[tuple[str, bool]], mark: str) -> str:
    """The parts of a token, with a backslash before each `mark` that is text."""
    return "".join(text if is_bytes else visible(text).replace(mark, "\\" + mark) for text, is_bytes in parts)


class Quoted:
    """One token a line, quoted; with its position and id where `ids` says so."""

    def __init__(self, ids: bool) -> None:
        self._ids = ids

    def show(self, token: Token) -> None:
        ids = f"{token.position}\t{token.id}\t" if self._ids else ""
        click.echo(f'{ids}"{_escaped(token.parts, chr(34))}"{" special" if token.is_special else ""}')

    def end(self) -> None:
        """Nothing is left to print."""


class Bordered:
    """Tokens side by side with borders between them, double ones around a special token."""

    def __init__(self) -> None:
        self._border, self._double = "│║" if _is_printable("│║") else "|#"
        self._line: list[str] = []
        self._was_special = False

    def show(self, token: Token) -> None:
        self._put(self._double if token.is_special or self._was_special else self._border)
        self._put(_escaped(token.parts, self._border))
        self._was_special = token.is_special
        if token.breaks:
            self.end()
            click.echo("\n" * (token.breaks - 1), nl=False)

    def _put(self, text: str) -> None:
        self._line.append(text)
        click.echo(text, nl=False)

    def end(self) -> None:
        """Close the last token of a line."""
        if self._line:
            click.echo(self._double if self._was_special else self._border)
        self._line, self._was_special = [], False


def _is_printable(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


class Coloured:
    """Tokens side by side, or one a line with its id, in colours that take turns. console: rich's."""

    def __init__(self, console: Any, ids: bool) -> None:
        self._console, self._ids = console, ids
        self._is_begun = False

    def show(self, token: Token) -> None:
        from rich.text import Text

        style = _SPECIAL if token.is_special else _STYLES[token.position % len(_STYLES)]
        line = Text(end="")
        if self._ids:
            line.append(f"{token.position:>8} {token.id:>7} ", style="dim")
        for text, is_bytes in token.parts:
            line.append(text if is_bytes else visible(text), style=f"{style} bold italic" if is_bytes else style)
            # Colours stop before the line does, or the terminal paints the rest of it.
            if not self._ids:
                line.append("\n" * text.count("\n"))
        self._console.print(line, soft_wrap=True, end="\n" if self._ids else "")
        self._is_begun = not self._ids

    def end(self) -> None:
        """End the last line."""
        if self._is_begun:
            self._console.print()


class Json:
    """The beginning of a JSON object with a list of tokens; `end` ends the list, not the object."""

    def __init__(self, encoding: str) -> None:
        click.echo(f'{{"encoding": {json.dumps(encoding)}, "tokens": [', nl=False)
        self._comma = "\n"

    def show(self, token: Token) -> None:
        try:
            text: str | None = token.data.decode()
        except UnicodeDecodeError:
            text = None
        facts = {"id": token.id, "offset": token.offset, "bytes": token.data.hex(), "text": text}
        click.echo(self._comma + json.dumps(facts | {"special": token.is_special}), nl=False)
        self._comma = ",\n"

    def end(self) -> None:
        click.echo("], ", nl=False)
