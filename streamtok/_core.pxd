from ._csrc cimport st_encoder, st_ids
from ._vocab cimport Matcher, Vocab


cdef class IdBuffer:
    cdef st_ids ids
    cdef int leases


cdef struct Options:
    int family
    int engine
    int errors


cdef class Coder:
    cdef readonly Vocab vocab
    cdef Options options

    cdef void _init(self, st_encoder *encoder, Matcher allowed, Matcher disallowed) noexcept
    cdef int _encode(self, object source, Matcher allowed, Matcher disallowed, st_ids *out) except -1
    cdef int _encode_slices(self, str source, Matcher allowed, Matcher disallowed, st_ids *out) except -1


# A read-only uint32 array over the buffer's ids; no copy.
cdef object array_over(IdBuffer buffer)

# Gives back room that growth left over.
cdef void trim(st_ids *ids) noexcept
