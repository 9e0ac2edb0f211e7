"""A page of HTML about a vocabulary: how it compresses, and which of its tokens are dead, long or odd. All that comes
from tokens and names is escaped here."""

from __future__ import annotations

import html
import os
import unicodedata
from collections.abc import Iterable
from typing import Any

from ..core import Encoding
from ..errors import short_file_names, shortened
from ..registry import get_encoding
from .fertility import SourceFacts, measure
from .inputs import How
from .merges import MergeTable
from .textfiles import write_text

_RARE = 10  # uses: fewer are rare
_COLOURS = ("#1a5fb4", "#e66100", "#26a269", "#813d9c", "#77767b")
_ONE_SCRIPT = {
    "HIRAGANA": "CJK",
    "KATAKANA": "CJK",
    "KATAKANA-HIRAGANA": "CJK",
    "BOPOMOFO": "CJK",
    "IDEOGRAPHIC": "CJK",
}
_NO_SCRIPT = {
    "MODIFIER",
    "COMBINING",
    "FULLWIDTH",
    "HALFWIDTH",
    "FEMININE",
    "MASCULINE",
    "MICRO",
    "SCRIPT",
    "MATHEMATICAL",
}

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
table { border-collapse: collapse; } th, td { padding: .15rem .7rem; text-align: right; }
th:first-child, td:first-child { text-align: left; } thead { border-bottom: 1px solid #888; }
code { background: #eef1f6; border-radius: .2rem; padding: 0 .25rem; white-space: pre-wrap; overflow-wrap: anywhere; }
.tokens span { display: inline-block; margin: 0 .5rem .2rem 0; } small { color: #666; }
svg text { font: 12px system-ui, sans-serif; }
"""


@short_file_names
def report_page(
    encoding: Encoding,
    held_out: Any,
    path: str | os.PathLike[str],
    *,
    beside: Iterable[str | Encoding] = ("o200k_base", "cl100k_base"),
    most: int = 100,
    documents: str | None = None,
    key: str = "text",
    errors: str = "strict",
    column: str | None = None,
    nulls: str = "error",
) -> None:
    """Write a page of HTML, one file without scripts, about a vocabulary and text that it was not trained on.

    It has: bytes per token and tokens per word of each source beside other encodings; the share of text that each part
    of the vocabulary has; tokens that the text does not use, or rarely; the longest ones; those that hold letters of
    several scripts; and candidates for glitch tokens, which a model may never have seen: those that no merge makes, and
    words that were frequent once, as early merges are, but stand in the text nowhere and are part of no other token.

    Args:
        encoding: any Encoding; what train() or load() returned, most often.
        held_out: what train() takes for sources; a dict gives them names. A document is held as a whole.
        path: of the page.
        beside: encodings, or names of them, to compare with.
        most: tokens of a list that are shown.
        documents, key, errors, column, nulls: as for train().

    Raises:
        ValueError: there is no text; an encoding is not known.
        UnicodeDecodeError, OSError: as train(); a file that cannot be written.
    """
    others = [get_encoding(each) if isinstance(each, str) else each for each in beside]
    facts, uses = measure([encoding, *others], held_out, How(documents, key, errors, column=column, nulls=nulls))
    names = [each.name for each in (encoding, *others)]
    tokens = _Tokens(encoding, uses)
    body = [_heading(encoding, facts[0]), _compression(names, facts), _shares(tokens), *_lists(tokens, most)]
    title = f"{shortened(encoding.name)}: a vocabulary of {encoding.n_vocab:,} tokens"
    head = f'<meta charset="utf-8"><title>{_escaped(title)}</title><style>{_STYLE}</style>'
    write_text(os.fspath(path), f"<!doctype html>\n<html><head>{head}</head>\n<body>{''.join(body)}</body></html>\n")


class _Tokens:
    """The ordinary tokens, in the order of their ids, and how often the text uses each."""

    def __init__(self, encoding: Encoding, uses: Any) -> None:
        special = set(encoding._added_tokens.values())
        try:
            table = MergeTable(encoding)
        except ValueError:  # of another model
            self.parts: set[bytes] = set()
            self.unmade: set[int] = set()
            packed = encoding._packed
            listed = zip(packed.tokens(), packed.ranks)
            found = {token: data for data, token in listed if token <= encoding.max_token_value}
        else:
            self.parts = {part for each in table.made for part in each.parts or ()}
            self.unmade = set(table.others) - special
            found = {each.id: each.token for each in table.made} | table.others
        self.bytes_of = {token: found[token] for token in sorted(found) if token not in special}
        self.uses = {token: int(uses[token]) for token in self.bytes_of}
        self.dead = [token for token, count in self.uses.items() if not count and len(self.bytes_of[token]) > 1]
        self.rare = [token for token, count in self.uses.items() if 0 < count < _RARE]

    def glitches(self) -> list[int]:
        """Those that no merge makes, then leaves that are dead, the earliest first, if they are words of letters."""
        found = sorted(self.unmade)
        for token in self.dead:
            data = self.bytes_of[token]
            if token not in self.unmade and data not in self.parts and _is_word(data):
                found.append(token)
        return found

    def mixed(self) -> list[int]:
        """Those with letters of several scripts."""
        return [token for token, data in self.bytes_of.items() if len(_scripts(data)) > 1]


def _is_word(data: bytes) -> bool:
    text = data.decode(errors="replace")
    return len(text.strip()) > 3 and text.strip().isalpha()


def _scripts(data: bytes) -> set[str]:
    """The scripts of the letters, by the first words of their names; Han and the Japanese syllabaries are one."""
    found = set()
    for character in data.decode(errors="ignore"):
        if character.isalpha() and not character.isascii():
            script = unicodedata.name(character, "?").split()[0]
            found.add(_ONE_SCRIPT.get(script, script))
        elif character.isalpha():
            found.add("LATIN")
    return found - _NO_SCRIPT - {"?"}


# ---- parts of the page ----


def _escaped(text: str) -> str:
    return html.escape("".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in text))


def _short(name: str, most: int) -> str:
    return name if len(name) <= most else f"...{name[3 - most :]}"


_SIGNS = {" ": "\N{MIDDLE DOT}", "\n": "\N{RETURN SYMBOL}", "\t": "\N{RIGHTWARDS ARROW TO BAR}"}


def _token(data: bytes) -> str:
    """A token as it is shown: blanks and line breaks as signs, other bytes that cannot be seen in hex."""
    shown = []
    for character in data.decode(errors="backslashreplace"):
        seen = _SIGNS.get(character, character)
        shown.append(seen if seen.isprintable() else repr(character)[1:-1])
    return f"<code>{html.escape(''.join(shown))}</code>"


def _heading(encoding: Encoding, facts: list[SourceFacts]) -> str:
    size, count = sum(each.bytes for each in facts), len(facts)
    training = getattr(encoding, "training", {})
    learned = f" It was trained on {training['bytes']:,} bytes." if "bytes" in training else ""
    return (
        f"<h1>{_escaped(encoding.name)}</h1><p>{encoding.n_vocab:,} tokens, {len(encoding._added_tokens):,} of them "
        f"special or added.{learned} Held-out text: {size:,} bytes of {count:,} sources.</p>"
    )


def _compression(names: list[str], facts: list[list[SourceFacts]]) -> str:
    head = "".join(f"<th>{_escaped(name)}</th>" for name in names)
    rows = []
    for of_source in zip(*facts):
        first = of_source[0]
        cells = "".join(
            f"<td>{each.bytes_per_token:.2f} <small>{each.tokens_per_word:.2f}</small></td>" for each in of_source
        )
        rows.append(f"<tr><td>{_escaped(first.name)}</td><td>{first.bytes:,}</td>{cells}</tr>")
    return (
        f"<h2>Compression</h2>{_bars(names, facts)}<table><thead><tr><th>source</th><th>bytes</th>{head}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table><p>Bytes per token, and in small type tokens per word (fertility).</p>"
    )


def _bars(names: list[str], facts: list[list[SourceFacts]]) -> str:
    """Bytes per token as bars, a group for each source."""
    longest = max(each.bytes_per_token for row in facts for each in row) or 1
    thick, left, width = 14, 180, 480
    group = thick * len(names) + 10
    parts, height = [], group * len(facts[0]) + 24
    for at, name in enumerate(names):
        x = left + at * 150
        parts.append(f'<rect x="{x}" y="4" width="10" height="10" fill="{_COLOURS[at % len(_COLOURS)]}"/>')
        parts.append(f'<text x="{x + 15}" y="13">{_escaped(_short(name, 18))}</text>')
    for row, of_source in enumerate(zip(*facts)):
        top = 24 + row * group
        label = _escaped(_short(of_source[0].name, 26))
        parts.append(f'<text x="{left - 8}" y="{top + thick}" text-anchor="end">{label}</text>')
        for at, each in enumerate(of_source):
            y, size = top + at * thick, each.bytes_per_token / longest * width
            colour = _COLOURS[at % len(_COLOURS)]
            parts.append(f'<rect x="{left}" y="{y}" width="{size:.1f}" height="{thick - 2}" fill="{colour}"/>')
            parts.append(f'<text x="{left + size + 5:.1f}" y="{y + 11}">{each.bytes_per_token:.2f}</text>')
    wide = max(left + width + 60, left + 150 * len(names))
    return f'<svg viewBox="0 0 {wide} {height}" width="{wide}" role="img">{"".join(parts)}</svg>'


def _shares(tokens: _Tokens) -> str:
    """How much of the text the tokens of each tenth of the vocabulary are, and how many of them it uses."""
    ids, total = list(tokens.bytes_of), sum(tokens.uses.values()) or 1
    rows = []
    for tenth in range(10):
        some = ids[len(ids) * tenth // 10 : len(ids) * (tenth + 1) // 10]
        if some:
            share = sum(tokens.uses[token] for token in some) / total
            used = sum(tokens.uses[token] > 0 for token in some) / len(some)
            bar = (
                f'<svg width="204" height="12"><rect width="{200 * share:.1f}" height="12" fill="{_COLOURS[0]}"/></svg>'
            )
            span = f"{some[0]:,} to {some[-1]:,}"
            rows.append(f"<tr><td>{span}</td><td>{share:.1%}</td><td>{used:.1%}</td><td>{bar}</td></tr>")
    head = "<tr><th>ids</th><th>share of the text's tokens</th><th>of them in the text</th><th></th></tr>"
    return f"<h2>What is used</h2><table><thead>{head}</thead><tbody>{''.join(rows)}</tbody></table>"


def _lists(tokens: _Tokens, most: int) -> list[str]:
    long = sorted(tokens.bytes_of, key=lambda token: (-len(tokens.bytes_of[token]), token))
    leaves = [token for token in tokens.dead if tokens.bytes_of[token] not in tokens.parts]
    dead = f"part of no other token, and in the text nowhere; so are {len(tokens.dead) - len(leaves):,} parts of others"
    return [
        _list("Dead tokens", dead, tokens, leaves, most),
        _list("Rare tokens", f"fewer than {_RARE} times in the text", tokens, tokens.rare, most),
        _list("Longest tokens", "by bytes", tokens, long[: most // 2], most),
        _list("Tokens of several scripts", "with letters of each", tokens, tokens.mixed(), most),
        _list(
            "Candidates for glitch tokens",
            "made by no merge, or words that are part of no other token and stand in the text nowhere",
            tokens,
            tokens.glitches(),
            most,
        ),
    ]


def _list(title: str, words: str, tokens: _Tokens, found: list[int], most: int) -> str:
    items = "".join(f"<span>{_token(tokens.bytes_of[token])} <small>{token}</small></span>" for token in found[:most])
    more = f"<p>and {len(found) - most:,} more</p>" if len(found) > most else ""
    return f"<h2>{title}</h2><p>{len(found):,}: {words}.</p><div class='tokens'>{items}</div>{more}"
