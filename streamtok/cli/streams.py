"""The standard streams of the command: some may be closed, and what leaves through them may meet a full disk."""

from __future__ import annotations

import errno
import io
import os
import sys
from typing import Any


class _Closed(io.RawIOBase):
    """Stands for a stream that was closed before the command began: whoever uses it gets the system's error."""

    def __init__(self, name: str) -> None:
        self.name = name  # what messages call it

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def _refuse(self, *_: Any) -> Any:
        raise OSError(errno.EBADF, "the stream is closed", self.name)

    read = readinto = write = _refuse


def open_missing() -> None:
    """Put something in the place of standard streams that are closed, which are None in Python."""
    if sys.stdin is None:
        sys.stdin = io.TextIOWrapper(io.BufferedReader(_Closed("standard input")))
    if sys.stdout is None:
        closed: Any = _Closed("standard output")  # unbuffered, so that nothing can fail at exit
        sys.stdout = io.TextIOWrapper(closed, write_through=True)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")


def any_text_is_printable() -> None:
    """Names and texts need not be in the terminal's character set."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def silence_stdout() -> None:
    """Send what is still buffered nowhere: Python would report a second failure when it flushes at exit."""
    try:
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)
    except (OSError, ValueError):
        pass  # standard output is no file, as in a test
