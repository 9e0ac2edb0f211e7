from libc.stdint cimport uint8_t

from .base cimport st_ids, st_status
from .vocab cimport st_vocab


cdef extern from "lookup/workspace.h" nogil:
    ctypedef struct st_workspace:
        pass
    st_workspace *st_workspace_borrow(st_vocab *vocab)
    void st_workspace_return(st_vocab *vocab, st_workspace *workspace)


cdef extern from "lookup/encode_pieces.h" nogil:
    ctypedef enum st_engine:
        ST_ENGINE_FAST, ST_ENGINE_REFERENCE
    st_status st_encode_span(st_vocab *vocab, st_workspace *workspace, st_engine engine, const uint8_t *text, size_t n, bint whole,
                             st_ids *out)
