"""Which files a name stands for: a glob those that fit it, a folder those of text in it."""

from __future__ import annotations

import errno
import glob
import os

from .remote import is_url
from .suffixes import holds_text


def matching(name: str, base: str = "") -> list[str]:
    """The files that a glob stands for, sorted; the name itself where it is none, is a URL, or names a file. base: the
    folder that relative names start at, as the result's do."""
    if is_url(name) or not glob.has_magic(name) or os.path.exists(os.path.join(base, name)):
        return [name]
    return _found(name, base)


def files_named(name: str, base: str = "") -> list[str]:
    """As matching(); and a folder stands for the files in it and in the folders inside, without those that begin with
    a dot and those whose suffix says that they hold no text.

    Raises FileNotFoundError where a glob fits no file, or a folder has none.
    """
    if not is_url(name) and os.path.isdir(os.path.join(base, name)):
        found = [each for each in _found(os.path.join(glob.escape(name), "**", "*"), base) if holds_text(each)]
        reason = "the folder has no file that holds text"
    else:
        found, reason = matching(name, base), "no file matches this pattern"
        if found == [name]:
            return found
    found = [each for each in found if os.path.isfile(os.path.join(base, each))]
    if not found:
        raise FileNotFoundError(errno.ENOENT, reason, name)
    return found


def _found(pattern: str, base: str) -> list[str]:
    root = base if base and not os.path.isabs(pattern) else None
    found = glob.glob(pattern, root_dir=root, recursive=True)
    return sorted(each for each in found if not os.path.isdir(os.path.join(base, each)))
