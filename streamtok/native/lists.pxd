from cpython.ref cimport PyObject
from libc.stdint cimport uint64_t

from .ids cimport IdBuffer
from .vocab cimport Vocab


cdef class Lists:
    cdef Vocab vocab
    cdef IdBuffer buffer
    cdef size_t count
    cdef size_t *starts    # count + 1
    cdef list lists
    cdef PyObject **ints   # the vocabulary's
    cdef uint64_t *seen    # how often each of them stands in the lists
    cdef PyObject ***rooms
    cdef bint is_made, is_finished
    cdef int next          # share of the work
    cdef int filled        # shares
    cdef int stopped
    cdef int foreign       # ids that have no shared int

    cdef int _count(self) noexcept nogil
    cdef size_t _list_at(self, size_t at) noexcept nogil
    cdef int _fill(self) noexcept nogil
