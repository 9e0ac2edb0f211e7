from libc.stdint cimport uint8_t, uint32_t

from .base cimport st_bytes, st_ids, st_status


cdef extern from "listing/json.h" nogil:
    ctypedef struct st_json:
        const uint8_t *at
        const char *fault
    double st_json_real(st_json *json)


cdef extern from "listing/listing.h" nogil:
    ctypedef struct st_listing:
        st_bytes text, bytes, letters, scores
        st_ids starts, ids, lengths, repeated
    ctypedef struct st_listing_fault:
        size_t at, entry
        const char *reason
    ctypedef struct st_listing_span:
        size_t start, end
    int st_listing_find(const uint8_t *text, st_listing_span *vocab, st_listing_span *merges, st_listing_fault *fault)
    st_status st_listing_read(st_listing *listing, const uint8_t *text, st_listing_span span, st_listing_fault *fault)
    void st_listing_free(st_listing *listing)
    uint32_t st_listing_number(const st_listing *listing, const uint8_t *text, size_t n)
    st_status st_listing_merges(const st_listing *listing, const uint8_t *text, st_listing_span span, size_t prefix, st_ids *merges,
                                st_listing_fault *fault)
