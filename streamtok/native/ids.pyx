"""Ids in C memory as numpy arrays and as lists. numpy is imported when the first array is made, so that importing and loading stay
quick."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.long cimport PyLong_FromUnsignedLong
from cpython.ref cimport Py_INCREF, PyObject
from libc.stdint cimport SIZE_MAX, uint32_t, uint64_t
from libc.string cimport memcpy, memset

import sys

from .csrc.base cimport *
from .interrupt cimport Scope, begin, check, end as end_scope, free_aside
from .memory cimport Items, items_of
from .vocab cimport Vocab

import cython
from cython cimport critical_section

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
    int NPY_UINT32, NPY_ARRAY_WRITEABLE, NPY_ARRAY_CARRAY_RO
    bint PyArray_CheckExact(object array)
    bint PyArray_CHKFLAGS(PyArrayObject *array, int flags)
    bint PyTypeNum_ISUNSIGNED(int number)
    bint PyArray_ISNOTSWAPPED(PyArrayObject *array)
    int PyArray_NDIM(PyArrayObject *array)
    int PyArray_TYPE(PyArrayObject *array)
    Py_ssize_t PyArray_ITEMSIZE(PyArrayObject *array)
    Py_ssize_t PyArray_DIM(PyArrayObject *array, int axis)
    void *PyArray_DATA(PyArrayObject *array)

cdef int numpy_ready = 0
cdef object importing = object()  # one thread imports

# The memory of the last large array, kept for the next one: the first write to a page costs the system 1.3 us, up to a tenth of
# the time of encoding, or a quarter of that of sixteen threads. One block for all threads, of 64 KB (where the gain begins to count)
# to 16 MB (so that little is held). And a larger one, up to 1 GB, where the system may take its pages back at any time.
cdef enum:
    SPARE_FROM = 1 << 14
    SPARE_UP_TO = 1 << 22
    LARGE_UP_TO = 1 << 28

cdef struct Spare:
    st_ids ids
    uint64_t capacity  # of these; read without a lock
    int is_lent

cdef Spare[2] spares
memset(spares, 0, sizeof(spares))


cdef Spare *spare_for(size_t ids) noexcept:
    return &spares[ids > SPARE_UP_TO]


# From this length on a fixed estimate is too rough: a buffer that is too small is moved, and one that is much too large is fetched
# from the system each time. So the number of ids of the last such text is the estimate.
cdef enum:
    EXPECT_FROM = 1 << 23


cdef void init_expected(Expected *expected) noexcept:
    expected.of_bytes, expected.of_characters = 1024 // 4, 1024 // 2


cdef size_t ids_expected(const Expected *expected, size_t n, bint characters) noexcept:
    if n < EXPECT_FROM:  # a character beyond ASCII has two bytes or more
        return n // 2 if characters else n // 4
    return (n // 1024 + 1) * st_number_read(&expected.of_characters if characters else &expected.of_bytes)


cdef size_t ids_at_most(size_t n, bint characters) noexcept:
    # An id stands for a byte at least, but where a normalizer makes text longer: then the ids move. Three bytes a character.
    return 3 * n if characters else n


cdef void expect(Expected *expected, size_t n, bint characters, size_t ids) noexcept:
    if n >= EXPECT_FROM:
        st_number_write(&expected.of_characters if characters else &expected.of_bytes, ids // (n // 1024 + 1) * 17 // 16 + 1)


cdef void exchange(Spare *spare, st_ids *ids) noexcept:
    cdef st_ids other
    if st_flag_raise(&spare.is_lent):
        other = spare.ids
        spare.ids = ids[0]
        ids[0] = other
        st_number_write(&spare.capacity, spare.ids.capacity)
        st_flag_lower(&spare.is_lent)


cdef void reserve(st_ids *ids, size_t more, size_t most) noexcept:
    cdef size_t size
    # Read without a lock: at worst the memory has another size than was seen here.
    if ids.size == 0 and ids.capacity < more <= st_number_read(&spare_for(more).capacity) <= 4 * more:
        exchange(spare_for(more), ids)
        ids.size = 0
    if ids.data == NULL and SPARE_UP_TO < more < SIZE_MAX // 16:
        size = more * sizeof(uint32_t)
        ids.data = <uint32_t *>st_alloc_room(&size, min(most, SIZE_MAX // 16) * sizeof(uint32_t))
        ids.capacity = size // sizeof(uint32_t) if ids.data != NULL else 0
    st_ids_reserve(ids, more)


cdef void recycle(st_ids *ids) noexcept:
    if SPARE_FROM <= ids.capacity <= SPARE_UP_TO:
        exchange(&spares[0], ids)
    elif SPARE_UP_TO < ids.capacity <= LARGE_UP_TO and st_alloc_idle(ids.data, ids.capacity * sizeof(uint32_t)):
        exchange(&spares[1], ids)
    st_ids_free(ids)


def free_spare():
    """Frees what is kept for the next array."""
    cdef st_ids ids
    for i in range(2):
        memset(&ids, 0, sizeof(ids))
        exchange(&spares[i], &ids)
        st_ids_free(&ids)


cdef class IdBuffer:
    """Owns ids in C memory. Each array over it holds a lease; while there is a lease, nothing writes into the memory."""

    def __dealloc__(self):
        recycle(&self.ids)


@cython.freelist(16)
cdef class Lease:
    """The base of an array over an IdBuffer. It counts the array as long as the array, or a view of it, exists."""
    cdef IdBuffer buffer

    def __dealloc__(self):
        if self.buffer is not None:
            st_count_add(&self.buffer.leases, -1)


cdef int import_numpy() except -1:
    with critical_section(importing):
        if not st_count_read(&numpy_ready):
            _import_array()
            st_count_add(&numpy_ready, 1)
    return 0


cdef object array_at(void *data, size_t count, object owner):
    """A read-only uint32 array over memory that the owner keeps."""
    cdef Py_ssize_t n = <Py_ssize_t>count
    if not st_count_read(&numpy_ready):
        import_numpy()
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
    """A read-only uint32 array of the ids: a copy if they are few, so that `ids` keeps its memory; otherwise `ids` gives its
    memory to the array and is empty."""
    cdef IdBuffer buffer
    if ids.size <= COPIED:
        copy = PyBytes_FromStringAndSize(<const char *>ids.data, <Py_ssize_t>(ids.size * sizeof(uint32_t)))
        return array_at(PyBytes_AS_STRING(copy), ids.size, copy)
    buffer = IdBuffer.__new__(IdBuffer)
    buffer.ids = ids[0]
    memset(ids, 0, sizeof(st_ids))
    trim(&buffer.ids)
    return array_over(buffer)


def writable(array: _Ids) -> _Ids:
    """The array as a writable one. Nothing else may refer to it. It is copied only where its memory may be shared."""
    if isinstance(array.base, Lease) and (<Lease>array.base).buffer.leases == 1:
        PyArray_ENABLEFLAGS(<PyArrayObject *>array, NPY_ARRAY_WRITEABLE)
        return array
    return array.copy()


cdef bint is_array(object value) except -1:
    if not st_count_read(&numpy_ready):
        if "numpy" not in sys.modules:  # then nobody has an array
            return False
        import_numpy()
    return PyArray_CheckExact(value)


cdef bint array_row(object value, const uint32_t **data, size_t *n) except -1:
    if not is_array(value):
        return False
    cdef PyArrayObject *array = <PyArrayObject *>value
    if PyArray_NDIM(array) != 1 or PyArray_ITEMSIZE(array) != 4 or not PyTypeNum_ISUNSIGNED(PyArray_TYPE(array)):
        return False
    if not PyArray_CHKFLAGS(array, NPY_ARRAY_CARRAY_RO) or not PyArray_ISNOTSWAPPED(array):
        return False
    data[0], n[0] = <const uint32_t *>PyArray_DATA(array), <size_t>PyArray_DIM(array, 0)
    return True


cdef void trim(st_ids *ids) noexcept:
    # The array holds this memory as long as it exists, so unused room is given back, except for a twelfth: the next text, if it
    # reuses the memory, may have a few more ids, and expect() asks for a sixteenth more, and an id for each 1,024 bytes.
    cdef void *data
    cdef size_t kept = ids.size + ids.size // 12
    if ids.size and ids.capacity > ids.size + ids.size // 8 + 64:
        data = st_realloc(ids.data, kept * sizeof(uint32_t))
        if data != NULL:
            ids.data = <uint32_t *>data
            ids.capacity = kept


# ---- lists ----

cdef extern from "Python.h":
    void Py_SET_SIZE(object items, Py_ssize_t size)


# Ints that are prefetched at a time: their pointers and first lines fit the first-level cache.
cdef enum:
    AT_ONCE = 64
    LONG_LIST = 4096  # a list of so many takes some microseconds


cdef int put_ints(list to, size_t place, Vocab vocab, PyObject **ints, const uint32_t *ids, size_t n) except -1:
    """Puts the ints of n ids into a list."""
    cdef PyObject *found[AT_ONCE]
    cdef size_t at = 0, count, i
    cdef uint32_t token
    while at < n:  # a range() with a step that is no literal would be Python's, a sixth of a short text's time
        count = min(<size_t>AT_ONCE, n - at)
        for i in range(count):
            token = ids[at + i]
            found[i] = NULL if ints == NULL or token >= vocab.int_count else ints[token]
            st_prefetch(found[i])
        for i in range(count):
            if found[i] == NULL:
                item = vocab.int_of(ids[at + i]) if ints != NULL else PyLong_FromUnsignedLong(ids[at + i])
            else:
                item = <object>found[i]
            Py_INCREF(item)  # SET_ITEM takes this one
            PyList_SET_ITEM(to, <Py_ssize_t>(place + at + i), item)
        at += count
    return 0


cdef list list_of(Vocab vocab, const st_ids *ids, size_t start, size_t end):
    """The ids as a list. Each int is made once for a vocabulary and shared by all lists: making ints would be most of the cost."""
    cdef PyObject **ints = vocab.shared_ints()
    cdef size_t n = end - start
    result = PyList_New(<Py_ssize_t>n)
    if n >= LONG_LIST:
        return fill_long(result, vocab, ints, ids.data + start, n)
    put_ints(result, 0, vocab, ints, ids.data + start, n)
    return result


cdef list fill_long(list result, Vocab vocab, PyObject **ints, const uint32_t *ids, size_t n):
    cdef size_t at = 0, count
    cdef Scope scope
    begin(&scope, NULL)
    try:
        while at < n and not st_go_on(sizeof(uint32_t) * LONG_LIST):
            count = min(<size_t>LONG_LIST, n - at)
            put_ints(result, at, vocab, ints, ids + at, count)
            at += count
    finally:
        end_scope(&scope)
    if at < n:
        Py_SET_SIZE(result, <Py_ssize_t>at)
        free_aside(result)
    check(&scope)
    return result


def alike(left not None: _Ids, right not None: _Ids) -> tuple[int, int]:
    """(ids that two arrays begin with alike, those that they end with alike behind these)"""
    cdef Items one = items_of(left, sizeof(uint32_t)), other = items_of(right, sizeof(uint32_t))
    cdef const uint32_t *a = <const uint32_t *>one.data
    cdef const uint32_t *b = <const uint32_t *>other.data
    cdef Py_ssize_t n = one.n, m = other.n, least = min(n, m), first = 0, last = 0
    while first < least and a[first] == b[first]:
        first += 1
    least -= first
    while last < least and a[n - 1 - last] == b[m - 1 - last]:
        last += 1
    return first, last


def joined(list parts not None: list[bytes | _Ids]) -> _Ids:
    """The ids of several arrays, or of bytes that hold them, as one read-only uint32 array."""
    cdef IdBuffer buffer = IdBuffer.__new__(IdBuffer)
    cdef Py_ssize_t total = 0
    cdef Items view
    for part in parts:
        total += len(part) // 4 if isinstance(part, bytes) else len(part)
    reserve(&buffer.ids, <size_t>total, 0)
    if buffer.ids.capacity < <size_t>total:
        raise MemoryError
    for part in parts:
        if isinstance(part, bytes):
            put_ids(&buffer.ids, PyBytes_AS_STRING(part), <size_t>len(part) // sizeof(uint32_t))
        else:
            view = items_of(part, sizeof(uint32_t))
            put_ids(&buffer.ids, view.data, <size_t>view.n)
    trim(&buffer.ids)
    return array_over(buffer)


cdef void put_ids(st_ids *to, const void *data, size_t n) noexcept:
    if n <= to.capacity - to.size:
        memcpy(to.data + to.size, data, n * sizeof(uint32_t))
        to.size += n


def listed(Vocab vocab not None, ids not None: _Ids) -> list[int]:
    """An array of ids as a list of the vocabulary's shared ints."""
    cdef Items view = items_of(ids, sizeof(uint32_t))
    cdef st_ids borrowed
    borrowed.data, borrowed.size, borrowed.capacity = <uint32_t *>view.data, <size_t>view.n, 0
    return list_of(vocab, &borrowed, 0, borrowed.size)
