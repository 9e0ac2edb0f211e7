from libc.stdint cimport uint8_t

from .base cimport st_ids, st_status


cdef extern from "pairs/pair_table.h" nogil:
    ctypedef struct st_pairs:
        pass


cdef extern from "pairs/merge_reference.h" nogil:
    ctypedef struct st_reference_scratch:
        pass
    st_status st_reference_merge(const st_pairs *pairs, const uint8_t *text, size_t n, st_reference_scratch *scratch,
                                 st_ids *out)
    void st_reference_scratch_free(st_reference_scratch *scratch)
