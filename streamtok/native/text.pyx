"""Text from Python, borrowed without a copy: the UTF-8 of a str, or a buffer of bytes."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_Check, PyBytes_CheckExact, PyBytes_GET_SIZE
from cpython.exc cimport PyErr_CheckSignals
from cpython.unicode cimport PyUnicode_Check, PyUnicode_Substring
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memcpy

from .csrc.base cimport *
from .csrc.text cimport *
from .csrc.stream cimport ST_FEED_SHARED, ST_FEED_TRUSTED
from .interrupt cimport Scope, begin, bytes_of, check, end as end_scope
from .memory cimport Bytes, Items, Memory, bytes_in

cdef extern from "Python.h":
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *size) except NULL
    object PyUnicode_DecodeUTF8Stateful(const char *data, Py_ssize_t n, const char *errors, Py_ssize_t *consumed)
    object PyUnicode_New(Py_ssize_t n, uint32_t largest)
    uint32_t PyUnicode_MAX_CHAR_VALUE(object text)
    Py_ssize_t PyUnicode_CopyCharacters(object to, Py_ssize_t at, object text, Py_ssize_t start, Py_ssize_t n) except -1

# A C-contiguous buffer. numpy's stubs call an array one only from Python 3.12 on.
#: _Data: TypeAlias = Buffer | npt.NDArray[np.generic]

# A text: a str, or a buffer of UTF-8 bytes.
#: _Text: TypeAlias = str | _Data
# Ids in an array of numpy's.
#: _Ids: TypeAlias = npt.NDArray[np.uint32]
#: _SomeText = TypeVar("_SomeText", bound=_Text)
#: _T = TypeVar("_T")
#: _M = TypeVar("_M", bound=Callable[..., Any])

FAULTS: dict[int, str] = {
    ST_TEXT_INVALID_START: "invalid start byte",
    ST_TEXT_INVALID_CONTINUATION: "invalid continuation byte",
    ST_TEXT_UNEXPECTED_END: "unexpected end of data",
}
"""What is wrong with bytes that are no UTF-8, as Python says it."""


cdef class OwnMemory(Memory):
    """A writable buffer over another one that its only user does not write to while the core reads text in it: such text is not copied."""
    def __cinit__(self, memory not None: _Data):
        cdef Items items = bytes_in(memory, True)
        self.owner, self.data, self.n, self.is_writable = items, items.data, items.n, True


cdef bint is_still(object source) except -1:
    if type(source) is memoryview:
        source = source.obj
    return PyBytes_Check(source) or isinstance(source, OwnMemory)


cdef object borrow(object source, Text *text):
    cdef Items items
    cdef Py_ssize_t n
    if PyUnicode_Check(source):
        try:
            text.data = <const uint8_t *>PyUnicode_AsUTF8AndSize(source, &n)
        except UnicodeEncodeError:
            source = mend_surrogates(source)
            text.data = <const uint8_t *>PyUnicode_AsUTF8AndSize(source, &n)
        text.n = <size_t>n
        text.flags = ST_FEED_TRUSTED
        return source
    if PyBytes_CheckExact(source):
        text.data, text.n, text.flags = <const uint8_t *>PyBytes_AS_STRING(source), <size_t>PyBytes_GET_SIZE(source), 0
        return source
    if not PyObject_CheckBuffer(source):
        raise TypeError(f"expected str or a buffer of UTF-8 bytes, got {type(source).__name__}")
    items = bytes_in(source)
    text.data, text.n = <const uint8_t *>items.data, <size_t>items.n
    text.flags = 0 if is_still(source) else ST_FEED_SHARED
    return items


# Characters of a long str that become UTF-8 between two checks for signals.
cdef enum:
    STEP = 1 << 18


cdef object convert_by_python(str text, uint8_t *to):
    """Writes the UTF-8 of a part of a str that the core cannot convert, and returns its size."""
    try:
        data = text.encode()
    except UnicodeEncodeError:
        data = mend_surrogates(text).encode()
    memcpy(to, PyBytes_AS_STRING(data), len(data))
    return len(data)


cdef size_t next_slice(str source, Py_ssize_t *at, Py_ssize_t most, uint8_t *buffer) except? 0:
    """Writes the UTF-8 of the next `most` characters from *at on, one more where a pair of surrogates would be cut, and
    moves *at behind them. Returns its bytes, for which there is room: ST_CODE_POINTS_ROOM(most + 1)."""
    cdef Py_ssize_t n = len(source), start = at[0], end = min(start + most, n)
    cdef unsigned width = <unsigned>PyUnicode_KIND(source)
    cdef const uint8_t *characters = <const uint8_t *>PyUnicode_DATA(source)
    cdef size_t size
    if end < n and 0xD800 <= <uint32_t>source[end - 1] < 0xDC00 and 0xDC00 <= <uint32_t>source[end] < 0xE000:
        end += 1
    at[0] = end
    size = st_code_points(characters + width * start, <size_t>(end - start), width, buffer)
    if size == ST_NOT_CONVERTED:
        size = convert_by_python(PyUnicode_Substring(source, start, end), buffer)
    return size


cdef int convert(str source, st_bytes *utf8) except -1:
    """The UTF-8 of a str, of which there is room for all."""
    cdef Py_ssize_t n = len(source), at = 0
    cdef size_t size
    cdef Scope scope
    begin(&scope, NULL)
    try:
        while at < n:
            size = next_slice(source, &at, STEP, utf8.data + utf8.size)
            utf8.size += size
            if st_go_on(size):
                break
    finally:
        end_scope(&scope)
    check(&scope)
    return 0


cdef object copied(Text *text):
    """Copies a text that is shared, and returns what keeps the copy."""
    cdef Bytes copy = Bytes.__new__(Bytes)
    if st_bytes_reserve(&copy.own, text.n + 1) or st_bytes_append(&copy.own, text.data, text.n):
        raise MemoryError
    text.data, text.flags = copy.own.data, 0
    return copy


cdef object borrow_apart(object source, Text *text):
    if not PyUnicode_Check(source) or PyUnicode_IS_ASCII(source):
        source = borrow(source, text)
        return copied(text) if text.flags & ST_FEED_SHARED else source
    cdef Bytes made = Bytes.__new__(Bytes)
    cdef st_bytes *utf8 = &made.own
    if st_bytes_reserve(utf8, ST_CODE_POINTS_ROOM(<size_t>len(source))):
        return borrow(source, text)
    convert(source, utf8)
    text.data = <const uint8_t *>st_realloc(utf8.data, utf8.size)
    if text.data != NULL:
        utf8.data, utf8.capacity = <uint8_t *>text.data, utf8.size
    text.data, text.n, text.flags = utf8.data, utf8.size, ST_FEED_TRUSTED
    return made


def to_utf8(text not None: _Text) -> bytes:
    """The UTF-8 of a str as bytes. Surrogates that make a pair become its character, lone ones U+FFFD."""
    cdef Text borrowed
    alive = borrow_apart(text, &borrowed)
    return bytes_of(borrowed.data, borrowed.n)


# Bytes that become a str between two checks for signals.
cdef enum:
    DECODED_AT_ONCE = 1 << 22


def from_utf8(bytes data not None, errors: str, end: int | None = None) -> str:
    """data[:end].decode("utf-8", errors), in steps where it is long: signals are handled between them."""
    cdef Py_ssize_t n = len(data) if end is None else min(<Py_ssize_t>end, len(data))
    cdef bytes mode
    if n <= DECODED_AT_ONCE and errors == "replace":
        return PyUnicode_DecodeUTF8Stateful(PyBytes_AS_STRING(data), n, "replace", NULL)
    if n <= DECODED_AT_ONCE or errors not in ("strict", "replace", "ignore"):
        return data[:n].decode("utf-8", errors)
    mode = errors.encode()
    return decode_some(PyBytes_AS_STRING(data), n, PyBytes_AS_STRING(mode), NULL)


cdef object decode_some(const char *data, Py_ssize_t n, const char *errors, Py_ssize_t *used):
    if n > DECODED_AT_ONCE:
        try:
            return join(decoded_parts(data, n, errors, used))
        except UnicodeDecodeError:  # raised again, with its place in all of the bytes
            pass
    return PyUnicode_DecodeUTF8Stateful(data, n, errors, used)


cdef int let_others_run() except -1:
    """Between two steps of a long call that needs the GIL: the main thread, which handles signals, may be waiting for it."""
    with nogil:
        pass
    return PyErr_CheckSignals()


cdef list decoded_parts(const char *data, Py_ssize_t n, const char *errors, Py_ssize_t *used):
    cdef Py_ssize_t at = 0, size, taken
    cdef bint last = False
    parts = []
    while not last:
        size = taken = min(<Py_ssize_t>DECODED_AT_ONCE, n - at)
        last = at + size == n
        parts.append(PyUnicode_DecodeUTF8Stateful(data + at, size, errors, NULL if last and used == NULL else &taken))
        at += taken
        let_others_run()
    if used != NULL:
        used[0] = at
    return parts


cpdef str join(list parts: list[str]):
    """Joins a list of str. The list is empty afterwards: each str is released as soon as it is copied."""
    cdef Py_ssize_t n = 0, at = 0
    cdef uint32_t largest = 0
    for part in parts:
        n += len(part)
        largest = max(largest, PyUnicode_MAX_CHAR_VALUE(part))
    result = PyUnicode_New(n, largest)
    parts.reverse()
    while parts:
        part = parts.pop()
        PyUnicode_CopyCharacters(result, at, part, 0, len(part))
        at += len(part)
        let_others_run()
    return result


cdef object borrow_short(object source, Text *text, uint8_t *buffer):
    cdef Py_buffer view
    if not PyUnicode_Check(source) and not PyBytes_CheckExact(source) and PyObject_CheckBuffer(source):
        PyObject_GetBuffer(source, &view, PyBUF_SIMPLE)
        text.data, text.n, text.flags = buffer, <size_t>view.len, 0
        if text.n <= SHORT_ROOM:
            memcpy(buffer, view.buf, text.n)
        PyBuffer_Release(&view)
        return source if text.n <= SHORT_ROOM else borrow(source, text)
    if not PyUnicode_Check(source) or PyUnicode_IS_ASCII(source):
        return borrow(source, text)
    if len(source) > SHORT_STR:
        return borrow_apart(source, text)
    text.n = st_code_points(PyUnicode_DATA(source), <size_t>len(source), <unsigned>PyUnicode_KIND(source), buffer)
    if text.n == ST_NOT_CONVERTED:
        return borrow(source, text)
    text.data, text.flags = buffer, ST_FEED_TRUSTED
    return source


def mend_surrogates(str text not None) -> str:
    """Pairs of surrogates become the character they stand for, lone ones U+FFFD: what tiktoken does."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def join_surrogate(str high, chunk: _Text, bint final) -> tuple[_Text, str | None]:
    """(the chunk to take now, what to hold): `high` is what the last chunk ended with, a high surrogate, or None; the low
    one may begin this chunk, and another high one may end it."""
    if not PyUnicode_Check(chunk):  # bytes cannot continue a surrogate pair: the high half is a lone one
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
