from libc.stdint cimport int64_t, uint32_t, uint64_t

from .base cimport st_status


cdef extern from "rows/padded.h" nogil:
    ctypedef struct st_padding:
        const uint32_t *ids
        const int64_t *starts
        const uint32_t *prefix
        const uint32_t *suffix
        size_t prefix_size, suffix_size, length, most
        int keeps_end, is_left
        uint64_t pad
        unsigned width
        void *out
        void *mask
    void st_pad_rows(const st_padding *job, size_t first, size_t last)


cdef extern from "rows/packed.h" nogil:
    enum:
        ST_BEST_FIT_LENGTH
        ST_PADS
    ctypedef struct st_documents:
        const int64_t *starts
        size_t count
        int has_end
    ctypedef struct st_sequence:
        int64_t place, first
        uint32_t document, has_end
    size_t st_plan_room(const st_documents *documents, size_t length)
    size_t st_plan_joined(const st_documents *documents, size_t length, st_sequence *plan)
    st_status st_plan_best_fit(const st_documents *documents, size_t length, st_sequence *plan, size_t *count)
    ctypedef struct st_packing:
        const uint32_t *ids
        const st_sequence *plan
        size_t count
        uint64_t room, end, pad
        unsigned width
        void *out
        void *positions
    void st_pack_rows(const st_packing *job, size_t first, size_t last)
