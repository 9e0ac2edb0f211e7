"""Reading .zst: Python 3.14's own module where there is one, else the zstandard package."""

from __future__ import annotations

from typing import Any

# A block of 4 compressed bytes may unpack to 128 KiB, and the package unpacks all it is given at once: pieces of
# this size bound what a hostile file can make us hold to 32 MB. Larger ones were not faster.
_PIECE = 1 << 10


def open_zstd(raw: Any) -> Any:
    """A reader of the frames in `raw`: read(n) gives at most n bytes, raises EOFError where data is missing.

    Raises ImportError when neither module is installed.
    """
    try:
        from compression.zstd import ZstdError, ZstdFile  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        pass
    else:
        return _Translated(ZstdFile(raw), ZstdError)
    try:
        import zstandard
    except ImportError:
        raise ImportError(
            "reading .zst files needs the zstandard package (or Python 3.14): pip install zstandard"
        ) from None
    return _Translated(_FrameReader(raw, zstandard), zstandard.ZstdError)


class _Translated:
    """Turns the error of either module into EOFError, the one that gzip and lzma know too."""

    def __init__(self, file: Any, error: type[Exception]) -> None:
        self._file, self._error = file, error

    def read(self, n: int) -> bytes:
        try:
            chunk: bytes = self._file.read(n)
            return chunk
        except self._error as error:
            raise EOFError(str(error)) from None


class _FrameReader:
    """Frames through decompressobj: zstandard's stream_reader takes a cut file for a whole one."""

    def __init__(self, raw: Any, zstandard: Any) -> None:
        self._raw = raw
        self._context = zstandard.ZstdDecompressor()
        self._frame: Any = None  # between two frames
        self._packed = memoryview(b"")  # read, not yet unpacked
        self._text = memoryview(b"")  # unpacked, not yet given out

    def read(self, n: int) -> bytes:
        while not self._text:
            if not self._packed:
                self._packed = memoryview(self._raw.read(64 << 10))
            if not self._packed:
                if self._frame is not None:
                    raise EOFError("the file ends inside a frame")
                return b""
            self._unpack()
        chunk, self._text = self._text[:n], self._text[n:]
        return bytes(chunk)

    def _unpack(self) -> None:
        piece, self._packed = self._packed[:_PIECE], self._packed[_PIECE:]
        if self._frame is None:
            self._frame = self._context.decompressobj()
        self._text = memoryview(self._frame.decompress(piece))
        if self._frame.eof:
            unused = self._frame.unused_data  # the end of `piece`, where the next frame begins
            self._packed = memoryview(b"".join([unused, self._packed]))
            self._frame = None
