"""Reading .zst: Python 3.14's own module where there is one, else backports.zstd, which is that module."""

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
        try:
            from backports.zstd import ZstdDecompressor, ZstdError
        except ImportError:
            raise ImportError(
                "reading .zst files needs the package backports.zstd (or Python 3.14): pip install backports.zstd"
            ) from None
    return ZstdDecompressor, ZstdError
