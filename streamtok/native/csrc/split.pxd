from libc.stdint cimport uint8_t, uint32_t, uint64_t

from .base cimport st_status


cdef extern from "split/scan.h" nogil:
    ctypedef enum st_split_family:
        ST_SPLIT_NONE, ST_SPLIT_TABLE, ST_SPLIT_FAMILIES
    ctypedef struct st_dfa
    ctypedef struct st_pattern:
        st_split_family family
    const char *st_row_name(st_split_family family)
    st_pattern st_pattern_of(st_split_family family, const st_dfa *dfa)
    int st_pattern_drops(st_pattern pattern)
    uint64_t st_pattern_identity(st_pattern pattern)
    uint64_t ST_DROPPED
    ctypedef struct st_scan:
        uint64_t length
    void st_scan_init(st_scan *scan)
    size_t st_scan_feed(st_pattern pattern, st_scan *scan, const uint8_t *text, size_t n, size_t *consumed,
                        uint64_t *ends, size_t capacity)
    size_t st_scan_finish(st_pattern pattern, st_scan *scan, uint64_t *ends)
    int st_scan_is_piece(st_pattern pattern, const uint8_t *text, size_t n)
    size_t st_last_sync_point(st_pattern pattern, const uint8_t *text, size_t n)


cdef extern from "split/dfa_table.h" nogil:
    int ST_DFA_BLOCK, ST_DFA_INDEX_BYTES


cdef extern from "split/dfa.h" nogil:
    ctypedef struct st_dfa_table:
        uint32_t classes, states
        const uint8_t *index
        const uint8_t *blocks
        const uint8_t *entries
        const uint8_t *ops
        size_t block_count, op_count
    st_status st_dfa_new(const st_dfa_table *table, st_dfa **dfa)
    st_status st_dfa_of_row(st_split_family family, st_dfa **dfa)
    void st_dfa_free(st_dfa *dfa)
    size_t st_dfa_image(const st_dfa *dfa, uint64_t address, uint8_t *to)
