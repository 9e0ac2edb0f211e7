"""Which files a name stands for: a glob those that fit it, a folder those of text in it."""

from __future__ import annotations

import errno
import glob
import os

from .remote import is_url
from .suffixes import holds_text


def files_named(name: str, base: str = "") -> list[str]:
    """The files, sorted; a URL, a file and a name without a file stand for themselves.

    Of a folder they are the files in it and in the folders inside, without those that begin with a dot and those whose
    suffix says that they hold no text. base: the folder that relative names start at, as the result's do.

    Raises FileNotFoundError where a glob fits no file, or a folder has none.
    """
    path = os.path.join(base, name)
    if is_url(name) or not (os.path.isdir(path) or (glob.has_magic(name) and not os.path.lexists(path))):
        return [name]
    if os.path.isdir(path):
        pattern, reason = os.path.join(glob.escape(name), "**", "*"), "the folder has no file that holds text"
    else:
        pattern, reason = name, "no file matches this pattern"
    root = base if base and not os.path.isabs(name) else None
    found = sorted(each for each in glob.glob(pattern, root_dir=root, recursive=True) if _is_meant(each, base, name))
    if not found:
        raise FileNotFoundError(errno.ENOENT, reason, name)
    return found


def _is_meant(each: str, base: str, name: str) -> bool:
    return os.path.isfile(os.path.join(base, each)) and (glob.has_magic(name) or holds_text(each))
