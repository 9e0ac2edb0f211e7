"""Makes the n-th system call of one kind that the package makes fail, for each n."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import Any

import pytest

from streamtok import disk
from streamtok.bundled import mapped

CALLS: dict[str, Any] = {
    name: disk
    for name in (
        "os_open",
        "os_read",
        "os_readv",
        "os_write",
        "os_fsync",
        "os_ftruncate",
        "os_close",
        "os_replace",
        "os_unlink",
    )
    if getattr(disk, name) is not None
} | {"os_mmap": mapped}


class Fault:
    """Replaces a function by one whose call number `index` fails. A close that fails has still closed the file."""

    def __init__(self, patch: pytest.MonkeyPatch, name: str, index: int, code: int = errno.EIO) -> None:
        self.hit, self._left = False, index
        original = getattr(CALLS[name], name)

        def call(*arguments: Any, **named: Any) -> Any:
            self._left -= 1
            if self._left != -1:
                return original(*arguments, **named)
            self.hit = True
            if name == "os_close":
                original(*arguments)
            raise OSError(code, os.strerror(code))

        patch.setattr(CALLS[name], name, call)


def each_fault(
    name: str,
    work: Callable[[], object],
    after: Callable[[OSError | None], object],
    step: int = 1,
    code: int = errno.EIO,
) -> int:
    """Does the work once for each call, or for every `step`-th, with that call failing; then calls after(error), where
    None stands for no error. Returns about how many calls there are."""
    index = 0
    while True:
        error = None
        with pytest.MonkeyPatch.context() as patch:
            fault = Fault(patch, name, index, code)
            try:
                work()
            except OSError as caught:
                error = caught
        if not fault.hit:
            assert error is None
            return index
        if error is not None:
            assert error.errno == code and error.filename and os.fspath(error.filename) in str(error), error
        after(error)
        index += step


SEAM = ("os_open", "os_write", "os_fsync", "os_ftruncate", "os_replace", "os_unlink")
"""The calls that change what is on the disk."""


class Crash(BaseException):
    """Stands for the end of the process: no handler of the package may catch it."""


def crashed(work: Callable[[], object], index: int | None = None, side: str = "before") -> tuple[bool, int]:
    """Does the work up to the call `index` of SEAM, where the process ends, before or after that call. Returns whether
    it did, and how many calls there were."""
    calls = 0

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            nonlocal calls
            ends = calls == index
            calls += 1
            if ends and side == "before":
                raise Crash
            try:
                return original(*arguments)
            finally:
                if ends:
                    raise Crash

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in SEAM:
            patch.setattr(disk, name, wrap(getattr(disk, name)))
        try:
            work()
        except Crash:
            return True, calls
    return False, calls
