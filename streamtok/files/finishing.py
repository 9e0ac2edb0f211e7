"""The end of a run: the finished files are made of the unfinished ones, in an order that a crash may cut anywhere.

Files beside the output get their names first, then the output gets its own. All that is done before can be done again
with the same result, so a run that was killed here is resumed here.
"""

from __future__ import annotations

import errno
import filecmp
import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import disk
from .growing import EndsFile

# Ids that are read at a time, if the next document is not longer: what is read is still in the cache of the core when
# it is written. 2**16 to 2**18 take the same time, 2**20 takes 1.7 times as long.
_ROWS_AT_ONCE = 1 << 18


def side_files(target: str, sides: list[str]) -> list[str]:
    """The finished and unfinished files beside an output, and what a format of rows makes before it is renamed."""
    return [*sides, *(f"{side}.partial" for side in sides), built_at(target)]


def built_at(target: str) -> str:
    """Where the output of a format of rows is made."""
    return f"{target}.partial.out"


def write_side(path: str, target: str, write: Callable[[disk.File], object]) -> None:
    """write(file), then put the file in the place of `path`, as readable as the target is."""
    partial = f"{path}.partial"
    with disk.open_own(partial, target) as file:
        file.truncate(0)
        write(file)
        file.sync()
        disk.check_whole(file, file.written)
        if os.name == "nt":
            file.close()  # an open file cannot be renamed there
        disk.rename(partial, path)
    disk.sync_directory(path)


def rows(
    file: disk.File, offset: int, dtype: np.dtype[Any], ends: EndsFile
) -> Iterator[tuple[np.ndarray[Any, Any], np.ndarray[Any, np.dtype[np.int64]]]]:
    """Documents of an unfinished file, some at a time: their ids, which begin at byte `offset` of the file, and behind
    how many of these each ends."""
    begin = 0
    for block in ends.blocks():
        places, at = block.astype(np.int64), 0
        while at < len(places):
            following = max(int(np.searchsorted(places, begin + _ROWS_AT_ONCE, "right")), at + 1)
            end = int(places[following - 1])
            file.seek(offset + begin * dtype.itemsize)
            data = file.read_all((end - begin) * dtype.itemsize)
            yield np.frombuffer(data, dtype), places[at:following] - begin
            at, begin = following, end


def put_in_place(built: str, target: str) -> None:
    """Give what was built the name of the target.

    Raises FileExistsError where that is a folder that holds something else.
    """
    if not os.path.isdir(built):
        disk.rename(built, target)
    elif os.path.isdir(target) and os.listdir(target):
        if not _is_same(built, target):
            raise taken(target)
        remove_built(built)  # the run that renamed it was killed behind that
    else:
        if os.path.isdir(target):
            os.rmdir(target)
        disk.rename(built, target)
    disk.sync_directory(target)


def taken(folder: str) -> FileExistsError:
    """The error for an output that is a folder with other files in it."""
    return FileExistsError(errno.EEXIST, "this folder is not empty; remove it, or name another output", folder)


def _is_same(one: str, other: str) -> bool:
    names = sorted(os.listdir(one))
    if names != sorted(os.listdir(other)):
        return False
    return filecmp.cmpfiles(one, other, names, shallow=False)[0] == names


def remove_built(path: str) -> None:
    """Remove what was built, whole or in part; where there is nothing, do nothing."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        disk.remove(path)
