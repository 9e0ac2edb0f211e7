# Signals during long calls of the core (csrc/base/interrupt.h): about every 30 ms the thread that may handle them does, and what
# a handler raises, as Ctrl-C does, ends the call.
#
#     cdef Scope scope
#     begin(&scope, NULL)
#     ...                     the core's functions, with the GIL or without; nothing that raises but under try: ... finally:
#     end(&scope)
#     check(&scope)           raises where the call was ended, what the handler raised; all of the core is as before then
from cpython.ref cimport PyObject
from libc.stdint cimport uint8_t

from .csrc.base cimport st_interrupt, st_interrupt_begin, st_interrupt_end, st_status


# What takes fewer bytes than this needs no scope: not even an automaton is built for them.
cdef enum:
    SHORT = 256


cdef struct Scope:
    st_interrupt core  # the first: ask() gets its address
    PyObject *error    # what a handler raised
    bint asked


cdef int ask(st_interrupt *core) noexcept nogil
cdef int raise_error(Scope *scope) except -1

# A copy of bytes, however many.
cdef bytes bytes_of(const uint8_t *data, size_t n)

# Frees a long list of ints, or a list of such, on a thread of its own, a part at a time.
cdef void free_aside(list unwanted) noexcept


# For a call that is so short that it needs none.
cdef inline void begin_short(Scope *scope) noexcept nogil:
    scope.core.ended = False


# stop: NULL, or what another thread raises to end the call.
cdef inline void begin(Scope *scope, int *stop) noexcept nogil:
    scope.error = NULL
    scope.asked = False
    st_interrupt_begin(&scope.core, ask, stop)


cdef inline void end(Scope *scope) noexcept nogil:
    st_interrupt_end(&scope.core)


cdef inline int check(Scope *scope) except -1:
    return raise_error(scope) if scope.core.ended else 0


# end() and check(), where a call of the core can fail for want of memory alone.
cdef inline int finish(Scope *scope, st_status status) except -1:
    end(scope)
    check(scope)
    if status:
        raise MemoryError
    return 0
