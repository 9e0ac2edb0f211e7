"""The tokens of one encoding as a column of a page. Everything that comes from a text is escaped here."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING, Any

from .parts import Splitter, visible

if TYPE_CHECKING:
    from ..core import Encoding

_COLOURS = 4


class Column:
    """Ids in, HTML out. The first `limit` ids are shown, all are counted."""

    def __init__(self, encoding: Encoding, limit: int) -> None:
        self.encoding, self._limit, self._splitter = encoding, limit, Splitter()
        self._made: list[str] = []
        self._offset = 0
        self.ids = self.bytes = self.shown = 0

    def take(self, ids: Any) -> None:
        """The next ids of the text: an array."""
        room = min(len(ids), self._limit - self.shown)
        tokens = ids[:room].tolist()
        for token, data in zip(tokens, self.encoding.decode_tokens_bytes(tokens)):
            self._made.append(self._token(token, data))
            self._offset += len(data)
            self.shown += 1
        self.ids += len(ids)
        self.bytes += len(self.encoding.decode_bytes(ids))

    def _token(self, token: int, data: bytes) -> str:
        """<b>: a token; its number, id, place in bytes and bytes as attributes. <i>: bytes of a split character."""
        parts = list(self._splitter.parts(data))
        shown = "".join(
            f"<i>{html.escape(text)}</i>" if is_bytes else html.escape(visible(text)) for text, is_bytes in parts
        )
        kind = "s" if self.encoding.is_special_token(token) else f"c{self.shown % _COLOURS}"
        breaks = sum(text.count("\n") for text, is_bytes in parts if not is_bytes)
        facts = f'data-n="{self.shown}" data-i="{token}" data-o="{self._offset}" data-b="{data.hex()}"'
        return f'<b class="{kind}" {facts}>{shown}</b>' + "\n" * breaks

    def html(self) -> str:
        """The column."""
        more = "" if self.shown == self.ids else f"; shown are the first {self.shown:,}"
        average = f", {self.bytes / self.ids:.2f} bytes an id" if self.ids else ""
        return (
            f"<section><h2>{html.escape(visible(self.encoding.name))}</h2>"
            f"<p>{self.ids:,} ids of {self.bytes:,} bytes{average}{more}</p>"
            f'<div class="tokens">{"".join(self._made)}</div></section>\n'
        )
