"""The check that a file to be written is not one that is read, for every function and command that writes."""

from __future__ import annotations

import os
from collections.abc import Iterable

from ..errors import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def check_apart(outputs: Iterable[str], sources: Iterable[tuple[str, str | int | None]]) -> None:
    """Raise ValueError, which names both, where a file that will be written is a source.

    outputs: all of them, with those that are there only while the work lasts. sources: (name, path or descriptor) each;
    None stands for what is no file. Two names are those of one file if they lead to it through links, if it has both of
    them, or if they are the same path once the links in it are followed, whether there is such a file yet or not.
    """
    read: dict[Any, str] = {}
    for name, where in sources:
        for key in () if where is None else _keys(where):
            read.setdefault(key, name)
    for output in outputs if read else ():
        for key in _keys(output):
            if key in read:
                raise ValueError(
                    f"this would write to {shown(output)}, which is the source {shown(read[key])} itself: "
                    "name another output"
                )


def files_of(target: str) -> tuple[str, str, str, str, str, str]:
    """The files written for an output: itself, its unfinished form, the journal, and of the unfinished form where
    documents end and the passthrough columns, these also under the name that earlier releases gave them."""
    partial = f"{target}.partial"
    return target, partial, f"{target}.journal", f"{partial}.ends", f"{partial}.passthrough", f"{partial}.carried"


def _keys(where: str | int) -> list[Any]:
    """What identifies a file: device and number where it exists, and its paths: that of the file, and that of the link
    itself, which a rename replaces. A file that does not exist yet has only paths."""
    keys: list[Any] = []
    try:
        found = os.stat(where)
    except (OSError, ValueError):  # it does not exist, or is no path
        pass
    else:
        if found.st_ino:
            keys.append((found.st_dev, found.st_ino))
    if isinstance(where, str):
        folder, name = os.path.split(where)
        keys.append(os.path.normcase(os.path.realpath(where)))
        keys.append(os.path.normcase(os.path.join(os.path.realpath(folder or "."), name)))
    return keys
