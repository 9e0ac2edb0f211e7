"""The one exception class of our own. Everything else raises Python's built-in exceptions."""

from __future__ import annotations

import os


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
        # All three as args: that is what pickle and copy call the class with.
        super().__init__(reason, self.path, line)

    def __str__(self) -> str:
        place = self.path
        if self.line is not None:
            place = f"line {self.line}" if place is None else f"{place}, line {self.line}"
        return self.reason if place is None else f"{place}: {self.reason}"


def disallowed_special_error(name: str, offset: int | None = None) -> ValueError:
    """What encoding raises when it meets the text of a disallowed special token; tiktoken's words.

    Args:
        name: the special token's text.
        offset: in a stream, the byte offset of the name since the text began.
    """
    message = (
        f"Encountered text corresponding to disallowed special token {name!r}.\n"
        "If you want this text to be encoded as a special token, "
        f"pass it to `allowed_special`, e.g. `allowed_special={{{name!r}, ...}}`.\n"
        f"If you want this text to be encoded as normal text, disable the check for this token "
        f"by passing `disallowed_special=(enc.special_tokens_set - {{{name!r}}})`.\n"
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


def not_a_str_error(text: object) -> TypeError:
    """What those calls raise that take a str alone."""
    return TypeError(f"expected str, got {type(text).__name__}; for UTF-8 bytes use encode_to_numpy or stream_encoder")


def stream_busy_error() -> RuntimeError:
    return RuntimeError(
        "this stream is being used by another thread; a stream belongs to one thread at a time: "
        "give each thread its own stream_encoder(), or hold a lock around each call"
    )
