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
    void PyArray_ENABLEFLAGS(PyArrayObject *array, int flags)
    int NPY_UINT32, NPY_ARRAY_WRITEABLE

cdef bint numpy_ready = False

# Memory that large arrays have left, for the next one: the system takes 1.3 us for each page that a process writes first, up
# to a tenth of what encoding takes. One for all threads, from 64 KB, where that counts, to 16 MB, so that little is held.
cdef enum:
    SPARE_FROM = 1 << 14
    SPARE_UP_TO = 1 << 22
cdef st_ids spare
cdef int spare_is_lent = 0


# From here on a guess is too rough: what is too small has to be moved, and so much too much comes anew from the system each time.
cdef enum:
    EXPECT_FROM = 1 << 23


cdef void init_expected(Expected *expected) noexcept:
    expected.of_bytes, expected.of_characters = 1024 // 4, 1024 // 2


cdef size_t ids_expected(const Expected *expected, size_t n, bint characters) noexcept:
    if n < EXPECT_FROM:  # a character beyond ASCII has two bytes or more
        return n // 2 if characters else n // 4
    return (n // 1024 + 1) * (expected.of_characters if characters else expected.of_bytes)


cdef void expect(Expected *expected, size_t n, bint characters, size_t ids) noexcept:
    cdef uint32_t of = <uint32_t>(ids // (n // 1024 + 1) * 17 // 16 + 1)
    if n >= EXPECT_FROM and characters:
        expected.of_characters = of
    elif n >= EXPECT_FROM:
        expected.of_bytes = of


cdef void exchange_spare(st_ids *ids) noexcept:
    global spare
    cdef st_ids other
    if st_flag_raise(&spare_is_lent):
        other = spare
        spare = ids[0]
        ids[0] = other
        st_flag_lower(&spare_is_lent)


cdef void reserve(st_ids *ids, size_t more) noexcept:
    # Looked at without asking whether it is lent: at worst other memory comes than was seen.
    if ids.size == 0 and ids.capacity < more <= spare.capacity <= 4 * more:
        exchange_spare(ids)
        ids.size = 0
    st_ids_reserve(ids, more)


cdef void recycle(st_ids *ids) noexcept:
    if SPARE_FROM <= ids.capacity <= SPARE_UP_TO:
        exchange_spare(ids)
    st_ids_free(ids)


def free_spare():
    """Frees what is kept for the next array."""
    cdef st_ids ids
    memset(&ids, 0, sizeof(ids))
    exchange_spare(&ids)
    st_ids_free(&ids)


cdef class IdBuffer:
    """Owns ids in C memory. Arrays over it hold a lease each; while there is one, nobody writes into it."""

    def __dealloc__(self):
        recycle(&self.ids)


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


def writable(array):
    """The array, which has to be nobody else's, as one that can be written to; a copy only where it lies in memory that may
    be shared."""
    if isinstance(array.base, Lease) and (<Lease>array.base).buffer.leases == 1:
        PyArray_ENABLEFLAGS(<PyArrayObject *>array, NPY_ARRAY_WRITEABLE)
        return array
    return array.copy()


cdef void trim(st_ids *ids) noexcept:
    # The array keeps what it was given for as long as it lives: give back room that growth left over, but for as much as
    # the ids of the next text may be more, if they come to lie here.
    cdef void *data
    cdef size_t kept = ids.size + ids.size // 16
    if ids.size and ids.capacity > ids.size + ids.size // 8 + 64:
        data = st_realloc(ids.data, kept * sizeof(uint32_t))
        if data != NULL:
            ids.data = <uint32_t *>data
            ids.capacity = kept
