"""How tokens are shown: one a line and quoted, or side by side, told apart by colours or by borders."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import click

# Of the eight colours that every terminal tells apart; finer ones fall together where there are only eight.
_STYLES = ("black on cyan", "black on yellow", "black on green", "black on magenta")
_SPECIAL = "bold white on red"


class Token(NamedTuple):
    """One token of the text."""

    position: int  # among the ids
    id: int
    data: bytes
    offset: int  # of its first byte in the text
    is_special: bool
    parts: list[tuple[str, bool]]  # as Splitter.parts gives them


class Splitter:
    """Tells which bytes of a token are whole characters and which belong to one shared with its neighbours."""

    def __init__(self) -> None:
        self._begun = b""  # bytes of a character that has not ended
        self._missing = 0  # bytes it still needs

    def parts(self, token: bytes) -> Iterator[tuple[str, bool]]:
        """Yield (text, is_bytes) for the pieces of `token` in turn."""
        position = 0
        if self._missing:
            position = min(self._missing, len(token))
            yield self._go_on(token[:position]), True
        whole = _whole_characters(token, position)
        if position < whole:
            yield token[position:whole].decode("utf-8", "replace"), False
        if whole < len(token):
            self._begun = token[whole:]
            self._missing = _length(self._begun[0]) - len(self._begun)
            yield _hex(self._begun), True

    def _go_on(self, data: bytes) -> str:
        self._begun += data
        self._missing -= len(data)
        if self._missing:
            return _hex(data)
        character, self._begun = self._begun.decode("utf-8", "replace"), b""
        return f"{_hex(data)}={visible(character)}"


def _length(lead: int) -> int:
    """Bytes of the character that begins with `lead`, 1 for what begins none."""
    return 2 if 0xC2 <= lead < 0xE0 else 3 if 0xE0 <= lead < 0xF0 else 4 if 0xF0 <= lead < 0xF5 else 1


def _whole_characters(token: bytes, position: int) -> int:
    """Where the last character that ends within the token ends."""
    for back in range(1, min(3, len(token) - position) + 1):
        lead = token[-back]
        if lead >= 0xC0:
            return len(token) - back if _length(lead) > back else len(token)
    return len(token)


def _hex(data: bytes) -> str:
    return "".join(f"<{byte:02x}>" for byte in data)


def visible(text: str) -> str:
    """The text with control characters escaped: a text must not steer the terminal that shows it."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


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
        breaks = sum(text.count("\n") for text, is_bytes in token.parts if not is_bytes)
        if breaks:
            self.end()
            click.echo("\n" * (breaks - 1), nl=False)

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
