/* Every allocation of the core goes through here, so that it can be counted (benchmarks) and made to fail (tests).
 * Thread rule: safe from any thread; the counters are relaxed atomics, exact only while one thread allocates. */
#ifndef ST_BASE_ALLOC_H
#define ST_BASE_ALLOC_H

#include <stddef.h>
#include <stdint.h>

void *st_malloc(size_t size);
void *st_calloc(size_t count, size_t size);
void *st_realloc(void *block, size_t size); /* on failure the old block stays valid */
void st_free(void *block);

/* A large table, zeroed. Where the system offers 2 MB pages it is asked for them before the first touch: random reads
 * then miss the TLB far less, and a load takes 512 times fewer page faults. Freed with st_free. */
void *st_alloc_table(size_t size);

/* The same, where the C library knows that memory is zeroed already, and writes nothing: each page is touched once. It lies in
 * *block, which is what st_free takes. */
void *st_alloc_zeros(size_t size, void **block);

/* A large block, not zeroed. As for a table the system is asked for 2 MB pages: the first write takes a third of the time, giving
 * it back a tenth. Freed with st_free; it may go to st_realloc, which then moves pages, not bytes. */
void *st_alloc_large(size_t size);

/* The same for `*size` bytes, or for `most` where bytes that are never written take no memory, if the system gives so many:
 * then *size says so. What is too much in the end, st_realloc gives back. */
void *st_alloc_room(size_t *size, size_t most);

/* Below this a page that is used in part counts. */
#define ST_ALLOC_LARGE ((size_t)1 << 22)

/* Advice that a block of someone else's is to have large pages. */
void st_alloc_advise(void *block, size_t size);

/* What is in a large block is not needed any more, and it may be used again: where memory is short the system takes its pages, which
 * read as zeros then. Until then a write finds them there. 0: the system knows no such advice. */
int st_alloc_idle(void *block, size_t size);

/* Advice that memory of a block will be written soon: the system provides its pages now, not one by one. */
void st_alloc_populate(void *from, size_t size);

/* Takes memory from these functions from now on, and from the C library again where they are NULL: while no block is live, by one
 * thread. They may be called by any thread. */
void st_alloc_use(void *(*allocate)(size_t size, void *context), void *(*resize)(void *block, size_t size, void *context),
                  void (*release)(void *block, void *context), void *context);

/* Gives memory that was freed back to the system, where its C library would keep much of it for later. */
void st_alloc_trim(void);

/* Numbers since the process started. `calls` counts malloc, calloc and realloc; `live` blocks not yet freed. */
typedef struct st_alloc_counts {
    uint64_t calls;
    uint64_t bytes;
    int64_t live;
} st_alloc_counts;

st_alloc_counts st_alloc_read(void);

/* Lets the next `n` allocations succeed and every later one fail, until called again; a negative n means never fail. */
void st_alloc_fail_after(int64_t n);

#endif
