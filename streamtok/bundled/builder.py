"""Building the tables with all frequent words in the user's cache folder (mapped.py): when the user asks for it, once a
machine, by one process at a time."""

from __future__ import annotations

import os
import time

from ..disk import cache_folder
from . import mapped

ROOM = 96 << 20
"""Free bytes that the disk must have: twice the largest file."""


def lock_of(path: str) -> str:
    """The lock file that exists while a process builds the tables `path`."""
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
        if cache_folder.take_lock(lock_of(path)):
            return _build_locked(name, path)
        if time.monotonic() >= until:
            return None
        time.sleep(0.05)
    return path


def _build_locked(name: str, path: str) -> str:
    import shutil

    try:
        if mapped.open_cached(name, {}) is not None:
            return path
        if shutil.disk_usage(os.path.dirname(path)).free < ROOM:
            raise OSError(f"less than {ROOM >> 20} MB are free for the tables in {os.path.dirname(path)}")
        vocab = mapped.build_all_words(name)
        mapped.write_cached(name, vocab)
        _remove_unused(name, path)
        return path
    finally:
        cache_folder.remove(lock_of(path))


def _remove_unused(name: str, path: str) -> None:
    """The files of a vocabulary that can be removed: not `path`, nor tables that another version of streamtok uses."""
    for other in done_with(name):
        if other != path and (not other.endswith(".tables") or cache_folder.is_unused(other)):
            cache_folder.remove(other)


def done_with(name: str) -> list[str]:
    """The user's files that belong to a bundled vocabulary and that nobody writes: tables of any version, and what
    killed processes left behind."""
    folder = mapped.tables_folder()
    try:
        found = [os.path.join(folder, file) for file in sorted(os.listdir(folder)) if file.startswith(f"{name}-")]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [path for path in found if path.endswith(".tables") or cache_folder.is_stale(path)]
