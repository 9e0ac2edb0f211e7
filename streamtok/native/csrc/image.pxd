from libc.stdint cimport uint8_t, uint32_t, uint64_t

from .base cimport st_bytes, st_status
from .vocab cimport st_find_model, st_vocab


cdef extern from "image/image.h" nogil:
    enum:
        ST_IMAGE_VERSION
        ST_IMAGE_SECTIONS
    ctypedef struct st_image_place:
        uint64_t start, size
    ctypedef struct st_image_header:
        uint32_t count, unreachable
        uint32_t monotone, identity
        uint32_t dense_side, pair_shift, piece_shift
        uint32_t byte_token[256]
        uint64_t long_mask
        st_image_place sections[ST_IMAGE_SECTIONS]
    st_status st_image_write(st_vocab *vocab, bint whole_tokens, st_bytes *out)
    st_status st_image_open(const uint8_t *image, size_t n, st_find_model *models, st_vocab **vocab)
    st_status st_image_open_foreign(const uint8_t *image, size_t n, st_find_model *models, st_vocab **vocab)


cdef extern from "image/compact.h" nogil:
    st_status st_image_compact(const uint8_t *image, size_t n, st_bytes *out)
    int st_image_is_compact(const uint8_t *data, size_t n)
    st_status st_image_open_compact(const uint8_t *data, size_t n, st_find_model *models, st_vocab **vocab)


cdef extern from "image/frequent_words.h" nogil:
    st_status st_vocab_add_words(st_vocab *vocab, const uint8_t *data, const uint8_t *lengths, size_t count)
