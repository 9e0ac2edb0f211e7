"""Memory that objects of Python keep; memory.pxd says which kinds there are."""

cimport cython
from cpython.buffer cimport PyBUF_ND, PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from .csrc.base cimport *


@cython.freelist(8)
@cython.no_gc_clear  # it would let go of the buffer without releasing it
cdef class Items:
    def __dealloc__(self):
        PyBuffer_Release(&self.view)  # nothing, where none was got

    def __bytes__(self):
        return PyBytes_FromStringAndSize(<const char *>self.view.buf, self.view.len)


cdef Items items_of(object buffer, Py_ssize_t size, bint writable=False):
    cdef Items items = Items.__new__(Items)
    PyObject_GetBuffer(buffer, &items.view, PyBUF_ND | (PyBUF_WRITABLE if writable else 0))
    if items.view.itemsize != size or items.view.ndim != 1:
        raise ValueError(f"expected a row of items of {size} bytes, got {items.view.ndim} dimensions of {items.view.itemsize}")
    items.data, items.n = items.view.buf, items.view.len // size
    return items


cdef Items bytes_in(object buffer, bint writable=False):
    cdef Items items = Items.__new__(Items)
    PyObject_GetBuffer(buffer, &items.view, PyBUF_WRITABLE if writable else PyBUF_SIMPLE)
    items.data, items.n = items.view.buf, items.view.len
    return items


cdef class Numbers:
    def __dealloc__(self):
        st_free(self.data)


cdef Numbers new_numbers(Py_ssize_t n):
    cdef Numbers numbers = Numbers.__new__(Numbers)
    numbers.data, numbers.n = <int64_t *>st_malloc(<size_t>(n + 1) * sizeof(int64_t)), n
    if numbers.data == NULL:
        raise MemoryError
    return numbers


cdef Numbers copy_of(Items items, Py_ssize_t n):
    cdef Numbers numbers = new_numbers(n)
    memcpy(numbers.data, items.data, <size_t>n * sizeof(int64_t))
    return numbers


cdef Numbers numbers_of(object buffer):
    cdef Items items = items_of(buffer, sizeof(int64_t))
    return copy_of(items, items.n)


cdef Numbers spans_of(object spans, Py_ssize_t n):
    cdef Items items = bytes_in(spans)
    cdef Numbers rows = copy_of(items, items.n // <Py_ssize_t>sizeof(int64_t))
    cdef Py_ssize_t i
    for i in range(rows.n // 2):
        if not 0 <= rows.data[2 * i] <= rows.data[2 * i + 1] <= n:
            raise ValueError(f"span {i}, ({rows.data[2 * i]}, {rows.data[2 * i + 1]}), lies outside of a text of {n} bytes")
    return rows


cdef class Bytes:
    def __dealloc__(self):
        st_bytes_free(&self.own)

    def __bytes__(self):
        return PyBytes_FromStringAndSize(<const char *>self.own.data, <Py_ssize_t>self.own.size)


@cython.no_gc_clear  # whoever has the buffer still reads the owner's memory
cdef class Memory:
    def __len__(self):
        return self.n

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(view, self, self.data, self.n, not self.is_writable, flags)


cdef Memory memory_of(object owner, const void *data, size_t n):
    cdef Memory memory = Memory.__new__(Memory)
    memory.owner, memory.data, memory.n = owner, <void *>data, <Py_ssize_t>n
    return memory
