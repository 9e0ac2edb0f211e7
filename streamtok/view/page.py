"""Pages of tokens: a column for each encoding, and the page around them. All that comes from a text is escaped here."""

from __future__ import annotations

import base64
import hashlib
import html
import os
from typing import TYPE_CHECKING, Any

from .._checks import checked_text, id_array
from ..core import Encoding
from ..errors import shown
from ..registry import get_encoding
from .parts import Token, Tokens, visible
from .script import SCRIPT, STYLE

if TYPE_CHECKING:
    from .._protocols import AllowedSpecial, Path


_COLOURS = 4


class Column(Tokens):
    """The tokens of one encoding: ids in, HTML out. The first `limit` ids are shown, all are counted."""

    def __init__(self, encoding: Encoding, limit: int) -> None:
        self._made: list[str] = []
        super().__init__(encoding, limit, lambda token: self._made.append(_html(token)))

    def html(self) -> str:
        """The column."""
        more = "" if self.shown == self.ids else f"; shown are the first {self.shown:,}"
        average = f", {self.bytes / self.ids:.2f} bytes an id" if self.ids else ""
        return (
            f"<section><h2>{html.escape(visible(self.encoding.name))}</h2>"
            f"<p>{self.ids:,} ids of {self.bytes:,} bytes{average}{more}</p>"
            f'<div class="tokens">{"".join(self._made)}</div></section>\n'
        )


def _html(token: Token) -> str:
    """<b>: a token; its number, id, place in bytes and bytes as attributes. <i>: bytes of a split character."""
    shown = "".join(
        f"<i>{html.escape(text)}</i>" if is_bytes else html.escape(visible(text)) for text, is_bytes in token.parts
    )
    kind = "s" if token.is_special else f"c{token.position % _COLOURS}"
    facts = f'data-n="{token.position}" data-i="{token.id}" data-o="{token.offset}" data-b="{token.data.hex()}"'
    return f'<b class="{kind}" {facts}>{shown}</b>' + "\n" * token.breaks


class TokenPage:
    """A page of tokens: str() is its HTML, and a notebook shows it."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __str__(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return f"<TokenPage of {len(self._text):,} characters of HTML>"

    def _repr_html_(self) -> str:
        """The page in a frame of its own, where it can neither read nor change the notebook."""
        return (
            '<iframe sandbox="allow-scripts" title="Tokens" width="100%" height="480" '
            f'srcdoc="{html.escape(self._text)}"></iframe>'
        )

    def save(self, path: Path) -> None:
        """Writes the page into a file, UTF-8, which appears whole or not at all.

        Raises OSError where it cannot be written.
        """
        from .. import disk

        disk.replace(os.fspath(path), lambda file: file.write(self._text.encode()))


def page_of(
    text: Any, encodings: Any, limit: int, title: str, allowed_special: AllowedSpecial, errors: str
) -> TokenPage:
    """See view_html."""
    several = [encodings] if isinstance(encodings, (str, Encoding)) else list(encodings)
    if not several:
        raise ValueError("encodings are empty: give one, or its name")
    columns = [Column(get_encoding(each) if isinstance(each, str) else each, checked_limit(limit)) for each in several]
    for column in columns:
        column.take(_ids(text, column.encoding, allowed_special, errors))
    return joined(columns, title)


def checked_limit(limit: int) -> int:
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise ValueError(f"limit={shown(limit)}: write how many tokens are shown, 1 or more")
    return limit


def _ids(text: Any, encoding: Encoding, allowed_special: AllowedSpecial, errors: str) -> Any:
    if isinstance(text, (str, bytes, bytearray, memoryview)):
        options: Any = {"allowed_special": allowed_special, "disallowed_special": (), "errors": errors}
        return encoding.encode_to_numpy(checked_text(text), **options)
    import numpy as np

    return np.asarray(id_array(text))


def joined(columns: list[Column], title: str) -> TokenPage:
    """The page of columns that have all their ids."""
    name = html.escape(visible(title))
    policy = f"default-src 'none'; style-src {_hash(STYLE)}; script-src {_hash(SCRIPT)}"
    return TokenPage(
        f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width">
<title>{name}</title>
<style>{STYLE}</style>
</head>
<body>
<header><h1>{name}</h1>
<input id="query" type="search" placeholder="text, #id or 0xbytes" aria-label="search">
<button id="back" type="button">previous</button> <button id="on" type="button">next</button>
<output id="found"></output></header>
<main>
{"".join(column.html() for column in columns)}</main>
<footer id="card">Point at a token: its id, its place and its bytes stand here.</footer>
<script>{SCRIPT}</script>
</body>
</html>
"""
    )


def _hash(text: str) -> str:
    """What the policy of the page calls the one style and the one script that may stand in it."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
