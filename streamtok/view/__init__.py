"""Tokens as a page of HTML that needs no network."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from .._protocols import AllowedSpecial, Data, TokenIds
    from ..core import Encoding
    from .page import TokenPage

LIMIT = 20_000
"""Tokens that a page shows of each encoding: some megabytes of HTML, which a browser lays out in about a second."""


def view_html(
    text: str | Data | TokenIds,
    encodings: Encoding | str | Iterable[Encoding | str] = "o200k_base",
    *,
    limit: int = LIMIT,
    title: str = "Tokens",
    allowed_special: AllowedSpecial = frozenset(),
    errors: str = "strict",
) -> TokenPage:
    """A page of HTML with the tokens of a text, in one file: colours, ids, bytes of split characters, a search, and
    two or more encodings side by side. It asks no server for anything, and no text can get out of its place in it.

    A notebook shows what is returned; str() is the page, and save(path) writes it.

    >>> streamtok.view_html("naïve 🤗", ["o200k_base", enc])
    >>> streamtok.view_html(open("a.txt").read()).save("a.html")

    Args:
        text: a str, a buffer of UTF-8 bytes, or ids: a list or an array of them.
        encodings: one or several, or their names.
        limit: the most tokens of each encoding that are shown, the first ones. The page says how many there are.
        title: of the page.
        allowed_special: as for Encoding.encode(). Other names of special tokens are ordinary text.
        errors: as for Encoding.encode_to_numpy().

    Raises:
        ValueError: no encoding; a limit below 1; an unknown name of an encoding.
        UnicodeDecodeError: bytes that are not UTF-8, with errors="strict".
        KeyError: an id that an encoding does not have.
    """
    from .page import page_of

    return page_of(text, encodings, limit, title, allowed_special, errors)
