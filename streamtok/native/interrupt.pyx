"""Signals during long calls of the core; interrupt.pxd says how."""

import sys

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.exc cimport PyErr_CheckSignals
from cpython.list cimport PyList_GET_SIZE
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.stdint cimport uint8_t
from libc.string cimport memcpy

from .csrc.base cimport st_count_add, st_count_read, st_go_on, st_interrupt

cdef extern from "Python.h":
    unsigned long PyThread_get_thread_ident()


cdef bint handles_signals():
    """Whether this thread may handle signals: only Python's main thread may. On another one, asking would only take the GIL."""
    threading = sys.modules.get("threading")
    main_thread = getattr(threading, "main_thread", None)
    return main_thread is None or main_thread().ident == PyThread_get_thread_ident()


cdef dict stops = {}  # thread -> the Stop that it works under


cdef class Stop:
    """Ends the calls of other threads: what they do under `with stop:` raises RuntimeError once raise_it() was called."""
    cdef int flag

    def raise_it(self):
        st_count_add(&self.flag, 1)

    def __enter__(self):
        stops[PyThread_get_thread_ident()] = self

    def __exit__(self, kind: object, error: object, at: object):
        stops.pop(PyThread_get_thread_ident(), None)


def go_on():
    """For loops in Python on a thread under a Stop: raises RuntimeError once the work is to end."""
    cdef Stop stop = stops.get(PyThread_get_thread_ident())
    if stop is not None and st_count_read(&stop.flag):
        raise RuntimeError("the call was ended by another thread")


cdef int ask_python(Scope *scope):
    cdef Stop stop
    try:
        if not scope.asked:
            scope.asked = True
            if not handles_signals():
                stop = stops.get(PyThread_get_thread_ident())
                if stop is not None and scope.core.stop == NULL:
                    scope.core.stop = &stop.flag
                scope.core.ask = NULL
                return 0
        PyErr_CheckSignals()
    except BaseException as error:
        Py_INCREF(error)
        scope.error = <PyObject *>error
        return 1
    return 0


cdef int ask(st_interrupt *core) noexcept nogil:
    with gil:
        return ask_python(<Scope *>core)


cdef int raise_error(Scope *scope) except -1:
    if scope.error == NULL:
        raise RuntimeError("the call was ended by another thread")
    error = <object>scope.error
    Py_DECREF(error)
    scope.error = NULL
    try:
        error.row = None  # for errors.at_row(): no row of a batch is to blame
    except Exception:  # an exception with slots
        pass
    raise error


# ---- bytes ----

# Bytes copied between two checks for signals; the GIL is released where there are more.
cdef enum:
    COPIED_AT_ONCE = 1 << 22


cdef bytes bytes_of(const uint8_t *data, size_t n):
    """A copy."""
    if n <= COPIED_AT_ONCE:
        return PyBytes_FromStringAndSize(<const char *>data, <Py_ssize_t>n)
    result = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>n)
    cdef uint8_t *to = <uint8_t *>PyBytes_AS_STRING(result)
    cdef size_t at = 0, count
    cdef Scope scope
    begin(&scope, NULL)
    with nogil:
        while at < n:
            count = min(<size_t>COPIED_AT_ONCE, n - at)
            memcpy(to + at, data + at, count)
            at += count
            if st_go_on(count // 8):
                break
    end(&scope)
    check(&scope)
    return result


# ---- lists that are not wanted any more ----

# Freeing this many ints takes a third of a millisecond.
cdef enum:
    FREED_AT_ONCE = 1 << 17


cdef void free_aside(list unwanted) noexcept:
    """Frees a long list of ints, or a list of such lists, on a thread of its own, a part at a time. In one step it would delay
    Ctrl-C for too long."""
    from _thread import start_new_thread

    try:
        if PyList_GET_SIZE(unwanted):
            start_new_thread(free_in_parts, ([unwanted],))
    except RuntimeError:  # no more threads, or the interpreter is ending: whoever drops the list last frees it
        pass


def drop(list unwanted not None: list[_T]):
    """free_aside() for Python code."""
    free_aside(unwanted)


def free_in_parts(list lists not None: list[_T]):
    """Empties a list of lists, however deep and however long, from its end."""
    while lists:
        last = lists[-1]
        if type(last) is not list or not last:
            lists.pop()
        elif type(last[-1]) is list:
            lists.append(last.pop())
        else:
            del last[-FREED_AT_ONCE:]
