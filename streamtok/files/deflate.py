"""Reading .gz: the zlib-ng package, which unpacks twice as fast, where it is installed, else Python's own zlib."""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Callable
from typing import Any


def gzip_members() -> tuple[Callable[[], Any], type[Exception]]:
    """What makes a decompressor for one gzip member, with the methods of lzma.LZMADecompressor, and its error.

    Both modules give the same text, and take and refuse the same bytes.
    """
    module: Any = zlib
    with contextlib.suppress(ImportError):
        from zlib_ng import zlib_ng as module
    return lambda: _Member(module), module.error


class _Member:
    """A gzip member through decompressobj."""

    def __init__(self, module: Any) -> None:
        self._object = module.decompressobj(wbits=16 + zlib.MAX_WBITS)
        self._is_full = False  # the last call gave all it was asked for: there may be more

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Text of the member, max_length bytes at most; it may be none yet."""
        text: bytes = self._object.decompress(self._object.unconsumed_tail + data, max_length)
        self._is_full = len(text) == max_length
        return text

    @property
    def needs_input(self) -> bool:
        """Whether all bytes that were given are unpacked."""
        return not self._is_full and not self._object.unconsumed_tail

    @property
    def eof(self) -> bool:
        """Whether the member has ended."""
        return bool(self._object.eof)

    @property
    def unused_data(self) -> bytes:
        """What was given and lies behind the end of the member."""
        return bytes(self._object.unused_data)
