from libc.stdint cimport uint8_t, uint32_t

from .base cimport st_bytes, st_reader, st_status
from .special cimport st_special
from .text cimport st_text_stage
from .vocab cimport st_names, st_vocab


cdef extern from "decoders/decoder.h" nogil:
    uint32_t ST_NO_STOP
    ctypedef struct st_decoder:
        const st_special *stops
        uint32_t node, stop
        uint8_t *partial
        uint8_t partial_size
    ctypedef struct st_decoder_scratch:
        st_text_stage stage
        st_bytes bytes
    void st_decoder_reset(st_decoder *decoder, const st_special *stops)
    st_status st_decoder_reserve(st_decoder_scratch *scratch, size_t n)
    void st_decoder_scratch_free(st_decoder_scratch *scratch)
    const uint8_t *st_decoder_held(const st_decoder *decoder, size_t *n)
    st_status st_decoder_feed(const st_vocab *vocab, const st_names *names, const uint32_t *ids, size_t count, int final,
                              st_decoder_scratch *scratch, st_decoder *decoder, st_bytes *out)
    st_status st_decoder_pass(const uint8_t *text, size_t n, int final, st_decoder *decoder, st_bytes *out)


cdef extern from "decoders/rules.h" nogil:
    enum:
        ST_RULES_RUNS, ST_RULES_LAST, ST_RULES_FRONT_STAYS
    ctypedef struct st_rules:
        uint32_t flags, most
    ctypedef struct st_rule_place:
        uint32_t last
        int begun, broken, front
        uint32_t left
        st_bytes run
        size_t start
        uint8_t *cut
        uint32_t cut_size
    st_status st_rules_read(st_rules *rules, st_reader *r)
    void st_rules_free(st_rules *rules)
    void st_rule_place_reset(st_rule_place *place, const st_rules *rules)
    void st_rule_place_free(st_rule_place *place)
    st_status st_rule_place_copy(st_rule_place *target, const st_rule_place *source)
    st_status st_rules_feed(const st_rules *rules, st_rule_place *place, const uint32_t *ids, size_t count, st_bytes *out, size_t *bad)
    st_status st_rules_end(const st_rules *rules, st_rule_place *place, st_bytes *out)
    st_status st_rules_bytes(const st_rules *rules, st_rule_place *place, const uint32_t *ids, size_t count, int how, st_bytes *out,
                             size_t *bad)
