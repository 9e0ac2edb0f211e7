from libc.stdint cimport uint8_t


cdef extern from "Python.h":
    bint PyUnicode_IS_ASCII(object text)
    int PyUnicode_KIND(object text)
    const void *PyUnicode_DATA(object text)


cdef struct Text:
    # Borrowed UTF-8: of a str, or of a buffer.
    const uint8_t *data
    size_t n
    int flags  # ST_FEED_TRUSTED where Python vouches for it, ST_FEED_SHARED where others may write to it meanwhile


# Whether nobody can write to the bytes of a buffer. Text that may change while it is read must not reach the core as it is: what one
# stage has checked would be something else for the next one.
cdef bint is_still(object source) except -1

# Fills `text`, and returns what keeps it, and must stay alive while it is used (surrogates are mended in a new str). bytes() of what
# is no str is for messages. The text may be shared.
cdef object borrow(object source, Text *text)

# The same, but what is shared is copied, and the UTF-8 of a str that is not ASCII is made in memory that lasts as long as what is
# returned: a fifth of the time that Python takes, and no copy stays with the str.
cdef object borrow_apart(object source, Text *text)

# The same, but the UTF-8 of a short str, and a short text in a buffer, come to room for SHORT_ROOM bytes, without memory of their own.
# A longer text may be shared.
cdef object borrow_short(object source, Text *text, uint8_t *buffer)

cdef enum:
    SHORT_STR = 2048  # characters
    SHORT_ROOM = 4 * 2048 + 64  # ST_CODE_POINTS_ROOM(SHORT_STR)

# The UTF-8 of a long str, slice by slice (see text.pyx).
cdef size_t next_slice(str source, Py_ssize_t *at, Py_ssize_t most, uint8_t *buffer) except? 0

# Does it end with a high surrogate, whose low one may follow?
cdef bint ends_high(str text) except -1


# PyUnicode_DecodeUTF8Stateful, in steps where the text is long: signals are handled between them. used: NULL where the text ends.
cdef object decode_some(const char *data, Py_ssize_t n, const char *errors, Py_ssize_t *used)

# Between two steps of a long call that needs the GIL: the main thread, which handles signals, may be waiting for it.
cdef int let_others_run() except -1
