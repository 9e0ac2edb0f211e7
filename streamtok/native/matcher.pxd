from .csrc.special cimport st_special


cdef class Matcher:
    cdef st_special *special
    cdef readonly list names  #: list[str]
    cdef readonly bytes flags
    cdef readonly Matcher late  #: Matcher | None
