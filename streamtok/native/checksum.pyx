"""CRC-32 as zlib has it, several times as fast where the machine multiplies without carries (csrc/checksum/crc32.h)."""

from libc.stdint cimport uint8_t, uint32_t, uint64_t

from .csrc.checksum cimport *
from .memory cimport Items, bytes_in

import zlib


def crc32(data not None: _Data, uint32_t before=0) -> int:
    """The CRC-32 of a buffer of bytes behind those that have the CRC-32 `before`: zlib.crc32."""
    cdef uint8_t[ST_CRC32_REST] rest
    cdef Items view = bytes_in(data)
    cdef size_t folded
    with nogil:
        folded = st_crc32_fold(<const uint8_t *>view.data, <size_t>view.n, before, rest)
    if not folded:
        return zlib.crc32(data, before)
    return zlib.crc32(memoryview(data).cast("B")[folded:], zlib.crc32(rest[:ST_CRC32_REST], 0xFFFFFFFF))


def joined_crc32(uint32_t first, uint32_t second, uint64_t n) -> int:
    """The CRC-32 of two stretches of bytes from that of each; n: bytes of the second."""
    return st_crc32_joined(first, second, n)


def sum64(data not None: _Data) -> int:
    """A checksum of 64 bits of a buffer of bytes, at the speed of memory (csrc/checksum/sum64.h)."""
    cdef Items view = bytes_in(data)
    cdef uint64_t result
    with nogil:
        result = st_sum64(<const uint8_t *>view.data, <size_t>view.n)
    return result


def digest(data not None: _Data) -> str:
    """Both checksums of a buffer of bytes as 24 hexadecimal digits: to tell files and tables apart, not against forgery. hashlib
    takes milliseconds to import, and ten times as long for a long file."""
    return f"{sum64(data):016x}{crc32(data):08x}"
