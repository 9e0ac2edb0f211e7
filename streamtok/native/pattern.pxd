from .csrc.base cimport st_status
from .csrc.split cimport st_dfa, st_pattern


cdef class Pattern:
    cdef st_pattern pattern
    cdef st_dfa *dfa  # the table, if the pattern is a compiled one
    cdef readonly str family

    cdef int _check(self, st_status status) except -1
    cdef int _read(self, object how) except -1


cdef Pattern pattern_of(object how)
