"""The ids of a part of a long text as they lie in a file, in memory that the next part uses again; see files/parts.py."""

from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libc.string cimport memcpy

from .csrc.base cimport *
from .encode cimport Coder
from .ids cimport IdBuffer
from .matcher cimport Matcher
from .memory cimport Memory

from .checksum import crc32


# Ids that become narrow at a time.
cdef enum:
    AT_ONCE = 64


cdef void narrow(uint32_t *ids, size_t n) noexcept nogil:
    """Writes each id as 16 bits, in place: what is written lies at or in front of what was read."""
    cdef uint8_t *to = <uint8_t *>ids
    cdef uint16_t[AT_ONCE] some
    cdef size_t at = 0, count, i
    while at < n:
        count = min(<size_t>AT_ONCE, n - at)
        for i in range(count):
            some[i] = <uint16_t>ids[at + i]
        memcpy(to + 2 * at, some, 2 * count)
        at += count


cdef class Part(Memory):
    """A buffer of the ids that encode() made last, in this machine's order. One thread at a time.

    count: of ids. crc: the CRC-32 of the bytes."""
    cdef IdBuffer buffer
    cdef readonly size_t count
    cdef readonly uint32_t crc

    def __cinit__(self):
        self.buffer = IdBuffer.__new__(IdBuffer)

    def encode(self, Coder coder not None, text not None: _Data, Matcher allowed, Matcher disallowed, int itemsize):
        """Encodes a whole text. itemsize: bytes of an id in the file, 4, or 2 where every id fits."""
        self.buffer.ids.size, self.n = 0, 0
        coder._encode(text, allowed, disallowed, &self.buffer.ids)
        self.count = self.buffer.ids.size
        if itemsize == 2:
            with nogil:
                narrow(self.buffer.ids.data, self.count)
        self.data, self.n = self.buffer.ids.data, <Py_ssize_t>self.count * itemsize
        self.crc = crc32(self)
