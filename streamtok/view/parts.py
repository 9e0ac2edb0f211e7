"""What a token shows: whole characters as text, the bytes of split ones in hexadecimal digits, nothing that steers a
terminal or a page."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from ..core import Encoding


class Token(NamedTuple):
    """One token of the text."""

    position: int  # among the ids
    id: int
    data: bytes
    offset: int  # of its first byte in the text
    is_special: bool
    parts: list[tuple[str, bool]]  # as Splitter.parts gives them

    @property
    def breaks(self) -> int:
        """Ends of lines in it."""
        return sum(text.count("\n") for text, is_bytes in self.parts if not is_bytes)


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


class Tokens:
    """The ids of a text as they come: all are counted, and `show` gets the first `limit` of them, all for None."""

    def __init__(self, encoding: Encoding, limit: int | None, show: Callable[[Token], object]) -> None:
        self.encoding, self._limit, self._show = encoding, limit, show
        self._splitter = Splitter()
        self._offset = 0
        self.ids = self.bytes = self.characters = self.shown = 0

    def take(self, ids: Any) -> None:
        """The next ids: an array."""
        room = len(ids) if self._limit is None else min(len(ids), self._limit - self.shown)
        tokens = ids[:room].tolist()
        for token, data in zip(tokens, self.encoding.decode_tokens_bytes(tokens)):
            is_special = self.encoding.is_special_token(token)
            self._show(Token(self.shown, token, data, self._offset, is_special, list(self._splitter.parts(data))))
            self._offset += len(data)
            self.shown += 1
        data = self.encoding.decode_bytes(ids)
        self.ids += len(ids)
        self.bytes += len(data)
        self.characters += _characters(data)


def _characters(data: bytes) -> int:
    """Characters that begin in the UTF-8."""
    import numpy as np

    codes = np.frombuffer(data, np.int8)
    return int((codes >= -64).sum())  # all but 0x80 to 0xbf, which go on with one


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
