# The C headers restated, header by header, as far as encode.pyx uses them. No logic here.
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t


cdef extern from "base/status.h" nogil:
    ctypedef enum st_status:
        ST_OK, ST_NO_MEMORY, ST_INVALID_UTF8, ST_DISALLOWED_SPECIAL, ST_UNKNOWN_TOKEN, ST_BAD_STATE,
        ST_TOO_MANY_TOKENS, ST_MISSING_BYTE, ST_DUPLICATE_TOKEN, ST_EMPTY_TOKEN, ST_TOKEN_TOO_LONG,
        ST_UNSORTED_RANKS, ST_BAD_SPLIT, ST_BAD_IMAGE, ST_BAD_WORDS, ST_BAD_LIST, ST_INTERRUPTED
    const char *st_strerror(st_status status)


cdef extern from "base/alloc.h" nogil:
    void *st_malloc(size_t size)
    void *st_realloc(void *block, size_t size)
    void st_free(void *block)
    void st_alloc_trim()
    ctypedef struct st_alloc_counts:
        uint64_t calls, bytes
        int64_t live
    st_alloc_counts st_alloc_read()
    void st_alloc_fail_after(int64_t n)


cdef extern from "base/atomic.h" nogil:
    int st_flag_raise(int *flag)
    void st_flag_lower(int *flag)
    int st_count_add(int *count, int n)
    int st_count_read(const int *count)
    uint64_t st_number_read(const uint64_t *number)
    void st_number_write(uint64_t *number, uint64_t value)


cdef extern from "base/interrupt.h" nogil:
    ctypedef struct st_interrupt:
        int (*ask)(st_interrupt *scope) noexcept nogil
        int *stop
        bint ended
        bint keeps
    void st_interrupt_begin(st_interrupt *scope, int (*ask)(st_interrupt *) noexcept nogil, int *stop)
    void st_interrupt_end(st_interrupt *scope)
    st_status st_go_on(size_t work)


cdef extern from "base/buffer.h" nogil:
    ctypedef struct st_bytes:
        uint8_t *data
        size_t size, capacity
    ctypedef struct st_ids:
        uint32_t *data
        size_t size, capacity
    st_status st_bytes_reserve(st_bytes *buffer, size_t more)
    st_status st_ids_reserve(st_ids *ids, size_t more)
    void st_ids_free(st_ids *ids)
    void st_bytes_free(st_bytes *buffer)
    st_status st_bytes_append(st_bytes *buffer, const void *data, size_t n)


cdef extern from "listing/listing.h" nogil:
    ctypedef struct st_listing:
        st_bytes text, bytes, letters
        st_ids starts, ids, lengths
    ctypedef struct st_listing_fault:
        size_t at, entry
        const char *reason
    ctypedef struct st_span:
        size_t start, end
    int st_listing_find(const uint8_t *text, size_t n, st_span object, st_span *vocab, st_span *merges, st_listing_fault *fault)
    int st_listing_model(const uint8_t *text, size_t n, st_span *model, st_listing_fault *fault)
    st_status st_listing_read(st_listing *listing, const uint8_t *text, st_span span, st_listing_fault *fault)
    void st_listing_free(st_listing *listing)
    uint32_t st_listing_number(const st_listing *listing, const uint8_t *text, size_t n)
    st_status st_listing_merges(const st_listing *listing, const uint8_t *text, st_span span, st_ids *merges,
                                st_listing_fault *fault)


cdef extern from "text/str_to_utf8.h" nogil:
    size_t ST_NOT_CONVERTED
    size_t ST_CODE_POINTS_ROOM(size_t n)
    size_t st_code_points(const void *characters, size_t n, unsigned width, uint8_t *to)
    bint st_code_points_has_tier()


cdef extern from "normal/chars.h" nogil:
    ctypedef enum st_form:
        ST_NFC, ST_NFD, ST_NFKC, ST_NFKD


