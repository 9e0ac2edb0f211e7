cdef extern from "lookup/encode_pieces.h" nogil:
    ctypedef enum st_engine:
        ST_ENGINE_FAST, ST_ENGINE_REFERENCE
