"""Text from Python, borrowed without a copy: the UTF-8 of a str, or a buffer of bytes."""

from cpython.buffer cimport PyBUF_SIMPLE, PyObject_CheckBuffer, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_Check
from libc.stdint cimport int64_t, uint8_t, uint32_t

from ._csrc cimport *
from ._vocab cimport allocation_state

st_alloc_share(allocation_state())

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


cdef class Utf8Copy:
    """UTF-8 in memory of its own. bytes() of it, as of all else that is borrowed from, is for messages."""
    cdef uint8_t *data
    cdef size_t n

    def __dealloc__(self):
        st_free(self.data)

    def __bytes__(self):
        return PyBytes_FromStringAndSize(<const char *>self.data, <Py_ssize_t>self.n)


cdef object borrow_apart(object source, Text *text):
    if not PyUnicode_Check(source) or PyUnicode_IS_ASCII(source):
        return borrow(source, text)
    cdef Utf8Copy utf8 = Utf8Copy.__new__(Utf8Copy)
    cdef size_t n = <size_t>len(source)
    utf8.data = <uint8_t *>st_malloc(ST_CODE_POINTS_ROOM(n))
    if utf8.data != NULL:
        text.n = st_code_points(PyUnicode_DATA(source), n, <unsigned>PyUnicode_KIND(source), utf8.data)
    if utf8.data == NULL or text.n == ST_NOT_CONVERTED:
        return borrow(source, text)
    text.data = <const uint8_t *>st_realloc(utf8.data, text.n)
    if text.data == NULL:
        text.data = utf8.data
    utf8.data, utf8.n = <uint8_t *>text.data, text.n
    text.flags, text.held = ST_FEED_TRUSTED, False
    return utf8


cdef object borrow_short(object source, Text *text, uint8_t *room):
    if not PyUnicode_Check(source) or PyUnicode_IS_ASCII(source):
        return borrow(source, text)
    if len(source) > SHORT_STR:
        return borrow_apart(source, text)
    text.n = st_code_points(PyUnicode_DATA(source), <size_t>len(source), <unsigned>PyUnicode_KIND(source), room)
    if text.n == ST_NOT_CONVERTED:
        return borrow(source, text)
    text.data, text.flags, text.held = room, ST_FEED_TRUSTED, False
    return source


def mend_surrogates(str text not None):
    """Pairs of surrogates become the character they stand for, lone ones U+FFFD: what tiktoken does."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def join_surrogate(str high, chunk, bint final):
    """(the chunk to take now, what to hold): `high` is what the last chunk ended with, a high surrogate, or None; the low
    one may begin this chunk, and another high one may end it."""
    if not PyUnicode_Check(chunk):  # bytes cannot bring the low half: what waits stands alone
        if high is None or not PyObject_CheckBuffer(chunk):
            return chunk, high
        return mend_surrogates(high).encode() + bytes(chunk), None
    chunk = (high or "") + chunk
    if not final and ends_high(chunk):
        return chunk[:-1], chunk[-1:]
    return chunk, None


cdef bint ends_high(str text) except -1:
    cdef Py_ssize_t n = len(text)
    return n > 0 and 0xD800 <= <uint32_t>text[n - 1] < 0xDC00


cdef int check_spans(const int64_t *rows, size_t count, int64_t n) except -1:
    cdef size_t i
    for i in range(count):
        if not 0 <= rows[2 * i] <= rows[2 * i + 1] <= n:
            raise ValueError(f"span {i}, ({rows[2 * i]}, {rows[2 * i + 1]}), lies outside of a text of {n} bytes")
    return 0
