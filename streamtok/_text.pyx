"""Text from Python, borrowed without a copy: the UTF-8 of a str, or a buffer of bytes."""

from cpython.buffer cimport PyBUF_SIMPLE, PyObject_CheckBuffer, PyObject_GetBuffer
from cpython.unicode cimport PyUnicode_Check
from libc.stdint cimport uint8_t, uint32_t

from ._csrc cimport ST_FEED_TRUSTED

cdef extern from "Python.h":
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *size) except NULL


cdef object borrow(object source, Text *text):
    cdef Py_ssize_t n
    text.held = False
    if PyUnicode_Check(source):
        try:
            text.data = <const uint8_t *>PyUnicode_AsUTF8AndSize(source, &n)
        except UnicodeEncodeError:
            source = mend_surrogates(source)
            text.data = <const uint8_t *>PyUnicode_AsUTF8AndSize(source, &n)
        text.n = <size_t>n
        text.flags = ST_FEED_TRUSTED
        return source
    if not PyObject_CheckBuffer(source):
        raise TypeError(f"expected str or a buffer of UTF-8 bytes, got {type(source).__name__}")
    PyObject_GetBuffer(source, &text.buffer, PyBUF_SIMPLE)
    text.held = True
    text.data = <const uint8_t *>text.buffer.buf
    text.n = <size_t>text.buffer.len
    text.flags = 0
    return source


def mend_surrogates(str text not None):
    """Pairs of surrogates become the character they stand for, lone ones U+FFFD: what tiktoken does."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


cdef bint ends_high(str text) except -1:
    cdef Py_ssize_t n = len(text)
    return n > 0 and 0xD800 <= <uint32_t>text[n - 1] < 0xDC00
