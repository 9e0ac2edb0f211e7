from .csrc.threads cimport st_job_text


cdef class Texts:
    cdef st_job_text *entries
    cdef Py_ssize_t count
    cdef bint is_part
    cdef object owner
    cdef readonly bint trusted

    cdef int _allocate(self, Py_ssize_t count) except -1
    cdef object _take(self, Py_ssize_t i, object text)
    cdef object _str(self, Py_ssize_t i)
