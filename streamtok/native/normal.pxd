from .csrc.normal cimport st_normalizer, st_step


cdef class Normalizer:
    cdef st_normalizer normalizer
    cdef readonly tuple steps  #: tuple[tuple[Any, ...], ...]
    cdef readonly double growth  # bytes that it makes of one at most
    # What is done to the text between late names, or to each piece; None: nothing.
    cdef readonly Normalizer behind  #: Normalizer | None
    cdef list tables  # what steps point to

    cdef int _go_on_behind(self, list steps) except -1
    cdef tuple _add(self, str name, tuple given)
    cdef tuple _add_text(self, str name, tuple given, st_step *step)
    cdef tuple _add_groups(self, tuple given, st_step *step)
    cdef tuple _add_sentence(self, tuple given, st_step *step)
    cdef tuple _add_table(self, tuple given, st_step *step)
    cdef int _take(self, st_step *step, bytes pattern, bytes content, tuple ranges) except -1
