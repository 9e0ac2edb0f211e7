from libc.stdint cimport uint8_t, uint32_t

from .csrc.base cimport st_ids
from .memory cimport Numbers
from .vocab cimport Vocab


cdef enum:
    FEW_IDS = 32  # ids of a list that need no memory of their own

# The ids of one text: borrowed of an array, or in memory of their own.
cdef struct Row:
    const uint32_t *data
    size_t n
    st_ids own
    uint32_t[FEW_IDS] few


cdef class Decoder:
    cdef readonly Vocab vocab
    cdef object other_ids
    cdef bytes special  # ids, ascending

    cdef object _read(self, object tokens, Row *row, bint skip_special)
    cdef bytes _bytes(self, const Row *row)
    cdef object _text(self, const Row *row, object errors)
    cdef object _long_text(self, const Row *row, object errors)
    cdef list _rows(self, list rows, object errors, bint skip_special)
    cdef list _one_by_one(self, list rows, Py_ssize_t at, Py_ssize_t end, object errors, bint skip_special)
    cdef list _together(self, list rows, object errors, bint skip_special)
    cdef bint _append(self, object tokens, st_ids *ids, bint skip_special) except -1
    cdef size_t _without_special(self, const uint32_t *ids, size_t n, uint32_t *to) noexcept


# The str of bytes, as bytes.decode("utf-8", errors) gives it.
cdef object text_of(const uint8_t *data, size_t n, object errors)

# The rows data[starts[i]:starts[i + 1]]: a bytes object each where errors is None, or else its str.
cdef list cut_rows(const uint8_t *data, Numbers starts, object errors)
