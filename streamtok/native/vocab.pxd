from cpython.ref cimport PyObject
from libc.stdint cimport uint32_t, uint64_t

from .csrc cimport st_ids, st_names, st_number_read, st_number_write, st_special, st_vocab


cdef class Matcher:
    cdef st_special *special
    cdef readonly list names


cdef class Vocab:
    cdef st_vocab *vocab
    cdef st_names names  # points into the three objects below
    cdef bytes name_bytes, name_starts, name_ids
    cdef readonly dict special_tokens
    cdef PyObject **ints  # see list_of
    cdef size_t int_count
    cdef Py_buffer image  # what `vocab` lies in, if it was not built here
    cdef public str path  # of the file that the image is mapped from
    cdef uint64_t encoded, limit  # bytes encoded so far; from here on `action` is due
    cdef object action

    cdef _build(self, bytes blob, lengths, ranks, splits, uint32_t dense_side, tuple words)
    cdef PyObject **shared_ints(self) noexcept
    cdef object int_of(self, uint32_t token)
    cdef _open(self, image)
    cdef _set_names(self, dict special_tokens)


# Two threads at once may count for one: to add without that would cost more than the number is worth.
cdef inline void count_bytes(Vocab vocab, size_t n) noexcept:
    st_number_write(&vocab.encoded, st_number_read(&vocab.encoded) + n)


# To be asked at the beginning of a call, before anything is held or changed: what is due may raise, as Ctrl-C does.
cdef inline int do_what_is_due(Vocab vocab) except -1:
    return 0 if st_number_read(&vocab.encoded) < st_number_read(&vocab.limit) else reach_limit(vocab)


cdef int reach_limit(Vocab vocab) except -1


# The allocation counters of this module's copy of csrc, for encode to share: one process, one count.
cdef void *allocation_state() noexcept
