from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from .base cimport st_bytes, st_ids, st_span, st_status
from .text cimport st_text_error, st_text_stage
from .normal cimport st_normalizer
from .split cimport st_pattern
from .special cimport st_special, st_watch
from .vocab cimport st_vocab
from .lookup cimport st_engine


cdef extern from "stream/encoder.h" nogil:
    ctypedef struct st_encoder:
        st_engine engine
        const st_special *allowed
        st_text_stage text
        st_watch watch
    ctypedef struct st_feed_error:
        uint64_t offset
        uint32_t id
        st_text_error text
    int ST_FEED_FINAL
    int ST_FEED_TRUSTED
    int ST_FEED_SHARED
    void st_encoder_init(st_encoder *encoder, st_vocab *vocab, st_pattern pattern)
    void st_encoder_free(st_encoder *encoder)
    void st_encoder_allow(st_encoder *encoder, const st_special *names, const st_normalizer *normalizer)
    st_status st_encoder_feed(st_encoder *encoder, const uint8_t *text, size_t n, int flags, st_ids *out,
                              st_feed_error *error)
    st_status st_encoder_whole(st_encoder *encoder, const uint8_t *text, size_t n, int flags, st_ids *out,
                               st_feed_error *error)
    st_status st_encoder_count(st_encoder *encoder, const uint8_t *text, size_t n, int flags, st_ids *scratch,
                               size_t *count, st_feed_error *error)
    st_status st_encoder_spans(st_encoder *encoder, const uint8_t *text, const int64_t *spans, size_t count,
                               st_ids *out)
    void st_encoder_reset(st_encoder *encoder)
    uint64_t st_encoder_pending(const st_encoder *encoder)
    st_status st_encoder_copy(st_encoder *target, const st_encoder *source)


cdef extern from "stream/prepared.h" nogil:
    st_status st_prepare(const st_normalizer *normalizer, const st_special *names, const uint8_t *text, size_t n,
                         st_bytes *normal, st_bytes *parts)


cdef extern from "stream/saved_state.h" nogil:
    st_status st_encoder_save(const st_encoder *encoder, st_bytes *out)
    st_status st_encoder_load(st_encoder *encoder, const uint8_t *state, size_t n)


cdef extern from "stream/trace.h" nogil:
    ctypedef struct st_tracing:
        st_vocab *vocab
        st_pattern pattern
        const st_normalizer *normalizer
        const st_special *names
        st_span (*name_of)(void *context, uint32_t id) noexcept
        st_status (*pieces)(void *context, const uint8_t *text, size_t n, st_bytes *spans) noexcept
        void *context
        st_bytes made, places
    st_status st_trace(st_tracing *t, const uint8_t *text, size_t n)
    void st_tracing_free(st_tracing *t)
