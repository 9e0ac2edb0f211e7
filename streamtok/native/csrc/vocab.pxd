from libc.stdint cimport uint8_t, uint32_t

from .base cimport st_bytes, st_ids, st_status


cdef extern from "vocab/model.h" nogil:
    enum:
        ST_MODEL_MERGES
        ST_MODEL_HAS_BYTES
        ST_MODEL_HAS_CUTS
        ST_MODEL_JOINS
        ST_MODEL_KEEPS_BYTES
        ST_MODEL_KEEPS_TOKENS
    ctypedef struct st_model:
        const char *name
        unsigned facts
        st_status (*spell)(const st_vocab *vocab, st_ids *ids, size_t start) noexcept nogil
        st_status (*starts)(st_vocab *vocab, const uint8_t *text, size_t n, st_ids *out) noexcept nogil
    ctypedef const st_model *st_find_model(const char *name) noexcept nogil


cdef extern from "vocab/vocab.h" nogil:
    uint32_t ST_NONE
    uint32_t ST_SILENT
    uint32_t ST_FIRST_FRAGMENT
    ctypedef struct st_vocab:
        uint32_t count, max_length
        uint8_t *bytes
        uint32_t *starts
        uint32_t *ids
        uint32_t *left
        uint32_t unreachable, fragments
        int monotone, identity
        const st_model *model
        const void *own
        size_t own_size
    ctypedef struct st_vocab_source:
        const uint8_t *bytes
        const uint32_t *lengths
        const uint32_t *ids
        const uint32_t *splits
        size_t count, words
        int any_order
        const st_model *model
        const void *own
        size_t own_size
    uint32_t st_vocab_highest(const st_vocab *vocab)
    st_status st_vocab_new(const st_vocab_source *source, uint32_t dense_side, st_vocab **vocab, size_t *bad)
    st_status st_vocab_spell(const st_vocab *vocab, st_ids *ids, size_t start)
    void st_vocab_free(st_vocab *vocab)
    uint32_t st_vocab_find(const st_vocab *vocab, const uint8_t *data, size_t n)
    size_t st_token_length(const st_vocab *vocab, uint32_t index)
    int st_token_is_silent(const st_vocab *vocab, uint32_t index)


cdef extern from "vocab/piece_table.h" nogil:
    size_t ST_KEY_BYTES
    size_t st_piece_table_room(size_t count)


cdef extern from "vocab/merge_list.h" nogil:
    enum:
        ST_TOKEN_MADE, ST_TOKEN_START, ST_TOKEN_SILENT
    ctypedef struct st_merge_list:
        const uint8_t *bytes
        const uint32_t *lengths
        const uint32_t *ids
        const uint8_t *kinds
        size_t count
        const uint32_t *left
        const uint32_t *right
        const uint32_t *made
        size_t merges
    st_status st_merge_list_order(const st_merge_list *list, uint32_t *order, uint32_t *splits, int *in_order)


cdef extern from "vocab/packed_words.h" nogil:
    ctypedef struct st_word_list:
        const uint8_t *shared
        const uint8_t *rest_lengths
        const uint8_t *levels
        const uint8_t *rests
        size_t count, rest_size
    st_status st_word_list_read(const st_word_list *list, unsigned shift, unsigned least, st_bytes *words,
                                st_bytes *lengths)


cdef extern from "vocab/decode.h" nogil:
    ctypedef struct st_names:
        const uint8_t *bytes
        const size_t *starts
        const uint32_t *ids
        size_t count
    ctypedef struct st_decoding:
        const uint32_t *ids
        size_t count
        size_t done
        size_t next
    const uint8_t *st_decode_one(const st_vocab *vocab, const st_names *names, uint32_t id, size_t *n)
    st_status st_decode_into(st_vocab *vocab, const st_names *names, st_decoding *decoding, uint8_t *to, size_t capacity, size_t *size)
    size_t st_decode_room(const st_decoding *decoding, size_t size)
    st_status st_decode(st_vocab *vocab, const st_names *names, const uint32_t *ids, size_t count, st_bytes *out, size_t *bad)
    size_t st_decode_match(st_vocab *vocab, const st_names *names, const uint32_t *ids, size_t count, const uint8_t *text,
                           size_t n, size_t *bytes)
    size_t st_decode_match_back(const st_vocab *vocab, const st_names *names, const uint32_t *ids, size_t count,
                                const uint8_t *text, size_t n, size_t *bytes)
    size_t st_ids_without(const uint32_t *ids, size_t count, const uint32_t *sorted, size_t sorted_count, uint32_t *to)
