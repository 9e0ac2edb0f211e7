"""JSON lines: the string at a key of the object on a line.

A long line is not held more than once. Its long strings, the text among them, are left out of what Python's parser
gets, and are read piece by piece; all else of the line goes through the parser as it stands.
"""

from __future__ import annotations

import codecs
import contextlib
import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .._offsets import border_before
from ..errors import shown

# Twice as fast as the standard library's parser, which decides about each line that this one refuses. It also takes
# some that the other refuses: nested up to 1,024 deep, numbers of more digits than sys.get_int_max_str_digits().
_quick: Callable[[bytes], Any] | None = None
with contextlib.suppress(ImportError):
    import orjson

    _quick = orjson.loads

LONG = 1 << 20
"""Bytes of a line from which it is read by `pieces_at`. A line that is parsed whole takes up to ten times its size: one
character beyond the basic plane makes four bytes of each."""

BLANK: Any = object()
"""In the place of what a blank line holds."""

_LONG_STRING = 64 << 10  # bytes of a string that is left out for the parser
_PIECE = 1 << 20  # bytes of a long string that are unescaped at once; more than _cut may step back, 15
_BLOCK = 4096  # bytes looked through at once for backslashes
_MARK = "\ufeff"  # a byte order mark in front of the first line is no JSON


def text_at(key: str, line: str) -> str:
    """The string at `key` of the JSON object that a line holds. Raises ValueError, saying what is there instead."""
    return text_in(key, record_at(line))


