"""Ids to text where a model says how its tokens are spelled: blanks written as another character, bytes as <0x41>.

spelling.bytes_of(ids)              the bytes of a text; those of <0x41> tokens as they are
spelling.text_of(ids, "replace")    its text. As Hugging Face's tokenizers has it, neighbouring tokens of bytes are
                                    characters if all of them are UTF-8, and else U+FFFD each
"""

from __future__ import annotations

from codecs import utf_8_decode as _utf_8_decode
from collections.abc import Callable, Iterable
from typing import NamedTuple

from ..native.steps import lazy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_UNKNOWN = "\ufffd"


class Spelled(NamedTuple):
    """The rules of a model.

    replaced: (pattern, content), in turn, in the text of each token.
    mark: the character that stands for a blank; "" where none does.
    first_loses_mark: in the first token it stands for nothing.
    has_bytes: whether tokens as <0x41> are bytes.
    has_letters: whether tokens in GPT-2's letters are bytes, one a letter; then bytes are of no other kind.
    cut: (character, most) that go from the beginning of the whole text.
    apart: a blank stands in front of each token but the first.
    going_on: what a token begins with that goes on in a word: it goes, and no blank stands there; None: none does.
    cleaned: the blanks in front of points, and in contractions of English, go.
    """

    replaced: tuple[tuple[str, str], ...] = ()
    mark: str = ""
    first_loses_mark: bool = False
    has_bytes: bool = False
    has_letters: bool = False
    cut: tuple[str, int] = ("", 0)
    apart: bool = False
    going_on: str | None = None
    cleaned: bool = False


# What `cleaned` replaces in the text of each token, in turn, as Hugging Face's decoder of WordPiece does.
_CLEANED = (
    (" .", "."),
    (" ?", "?"),
    (" !", "!"),
    (" ,", ","),
    (" ' ", "'"),
    (" n't", "n't"),
    (" 'm", "'m"),
    (" do not", " don't"),
    (" 's", "'s"),
    (" 've", "'ve"),
    (" 're", "'re"),
)


def byte_of(token: bytes) -> int | None:
    """The byte that a token stands for, read as Rust reads it: of two hex digits one may be a plus sign in front."""
    if len(token) != 6 or not token.startswith(b"<0x") or not token.endswith(b">"):
        return None
    digits = token[3:5].removeprefix(b"+")
    return int(digits, 16) if digits and all(digit in b"0123456789abcdefABCDEF" for digit in digits) else None


def _in_letters(token: bytes | None) -> bytes | None:
    """The bytes of a token in GPT-2's letters; one with another character as it is."""
    from ..bundled.gpt2_files import LETTERS

    text = "" if token is None else token.decode()
    return bytes(map(LETTERS.__getitem__, text)) if text and LETTERS.keys() >= set(text) else token


def _set_apart(name: bytes | None, rules: Spelled) -> bytes | None:
    """The text of a token that is not the first."""
    going_on = None if rules.going_on is None else rules.going_on.encode()
    if name is None or (going_on is not None and name.startswith(going_on)):
        return name if name is None or going_on is None else name[len(going_on) :]
    return b" " + name


def _clean(name: bytes | None) -> bytes | None:
    for pattern, content in _CLEANED if name is not None else ():
        name = name.replace(pattern.encode(), content.encode())  # type: ignore[union-attr]
    return name


