from libc.stdint cimport uint8_t


cdef struct Entry:
    const uint8_t *data
    size_t n        # bytes, or characters
    unsigned width  # bytes of a character; 0: these are bytes
    bint shared     # others may write to them meanwhile

cdef class Texts:
    cdef Entry *entries
    cdef Py_ssize_t count
    cdef bint is_part
    cdef object owner
    cdef readonly bint trusted

    cdef int _allocate(self, Py_ssize_t count) except -1
    cdef int _take(self, Py_ssize_t i, object text, object held) except -1
    cdef object _str(self, Py_ssize_t i)