cdef extern from "normal/normalizer.h" nogil:
    int ST_MOST_STEPS
    ctypedef enum st_step_kind:
        ST_STEP_FORM, ST_STEP_LOWER, ST_STEP_REPLACE, ST_STEP_CLASS, ST_STEP_PREPEND, ST_STEP_STRIP
    ctypedef struct st_step:
        st_step_kind kind
        st_form form
        int left, right, runs, accents
        uint8_t *pattern, *content
        uint32_t *ranges
        size_t pattern_size, content_size, range_count
    ctypedef struct st_normalizer:
        size_t count
    void st_normalizer_init(st_normalizer *normalizer)
    void st_normalizer_free(st_normalizer *normalizer)
    st_status st_normalizer_add(st_normalizer *normalizer, const st_step *step)
    int st_normalizer_has_cuts(const st_normalizer *normalizer)
    ctypedef struct st_flow:
        const st_normalizer *normalizer
        st_status (*sink)(void *context, const uint8_t *text, const size_t *source, size_t n) noexcept nogil
        void *context
        int traced
    ctypedef struct st_flow_marks:
        pass
    void st_flow_init(st_flow *flow, const st_normalizer *normalizer)
    void st_flow_free(st_flow *flow)
    st_status st_flow_feed(st_flow *flow, const uint8_t *text, size_t n, int end)
    size_t st_flow_held(const st_flow *flow)
    void st_flow_mark(const st_flow *flow, st_flow_marks *marks)
    void st_flow_roll_back(st_flow *flow, const st_flow_marks *marks)
    void st_flow_commit(st_flow *flow)


cdef extern from "pairs/pair_table.h" nogil:
    ctypedef struct st_pairs:
        pass


cdef extern from "pairs/merge_reference.h" nogil:
    ctypedef struct st_reference_scratch:
        pass
    st_status st_reference_merge(const st_pairs *pairs, const uint8_t *text, size_t n, st_reference_scratch *scratch,
                                 st_ids *out)
    void st_reference_scratch_free(st_reference_scratch *scratch)


cdef extern from "vocab/vocab.h" nogil:
    uint32_t ST_NONE
    uint32_t ST_SILENT
    uint32_t ST_FIRST_FRAGMENT
    ctypedef struct st_vocab:
        uint32_t count, max_length
        uint8_t *bytes
        uint32_t *starts, *ids, *left
        uint32_t unreachable, fragments
        int monotone, identity
        st_pairs pairs
    ctypedef struct st_vocab_source:
        const uint8_t *bytes
        const uint32_t *lengths, *ids, *splits
        size_t count, words
        int any_order
    uint32_t st_vocab_highest(const st_vocab *vocab)
    st_status st_vocab_new(const st_vocab_source *source, uint32_t dense_side, st_vocab **vocab, size_t *bad)
    st_status st_vocab_spell(const st_vocab *vocab, st_ids *ids, size_t start)
    void st_vocab_free(st_vocab *vocab)
    uint32_t st_vocab_find(const st_vocab *vocab, const uint8_t *data, size_t n)
    size_t st_token_length(const st_vocab *vocab, uint32_t index)


cdef extern from "vocab/merge_list.h" nogil:
    enum:
        ST_TOKEN_MADE, ST_TOKEN_START, ST_TOKEN_SILENT
    ctypedef struct st_merge_list:
        const uint8_t *bytes
        const uint32_t *lengths, *ids
        const uint8_t *kinds
        size_t count
        const uint32_t *left, *right, *made
        size_t merges
    st_status st_merge_list_order(const st_merge_list *list, uint32_t *order, uint32_t *splits, int *in_order)


cdef extern from "vocab/merge_names.h" nogil:
    ctypedef struct st_merge_names:
        pass
    st_status st_merge_names_init(st_merge_names *names, const uint8_t *data, const uint32_t *lengths, const uint8_t *skip,
                                  size_t count, size_t *bad)
    void st_merge_names_free(st_merge_names *names)
    st_status st_merge_names_find(const st_merge_names *names, const uint8_t *data, const uint32_t *lengths, size_t count,
                                  uint32_t *left, uint32_t *right, uint32_t *made)


cdef extern from "cut/cuts.h" nogil:
    ctypedef struct st_cuts:
        pass
    const st_cuts *st_vocab_cuts(st_vocab *vocab)
    size_t st_cuts_find(const st_cuts *cuts, const uint8_t *text, size_t n, size_t *start, uint32_t *borders, size_t room)


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
    st_status st_image_open(const uint8_t *image, size_t n, st_vocab **vocab)


