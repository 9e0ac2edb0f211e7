"""The user's cache folder. Everything in it may be missing, or gone at any time, and is written as a whole or not at
all."""

from __future__ import annotations

import contextlib
import os
import sys
import time

STALE = 60.0
"""Seconds after which a lock, or a file that somebody was writing, belongs to a process that was killed: what is kept
here takes a second to make."""

DAY = 86_400.0
UNUSED = 30 * DAY
"""Seconds after which a file that nobody has opened is taken for one that nobody needs."""


def folder() -> str:
    """The folder; STREAMTOK_CACHE names another. Raises FileNotFoundError where the user has none."""
    if own := os.environ.get("STREAMTOK_CACHE"):
        return os.path.abspath(own)
    base = os.environ.get("LOCALAPPDATA" if os.name == "nt" else "XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        usual = "Library/Caches" if sys.platform == "darwin" else ".cache"
        base = os.path.join(os.path.expanduser("~"), usual)
    if not os.path.isabs(base):
        raise FileNotFoundError("the user has no home folder, and STREAMTOK_CACHE names no other")
    return os.path.join(base, "streamtok")


def remove(path: str) -> None:
    """Removes a file if possible."""
    with contextlib.suppress(OSError):
        os.unlink(path)


def is_stale(path: str) -> bool:
    """Whether the file is older than any work on it takes."""
    return _age(path) > STALE


def is_unused(path: str) -> bool:
    """Whether the file was not used for a long time."""
    return _age(path) > UNUSED


def note_use(path: str) -> None:
    """Sets the time of the file, to a day, to its last use."""
    if _age(path) > DAY:
        with contextlib.suppress(OSError):
            os.utime(path)


def _age(path: str) -> float:
    """Seconds since it was written, or noted as used. A clock that was set back counts as time, too."""
    try:
        return abs(time.time() - os.stat(path).st_mtime)
    except OSError:
        return 0.0


def take_lock(path: str) -> bool:
    """Makes the file, which then says that a process works at something; False where another one does. To be removed by
    who made it. Only work is spared: what two processes do at once must be right all the same. Raises OSError where no
    file can be made."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    for _ in range(2):
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            return True
        except FileExistsError:
            if not is_stale(path):
                return False
            remove(path)
    return False
