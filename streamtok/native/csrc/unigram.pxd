from libc.stdint cimport uint32_t


cdef extern from "unigram/rule.h" nogil:
    unsigned ST_UNIGRAM_SINGLE, ST_UNIGRAM_FALLBACK
    size_t ST_UNIGRAM_HEAD, ST_UNIGRAM_MOST_BYTES
    ctypedef struct st_unigram:
        double unknown_score
        uint32_t unknown, flags
        uint32_t *bytes
        double *scores
