from libc.stdint cimport uint8_t, uint32_t

from .base cimport st_status
from .split cimport st_dfa


cdef extern from "normal/chars.h" nogil:
    ctypedef enum st_form:
        ST_NFC, ST_NFD, ST_NFKC, ST_NFKD
    int ST_MASK_ACCENTS, ST_MASK_NONSPACING
    const uint8_t st_normal_filters[512]


cdef extern from "normal/charsmap.h" nogil:
    ctypedef struct st_charsmap:
        pass
    int st_charsmap_open(st_charsmap *map, const uint8_t *data, size_t n)
    int st_charsmap_check(const st_charsmap *map, double *growth, size_t *longest)


cdef extern from "normal/normalizer.h" nogil:
    int ST_MOST_STEPS, ST_MOST_SPLITS
    ctypedef enum st_step_kind:
        ST_STEP_FORM, ST_STEP_LOWER, ST_STEP_REPLACE, ST_STEP_CLASS, ST_STEP_PREPEND, ST_STEP_STRIP, ST_STEP_CLEAN, ST_STEP_MAP, ST_STEP_WORDS, ST_STEP_SENTENCE, ST_STEP_MATCHES, ST_STEP_PIECES, ST_STEP_LETTERS
    ctypedef struct st_clean:
        int controls, ideographs, lower
    ctypedef struct st_step:
        st_step_kind kind
        st_form form
        int left, right, runs, least, mask, unless, first
        st_clean clean
        uint8_t *pattern
        uint8_t *content
        uint32_t *ranges
        const st_dfa *dfa
        size_t pattern_size, content_size, range_count
    ctypedef struct st_normalizer:
        st_step steps[16]
        size_t count
        const st_normalizer *behind
    void st_normalizer_init(st_normalizer *normalizer)
    void st_normalizer_free(st_normalizer *normalizer)
    st_status st_normalizer_add(st_normalizer *normalizer, const st_step *step)
    int st_normalizer_leaves(const st_normalizer *normalizer, const uint8_t *text)
    int st_normalizer_has_cuts(const st_normalizer *normalizer)
    int st_normalizer_keeps(const st_normalizer *normalizer, const uint8_t *text, size_t n)
    ctypedef struct st_flow:
        const st_normalizer *normalizer
        st_status (*sink)(void *context, const uint8_t *text, const size_t *source, size_t n) noexcept nogil
        void *context
        int traced, later
    ctypedef struct st_flow_marks:
        pass
    void st_flow_init(st_flow *flow, const st_normalizer *normalizer)
    void st_flow_free(st_flow *flow)
    st_status st_flow_feed(st_flow *flow, const uint8_t *text, size_t n, int end)
    st_status st_flow_feed_piece(st_flow *flow, const uint8_t *text, size_t n, size_t begun, int end)
    size_t st_flow_held(const st_flow *flow)
    void st_flow_mark(const st_flow *flow, st_flow_marks *marks)
    void st_flow_roll_back(st_flow *flow, const st_flow_marks *marks)
    void st_flow_commit(st_flow *flow)