cdef extern from "checksum/crc32.h" nogil:
    enum:
        ST_CRC32_REST
    size_t st_crc32_fold(const uint8_t *data, size_t n, uint32_t before, uint8_t *rest)
    uint32_t st_crc32_joined(uint32_t first, uint32_t second, uint64_t n)


cdef extern from "base/prefetch.h" nogil:
    void st_prefetch(const void *address)


cdef extern from "base/tier.h" nogil:
    const char *st_tier_name()


cdef extern from "vocab/packed_words.h" nogil:
    ctypedef struct st_word_list:
        const uint8_t *shared, *rest_lengths, *levels, *rests
        size_t count, rest_size
    st_status st_word_list_read(const st_word_list *list, unsigned shift, unsigned least, st_bytes *words,
                                st_bytes *lengths)


cdef extern from "image/frequent_words.h" nogil:
    st_status st_vocab_add_words(st_vocab *vocab, const uint8_t *data, const uint8_t *lengths, size_t count)


cdef extern from "special/names.h" nogil:
    ctypedef struct st_special_node:
        uint32_t fail, bits
    ctypedef struct st_special_edge:
        uint64_t key
    ctypedef struct st_special_edges:
        const st_special_edge *places
        uint64_t mask, factor
    ctypedef struct st_special:
        st_special_node *nodes
        uint32_t *depth, *place, *name, *inner
        st_special_edges edges
        uint32_t count
        uint32_t[256] first
        size_t longest, total
    st_status st_special_new(const uint8_t *names, const size_t *lengths, const uint32_t *ids, size_t count,
                             st_special **special)
    void st_special_free(st_special *special)
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


cdef extern from "split/scan.h" nogil:
    ctypedef enum st_split_family:
        ST_SPLIT_R50K, ST_SPLIT_CL100K, ST_SPLIT_O200K, ST_SPLIT_NONE, ST_SPLIT_TABLE, ST_SPLIT_FAMILIES
    ctypedef struct st_dfa
    ctypedef struct st_pattern:
        st_split_family family
    const char *st_row_name(st_split_family family)
    st_pattern st_pattern_of(st_split_family family)
    st_pattern st_pattern_of_table(st_split_family row, const st_dfa *dfa)
    int st_pattern_drops(st_pattern pattern)
    uint64_t ST_DROPPED
    ctypedef struct st_scan:
        uint64_t length
    void st_scan_init(st_scan *scan)
    size_t st_scan_feed(st_pattern pattern, st_scan *scan, const uint8_t *text, size_t n, size_t *consumed,
                        uint64_t *ends, size_t capacity)
    size_t st_scan_finish(st_pattern pattern, st_scan *scan, uint64_t *ends)
    size_t st_last_sync_point(st_pattern pattern, const uint8_t *text, size_t n)


cdef extern from "split/dfa_table.h" nogil:
    int ST_DFA_BLOCK, ST_DFA_INDEX_BYTES


cdef extern from "split/dfa.h" nogil:
    ctypedef struct st_dfa_table:
        uint32_t classes, states
        const uint8_t *index, *blocks, *entries, *ops
        size_t block_count, op_count
    st_status st_dfa_new(const st_dfa_table *table, st_dfa **dfa)
    void st_dfa_free(st_dfa *dfa)


cdef extern from "text/utf8_check.h" nogil:
    ctypedef enum st_errors:
        ST_ERRORS_STRICT, ST_ERRORS_REPLACE, ST_ERRORS_IGNORE
    ctypedef enum st_text_fault:
        ST_TEXT_INVALID_START, ST_TEXT_INVALID_CONTINUATION, ST_TEXT_UNEXPECTED_END
    ctypedef struct st_text_error:
        size_t start, end
        st_text_fault fault
    size_t st_text_check(const uint8_t *text, size_t n, st_text_error *error)


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


cdef extern from "special/disallowed.h" nogil:
    ctypedef struct st_watch:
        const st_special *names
        uint32_t node
        uint64_t offset
    void st_watch_reset(st_watch *watch)
    st_status st_watch_chunk(st_watch *watch, const st_text_stage *stage, const st_segments *segments, int final,
                             uint64_t *offset, uint32_t *id)


