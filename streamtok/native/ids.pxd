from libc.stdint cimport uint32_t, uint64_t

from .csrc.base cimport st_ids
from .vocab cimport Vocab


# So many ids are copied sooner than memory of their own is had and given back.
cdef enum:
    COPIED = 1024


# Ids that 1,024 bytes of the last long text had, or 1,024 characters of a str, and a little more.
cdef struct Expected:
    uint64_t of_bytes
    uint64_t of_characters


cdef class IdBuffer:
    cdef st_ids ids
    cdef int leases


# A read-only uint32 array over the buffer's ids; no copy.
cdef object array_over(IdBuffer buffer)

# The same of ids in memory that is wanted again if they are few, and taken from where it is if they are many.
cdef object array_of(st_ids *ids)

# How many ids so many bytes, or characters of a str that is not ASCII, will have, roughly; and what they had. Of several threads
# the last one is believed: any number will do.
cdef void init_expected(Expected *expected) noexcept
cdef size_t ids_expected(const Expected *expected, size_t n, bint characters) noexcept
cdef void expect(Expected *expected, size_t n, bint characters, size_t ids) noexcept

# Whether a value is a numpy array, of no subclass; and whether it is one of ids as the core takes them: uint32 in a row. Then says
# where they lie.
cdef bint is_array(object value) except -1
cdef bint array_row(object value, const uint32_t **data, size_t *n) except -1

# Room for about so many further ids: the first ones in memory that another array has left. Where many are expected, and what is
# not written to takes no memory, room for `most`, so that the ids never move: trim() gives back what is left. Where memory is
# short, no more room.
cdef void reserve(st_ids *ids, size_t more, size_t most) noexcept
cdef size_t ids_at_most(size_t n, bint characters) noexcept

# Frees memory of ids, or keeps it for the next ones.
cdef void recycle(st_ids *ids) noexcept

# Gives back room that growth left over.
cdef void trim(st_ids *ids) noexcept

# A Python list of ids[start..end), of a vocabulary.
cdef list list_of(Vocab vocab, const st_ids *ids, size_t start, size_t end)
