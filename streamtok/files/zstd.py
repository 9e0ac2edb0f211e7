"""Reading .zst: Python 3.14's own module where there is one, else the zstandard package."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def zstd_frames() -> tuple[Callable[[], Any], type[Exception]]:
    """What makes a decompressor for one frame, with the methods of lzma.LZMADecompressor, and the error it raises.

    Raises ImportError when neither module is installed.
    """
    try:
        from compression.zstd import ZstdDecompressor, ZstdError  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        pass
    else:
        return ZstdDecompressor, ZstdError
    try:
        import zstandard
    except ImportError:
        raise ImportError(
            "reading .zst files needs the zstandard package (or Python 3.14): pip install zstandard"
        ) from None
    context = zstandard.ZstdDecompressor()
    return lambda: _Frame(context), zstandard.ZstdError


class _Frame:
    """A frame through decompressobj: zstandard's stream_reader takes a cut file for a whole one.

    The package unpacks all it is given at once, and 4 compressed bytes may unpack to a block of 128 KiB: pieces of
    `_PIECE` bytes bound what a hostile file can make us hold to 32 MB. Larger ones were not faster.
    """

    _PIECE = 1 << 10

    def __init__(self, context: Any) -> None:
        self._frame = context.decompressobj()
        self._packed = memoryview(b"")  # given, not yet unpacked

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Some text of the frame. It may be more than max_length, by what one piece holds."""
        packed = memoryview(data) if data else self._packed
        piece, self._packed = packed[: self._PIECE], packed[self._PIECE :]
        text: bytes = self._frame.decompress(piece)
        return text

    @property
    def needs_input(self) -> bool:
        """Whether all bytes that were given are unpacked."""
        return not self._packed

    @property
    def eof(self) -> bool:
        """Whether the frame has ended."""
        return bool(self._frame.eof)

    @property
    def unused_data(self) -> bytes:
        """Bytes that were given and lie behind the end of the frame."""
        return b"".join([self._frame.unused_data, self._packed])
