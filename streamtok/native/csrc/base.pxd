from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t


cdef extern from "base/status.h" nogil:
    ctypedef enum st_status:
        ST_OK, ST_NO_MEMORY, ST_INVALID_UTF8, ST_DISALLOWED_SPECIAL, ST_UNKNOWN_TOKEN, ST_BAD_STATE,
        ST_TOO_MANY_TOKENS, ST_MISSING_BYTE, ST_DUPLICATE_TOKEN, ST_EMPTY_TOKEN, ST_TOKEN_TOO_LONG,
        ST_UNSORTED_RANKS, ST_BAD_SPLIT, ST_BAD_IMAGE, ST_BAD_WORDS, ST_BAD_LIST, ST_INTERRUPTED
    const char *st_strerror(st_status status)


cdef extern from "base/alloc.h" nogil:
    void *st_malloc(size_t size)
    void *st_calloc(size_t count, size_t size)
    void *st_realloc(void *block, size_t size)
    void st_free(void *block)
    void st_alloc_trim()
    void *st_alloc_large(size_t size)
    void *st_alloc_room(size_t *size, size_t most)
    void st_alloc_advise(void *block, size_t size)
    int st_alloc_idle(void *block, size_t size)
    ctypedef struct st_alloc_counts:
        uint64_t calls, bytes
        int64_t live
    st_alloc_counts st_alloc_read()
    void st_alloc_fail_after(int64_t n)


cdef extern from "base/atomic.h" nogil:
    void *st_acquire(void **place)
    uint32_t st_read_once(const uint32_t *number)
    void *st_take(void **place)
    void *st_publish(void **place, void *value)
    int st_replace(void **place, void *old, void *value)
    int st_flag_raise(int *flag)
    void st_flag_lower(int *flag)
    int st_count_add(int *count, int n)
    int st_count_read(const int *count)
    uint64_t st_number_read(const uint64_t *number)
    void st_number_write(uint64_t *number, uint64_t value)
    uint64_t st_number_add(uint64_t *number, uint64_t n)


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


cdef extern from "base/prefetch.h" nogil:
    void st_prefetch(const void *address)


cdef extern from "base/tier.h" nogil:
    const char *st_tier_name()


cdef extern from "base/utf8.h" nogil:
    unsigned st_utf8_unfinished(const uint8_t *text, size_t n)
    unsigned st_utf8_write(uint8_t *to, uint32_t point)


cdef extern from "base/reader.h" nogil:
    ctypedef struct st_span:
        const uint8_t *bytes
        size_t n
    ctypedef struct st_reader:
        const uint8_t *at
        const uint8_t *end
        int failed
