from libc.stdint cimport uint8_t, uint32_t

from .vocab cimport st_vocab


cdef extern from "cut/cuts.h" nogil:
    ctypedef struct st_cuts:
        pass
    const st_cuts *st_vocab_cuts(st_vocab *vocab)
    size_t st_cuts_find(const st_cuts *cuts, const uint8_t *text, size_t n, size_t *start, uint32_t *borders, size_t most)
