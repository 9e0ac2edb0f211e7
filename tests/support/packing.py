"""Text as a .zst file, by the module that reads such files (streamtok/files/zstd.py)."""

from __future__ import annotations

import pytest


def zst(data: bytes) -> bytes:
    """A frame with a checksum; the test is skipped where no module is installed."""
    try:
        from compression import zstd
    except ImportError:
        zstd = pytest.importorskip("backports.zstd")
    return zstd.compress(data, options={zstd.CompressionParameter.checksum_flag: 1})
