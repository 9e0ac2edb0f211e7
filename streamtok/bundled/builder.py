"""Building the tables with all frequent words in the user's cache folder (mapped.py): once a machine, by one process
at a time, aside from what the program does, and never an error to it."""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import time

from .. import disk
from ..disk import cache_folder
from . import mapped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

BUILD_AFTER = 64 << 20
"""Bytes that a process encodes with a vocabulary before it builds. A build takes 0.5 to 0.7 s of one core, 64 MB of
text take 0.3 to 0.9 s: whoever goes on for as long again has lost little, and a program that is soon done never begins.
Later processes are spared some percent of their time, so the tables have paid after a few gigabytes."""

ROOM = 96 << 20
"""Free bytes that the disk must have: twice the largest file."""

_begun: set[str] = set()
# Tables under way -> the process that builds them: a forked child has the variable, but not the thread.
_locks: dict[str, int] = {}

_ending = False  # the interpreter


def watch(vocab: Any, name: str) -> None:
    """Lets a Vocab of that bundled vocabulary have its tables built once it has encoded BUILD_AFTER, if it is not over
    them."""
    if mapped.choice() == "all" and not mapped.is_cached(vocab):
        vocab.call_after(BUILD_AFTER, functools.partial(build_aside, name))


def build_aside(name: str) -> None:
    """Builds on a thread of its own, which nobody waits for. At most once a process and vocabulary."""
    import _thread
    import lzma  # noqa: F401 - both here, not on the thread: in a fork an import that was under way would never end
    import shutil  # noqa: F401

    if name in _begun:
        return
    _begun.add(name)
    atexit.register(_tidy)
    # Nothing can be written there, or no more threads: a limit of the system, or the interpreter is ending. The lock is
    # taken here, not on the thread, which could end before it says that it has it.
    with contextlib.suppress(OSError, RuntimeError):
        path = mapped.cached_file(name)
        if _take(path):
            _thread.start_new_thread(_build_quietly, (name, path))


def _build_quietly(name: str, path: str) -> None:
    with contextlib.suppress(Exception):
        _build_locked(name, path)


def _take(path: str) -> bool:
    taken = cache_folder.take_lock(lock_of(path))
    if taken:
        _locks[path] = os.getpid()
    return taken


def _tidy() -> None:
    """The thread ends with the process, wherever it is: what it leaves behind would hold up others until it is
    stale."""
    global _ending
    _ending = True
    for path, process in list(_locks.items()):
        if process == os.getpid():
            if path in disk.unfinished:
                cache_folder.remove(disk.unfinished[path])
            cache_folder.remove(lock_of(path))


def lock_of(path: str) -> str:
    """The file that is there while a process builds the tables `path`."""
    return f"{path}.lock"


def build(name: str, patience: float = cache_folder.STALE) -> str | None:
    """Builds the tables of a bundled vocabulary unless good ones are there, and returns their path; None where another
    process was at it for longer than `patience`, in seconds. Removes those of other versions that nobody uses any more.

    Raises:
        OSError: they cannot be written.
        VocabularyError: the package is damaged.
    """
    path = mapped.cached_file(name)
    until = time.monotonic() + patience
    while mapped.open_cached(name, {}) is None:
        if _take(path):
            return _build_locked(name, path)
        if time.monotonic() >= until:
            return None
        time.sleep(0.05)
    return path


def _build_locked(name: str, path: str) -> str | None:
    import shutil

    try:
        if mapped.open_cached(name, {}) is not None:
            return path
        if shutil.disk_usage(os.path.dirname(path)).free < ROOM:
            raise OSError(f"less than {ROOM >> 20} MB are free for the tables in {os.path.dirname(path)}")
        vocab = mapped.build_all_words(name)
        if _ending:
            return None
        mapped.write_cached(name, vocab)
        _remove_unused(name, path)
        return path
    finally:
        _locks.pop(path, None)
        cache_folder.remove(lock_of(path))


def _remove_unused(name: str, path: str) -> None:
    """All that is there of a vocabulary, but for `path`, and for tables that another version of streamtok uses."""
    for other in done_with(name):
        if other != path and (not other.endswith(".tables") or cache_folder.is_unused(other)):
            cache_folder.remove(other)


def done_with(name: str) -> list[str]:
    """The user's files that belong to a bundled vocabulary and that nobody writes: tables of any version, and what
    killed processes left behind."""
    folder = mapped.tables_folder()
    try:
        found = [os.path.join(folder, file) for file in sorted(os.listdir(folder)) if file.startswith(f"{name}-")]
    except FileNotFoundError:
        return []
    return [path for path in found if path.endswith(".tables") or cache_folder.is_stale(path)]
