from libc.stdint cimport uint8_t, uint32_t, uint64_t

from .base cimport st_status
from .text cimport st_segments, st_text_stage


cdef extern from "special/special_tokens.h" nogil:
    ctypedef struct st_special_node:
        uint32_t fail, bits
    ctypedef struct st_special_edge:
        uint64_t key
    ctypedef struct st_special_edges:
        const st_special_edge *places
        uint64_t mask, factor
    ctypedef struct st_special:
        st_special_node *nodes
        uint32_t *depth
        uint32_t *place
        uint32_t *name
        uint32_t *inner
        st_special_edges edges
        uint32_t count
        uint32_t[256] first
        size_t longest_name, total
        const st_special *late
    st_status st_special_new(const uint8_t *names, const size_t *lengths, const uint32_t *ids, size_t count,
                             st_special **special)
    void st_special_free(st_special *special)
    st_status st_special_set_flags(st_special *special, const uint8_t *flags, const uint32_t *words, size_t word_ranges)
    uint32_t ST_NAME_TAKES_LEFT, ST_NAME_TAKES_RIGHT, ST_NAME_ALONE
    uint32_t ST_NO_SPECIAL
    ctypedef enum st_special_result:
        ST_SPECIAL_NONE, ST_SPECIAL_FOUND, ST_SPECIAL_HELD
    ctypedef struct st_special_match:
        size_t start, end
        uint32_t id
    ctypedef struct st_special_search:
        size_t before, at
        uint32_t node
    st_special_search st_special_search_behind(const st_special *special, uint32_t node)
    st_special_result st_special_find(const st_special *special, st_special_search *search, const uint8_t *text,
                                      size_t until, size_t n, int final, st_special_match *match)
    uint32_t st_special_walk(const st_special *special, const uint8_t *text, size_t n)
    const uint8_t *st_special_bytes(const st_special *special, uint32_t node, size_t *n)


cdef extern from "special/cutter.h" nogil:
    ctypedef struct st_cutter_sink:
        st_status (*text)(void *context, const uint8_t *text, size_t n)
        st_status (*end)(void *context)
        st_status (*name)(void *context, uint32_t id, const uint8_t *text)
        void *context
    ctypedef struct st_cutter:
        const st_special *names
    void st_cutter_free(st_cutter *cutter)
    st_status st_cutter_feed(st_cutter *cutter, const uint8_t *text, size_t n, int final, const st_cutter_sink *sink)


cdef extern from "special/disallowed.h" nogil:
    ctypedef struct st_watch:
        const st_special *names
        uint32_t node
        uint64_t offset
    void st_watch_reset(st_watch *watch)
    st_status st_watch_chunk(st_watch *watch, const st_text_stage *stage, const st_segments *segments, int final,
                             uint64_t *offset, uint32_t *id)