class Spelling:
    """Decodes for one model. Immutable but for its tables, which are made at the first use.

    Args:
        rules: what the model does.
        names: gives all tokens as the model's file has them, in UTF-8, by id.
    """

    def __init__(self, rules: Spelled, names: Callable[[], dict[int, bytes]]) -> None:
        self.rules = rules
        self._names = names

    @lazy
    def _tables(self) -> tuple[list[bytes | None], dict[int, int], list[bytes | None]]:
        """By id: the bytes of a token, the byte that it stands for, the bytes of a first token."""
        names = self._names()
        later: list[bytes | None] = [None] * (max(names, default=-1) + 1)
        bytes_: dict[int, int] = {}
        for token, name in names.items():
            later[token] = name
        for pattern, content in self.rules.replaced:
            old, new = pattern.encode(), content.encode()
            later = [None if name is None else name.replace(old, new) for name in later]
        mark, first = self.rules.mark.encode(), later
        if mark:
            later = [None if name is None else name.replace(mark, b" ") for name in first]
            gone = [None if name is None else name.replace(mark, b"") for name in first]
            first = gone if self.rules.first_loses_mark else later
        if self.rules.apart:
            first = later
            later = [_set_apart(name, self.rules) for name in first]
        if self.rules.cleaned:
            later, first = list(map(_clean, later)), list(map(_clean, first))
        if self.rules.has_bytes:
            for row in (later, first) if first is not later else (later,):
                for token, text in enumerate(row):
                    if text is not None and text.startswith(b"<0x") and (value := byte_of(text)) is not None:
                        bytes_[token] = value
                        row[token] = bytes([value])
        if self.rules.has_letters:
            later, first = list(map(_in_letters, later)), list(map(_in_letters, first))
        return later, bytes_, first

    def token(self, token: int) -> bytes:
        """The bytes of an id that is not the first one. KeyError: it is unknown."""
        return self._pieces([token], True)[0]

    def pieces(self, ids: Iterable[int], later: bool = False) -> list[bytes]:
        """The bytes of each id, those that begin a text first, unless `later`; joined, they are bytes_of()."""
        found = self._pieces(ids, later)
        character, most = self.rules.cut
        cut = character.encode()
        for i in range(0 if later else len(found)):
            while most and found[i].startswith(cut):
                found[i], most = found[i][len(cut) :], most - 1
            if found[i] or not most:
                break
        return found

    def _pieces(self, ids: Iterable[int], later: bool) -> list[bytes]:
        table, _, first = self._tables
        given = list(ids)
        found: list[bytes | None]
        try:
            found = [table[token] for token in given]
        except IndexError:
            found = [table[token] if token < len(table) else None for token in given]
        if found and not later and first is not table:
            found[0] = first[given[0]] if given[0] < len(first) else None
        if None in found:
            raise KeyError(f"Invalid token for decoding: {given[found.index(None)]}")
        return found  # type: ignore[return-value]

    def bytes_of(self, ids: Iterable[int], later: bool = False) -> bytes:
        """The bytes of a text. KeyError: an unknown id. later: ids stand in front of these."""
        return b"".join(self.pieces(ids, later))

    def text_of(self, ids: Iterable[int], errors: str) -> str:
        """The text of ids; errors as for bytes.decode()."""
        stream = SpelledStream(self, errors)
        return stream.feed(ids) + stream.flush()

    def stream(self, errors: str) -> SpelledStream:
        return SpelledStream(self, errors)

    def byte(self, token: int) -> bool:
        """Whether an id stands for a byte."""
        return token in self._tables[1]


class Place(NamedTuple):
    """Where a text of ids stands.

    begun: an id has come. left: characters that may still go from the beginning. run, size: neighbouring bytes that may
    be characters, the first `size` of `run`; what lies behind them is of a call that did not end. broken: they are not.
    cut: the beginning of a character, at the end of the run, or of the text where bytes need not stand together.
    """

    begun: bool
    left: int
    run: bytearray
    size: int = 0
    broken: bool = False
    cut: bytes = b""