def record_at(line: str) -> Any:
    """The JSON that a line holds. Raises ValueError."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _no_json(str(error)) from None


def text_in(key: str, record: Any) -> str:
    """The string at `key` of a JSON object. Raises ValueError, saying what is there instead."""
    text: str = _value_at(key, record)
    return text


def text_of_line(key: str, line: bytes, errors: str, *, is_first: bool = False) -> str | None:
    """text_at() of the bytes of a line; None for a blank line. is_first: a byte order mark may begin it."""
    if _quick is not None:
        try:
            found = _quick(line)[key]
        except (ValueError, TypeError, LookupError, RecursionError):
            pass  # the parser below reads more than this one does, and says what is wrong
        else:
            if type(found) is str:
                return found
    text = _line_of(line, errors, is_first)
    return text_at(key, text) if text.strip() else None


def record_of_line(line: bytes, errors: str, *, is_first: bool = False) -> Any:
    """record_at() of the bytes of a line; BLANK for a blank line."""
    text = _line_of(line, errors, is_first)
    return record_at(text) if text.strip() else BLANK


def _line_of(line: bytes, errors: str, is_first: bool) -> str:
    text = line.decode("utf-8", errors)
    return text.removeprefix(_MARK) if is_first else text


def _no_json(reason: str) -> ValueError:
    return ValueError(f"not a JSON object ({reason}); mend the line, or read it with documents='lines'")


def _value_at(key: str, record: Any) -> Any:
    """The str or _Range at `key`."""
    if not isinstance(record, dict):
        raise ValueError(f"the line holds a JSON {type(record).__name__}, an object with {shown(key)} is needed")
    if key not in record:
        raise ValueError(f"the object has no {shown(key)}, its keys are {shown(list(record))}; name one with key=")
    value = record[key]
    if not isinstance(value, (str, _Range)):
        raise ValueError(f"the value of {shown(key)} is {shown(value)}, a string is needed")
    return value


class Lines:
    r"""Cuts chunks into lines, each without the "\n" that ends it. No more is held than the line that has not ended."""

    def __init__(self) -> None:
        self._held: list[bytes] = []

    def feed(self, chunk: bytes) -> tuple[list[bytes], list[bytes], int] | None:
        """The first line that ends in the chunk, in the pieces that it came in; the other lines that end in it; and how
        many bytes these lines have together, with what ends them. None where no line ends."""
        head, *whole = chunk.split(b"\n")
        self._held.append(head)
        if not whole:
            return None
        first, rest = self._held, whole.pop()
        self._held = [rest]
        return first, whole, sum(map(len, first)) + len(chunk) - len(head) - len(rest)

    def end(self) -> list[bytes]:
        """What stands behind the last line that ended, in the pieces that it came in; b"" are left out."""
        rest, self._held = self._held, []
        return [piece for piece in rest if piece]


# ==== Long lines ====


class _Range(NamedTuple):
    """Where a long string lies in its line, without the quotes."""

    begin: int
    end: int

    def __repr__(self) -> str:
        return "'...'"


def pieces_at(
    key: str, parts: list[bytes], errors: str, *, is_first: bool = False, carried: dict[str, Any] | None = None
) -> Iterator[str] | None:
    """What text_at() returns, piece by piece; None for a blank line.

    Args:
        parts: the bytes of the line, in the pieces that they came in; the list is emptied, to free them.
        errors: what to do with bytes that are not UTF-8.
        is_first: a byte order mark may begin the line.
        carried: gets the values at these of its keys, before the first piece; they are held whole.

    Raises UnicodeDecodeError, and ValueError as text_at() does; also while the pieces are taken.
    """
    line, is_blank = _mended(parts, errors, is_first)
    return None if is_blank else _pieces_of_value(key, line, carried or {})


def _mended(parts: list[bytes], errors: str, is_first: bool) -> tuple[bytearray, bool]:
    """The line, which is UTF-8 now, and whether it is blank."""
    decoder = codecs.getincrementaldecoder("utf-8")(errors)
    line, is_blank = bytearray(), True
    parts.reverse()
    while parts:
        part = parts.pop()
        begun = decoder.getstate()[0]
        try:
            text = decoder.decode(part, not parts)
        except UnicodeDecodeError as error:
            before = bytes(line[: len(line) - len(begun)])
            start, end = len(before) + error.start, len(before) + error.end
            raise UnicodeDecodeError("utf-8", before + error.object, start, end, error.reason) from None
        line += part if errors == "strict" else text.encode()
        is_blank = is_blank and not (text.removeprefix(_MARK) if is_first else text).strip()
    if is_first and line.startswith(_MARK.encode()):
        del line[:3]
    return line, is_blank


def _pieces_of_value(key: str, line: bytearray, carried: dict[str, Any]) -> Iterator[str]:
    skeleton, constants, shifts = _skeleton(line)
    remaining = iter(constants)

    def constant(name: str) -> Any:
        found = next(remaining)
        return float(name) if found is None else found

    text = skeleton.decode()
    del skeleton
    try:
        record = json.loads(text, parse_constant=constant)
    except json.JSONDecodeError as error:
        at = len(text[: error.pos].encode())
        at += sum(size for place, size in shifts if place <= at)
        raise _no_json(f"{error.msg}: byte {at} of the line") from None
    except (ValueError, RecursionError) as error:
        raise _no_json(str(error)) from None
    text_itself = record.get(key) if isinstance(record, dict) else None
    for found in constants:
        if found is not None and found is not text_itself:
            for _ in _unescaped(line, found):
                pass  # to see that it is a string
    value = _value_at(key, record)
    for name in carried:
        carried[name] = _whole(line, record.get(name))
    if isinstance(value, str):
        yield value
    else:
        yield from _unescaped(line, value)


def _whole(line: bytearray, value: Any) -> Any:
    """A value of JSON with the long strings in it."""
    if isinstance(value, _Range):
        return "".join(_unescaped(line, value))
    if isinstance(value, list):
        return [_whole(line, each) for each in value]
    if isinstance(value, dict):
        return {name: _whole(line, each) for name, each in value.items()}
    return value


def _skeleton(line: bytearray) -> tuple[bytearray, list[_Range | None], list[tuple[int, int]]]:
    """The line with NaN in the place of each long string that is a value; for each constant (NaN, Infinity) in it the
    string that it stands for, None for one of the line's own; where bytes were left out: (place in the skeleton, how
    many)."""
    skeleton = bytearray()
    constants: list[_Range | None] = []
    shifts: list[tuple[int, int]] = []
    done = at = 0
    while (quote := line.find(b'"', at)) >= 0:
        constants += [None] * (line.count(b"NaN", at, quote) + line.count(b"Infinity", at, quote))
        end = _end_of_string(line, quote + 1)
        if end < 0:
            break
        if end - quote > _LONG_STRING and not _is_key(line, end + 1):
            skeleton += memoryview(line)[done:quote]
            skeleton += b"NaN"
            constants.append(_Range(quote + 1, end))
            shifts.append((len(skeleton), end + 1 - quote - 3))
            done = end + 1
        at = end + 1
    constants += [None] * (line.count(b"NaN", at) + line.count(b"Infinity", at))
    skeleton += memoryview(line)[done:]
    return skeleton, constants, shifts


def _end_of_string(line: bytearray, begin: int) -> int:
    """Where the quote is that ends the string whose first byte is at `begin`; -1 where there is none."""
    at = line.find(b'"', begin)
    while at >= 0 and _backslashes(line, begin, at) % 2:
        at = line.find(b'"', at + 1)
    return at


def _backslashes(line: bytearray, begin: int, end: int) -> int:
    """How many backslashes stand right in front of `end`, none before `begin` counted."""
    at = end
    while at > begin:
        block = line[max(begin, at - _BLOCK) : at]
        rest = len(block.rstrip(b"\\"))
        at -= len(block) - rest
        if rest:
            break
    return end - at


def _is_key(line: bytearray, at: int) -> bool:
    """Whether a colon follows, with only blanks before it."""
    while at < len(line) and line[at] in b" \t\n\r":
        at += 1
    return line.startswith(b":", at)


def _unescaped(line: bytearray, string: _Range) -> Iterator[str]:
    at, end = string
    while at < end:
        cut = end if end - at <= _PIECE else _cut(line, at, at + _PIECE)
        try:
            text: str = json.loads(f'"{line[at:cut].decode()}"')
        except ValueError as error:
            reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
            raise _no_json(f"{reason}: in the {cut - at} bytes from byte {at} of the line") from None
        yield text
        at = cut


def _cut(line: bytearray, begin: int, cut: int) -> int:
    """A place at `cut` or shortly before it, inside no character, no escape and no pair of escaped surrogates. An
    escape does not span `begin`."""
    cut = border_before(line, cut)
    for _ in range(2):  # out of an escape, and out of a pair: more are malformed, and refused wherever they are cut
        last = line.rfind(b"\\", max(begin, cut - 6), cut)
        if last < 0 or _backslashes(line, begin, last + 1) % 2 == 0:
            return cut
        end = last + (6 if line[last + 1] == ord("u") else 2)
        halves = end == cut and _half(line, last) in b"89ab" and _half(line, cut) in b"cdef"
        if end <= cut and not halves:
            return cut
        cut = last
    return cut


def _half(line: bytearray, at: int) -> bytes:
    """The digit that tells the two halves of a pair apart, in lower case, of the escape there; "-" where it is none."""
    escape = bytes(line[at : at + 4]).lower()
    return escape[3:] if escape[:3] == b"\\ud" and len(escape) == 4 else b"-"
