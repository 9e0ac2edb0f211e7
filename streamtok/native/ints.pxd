# Reading Python's ints without a call for each.
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t

cdef extern from *:
    """
    #if PY_VERSION_HEX < 0x030B0000
    #include <longintrepr.h>
    #endif

    /* The value of an int that is small enough, as ids are; -1 for any other object. */
    static inline int64_t streamtok_small_int(PyObject *item)
    {
        if (!PyLong_CheckExact(item))
            return -1;
    #if PY_VERSION_HEX >= 0x030C0000
        const PyLongObject *number = (const PyLongObject *)item;
        return PyUnstable_Long_IsCompact(number) ? (int64_t)PyUnstable_Long_CompactValue(number) : -1;
    #else
        return Py_SIZE(item) == 1 ? (int64_t)((PyLongObject *)item)->ob_digit[0] : Py_SIZE(item) == 0 ? 0 : -1;
    #endif
    }
    """
    int64_t streamtok_small_int(PyObject *item)