cdef extern from "lookup/encode_pieces.h" nogil:
    ctypedef enum st_engine:
        ST_ENGINE_FAST, ST_ENGINE_REFERENCE


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
    void st_encoder_init(st_encoder *encoder, st_vocab *vocab, st_pattern pattern)
    void st_encoder_free(st_encoder *encoder)
    void st_encoder_allow(st_encoder *encoder, const st_special *names, const st_normalizer *normalizer)
    st_status st_encoder_feed(st_encoder *encoder, const uint8_t *text, size_t n, int flags, st_ids *out,
                              st_feed_error *error)
    st_status st_encoder_count(st_encoder *encoder, const uint8_t *text, size_t n, int flags, st_ids *scratch,
                               size_t *count, st_feed_error *error)
    st_status st_encoder_spans(st_encoder *encoder, const uint8_t *text, const int64_t *spans, size_t count,
                               st_ids *out)
    void st_encoder_reset(st_encoder *encoder)
    uint64_t st_encoder_pending(const st_encoder *encoder)
    st_status st_encoder_copy(st_encoder *target, const st_encoder *source)


cdef extern from "threads/safe_cuts.h" nogil:
    ctypedef struct st_cut_rules:
        const st_special *allowed, *disallowed
        int trusted
        st_pattern pattern
        st_vocab *vocab
        const st_normalizer *normalizer
    size_t st_last_cut(const uint8_t *text, size_t n, size_t start, size_t until, const st_cut_rules *rules)
    size_t st_cut_margin(const st_cut_rules *rules)


cdef extern from "threads/job_text.h" nogil:
    ctypedef struct st_job_text:
        const void *text
        size_t n
        unsigned width
        int flags


cdef extern from "threads/job.h" nogil:
    ctypedef struct st_job:
        const st_special *allowed, *disallowed
        const st_normalizer *normalizer
        int counts_only
        int abandoned
        size_t share_count
        st_ids out
        size_t total, failed_text
        st_status status
    void st_job_init(st_job *job, st_vocab *vocab, st_pattern pattern, st_engine engine, st_errors errors)
    st_status st_job_plan(st_job *job, const st_job_text *texts, size_t count, size_t threads, size_t least)
    void st_job_work(st_job *job)
    void st_job_stop(st_job *job)
    void st_job_finish(st_job *job)
    void st_job_add_counts(const st_job *job, int64_t *counts)
    void st_job_free(st_job *job)


cdef extern from "stream/saved_state.h" nogil:
    st_status st_encoder_save(const st_encoder *encoder, st_bytes *out)
    st_status st_encoder_load(st_encoder *encoder, const uint8_t *state, size_t n)


cdef extern from "vocab/decode.h" nogil:
    ctypedef struct st_names:
        const uint8_t *bytes
        const size_t *starts
        const uint32_t *ids
        size_t count
    const uint8_t *st_decode_one(const st_vocab *vocab, const st_names *names, uint32_t id, size_t *n)
    st_status st_decode(const st_vocab *vocab, const st_names *names, const uint32_t *ids, size_t count,
                        st_bytes *out, size_t *bad)


cdef extern from "train/table.h" nogil:
    ctypedef struct st_train_table:
        size_t short_count, long_count
    void st_train_table_free(st_train_table *table)
    size_t st_train_table_size(const st_train_table *table)
    st_status st_train_table_add_all(st_train_table *table, const uint8_t *data, size_t n, const uint64_t *starts,
                                     const uint32_t *lengths, const uint64_t *counts, size_t count)
    st_status st_train_table_write(const st_train_table *table, st_bytes *shards, size_t shard_count)
    st_status st_train_table_read(st_train_table *table, const uint8_t *data, size_t n)


cdef extern from "train/count.h" nogil:
    ctypedef struct st_train_counter:
        st_train_table table
        uint64_t pieces, bytes
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
        size_t count, room
        st_bytes bytes
    st_status st_train_tokens_add(st_train_tokens *tokens, st_train_key pair)


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
        uint64_t work, last_count
    ctypedef struct st_train_options:
        const uint8_t *alphabet
        size_t wanted
        st_train_ties ties
        uint32_t longest
        uint64_t frequency
        size_t most_lists
    st_status st_trainer_init(st_trainer *trainer, const st_train_options *options)
    void st_trainer_free(st_trainer *trainer)
    void st_trainer_begin(st_trainer *trainer, uint64_t least)
    st_status st_trainer_run(st_trainer *trainer, size_t merges, uint64_t work)
