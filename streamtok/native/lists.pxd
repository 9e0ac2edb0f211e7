from cpython.ref cimport PyObject
from libc.stdint cimport uint32_t, uint64_t

from .csrc.base cimport st_ids
from .vocab cimport Vocab


# What the threads work on that make lists.
cdef struct Making:
    const uint32_t *ids
    size_t count           # of the ids
    size_t lists
    size_t *starts         # lists + 1
    PyObject **ints        # the vocabulary's
    size_t int_count
    uint64_t *seen         # how often each of them stands in the lists
    PyObject ***items      # of each list
    int next               # share of the work
    int filled             # shares
    int stopped
    int foreign            # ids that have no shared int


cdef class Lists:
    cdef Vocab vocab
    cdef object owner  # keeps the ids
    cdef st_ids ids
    cdef Making making
    cdef list lists
    cdef bint is_made, is_finished
