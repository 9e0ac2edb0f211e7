"""The exception classes of our own, and how messages quote values. Everything else raises built-in exceptions."""

from __future__ import annotations

import functools
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn, TypeVar

    _Function = TypeVar("_Function", bound=Callable[..., Any])
    _Error = TypeVar("_Error", bound=BaseException)

QUOTED = 200
"""Characters of one value that a message quotes at most. The names and texts that people mix up are shorter; a whole
document, given by mistake for a name, would hide what the message says."""

_LONGEST_INT = 640  # bits, which fit in 200 digits


def shown(value: object) -> str:
    """repr() for messages: of a str or bytes the first 200 characters, of anything else the first 200 of its repr."""
    if isinstance(value, (str, bytes, bytearray)):
        return repr(value) if len(value) <= QUOTED else f"{value[:QUOTED]!r}..."
    if isinstance(value, int) and value.bit_length() > _LONGEST_INT:
        return f"an int of {value.bit_length()} bits"
    try:
        text = _brief().repr(value)
    except Exception:  # a __repr__ that fails must not hide the error that the message is about
        text = f"an object of type {type(value).__name__}"
    return text if len(text) <= QUOTED else f"{text[:QUOTED]}..."


def _brief() -> Any:
    """A repr that writes only the beginning of a large collection."""
    import reprlib

    brief = reprlib.Repr()
    brief.maxstring = brief.maxother = QUOTED
    brief.maxlist = brief.maxtuple = brief.maxset = brief.maxfrozenset = brief.maxdict = brief.maxarray = 20
    return brief


def shortened(text: str) -> str:
    """A name or a path for messages, as it is: both of its ends where it has more than 200 characters."""
    return text if len(text) <= QUOTED else f"{text[: QUOTED // 2]}...{text[-QUOTED // 2 :]}"


def short_file_names(function: _Function) -> _Function:
    """The function, in whose OSErrors the file name is cut as shortened() does: the message would quote all of it, and
    text that was given for a path can be long."""

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except OSError as error:
            if isinstance(error.filename, (str, bytes)):
                error.filename = shortened(os.fsdecode(error.filename))
            raise

    return call  # type: ignore[return-value]


def warn_user(text: str, category: type[Warning] = UserWarning) -> None:
    """Warns with the line that called into this package as its place."""
    import warnings

    ours = __name__.partition(".")[0]
    level, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] == ours:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)


class VocabularyError(ValueError):
    """A vocabulary that cannot be used: a broken file, or ranks that contradict themselves.

    Args:
        reason: what was seen, why it is refused, and what to write instead.
        path: the file it was read from, None for a dictionary.
        line: the line of that file, counted from 1, None where no single line is to blame.

    The three are kept as attributes, so that a program can point at the place; str() joins them as
    "path, line 7: reason".
    """

    def __init__(self, reason: str, path: str | os.PathLike[str] | None = None, line: int | None = None) -> None:
        self.reason = reason
        self.path = None if path is None else os.fspath(path)
        self.line = line
        # All three as args: pickle and copy call the class with them.
        super().__init__(reason, self.path, line)

    def __str__(self) -> str:
        place = None if self.path is None else shortened(self.path)
        if self.line is not None:
            place = f"line {self.line}" if place is None else f"{place}, line {self.line}"
        return self.reason if place is None else f"{place}: {self.reason}"


class ChatTemplateError(ValueError):
    """A chat template that is wrong, that refuses a conversation, or whose text cannot be traced back to messages.

    Args:
        reason: what was seen, why it is refused, and what to write instead.
        line: the line of the template, counted from 1, None where no single line is to blame.
    """

    def __init__(self, reason: str, line: int | None = None) -> None:
        self.reason = reason
        self.line = line
        super().__init__(reason, line)

    def __str__(self) -> str:
        return (
            f"chat template: {self.reason}" if self.line is None else f"chat template, line {self.line}: {self.reason}"
        )


def disallowed_special_error(name: str, offset: int | None = None) -> ValueError:
    """What encoding raises when it meets the text of a disallowed special token; tiktoken's words.

    Args:
        name: the special token's text.
        offset: in a stream, the byte offset of the name since the text began.
    """
    quoted = shown(name)
    message = (
        f"Encountered text corresponding to disallowed special token {quoted}.\n"
        "If you want this text to be encoded as a special token, "
        f"pass it to `allowed_special`, e.g. `allowed_special={{{quoted}, ...}}`.\n"
        f"If you want this text to be encoded as normal text, disable the check for this token "
        f"by passing `disallowed_special=(enc.special_tokens_set - {{{quoted}}})`.\n"
        "To disable this check for all special tokens, pass `disallowed_special=()`.\n"
    )
    if offset is not None:
        message += f"It begins at byte {offset} of the stream, which is as it was before this feed.\n"
    return ValueError(message)


def invalid_utf8_error(data: bytes, start: int, end: int, reason: str, offset: int | None = None) -> UnicodeDecodeError:
    """What errors="strict" raises; in a stream the reason also names the byte offset since the text began."""
    if offset is not None:
        reason += f" at byte {offset} of the stream"
    return UnicodeDecodeError("utf-8", data, start, end, reason)


