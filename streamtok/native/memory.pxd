# Memory that objects of Python keep: of others, held (Items); of the core, freed with the object (Numbers, Bytes); and either of
# them handed out as a buffer (Memory).
from libc.stdint cimport int64_t

from .csrc.base cimport st_bytes


# A flat buffer, held as long as this object. What Cython has for it (memoryviews) takes 120 KB in each module. bytes() of it is for
# messages.
cdef class Items:
    cdef Py_buffer view
    cdef void *data
    cdef Py_ssize_t n

# n items of `size` bytes each. ValueError: a buffer of other items, or of several dimensions.
cdef Items items_of(object buffer, Py_ssize_t size, bint writable=?)

# n bytes, whatever the items of the buffer are.
cdef Items bytes_in(object buffer, bint writable=?)

# int64 of a buffer in memory of their own: what is checked of them stays true, whoever writes to the buffer.
cdef class Numbers:
    cdef int64_t *data
    cdef Py_ssize_t n

cdef Numbers new_numbers(Py_ssize_t n)

# ValueError as items_of().
cdef Numbers numbers_of(object buffer)

# Rows (a, b) of int64, copied. ValueError for the first that is no span of a text of n bytes.
cdef Numbers spans_of(object spans, Py_ssize_t n)

# Bytes that the core makes; bytes() copies them.
cdef class Bytes:
    cdef st_bytes own

# Memory that `owner` keeps, as a buffer.
cdef class Memory:
    cdef object owner
    cdef void *data
    cdef Py_ssize_t n
    cdef bint is_writable

cdef Memory memory_of(object owner, const void *data, size_t n)
