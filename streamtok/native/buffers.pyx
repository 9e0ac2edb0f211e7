"""Buffers of bytes that a device or another thread fills, handed out as bytes, as a str, or as rows of either."""

cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.ref cimport Py_XDECREF, PyObject
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcpy, memset

from .csrc.base cimport st_alloc_advise, st_alloc_large, st_free, st_ids
from .decode cimport text_of
from .ids cimport array_of, recycle, reserve
from .text cimport Items, Numbers, items_of, numbers_of
from .workers cimport Batch, begin_copy, is_little

from .ids import writable

cdef extern from "Python.h":
    PyObject *new_bytes "PyBytes_FromStringAndSize" (const char *data, Py_ssize_t n) except NULL
    int _PyBytes_Resize(PyObject **data, Py_ssize_t n) except -1


cdef class BytesBuffer:
    """Room for n bytes, as a writable buffer; taken(size) is its beginning as a bytes object, without a copy."""
    cdef PyObject *made
    cdef Py_ssize_t n, lent

    def __cinit__(self, Py_ssize_t n):
        self.made, self.n = new_bytes(NULL, n), n
        st_alloc_advise(PyBytes_AS_STRING(<object>self.made), <size_t>n)

    def __dealloc__(self):
        Py_XDECREF(self.made)

    def __getbuffer__(self, Py_buffer *view, int flags):
        if self.made == NULL:
            raise BufferError("the bytes are taken")
        PyBuffer_FillInfo(view, self, PyBytes_AS_STRING(<object>self.made), self.n, 0, flags)
        self.lent += 1

    def __releasebuffer__(self, Py_buffer *view):
        self.lent -= 1

    def taken(self, Py_ssize_t size) -> bytes:
        """Once only, when nothing else holds the buffer; BufferError otherwise."""
        if self.lent or self.made == NULL:
            raise BufferError("the buffer is still in use, or its bytes are taken")
        if not 0 <= size <= self.n:
            raise ValueError(f"the buffer has {self.n} bytes, and {size} are asked for")
        _PyBytes_Resize(&self.made, size)
        result = <object>self.made
        Py_XDECREF(self.made)
        self.made = NULL
        return result


cdef class WritableIds:
    """Room for n ids of 32 bits, as a writable buffer; for `most`, if the system gives memory that is not written for nothing.
    It is memory that another array has left, if there is some that fits: its pages are there already. taken(size) is its beginning
    as an array."""
    cdef st_ids ids
    cdef Py_ssize_t lent
    cdef bint is_taken

    def __cinit__(self, size_t n, size_t most):
        memset(&self.ids, 0, sizeof(self.ids))
        reserve(&self.ids, n, most)
        if self.ids.capacity < n:
            raise MemoryError

    def __dealloc__(self):
        recycle(&self.ids)

    @property
    def capacity(self) -> int:
        """How many ids there is room for."""
        return self.ids.capacity

    def __getbuffer__(self, Py_buffer *view, int flags):
        if self.is_taken:
            raise BufferError("the ids are taken")
        PyBuffer_FillInfo(view, self, self.ids.data, <Py_ssize_t>(self.ids.capacity * sizeof(uint32_t)), 0, flags)
        self.lent += 1

    def __releasebuffer__(self, Py_buffer *view):
        self.lent -= 1

    def taken(self, size_t size) -> _Ids:
        """A writable array of uint32. Once only, when nothing else holds the buffer; BufferError otherwise."""
        if self.lent or self.is_taken:
            raise BufferError("the buffer is still in use, or its ids are taken")
        if size > self.ids.capacity:
            raise ValueError(f"the buffer is for {self.ids.capacity} ids, and {size} are asked for")
        self.ids.size = size
        self.is_taken = True
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


@cython.no_gc_clear  # it would let go of the buffer without releasing it
cdef class Lent:
    """A part of another object's memory as a buffer that cannot be written to: n bytes from `start` on. When nothing refers to it any more,
    back.append(what) is called."""
    cdef Py_buffer view
    cdef Py_ssize_t start, n
    cdef bint is_held
    cdef object back, what

    def __cinit__(self, owner not None: _Data, Py_ssize_t start, Py_ssize_t n, back not None, what):
        PyObject_GetBuffer(owner, &self.view, PyBUF_SIMPLE)
        self.is_held = True
        if not 0 <= start <= start + n <= self.view.len:
            raise ValueError(f"the memory has {self.view.len} bytes: it has no {n} from {start} on")
        self.start, self.n, self.back, self.what = start, n, back, what

    def __dealloc__(self):
        if self.is_held:
            PyBuffer_Release(&self.view)
        if self.back is not None:
            self.back.append(self.what)

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(view, self, <uint8_t *>self.view.buf + self.start, self.n, 1, flags)


cdef class Block:
    """Memory in large pages, as a writable buffer."""
    cdef object __weakref__
    cdef void *data
    cdef Py_ssize_t n

    def __cinit__(self, Py_ssize_t n):
        self.data, self.n = st_alloc_large(<size_t>n), n
        if self.data == NULL:
            raise MemoryError

    def __dealloc__(self):
        st_free(self.data)

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(view, self, self.data, self.n, 0, flags)


def text_of_bytes(data not None: _Data, str errors not None) -> str:
    """The str of UTF-8, as bytes.decode() gives it. LookupError: `errors` is needed, and unknown."""
    cdef Py_buffer view
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        return text_of(<const uint8_t *>view.buf, <size_t>view.len, errors)
    finally:
        PyBuffer_Release(&view)


#: @overload
#: def rows_of_bytes(data: _Data, row_starts: _Data, errors: None) -> list[bytes]: ...
#: @overload
#: def rows_of_bytes(data: _Data, row_starts: _Data, errors: str) -> list[str]: ...
def rows_of_bytes(data not None, row_starts not None, errors):
    """The rows data[row_starts[i]:row_starts[i + 1]], each a bytes object, or a str where `errors` is not None. row_starts: a buffer
    of int64. ValueError: rows that are not in the data."""
    cdef Numbers items = numbers_of(row_starts)
    cdef const int64_t *starts = items.data
    cdef Py_buffer view
    cdef Py_ssize_t i
    cdef int64_t before = 0
    PyObject_GetBuffer(data, &view, PyBUF_SIMPLE)
    try:
        for i in range(items.n):
            if not before <= starts[i] <= view.len:
                raise ValueError(f"row {i} begins at {starts[i]}, in data of {view.len} bytes")
            before = starts[i]
        rows = []
        for i in range(items.n - 1):
            if errors is None:
                rows.append(PyBytes_FromStringAndSize(<const char *>view.buf + starts[i], <Py_ssize_t>(starts[i + 1] - starts[i])))
            else:
                rows.append(text_of(<const uint8_t *>view.buf + starts[i], <size_t>(starts[i + 1] - starts[i]), errors))
        return rows
    finally:
        PyBuffer_Release(&view)
