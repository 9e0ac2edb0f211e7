from libc.stdint cimport int64_t, uint8_t, uint32_t

from .base cimport st_bytes, st_ids, st_status
from .text cimport st_errors
from .normal cimport st_normalizer
from .split cimport st_pattern
from .special cimport st_special
from .vocab cimport st_vocab
from .lookup cimport st_engine


cdef extern from "threads/safe_cuts.h" nogil:
    ctypedef struct st_cut_rules:
        const st_special *allowed
        const st_special *disallowed
        int trusted
        st_pattern pattern
        st_vocab *vocab
        const st_normalizer *normalizer
        int loose, carried
    size_t st_last_cut(const uint8_t *text, size_t n, size_t start, size_t until, const st_cut_rules *rules)
    size_t st_last_cut_of_copy(const uint8_t *text, size_t n, size_t start, size_t until, const st_cut_rules *rules,
                               st_bytes *buffer)
    size_t st_cut_margin(const st_cut_rules *rules)


cdef extern from "threads/job_text.h" nogil:
    ctypedef struct st_job_text:
        const void *text
        size_t n
        unsigned width
        int flags
    st_job_text st_job_text_slice(const st_job_text *whole, size_t start, size_t n)


cdef extern from "threads/job.h" nogil:
    ctypedef struct st_job:
        const st_special *allowed
        const st_special *disallowed
        const st_normalizer *normalizer
        int counts_only
        int abandoned, moved
        size_t share_count
        st_ids out
        size_t total, failed_text
        st_status status
    void st_job_init(st_job *job, st_vocab *vocab, st_pattern pattern, st_engine engine, st_errors errors)
    st_status st_job_plan(st_job *job, const st_job_text *texts, size_t count, size_t threads, size_t least)
    void st_job_work(st_job *job)
    void st_job_finish(st_job *job)
    void st_job_add_counts(const st_job *job, int64_t *counts)
    void st_job_free(st_job *job)
    int st_has_carried_cuts(st_vocab *vocab, st_pattern pattern, st_engine engine, const st_normalizer *normalizer)
    int st_has_loose_cuts(const st_vocab *vocab, st_pattern pattern, st_engine engine, const st_normalizer *normalizer)
    int st_certain_part(const st_vocab *vocab, const uint32_t *ids, size_t *count, const uint8_t *text, size_t *n)
