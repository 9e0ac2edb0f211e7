"""Ids to text where a model says how its tokens are spelled: blanks written as another character, bytes as <0x41>.

spelling.bytes_of(ids)              the bytes of a text; those of <0x41> tokens as they are
spelling.text_of(ids, "replace")    its text. As Hugging Face's tokenizers has it, neighbouring tokens of bytes are
                                    characters if all of them are UTF-8, and else U+FFFD each
"""

from __future__ import annotations

import codecs
import functools
from collections.abc import Callable, Iterable
from typing import NamedTuple

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

    @functools.cached_property
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


class SpelledStream:
    """Ids of a text, part by part, to text. What comes is all that no later id can change."""

    def __init__(self, spelling: Spelling, errors: str) -> None:
        self._spelling = spelling
        self._errors = errors
        self._runs = errors == "replace" and spelling.rules.has_bytes
        self._check = codecs.getincrementaldecoder("utf-8")("strict")
        self._codec = codecs.getincrementaldecoder("utf-8")(errors)
        self.reset()

    def reset(self) -> None:
        self._begun = False  # an id has come
        self._left = self._spelling.rules.cut[1]  # characters that may still go from the beginning
        self._run = bytearray()  # neighbouring bytes that may be characters
        self._broken = False  # they are not
        self._check.reset()
        self._codec.reset()

    @property
    def pending(self) -> int:
        """Bytes that wait."""
        return len(self._run) + len(self._codec.getstate()[0])

    def getstate(self) -> tuple[Any, ...]:
        return (
            self._begun,
            self._left,
            bytes(self._run),
            self._broken,
            self._check.getstate()[0],
            self._codec.getstate()[0],
        )

    def setstate(self, state: tuple[Any, ...]) -> None:
        self._begun, self._left, run, self._broken, check, codec = state
        self._run = bytearray(run)
        self._check.setstate((check, 0))
        self._codec.setstate((codec, 0))

    def feed(self, ids: Iterable[int]) -> str:
        """KeyError: an unknown id. UnicodeDecodeError: by `errors`. The stream is then as it was."""
        given = list(ids)
        pieces = self._spelling._pieces(given, self._begun)
        text = self._in_runs(given, pieces) if self._runs else self._plain(b"".join(pieces), False)
        self._begun = self._begun or bool(given)
        return self._cut(text)

    def _plain(self, data: bytes, final: bool) -> str:
        before = self._codec.getstate()
        try:
            return self._codec.decode(data, final)
        except BaseException:
            self._codec.setstate(before)
            raise

    def _in_runs(self, given: list[int], pieces: list[bytes]) -> str:
        is_byte = self._spelling._tables[1]
        if not self._run and not self._broken and given and given[-1] not in is_byte:
            try:
                return b"".join(pieces).decode()
            except UnicodeDecodeError:
                pass
        out: list[str] = []
        for token, piece in zip(given, pieces):
            if token in is_byte:
                out.append(self._more(piece))
            else:
                out += [self._end_run(), piece.decode()]
        return "".join(out)

    def _more(self, byte: bytes) -> str:
        """One more byte of a run."""
        if self._broken:
            return _UNKNOWN
        self._run += byte
        try:
            self._check.decode(byte)
        except UnicodeDecodeError:
            return self._break()
        return ""

    def _break(self) -> str:
        made = _UNKNOWN * len(self._run)
        self._run, self._broken = bytearray(), True
        return made

    def _end_run(self) -> str:
        made = self._break() if self._check.getstate()[0] and not self._broken else self._run.decode()
        self._run, self._broken = bytearray(), False
        self._check.reset()
        return made

    def _cut(self, text: str) -> str:
        character = self._spelling.rules.cut[0]
        while self._left and text:
            if not text.startswith(character):
                self._left = 0
                break
            text, self._left = text[1:], self._left - 1
        return text

    def flush(self) -> str:
        """The rest: the text ends. The stream is then at the start of the next one. UnicodeDecodeError: by `errors`."""
        made = self._cut(self._end_run() if self._runs else self._plain(b"", True))
        self.reset()
        return made