def located_utf8_error(error: UnicodeDecodeError, where: str) -> UnicodeDecodeError:
    """The error of text in a file, with the place and what to do about it."""
    return UnicodeDecodeError(
        error.encoding, error.object, error.start, error.end, f"{error.reason} ({where}; {_utf8_advice(error)})"
    )


def _utf8_advice(error: UnicodeDecodeError) -> str:
    """What to do, judged by the bytes around the first wrong one."""
    data, at = error.object, error.start
    around = data[max(at - QUOTED, 0) : at + QUOTED]
    if data[at : at + 4] == b"\xff\xfe\0\0" or data[max(at - 2, 0) : at + 2] == b"\0\0\xfe\xff":
        return "it looks like UTF-32: iconv -f UTF-32 -t UTF-8 converts it"
    if data[at : at + 2] in (b"\xff\xfe", b"\xfe\xff") or around.count(0) * 8 > len(around):
        return "it looks like UTF-16: iconv -f UTF-16 -t UTF-8 converts it"
    advice = "errors='replace' puts U+FFFD in the place of such bytes"
    if data[at : at + 1] >= b"\x80" and all(each < 0x80 for each in data[max(at - 1, 0) : at] + data[at + 1 : at + 2]):
        advice += "; a single one may be a letter of Latin-1: iconv -f LATIN1 -t UTF-8 converts it"
    return advice


def changed_text_error(is_utf8: bool) -> ValueError:
    """What a batch raises for a text that was refused, and is none to refuse when the whole of it is looked at again.

    Args:
        is_utf8: whether what was read was valid UTF-8.
    """
    reason = "another thread changed the text while it was encoded: wait for the call before you write to it"
    return ValueError(reason) if is_utf8 else UnicodeDecodeError("utf-8", b"", 0, 0, reason)


def at_row(error: _Error, row: int) -> _Error:
    """The error of one row of a batch, which counts from 0; of a part of one, whose first row this is, that of a row of
    the part. raise_of_row() names it."""
    inner = getattr(error, "row", 0)
    if inner is not None:  # what a signal handler raised has None
        error.row = row + inner  # type: ignore[attr-defined]
    return error


_OF_A_ROW = (ValueError, TypeError, KeyError, OverflowError, BufferError, TimeoutError)


def raise_of_row(error: Exception, what: str, noted: bool = False) -> NoReturn:
    """Raises the error of a batch. That of one row has its number in the message, and as the attribute `row`.

    Args:
        error: as at_row() gives it, or any other.
        what: what a row is called, "text" say.
        noted: the message stays as it is, because tiktoken has it. The number is in a note, which Python 3.11 and later
            show below the message."""
    row = getattr(error, "row", None)
    if row is None:
        raise error
    if noted:
        notes, note = getattr(error, "__notes__", []), f"This is {what} {row}."
        error.__notes__ = notes if note in notes else [*notes, note]  # type: ignore[attr-defined]
        raise error
    if isinstance(error, UnicodeDecodeError):
        error.reason = f"{error.reason} ({what} {row})"
    elif type(error) in _OF_A_ROW and len(error.args) == 1 and isinstance(error.args[0], str):
        message = error.args[0]
        is_no_text = isinstance(error, TypeError) and what == "text"
        where = f" at index {row}" if is_no_text else f" ({what} {row})"
        error.args = (f"{message}It stands in {what} {row}.\n" if message.endswith("\n") else message + where,)
    raise error


def unknown_handler_error(errors: str) -> LookupError:
    """What Python raises for a name that is no mode of bytes.decode(); its own message quotes all of the name."""
    return LookupError(f"unknown error handler name {shown(errors)}")


def pattern_timeout_error(pat_str: str, seconds: float, characters: int) -> TimeoutError:
    """What a split raises that exceeds its time.

    Args:
        pat_str: the pattern; the message quotes 200 characters of it at most.
        seconds: what it was given.
        characters: of the text.
    """
    return TimeoutError(
        f"pat_str took more than {seconds:g} seconds for {characters} characters, so it seems to backtrack without end "
        "on this text; write it so that a repetition can match the same text in one way only, as a+ for (?:a|aa)+, or "
        f"give the Encoding more pattern_seconds: {shown(pat_str)}"
    )


def not_a_str_error(text: object) -> TypeError:
    """What calls raise that take only a str."""
    return TypeError(f"expected str, got {type(text).__name__}; for UTF-8 bytes use encode_to_numpy or stream_encoder")


def stream_busy_error() -> RuntimeError:
    return RuntimeError(
        "this stream is being used by another thread; a stream belongs to one thread at a time: "
        "give each thread its own stream_encoder(), or hold a lock around each call"
    )


def learner_busy_error(kind: str) -> RuntimeError:
    return RuntimeError(
        f"this {kind} is being used by another thread, and belongs to one thread at a time: give each thread its own"
    )
