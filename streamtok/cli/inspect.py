"""streamtok inspect: a text with its tokens to be seen."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import click

from ..errors import shown
from .common import encoding_options, load_encoding, source_of, specials, text_options

# Of the eight colours that every terminal tells apart; finer ones fall together where there are only eight.
_STYLES = ("black on cyan", "black on yellow", "black on green", "black on magenta")
_SPECIAL = "bold white on red"
_CHUNK = 16 << 10  # every token becomes a few Python objects


@click.command()
@click.argument("file", default="-", metavar="[FILE|TEXT]")
@click.option("-t", "--text", "is_text", is_flag=True, help="The argument is the text, even if a file has that name.")
@click.option("--ids", is_flag=True, help="One token a line: position, id, token.")
@text_options
@encoding_options
def command(file: str, is_text: bool, ids: bool, allow_special: tuple[str, ...], errors: str, **chosen: Any) -> None:
    r"""Show where a text is cut into tokens.

    The argument is a FILE, or the text itself when no file has that name; standard input without one. On a
    terminal tokens are coloured in turn; in a pipe there is one a line, quoted. Bytes of a character that is split
    among tokens are shown as <e2><98>, and the character behind its last byte; special tokens are marked.
    """
    encoding = load_encoding(**chosen)
    source = _source(file, is_text)
    from ..files import Options, encode_sources

    view = _View(encoding, ids)
    options = Options(allowed_special=specials(allow_special, encoding), errors=errors)
    encode_sources(encoding, source, view.show, options, chunk_size=_CHUNK)
    view.end()


def _source(argument: str, is_text: bool) -> Any:
    if not is_text and (argument == "-" or os.path.exists(argument)):
        return source_of(argument)
    import io

    if not is_text and "\n" not in argument and not any(c.isspace() for c in argument) and os.sep in argument:
        raise click.UsageError(f"there is no file {shown(argument)}; if that is the text, add --text")
    return io.BytesIO(argument.encode("utf-8", "surrogateescape"))


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


class _View:
    """Prints tokens as they come."""

    def __init__(self, encoding: Any, ids: bool) -> None:
        self._encoding, self._ids = encoding, ids
        self._is_terminal = sys.stdout.isatty()
        self._splitter = Splitter()
        self._position = 0
        self._console: Any = None
        if self._is_terminal:
            from rich.console import Console

            self._console = Console(highlight=False, soft_wrap=True)

    def show(self, ids: Any) -> None:
        """Print the next tokens."""
        pieces = self._encoding.decode_tokens_bytes(ids.tolist())
        for token, piece in zip(ids.tolist(), pieces):
            is_special = self._encoding.is_special_token(token)
            parts = list(self._splitter.parts(piece))
            if self._is_terminal:
                self._show_coloured(token, parts, is_special)
            else:
                self._show_plain(token, parts, is_special)
            self._position += 1

    def _show_plain(self, token: int, parts: list[tuple[str, bool]], is_special: bool) -> None:
        text = "".join(text if is_bytes else visible(text).replace('"', '\\"') for text, is_bytes in parts)
        ids = f"{self._position}\t{token}\t" if self._ids else ""
        click.echo(f'{ids}"{text}"{" special" if is_special else ""}')

    def _show_coloured(self, token: int, parts: list[tuple[str, bool]], is_special: bool) -> None:
        from rich.text import Text

        style = _SPECIAL if is_special else _STYLES[self._position % len(_STYLES)]
        line = Text(end="")
        if self._ids:
            line.append(f"{self._position:>8} {token:>7} ", style="dim")
        for text, is_bytes in parts:
            line.append(text if is_bytes else visible(text), style=f"{style} bold italic" if is_bytes else style)
            # Colours stop before the line does, or the terminal paints the rest of it.
            if not self._ids:
                line.append("\n" * text.count("\n"))
        self._console.print(line, end="\n" if self._ids else "")

    def end(self) -> None:
        """End the last line."""
        if self._is_terminal and not self._ids and self._position:
            self._console.print()
