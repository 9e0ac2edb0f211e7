"""Ids in C memory as numpy arrays. numpy is imported when the first array is made, so that importing and loading stay
quick."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.ref cimport Py_INCREF, PyObject
from libc.stdint cimport uint32_t
from libc.string cimport memset

from ._csrc cimport *
from ._vocab cimport allocation_state

import cython

st_alloc_share(allocation_state())

# The few numpy calls that are needed, declared here: `cimport numpy` would import numpy with this module.
cdef extern from *:
    """
    #define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
    #include <numpy/arrayobject.h>
    """
    ctypedef struct PyArrayObject:
        pass
    int _import_array() except -1
    object PyArray_SimpleNewFromData(int nd, Py_ssize_t *dims, int typenum, void *data)
    int PyArray_SetBaseObject(PyArrayObject *array, PyObject *base) except -1
    void PyArray_CLEARFLAGS(PyArrayObject *array, int flags)
    int NPY_UINT32, NPY_ARRAY_WRITEABLE

cdef bint numpy_ready = False


cdef class IdBuffer:
    """Owns ids in C memory. Arrays over it hold a lease each; while there is one, nobody writes into it."""

    def __dealloc__(self):
        st_ids_free(&self.ids)


@cython.freelist(16)
cdef class Lease:
    """What an array over an IdBuffer has as its base: counts the array while it, or a view of it, lives."""
    cdef IdBuffer buffer

    def __dealloc__(self):
        if self.buffer is not None:
            st_count_add(&self.buffer.leases, -1)


cdef object array_at(void *data, size_t count, object owner):
    """A read-only uint32 array over memory that the owner keeps."""
    global numpy_ready
    cdef Py_ssize_t n = <Py_ssize_t>count
    if not numpy_ready:
        _import_array()
        numpy_ready = True
    array = PyArray_SimpleNewFromData(1, &n, NPY_UINT32, data)
    PyArray_CLEARFLAGS(<PyArrayObject *>array, NPY_ARRAY_WRITEABLE)
    Py_INCREF(owner)  # SetBaseObject takes this reference
    PyArray_SetBaseObject(<PyArrayObject *>array, <PyObject *>owner)
    return array


cdef object array_over(IdBuffer buffer):
    """A read-only uint32 array over the buffer's ids; no copy."""
    if buffer.ids.data == NULL and st_ids_reserve(&buffer.ids, 1):
        raise MemoryError
    cdef Lease lease = Lease.__new__(Lease)
    lease.buffer = buffer
    st_count_add(&buffer.leases, 1)
    return array_at(buffer.ids.data, buffer.ids.size, lease)


cdef object array_of(st_ids *ids):
    """The same of ids in memory that is wanted again if they are few, and taken from where it is if they are many."""
    cdef IdBuffer buffer
    if ids.size <= COPIED:
        copy = PyBytes_FromStringAndSize(<const char *>ids.data, <Py_ssize_t>(ids.size * sizeof(uint32_t)))
        return array_at(PyBytes_AS_STRING(copy), ids.size, copy)
    buffer = IdBuffer.__new__(IdBuffer)
    buffer.ids = ids[0]
    memset(ids, 0, sizeof(st_ids))
    trim(&buffer.ids)
    return array_over(buffer)


cdef void trim(st_ids *ids) noexcept:
    # The array keeps what it was given for as long as it lives: give back room that growth left over.
    cdef void *data
    if ids.size and ids.capacity > ids.size + ids.size // 8 + 64:
        data = st_realloc(ids.data, ids.size * sizeof(uint32_t))
        if data != NULL:
            ids.data = <uint32_t *>data
            ids.capacity = ids.size
