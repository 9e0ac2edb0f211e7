from cpython.buffer cimport PyBuffer_Release
from libc.stdint cimport uint8_t


cdef struct Text:
    # Borrowed UTF-8: of a str, or of a buffer, which is then to be given back.
    const uint8_t *data
    size_t n
    int flags  # ST_FEED_TRUSTED where Python vouches for it
    bint held
    Py_buffer buffer


# Fills `text`, and returns what must stay alive while it is used (surrogates are mended in a new str).
cdef object borrow(object source, Text *text)

# Does it end with a high surrogate, whose low one may follow?
cdef bint ends_high(str text) except -1


cdef inline void give_back(Text *text) noexcept:
    if text.held:
        PyBuffer_Release(&text.buffer)
