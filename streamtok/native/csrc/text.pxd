from libc.stdint cimport uint8_t, uint32_t, uint64_t

from .base cimport st_status


cdef extern from "text/str_to_utf8.h" nogil:
    size_t ST_NOT_CONVERTED
    size_t ST_CODE_POINTS_ROOM(size_t n)
    size_t st_code_points(const void *characters, size_t n, unsigned width, uint8_t *to)


cdef extern from "text/str_exact.h" nogil:
    size_t st_code_points_size(const void *characters, size_t n, unsigned width)
    void st_code_points_put(const void *characters, size_t n, unsigned width, uint8_t *to)


cdef extern from "text/utf8_check.h" nogil:
    ctypedef enum st_errors:
        ST_ERRORS_STRICT, ST_ERRORS_REPLACE, ST_ERRORS_IGNORE
    ctypedef enum st_text_fault:
        ST_TEXT_INVALID_START, ST_TEXT_INVALID_CONTINUATION, ST_TEXT_UNEXPECTED_END
    ctypedef struct st_text_error:
        size_t start, end
        st_text_fault fault
    size_t st_text_check(const uint8_t *text, size_t n, st_text_error *error)


cdef extern from "text/utf8_to_str.h" nogil:
    ctypedef struct st_utf8_facts:
        size_t characters
        uint32_t limit
    st_utf8_facts st_utf8_measure(const uint8_t *text, size_t n)
    st_status st_utf8_to_code_points(const uint8_t *text, size_t n, unsigned width, void *to)


cdef extern from "text/chunk.h" nogil:
    ctypedef struct st_text_stage:
        st_errors errors
        uint8_t *partial
        uint32_t partial_size
        uint64_t offset
    ctypedef struct st_segments:
        uint8_t *joined
        size_t joined_size
        const uint8_t *text
        size_t n
    void st_text_stage_free(st_text_stage *stage)
    st_status st_text_stage_take(st_text_stage *stage, const uint8_t *text, size_t n, int trusted, int final,
                                 st_segments *segments, st_text_error *error)
    void st_text_stage_commit(st_text_stage *stage, const st_segments *segments, size_t n)