class SpelledStream:
    """Ids of a text, part by part, to text. What comes is all that no later id can change."""

    def __init__(self, spelling: Spelling, errors: str) -> None:
        self._spelling = spelling
        self._errors = errors
        self._runs = errors == "replace" and spelling.rules.has_bytes
        self.reset()

    def begin(self) -> Place:
        """The place in front of a text."""
        return Place(False, self._spelling.rules.cut[1], bytearray())

    def reset(self) -> None:
        self._at = self.begin()

    @property
    def pending(self) -> int:
        """Bytes that wait."""
        return self.pending_at(self._at)

    def pending_at(self, at: Place) -> int:
        return at.size if self._runs else len(at.cut)

    def getstate(self) -> tuple[Any, ...]:
        return self.state_of(self._at)

    def state_of(self, at: Place) -> tuple[Any, ...]:
        """A place as what can be pickled."""
        ends = (at.cut, b"") if self._runs else (b"", at.cut)
        return at.begun, at.left, bytes(at.run[: at.size]), at.broken, *ends

    def setstate(self, state: tuple[Any, ...]) -> None:
        self._at = self.place_of(state)

    def place_of(self, state: tuple[Any, ...]) -> Place:
        begun, left, run, broken, check, codec = state
        return Place(begun, left, bytearray(run), len(run), broken, check if self._runs else codec)

    def feed(self, ids: Iterable[int]) -> str:
        """KeyError: an unknown id. UnicodeDecodeError: by `errors`. The stream is then as it was."""
        text, self._at = self.step(self._at, ids)
        return text

    def flush(self) -> str:
        """The rest: the text ends. The stream is then at the start of the next one. UnicodeDecodeError: by `errors`."""
        made = self.rest(self._at)
        self.reset()
        return made

    def step(self, at: Place, ids: Iterable[int]) -> tuple[str, Place]:
        """(the text that ids complete, the place behind them)"""
        given = list(ids)
        pieces = self._spelling._pieces(given, at.begun)
        if self._runs:
            return self._in_runs(given, pieces, at)
        text, cut = self._plain(at.cut + b"".join(pieces), False)
        text, left = self._without_front(text, at.left)
        return text, Place(at.begun or bool(given), left, at.run, 0, False, cut)

    def rest(self, at: Place) -> str:
        """The text that is left at the end of a text."""
        text = _ended(at.run, at.size, at.cut) if self._runs else self._plain(at.cut, True)[0]
        return self._without_front(text, at.left)[0]

    def _plain(self, data: bytes, final: bool) -> tuple[str, bytes]:
        text, used = _utf_8_decode(data, self._errors, final)
        return text, data[used:]

    def _in_runs(self, given: list[int], pieces: list[bytes], at: Place) -> tuple[str, Place]:
        begun, left, run, size, broken, cut = at
        is_byte = self._spelling._tables[1]
        if begun and given and not (left or size or broken) and given[-1] not in is_byte:
            try:  # the commonest call
                return b"".join(pieces).decode(), at
            except UnicodeDecodeError:
                pass
        out: list[str] = []
        for token, piece in zip(given, pieces):
            if token not in is_byte:
                if size:
                    out.append(_ended(run, size, cut))
                    run, size, cut = bytearray(), 0, b""
                broken = False
                out.append(piece.decode())
            elif broken:
                out.append(_UNKNOWN)
            else:
                run[size:] = piece
                size += 1
                if not cut and piece < b"\x80":
                    continue
                cut += piece
                try:
                    cut = cut[_utf_8_decode(cut, "strict", False)[1] :]
                except UnicodeDecodeError:
                    out.append(_UNKNOWN * size)
                    run, size, broken, cut = bytearray(), 0, True, b""
        text = "".join(out)
        if left:
            text, left = self._without_front(text, left)
        return text, Place(begun or bool(given), left, run, size, broken, cut)

    def _without_front(self, text: str, left: int) -> tuple[str, int]:
        character = self._spelling.rules.cut[0]
        while left and text:
            if not text.startswith(character):
                return text, 0
            text, left = text[1:], left - 1
        return text, left


def _ended(run: bytearray, size: int, cut: bytes) -> str:
    """The text of a run that ends."""
    return _UNKNOWN * size if cut else run[:size].decode()
