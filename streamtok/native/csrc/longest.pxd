from libc.stdint cimport uint8_t, uint64_t

from .base cimport st_ids, st_status
from .vocab cimport st_vocab


cdef extern from "longest/matcher.h" nogil:
    st_status st_longest_reference(const st_vocab *vocab, const uint8_t *text, size_t n, st_ids *out)

cdef extern from "longest/cells.h" nogil:
    ctypedef uint64_t st_cell
    st_status st_cells_build(const st_vocab *vocab, st_cell **cells, size_t *count)
