"""The page around the columns."""

from __future__ import annotations

import base64
import hashlib
import html
import os
from typing import TYPE_CHECKING, Any

from ..checks import checked_text, id_array
from ..core import Encoding
from ..errors import shown
from ..registry import get_encoding
from .columns import Column
from .parts import visible
from .script import SCRIPT, STYLE

if TYPE_CHECKING:
    from ..protocols import AllowedSpecial, Path


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
