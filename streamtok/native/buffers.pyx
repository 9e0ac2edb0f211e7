"""Buffers of bytes that a device or another thread fills, handed out as bytes, as a str, or as rows of either."""

cimport cython
from cpython.buffer cimport PyBuffer_FillInfo
from cpython.bytes cimport PyBytes_AS_STRING
from cpython.ref cimport Py_XDECREF, PyObject
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcpy

from .csrc.base cimport st_alloc_advise, st_alloc_large, st_free, st_ids
from .decode cimport cut_rows, text_of
from .ids cimport array_of, recycle, reserve
from .memory cimport Items, Memory, Numbers, bytes_in, items_of, numbers_of
from .workers cimport Batch, begin_copy, is_little

from .ids import writable

cdef extern from "Python.h":
    PyObject *new_bytes "PyBytes_FromStringAndSize" (const char *data, Py_ssize_t n) except NULL
    int _PyBytes_Resize(PyObject **data, Py_ssize_t n) except -1


cdef class Filled(Memory):
    """A writable buffer whose beginning is taken once it is filled: once only, when nothing else holds the buffer."""
    cdef Py_ssize_t lent
    cdef bint is_taken

    def __cinit__(self):
        self.is_writable = True

    def __getbuffer__(self, Py_buffer *view, int flags):
        if self.is_taken:
            raise BufferError("the memory is taken")
        PyBuffer_FillInfo(view, self, self.data, self.n, 0, flags)
        self.lent += 1

    def __releasebuffer__(self, Py_buffer *view):
        self.lent -= 1

    cdef int take(self, size_t size, size_t most, str what) except -1:
        if self.lent or self.is_taken:
            raise BufferError("the buffer is still in use, or its memory is taken")
        if size > most:
            raise ValueError(f"the buffer has {most} {what}, and {size} are asked for")
        self.is_taken = True
        return 0


cdef class BytesBuffer(Filled):
    """Memory of n bytes; taken(size) is its beginning as a bytes object, without a copy."""
    cdef PyObject *made

    def __cinit__(self, Py_ssize_t n):
        self.made, self.n = new_bytes(NULL, n), n
        self.data = PyBytes_AS_STRING(<object>self.made)
        st_alloc_advise(self.data, <size_t>n)

    def __dealloc__(self):
        Py_XDECREF(self.made)

    def taken(self, size_t size) -> bytes:
        """BufferError: something holds the buffer, or its bytes are taken. ValueError: it is smaller."""
        self.take(size, <size_t>self.n, "bytes")
        _PyBytes_Resize(&self.made, <Py_ssize_t>size)
        result = <object>self.made
        Py_XDECREF(self.made)
        self.made = NULL
        return result


cdef class WritableIds(Filled):
    """Memory of n ids of 32 bits; of `most`, if the system gives memory that is not written for nothing. It is memory that another
    array has left, if there is some that fits: its pages are there already. taken(size) is its beginning as an array."""
    cdef st_ids ids

    def __cinit__(self, size_t n, size_t most):
        reserve(&self.ids, n, most)
        if self.ids.capacity < n:
            raise MemoryError
        self.data, self.n = self.ids.data, <Py_ssize_t>(self.ids.capacity * sizeof(uint32_t))

    def __dealloc__(self):
        recycle(&self.ids)

    @property
    def capacity(self) -> int:
        """How many ids there is room for."""
        return self.ids.capacity

    def taken(self, size_t size) -> _Ids:
        """A writable array of uint32. BufferError, ValueError: as those of BytesBuffer."""
        self.take(size, self.ids.capacity, "ids")
        self.ids.size = size
        return writable(array_of(&self.ids))


def copied_ids(source not None: _Data) -> _Ids:
    """A copy of a buffer of numbers of 32 bits, as a writable array of uint32, in memory that another array has left, if there is some
    that fits. Several threads copy where it is long."""
    cdef Items items = items_of(source, sizeof(uint32_t))
    cdef WritableIds buffer = WritableIds(<size_t>items.n, <size_t>items.n)
    cdef Batch batch
    if is_little(<size_t>items.n * sizeof(uint32_t)):
        memcpy(buffer.ids.data, items.data, <size_t>items.n * sizeof(uint32_t))
    else:
        batch = begin_copy(buffer.ids.data, items.data, <size_t>items.n * sizeof(uint32_t))
        batch.wait()
    return buffer.taken(<size_t>items.n)


@cython.no_gc_clear  # as the owner's memory is not let go of
cdef class Lent(Memory):
    """A part of another object's memory as a buffer that cannot be written to: n bytes from `start` on. When nothing refers to it any more,
    back.append(what) is called."""
    cdef object back, what

    def __cinit__(self, owner not None: _Data, Py_ssize_t start, Py_ssize_t n, back not None, what):
        cdef Items items = bytes_in(owner)
        if not 0 <= start <= start + n <= items.n:
            raise ValueError(f"the memory has {items.n} bytes: it has no {n} from {start} on")
        self.owner, self.data, self.n, self.back, self.what = items, <uint8_t *>items.data + start, n, back, what

    def __dealloc__(self):
        if self.back is not None:
            self.back.append(self.what)


cdef class Block(Memory):
    """Memory in large pages, as a writable buffer."""
    cdef object __weakref__

    def __cinit__(self, Py_ssize_t n):
        self.data, self.n, self.is_writable = st_alloc_large(<size_t>n), n, True
        if self.data == NULL:
            raise MemoryError

    def __dealloc__(self):
        st_free(self.data)


def text_of_bytes(data not None: _Data, str errors not None) -> str:
    """The str of UTF-8, as bytes.decode() gives it. LookupError: `errors` is needed, and unknown."""
    cdef Items view = bytes_in(data)
    return text_of(<const uint8_t *>view.data, <size_t>view.n, errors)


#: @overload
#: def rows_of_bytes(data: _Data, row_starts: _Data, errors: None) -> list[bytes]: ...
#: @overload
#: def rows_of_bytes(data: _Data, row_starts: _Data, errors: str) -> list[str]: ...
def rows_of_bytes(data not None, row_starts not None, errors):
    """The rows data[row_starts[i]:row_starts[i + 1]], each a bytes object, or a str where `errors` is not None. row_starts: a buffer
    of int64. ValueError: rows that are not in the data."""
    cdef Numbers starts = numbers_of(row_starts)
    cdef Items view = bytes_in(data)
    cdef Py_ssize_t i
    cdef int64_t before = 0
    for i in range(starts.n):
        if not before <= starts.data[i] <= view.n:
            raise ValueError(f"row {i} begins at {starts.data[i]}, in data of {view.n} bytes")
        before = starts.data[i]
    return cut_rows(<const uint8_t *>view.data, starts, errors)
