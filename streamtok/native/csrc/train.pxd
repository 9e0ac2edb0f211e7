from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

from .base cimport st_bytes, st_status
from .text cimport st_text_error
from .split cimport st_pattern
from .special cimport st_special


cdef extern from "train/table.h" nogil:
    ctypedef struct st_train_table:
        size_t short_count, long_count
    void st_train_table_free(st_train_table *table)
    size_t st_train_table_size(const st_train_table *table)
    st_status st_train_table_add_all(st_train_table *table, const uint8_t *data, size_t n, const uint64_t *starts,
                                     const uint32_t *lengths, const uint64_t *counts, size_t count)
    st_status st_train_table_write(const st_train_table *table, st_bytes *shards, size_t shard_count)
    ctypedef struct st_train_record:
        const uint8_t *piece
        size_t n
        uint64_t count
    st_status st_train_record_write(st_bytes *out, const uint8_t *piece, size_t n, uint64_t count)
    st_status st_train_record_read(const uint8_t *data, size_t n, size_t *at, st_train_record *record)
    st_status st_train_table_read(st_train_table *table, const uint8_t *data, size_t n)


cdef extern from "train/count.h" nogil:
    ctypedef struct st_train_counter:
        st_train_table table
        uint64_t pieces, bytes, factor
    void st_train_counter_init(st_train_counter *counter)
    void st_train_counter_free(st_train_counter *counter)
    st_status st_train_count_text(st_train_counter *counter, st_pattern pattern, const st_special *special,
                                  const uint8_t *text, size_t n, int trusted, st_text_error *error)
    st_status st_train_count_spans(st_train_counter *counter, const uint8_t *text, const int64_t *spans, size_t count)


cdef extern from "train/text.h" nogil:
    ctypedef struct st_train_range:
        pass
    ctypedef struct st_train_text:
        uint32_t *tokens
        size_t places
        st_train_range *ranges
        size_t range_count
        uint64_t pieces
        uint32_t given
    st_status st_train_text_measure(st_train_text *text, const uint8_t *records, size_t n)
    st_status st_train_text_lay_out(st_train_text *text)
    st_status st_train_text_place(st_train_text *text, const uint8_t *records, size_t n)
    st_status st_train_text_finish(st_train_text *text)


cdef extern from "train/tokens.h" nogil:
    ctypedef enum st_train_ties:
        ST_TIES_LEXICOGRAPHIC, ST_TIES_HUGGINGFACE
    ctypedef uint64_t st_train_key
    ctypedef struct st_train_tokens:
        uint32_t *lengths
        size_t *starts
        st_train_key *pairs
        size_t count, capacity
        st_bytes bytes
        uint32_t max_words
    st_status st_train_tokens_add(st_train_tokens *tokens, st_train_key pair)
    st_status st_train_tokens_give(st_train_tokens *tokens, st_train_key pair)


cdef extern from "train/index.h" nogil:
    ctypedef struct st_train_index:
        uint64_t least, searched
        size_t most_lists


cdef extern from "train/trainer.h" nogil:
    ctypedef struct st_trainer:
        st_train_text text
        st_train_tokens tokens
        st_train_index index
        int done
        uint64_t work, last_count, size
    ctypedef struct st_train_options:
        const uint8_t *alphabet
        size_t wanted
        st_train_ties ties
        uint32_t max_token_bytes
        uint64_t frequency
        size_t most_lists
    st_status st_trainer_init(st_trainer *trainer, const st_train_options *options)
    void st_trainer_free(st_trainer *trainer)
    void st_trainer_begin(st_trainer *trainer, uint64_t least)
    void st_trainer_measure(st_trainer *trainer)
    st_status st_trainer_run(st_trainer *trainer, size_t merges, uint64_t work)
    st_status st_trainer_best(st_trainer *trainer, st_train_key *pair, uint64_t *count)
    st_status st_trainer_merge(st_trainer *trainer, st_train_key pair)
