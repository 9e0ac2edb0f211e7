from libc.stdint cimport uint8_t, uint32_t, uint64_t

from .base cimport st_status
from .vocab cimport st_vocab


cdef extern from "longest/wordpiece.h" nogil:
    size_t ST_MOST_PREFIX
    ctypedef struct st_wordpiece:
        uint32_t unknown, most, prefix_size
        uint8_t *prefix

cdef extern from "longest/cells.h" nogil:
    ctypedef uint64_t st_cell
    st_status st_cells_build(const st_vocab *vocab, st_cell **cells, size_t *count)
