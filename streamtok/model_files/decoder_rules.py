"""Ids to text by the decoder that a model's file has: blanks written as another character, bytes as <0x41>.

decoder.pieces(ids)  the bytes of ids; those of <0x41> tokens as they are
decoder.core         what native/rule_decoder.pyx makes text by. As Hugging Face's tokenizers has it, neighbouring
                     tokens of bytes are characters if all of them are UTF-8, and else U+FFFD each
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from ..bundled.packed import to_little_endian
from ..native.normal import Normalizer
from ..native.rule_decoder import Rules
from ..native.steps import lazy
from ..patterns.compile import compile_matches

_RUNS, _ONCE, _OPENS, _ENDED = 1, 2, 4, 8
"""Flags of a decoder: see csrc/decoders/rules.h."""

_NONE, _TEXT, _BYTE = range(3)

_Table = tuple[list[bytes | None], bytes]


_Rule = tuple[str, str] | tuple[str, str, bool | None] | tuple[str, int, int]


class DecoderRules(NamedTuple):
    """The rules of a model's decoder.

    replaced: (pattern, content), in turn, in the text of each token; with True behind them the pattern is a Regex;
        (character, most from the beginning, from the end): so many of it go.
    mark: the character that stands for a blank; "" where none does.
    first_loses_mark: in the first token it stands for nothing.
    has_bytes: whether tokens as <0x41> are bytes.
    has_letters: whether tokens in GPT-2's letters are bytes, one a letter; then bytes are of no other kind.
    cut: (character, most) that go from the beginning of the whole text.
    apart: a blank stands in front of each token but the first.
    going_on: what a token begins with that goes on in a word: it goes, and no blank stands there; None: none does.
    cleaned: the blanks in front of points, and in contractions of English, go.
    ended: what is a blank wherever it stands in a token; nothing in the last one. Most tokens have it at their end.
    once: of equal tokens in a row one counts; (what goes, with `cleaned` what stands for a blank). None: all count.
    fronts: with `mark` and `first_loses_mark`, the rule of SentencePiece: one mark goes, in front of the first token,
        and with 2 in front of each token that has no text in front of it. 0: all marks of the first token go.
    unknown: (a token, what it becomes as text), as SentencePiece has it.
    bytes_first: `replaced` and `mark` go for what tokens of bytes become, too, and not for the names of these.
    behind: as `replaced`, behind `mark`; (character, content, None): it is a mark, too, which in the first token goes.
    """

    replaced: tuple[_Rule, ...] = ()
    mark: str = ""
    first_loses_mark: bool = False
    has_bytes: bool = False
    has_letters: bool = False
    cut: tuple[str, int] = ("", 0)
    apart: bool = False
    going_on: str | None = None
    cleaned: bool = False
    ended: str = ""
    once: tuple[str, str] | None = None
    fronts: int = 0
    unknown: tuple[str, str] | None = None
    bytes_first: bool = False
    behind: tuple[_Rule, ...] = ()

    def __repr__(self) -> str:
        """Without what was added later and is not used, and by the first name of the class: it goes into fingerprints
        (description.py)."""
        later: dict[str, object] = {
            "ended": self.ended,
            "once": self.once,
            "fronts": self.fronts,
            "unknown": self.unknown,
        }
        later |= {"bytes_first": self.bytes_first, "behind": self.behind}
        named = {name: value for name, value in self._asdict().items() if later.get(name, True)}
        return f"Spelled({', '.join(f'{name}={value!r}' for name, value in named.items())})"


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


def _set_apart(name: bytes | None, rules: DecoderRules) -> bytes | None:
    """The text of a token that is not the first."""
    going_on = None if rules.going_on is None else rules.going_on.encode()
    if name is None or (going_on is not None and name.startswith(going_on)):
        return name if name is None or going_on is None else name[len(going_on) :]
    return b" " + name


def _clean(name: bytes | None) -> bytes | None:
    for pattern, content in _CLEANED if name is not None else ():
        name = name.replace(pattern.encode(), content.encode())  # type: ignore[union-attr]
    return name


def _without(name: bytes | None, text: str) -> bytes | None:
    return name if name is None or not text else name.replace(text.encode(), b"")


def _with_bytes(names: list[bytes | None], given: list[bytes | None]) -> _Table:
    """Tokens as <0x41> become the byte that they stand for. given: what tells which these are."""
    kinds = bytearray(len(names))
    for token, name in enumerate(given):
        if name is not None and name.startswith(b"<0x") and (value := byte_of(name)) is not None:
            names[token], kinds[token] = bytes([value]), 1
    return names, bytes(kinds)


def _stripped(name: bytes, character: str, first: int, last: int) -> bytes:
    """Without a character at the ends, so many times at most."""
    text = name.decode()
    begin, end = len(text) - len(text.lstrip(character)), len(text.rstrip(character))
    return text[min(begin, first) : max(end, len(text) - last)].encode()


def _replacement(rule: _Rule, is_first: bool = False) -> Callable[[bytes], bytes]:
    """What a rule does to the text of a token."""
    pattern, content, third = (*rule, False)[:3]
    if isinstance(content, int):
        most = content
        return lambda name: _stripped(name, pattern, most, int(third or 0))
    if third:
        stage = Normalizer([("ReplaceMatches", compile_matches(pattern), content)])
        return lambda name: stage.normalize(name.decode()).encode()
    old, new = pattern.encode(), b"" if third is None and is_first else content.encode()
    return lambda name: name.replace(old, new)


class RuleDecoder:
    """Decodes for one model. Immutable but for its tables, which are made at the first use.

    Args:
        rules: what the model does.
        names: gives all tokens as the model's file has them, in UTF-8, by id.
    """

    def __init__(self, rules: DecoderRules, names: Callable[[], dict[int, bytes]]) -> None:
        self.rules = rules
        self._names = names

    @lazy
    def core(self) -> Rules:
        """The rules, and what each token becomes, in C."""
        return Rules(self.packed())

    def packed(self) -> bytes:
        """The same in the bytes that the core reads."""
        rules, tails = self.rules, self._tails()
        flags = _RUNS * rules.has_bytes + _ONCE * (rules.once is not None)
        flags += _OPENS * self.opens + _ENDED * bool(rules.ended)
        character, most = rules.cut
        out = Out().numbers(flags, most).apart(character.encode())
        late = self._late()
        out.numbers(len(late))
        for each in late:
            for part in each:
                out.apart(part)
        (later, kinds), (first, first_kinds) = self._tables()
        is_same = later is first and kinds == first_kinds
        other = () if is_same else range(len(later))
        _put_table(out, range(len(later)), later, kinds)
        _put_table(out, [i for i in other if (later[i], kinds[i]) != (first[i], first_kinds[i])], first, first_kinds)
        out.numbers(len(tails))
        for token, going_on, last in tails:
            out.numbers(token).apart(going_on).apart(last)
        return bytes(out.data)

    def _tables(self) -> tuple[_Table, _Table]:
        """By id: (the bytes of a token, whether it stands for a byte); the same of a token that stands first."""
        names = self._names()
        later: list[bytes | None] = [None] * (max(names, default=-1) + 1)
        unknown, surface = self.rules.unknown or ("", "")
        for token, name in names.items():
            later[token] = surface.encode() if unknown and name == unknown.encode() else name
        given = list(later) if self.rules.bytes_first else None
        for rule in self.rules.replaced:
            change = _replacement(rule)
            later = [None if name is None else change(name) for name in later]
        mark, first = self.rules.mark.encode(), later
        if mark:
            later = [None if name is None else name.replace(mark, b" ") for name in first]
            if self.rules.fronts:
                gone = [None if name is None else name.removeprefix(mark).replace(mark, b" ") for name in first]
            else:
                gone = [None if name is None else name.replace(mark, b"") for name in first]
            first = gone if self.rules.first_loses_mark else later
        for rule in self.rules.behind:
            is_same = first is later and rule[2:] != (None,)
            change, change_first = _replacement(rule), _replacement(rule, True)
            first = first if is_same else [None if name is None else change_first(name) for name in first]
            later = [None if name is None else change(name) for name in later]
            first = later if is_same else first
        if self.rules.apart:
            first = later
            later = [_set_apart(name, self.rules) for name in first]
        if self.rules.once is not None:
            later = first = [_without(name, self.rules.once[0]) for name in later]
        if self.rules.cleaned:
            later, first = list(map(_clean, later)), list(map(_clean, first))
        if self.rules.once is not None and self.rules.cleaned:
            blank = self.rules.once[1].encode()
            later = first = [None if name is None else name.replace(blank, b" ") for name in later]
        if self.rules.ended:
            ended = self.rules.ended.encode()
            later = first = [None if name is None else name.partition(ended)[0] for name in later]
        if self.rules.has_letters:
            later, first = list(map(_in_letters, later)), list(map(_in_letters, first))
        nothing: list[bytes | None] = []
        made = _with_bytes(later, (given or later) if self.rules.has_bytes else nothing)
        if first is later:
            return made, made
        return made, _with_bytes(first, (given or first) if self.rules.has_bytes else nothing)

    def _late(self) -> list[tuple[bytes, bytes, bytes]]:
        """What is replaced in the text that tokens of bytes become: (pattern, content, content where it is first)."""
        if not self.rules.bytes_first:
            return []
        found = [(old.encode(), str(new).encode(), str(new).encode()) for old, new, *_ in self.rules.replaced]
        if self.rules.mark:
            found.append((self.rules.mark.encode(), b" ", b"" if self.rules.first_loses_mark else b" "))
        return found

    @property
    def looks_back(self) -> bool:
        """Whether what an id becomes depends on the one in front of it."""
        return bool(self.rules.ended) or self.rules.once is not None

    @property
    def opens(self) -> bool:
        """Whether an id is as the first one as long as there is no text in front of it."""
        return self.rules.fronts == 2

    def _tails(self) -> list[tuple[int, bytes, bytes]]:
        """(id, its text from `ended` on where an id is behind it, the same in the last one) of tokens that hold it."""
        ended = self.rules.ended.encode()
        if not ended or self.rules.once is not None:
            return []
        held = [(token, name[name.index(ended) :]) for token, name in self._names().items() if ended in name]
        return [(token, tail.replace(ended, b" "), tail.replace(ended, b"")) for token, tail in sorted(held)]

    def token(self, token: int) -> bytes:
        """The bytes of an id that is not the first one. KeyError: it is unknown."""
        return self.core.pieces([token], True)[0]

    def pieces(self, ids: Iterable[int]) -> list[bytes]:
        """The bytes of each id; joined, they are those of the text. KeyError: an unknown id."""
        return self.core.pieces(list(ids))


def _put_table(out: Out, ids: Sequence[int], table: list[bytes | None], kinds: bytes) -> None:
    """The ids, the size of the bytes of each, the kind of each; then the bytes."""
    found = [table[token] for token in ids]
    out.apart(to_little_endian(ids)).apart(to_little_endian([0 if each is None else len(each) for each in found]))
    out.apart(bytes(_NONE if text is None else _BYTE if kinds[i] else _TEXT for i, text in zip(ids, found)))
    out.apart(b"".join(each or b"" for each in found))


class Out:
    """Numbers and bytes, one behind the other, as csrc/base/reader.h reads them."""

    def __init__(self) -> None:
        self.data = bytearray()

    def numbers(self, *values: int) -> Out:
        for value in values:
            self.data += value.to_bytes(4, "little")
        return self

    def row(self, values: Iterable[int]) -> Out:
        """Numbers with how many they are in front."""
        made = list(values)
        return self.numbers(len(made), *made)

    def apart(self, data: bytes) -> Out:
        self.numbers(len(data))
        self.data += data
        return self


# ==== Ids that come in parts ====


class Begun(NamedTuple):
    """A place between two ids of a text, in front of which are: bytes; and ids that what follows depends on, from the
    first one on while there are no bytes."""

    has_bytes: bool = False
    ids: Sequence[int] = ()


def bytes_behind(encoding: Any, place: Begun, ids: Any) -> tuple[bytes, Begun]:
    """(the bytes of a text that the next ids add, the place behind them). Those of all parts and last_bytes() are
    decode_bytes() of all ids. ids: an array. KeyError: an unknown id."""
    decoder = encoding._rule_decoder
    if decoder is None:
        return encoding._bytes_of(ids), place
    known = [*place.ids, *ids.tolist()]
    data: bytes = decoder.core.bytes_of(encoding._decoder, known, False, place.has_bytes, False)
    if place.has_bytes:
        data = data[len(decoder.core.bytes_of(encoding._decoder, place.ids, False, True, False)) :]
    has_bytes = place.has_bytes or bool(data)
    return data, Begun(has_bytes, known[len(known) - decoder.looks_back :] if has_bytes else known)


def last_bytes(encoding: Any, place: Begun) -> bytes:
    """What the end of a text adds to the bytes of its parts."""
    decoder = encoding._rule_decoder
    if decoder is None:
        return b""
    bytes_of = decoder.core.bytes_of
    whole: bytes = bytes_of(encoding._decoder, place.ids, False, place.has_bytes)
    return whole[len(bytes_of(encoding._decoder, place.ids, False, place.has_bytes, False)) :]
