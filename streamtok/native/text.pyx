"""Text from Python, borrowed without a copy: the UTF-8 of a str, or a buffer of bytes."""

cimport cython
from cpython.buffer cimport PyBUF_ND, PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_Check, PyBytes_FromStringAndSize
from cpython.exc cimport PyErr_CheckSignals
from cpython.unicode cimport PyUnicode_Check, PyUnicode_Substring
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcpy

from .csrc.base cimport *
from .csrc.text cimport *
from .csrc.stream cimport ST_FEED_SHARED, ST_FEED_TRUSTED
from .interrupt cimport Scope, begin, bytes_of, check, end as end_scope

cdef extern from "Python.h":
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *size) except NULL
    object PyUnicode_DecodeUTF8Stateful(const char *data, Py_ssize_t n, const char *errors, Py_ssize_t *consumed)
    object PyUnicode_New(Py_ssize_t n, uint32_t largest)
    uint32_t PyUnicode_MAX_CHAR_VALUE(object text)
    Py_ssize_t PyUnicode_CopyCharacters(object to, Py_ssize_t at, object text, Py_ssize_t start, Py_ssize_t n) except -1

"""What is wrong with bytes that are no UTF-8, as Python says it."""
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


@cython.no_gc_clear  # it would let go of the buffer without releasing it
cdef class Items:
    def __dealloc__(self):
        PyBuffer_Release(&self.view)  # nothing, where none was got


cdef Items items_of(object buffer, Py_ssize_t size, bint writable=False):
    """ValueError: a buffer of other items, or of several dimensions."""
    cdef Items items = Items.__new__(Items)
    PyObject_GetBuffer(buffer, &items.view, PyBUF_ND | (PyBUF_WRITABLE if writable else 0))
    if items.view.itemsize != size or items.view.ndim != 1:
        raise ValueError(f"expected a row of items of {size} bytes, got {items.view.ndim} dimensions of {items.view.itemsize}")
    items.data, items.n = items.view.buf, items.view.len // size
    return items


cdef class Numbers:
    def __dealloc__(self):
        st_free(self.data)


cdef Numbers copy_of(const void *data, Py_ssize_t n):
    cdef Numbers numbers = Numbers.__new__(Numbers)
    numbers.data, numbers.n = <int64_t *>st_malloc(<size_t>(n + 1) * sizeof(int64_t)), n
    if numbers.data == NULL:
        raise MemoryError
    memcpy(numbers.data, data, <size_t>n * sizeof(int64_t))
    return numbers


cdef Numbers numbers_of(object buffer):
    """ValueError as items_of()."""
    cdef Items items = items_of(buffer, sizeof(int64_t))
    return copy_of(items.data, items.n)


cdef Numbers spans_of(object spans, Py_ssize_t n):
    cdef Py_buffer view
    cdef Py_ssize_t i
    PyObject_GetBuffer(spans, &view, PyBUF_SIMPLE)
    try:
        rows = copy_of(view.buf, view.len // <Py_ssize_t>sizeof(int64_t))
    finally:
        PyBuffer_Release(&view)
    for i in range(rows.n // 2):
        if not 0 <= rows.data[2 * i] <= rows.data[2 * i + 1] <= n:
            raise ValueError(f"span {i}, ({rows.data[2 * i]}, {rows.data[2 * i + 1]}), lies outside of a text of {n} bytes")
    return rows


cdef class OwnMemory:
    """A writable buffer over another one that its only user does not write to while the core reads text in it: such text is not copied."""
    cdef Py_buffer view

    def __cinit__(self, memory not None: _Data):
        PyObject_GetBuffer(memory, &self.view, PyBUF_WRITABLE)

    def __dealloc__(self):
        PyBuffer_Release(&self.view)

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(view, self, self.view.buf, self.view.len, 0, flags)


cdef bint is_still(object source) except -1:
    if type(source) is memoryview:
        source = source.obj
    return PyBytes_Check(source) or isinstance(source, OwnMemory)


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
    text.flags = 0 if is_still(source) else ST_FEED_SHARED
    return source


cdef class Utf8Copy:
    """UTF-8 in memory of its own. bytes() of it, as of every object that borrow() returns, is for messages."""
    cdef uint8_t *data
    cdef size_t n

    def __dealloc__(self):
        st_free(self.data)

    def __bytes__(self):
        return PyBytes_FromStringAndSize(<const char *>self.data, <Py_ssize_t>self.n)


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


cdef int convert(str source, Utf8Copy utf8) except -1:
    """The UTF-8 of a str, of which there is room for all."""
    cdef Py_ssize_t n = len(source), at = 0
    cdef size_t size
    cdef Scope scope
    begin(&scope, NULL)
    try:
        while at < n:
            size = next_slice(source, &at, STEP, utf8.data + utf8.n)
            utf8.n += size
            if st_go_on(size):
                break
    finally:
        end_scope(&scope)
    check(&scope)
    return 0


cdef object copied(Text *text):
    """Copies a text that is shared, and returns what keeps the copy."""
    cdef Utf8Copy copy = Utf8Copy.__new__(Utf8Copy)
    copy.data, copy.n = <uint8_t *>st_malloc(text.n + 1), text.n
    if copy.data != NULL:
        memcpy(copy.data, text.data, text.n)
    give_back(text)
    if copy.data == NULL:
        raise MemoryError
    text.data, text.flags, text.held = copy.data, 0, False
    return copy


cdef object borrow_apart(object source, Text *text):
    if not PyUnicode_Check(source) or PyUnicode_IS_ASCII(source):
        source = borrow(source, text)
        return copied(text) if text.flags & ST_FEED_SHARED else source
    cdef Utf8Copy utf8 = Utf8Copy.__new__(Utf8Copy)
    utf8.data = <uint8_t *>st_malloc(ST_CODE_POINTS_ROOM(<size_t>len(source)))
    if utf8.data == NULL:
        return borrow(source, text)
    convert(source, utf8)
    text.data = <const uint8_t *>st_realloc(utf8.data, utf8.n)
    if text.data == NULL:
        text.data = utf8.data
    utf8.data, text.n = <uint8_t *>text.data, utf8.n
    text.flags, text.held = ST_FEED_TRUSTED, False
    return utf8


def to_utf8(text not None: _Text) -> bytes:
    """The UTF-8 of a str as bytes. Surrogates that make a pair become its character, lone ones U+FFFD."""
    cdef Text borrowed
    alive = borrow_apart(text, &borrowed)
    result = bytes_of(borrowed.data, borrowed.n)
    give_back(&borrowed)
    return result


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
    if not PyUnicode_Check(source) or PyUnicode_IS_ASCII(source):
        source = borrow(source, text)
        if text.flags & ST_FEED_SHARED and text.n <= SHORT_ROOM:
            memcpy(buffer, text.data, text.n)
            give_back(text)
            text.data, text.flags, text.held = buffer, 0, False
        return source
    if len(source) > SHORT_STR:
        return borrow_apart(source, text)
    text.n = st_code_points(PyUnicode_DATA(source), <size_t>len(source), <unsigned>PyUnicode_KIND(source), buffer)
    if text.n == ST_NOT_CONVERTED:
        return borrow(source, text)
    text.data, text.flags, text.held = buffer, ST_FEED_TRUSTED, False
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
