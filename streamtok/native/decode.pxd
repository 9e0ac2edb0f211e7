from libc.stdint cimport uint8_t, uint32_t

from .csrc.base cimport st_ids
from .vocab cimport Vocab


# The ids of one text: borrowed of an array, or in memory of their own.
cdef struct Row:
    const uint32_t *data
    size_t n
    st_ids own
    bint held  # `buffer` is to be given back
    Py_buffer buffer


cdef class Decoder:
    cdef readonly Vocab vocab
    cdef object other_ids
    cdef bytes special  # ids, ascending

    cdef object _read(self, object tokens, Row *row, bint skip_special)
    cdef bytes _bytes(self, const Row *row)
    cdef object _text(self, const Row *row, object errors)
    cdef list _rows(self, list rows, object errors, bint skip_special, bint as_bytes)
    cdef list _one_by_one(self, list rows, Py_ssize_t at, Py_ssize_t end, object errors, bint skip_special, bint as_bytes)
    cdef list _together(self, list rows, object errors, bint skip_special, bint as_bytes)
    cdef bint _append(self, object tokens, st_ids *ids, bint skip_special) except -1
    cdef size_t _without_special(self, const uint32_t *ids, size_t n, uint32_t *to) noexcept


# The str of bytes, as bytes.decode("utf-8", errors) gives it.
cdef object text_of(const uint8_t *data, size_t n, object errors)
