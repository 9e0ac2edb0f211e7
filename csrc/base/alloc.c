#if defined(__linux__)
#define _DEFAULT_SOURCE 1 /* madvise */
#endif

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

#include "base/atomic.h"

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#define HUGE_PAGE ((size_t)1 << 21)

#if defined(__linux__) && !defined(MADV_POPULATE_WRITE)
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; older headers lack the name, older systems refuse the advice */
#endif

static uint64_t calls, bytes, live;
static uint64_t failing;   /* 0: never fail, the common case costs one load */
static uint64_t remaining; /* as an int64_t: allocations that may still succeed while failing is set */

/* Functions of a program that uses the core as a library; none where `allocate` is NULL. */
static struct {
    void *(*allocate)(size_t size, void *context);
    void *(*resize)(void *block, size_t size, void *context);
    void (*release)(void *block, void *context);
    void *context;
} own;

void st_alloc_use(void *(*allocate)(size_t, void *), void *(*resize)(void *, size_t, void *), void (*release)(void *, void *), void *context)
{
    own.allocate = allocate;
    own.resize = resize;
    own.release = release;
    own.context = context;
}

static void *take(size_t size)
{
    size = size ? size : 1;
    return own.allocate ? own.allocate(size, own.context) : malloc(size);
}

static void *take_zeros(size_t count, size_t size)
{
    if (!own.allocate)
        return calloc(count ? count : 1, size ? size : 1);
    size *= count;
    void *block = take(size);
    return block ? memset(block, 0, size) : NULL;
}

static int refused(size_t size)
{
    st_number_add(&calls, 1);
    st_number_add(&bytes, size);
    return st_number_read(&failing) && (int64_t)st_number_add(&remaining, (uint64_t)-1) < 0;
}

void *st_malloc(size_t size)
{
    void *block = refused(size) ? NULL : take(size);
    if (block)
        st_number_add(&live, 1);
    return block;
}

void *st_calloc(size_t count, size_t size)
{
    if (size && count > SIZE_MAX / size)
        return NULL;
    void *block = refused(count * size) ? NULL : take_zeros(count, size);
    if (block)
        st_number_add(&live, 1);
    return block;
}

#if defined(__linux__) && defined(MADV_HUGEPAGE)
static void *in_huge_pages(size_t size)
{
    size = (size + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1);
    void *block = refused(size) ? NULL : aligned_alloc(HUGE_PAGE, size);
    if (!block)
        return NULL;
    st_number_add(&live, 1);
    madvise(block, size, MADV_HUGEPAGE); /* advice: where it is not taken, ordinary pages serve */
    return block;
}
#endif

void *st_alloc_table(size_t size)
{
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (size >= HUGE_PAGE && !own.allocate) {
        void *table = in_huge_pages(size);
        return table ? memset(table, 0, size) : NULL;
    }
#endif
    return st_calloc(1, size);
}

void *st_alloc_zeros(size_t size, void **block)
{
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    const size_t align = HUGE_PAGE;
    size = (size + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1); /* a page that the advice ends in would be an ordinary one */
#else
    const size_t align = 64; /* whole cache lines */
#endif
    char *table = *block = st_calloc(1, size + align);
    if (!table)
        return NULL;
    table += (align - (uintptr_t)table % align) % align;
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    madvise(table, size, MADV_HUGEPAGE);
#endif
    return table;
}

void st_alloc_advise(void *block, size_t size)
{
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    const uintptr_t first = ((uintptr_t)block + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1);
    const uintptr_t end = ((uintptr_t)block + size) & ~(uintptr_t)(HUGE_PAGE - 1);
    if (first < end)
        madvise((void *)first, end - first, MADV_HUGEPAGE);
#else
    (void)block;
    (void)size;
#endif
}

/* What a C library keeps in front of a block, at most. */
#define BLOCK_HEAD 64

/* The C library takes such a block from the system by itself. The advice is for all of it, head and all: the system does not make
 * memory larger that was advised in part, and st_realloc would copy it. A length of whole large pages is placed where they begin. */
void *st_alloc_large(size_t size)
{
#if defined(__linux__) && defined(MADV_HUGEPAGE)
    if (size >= ST_ALLOC_LARGE && size < SIZE_MAX - 2 * HUGE_PAGE) {
        const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
        size = ((size + BLOCK_HEAD + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1)) - BLOCK_HEAD;
        char *block = st_malloc(size);
        if (block) {
            char *first = block - ((uintptr_t)block & page);
            madvise(first, (size_t)(block + size - first), MADV_HUGEPAGE); /* advice: if not taken, ordinary pages serve */
        }
        return block;
    }
#endif
    return st_malloc(size);
}

void *st_alloc_room(size_t *size, size_t most)
{
#if defined(__linux__)
    void *block = most > *size ? st_alloc_large(most) : NULL;
    if (block) {
        *size = most;
        return block;
    }
#else
    (void)most;
#endif
    return st_alloc_large(*size);
}

int st_alloc_idle(void *block, size_t size)
{
#if defined(__linux__) && defined(MADV_FREE)
    const uintptr_t first = ((uintptr_t)block + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1);
    const uintptr_t end = ((uintptr_t)block + size) & ~(uintptr_t)(HUGE_PAGE - 1); /* a large page is not split */
    return first < end && !madvise((void *)first, end - first, MADV_FREE);
#else
    (void)block;
    (void)size;
    return 0;
#endif
}

void st_alloc_populate(void *from, size_t size)
{
#if defined(__linux__)
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE) - 1, first = ((uintptr_t)from + page) & ~page;
    const uintptr_t end = ((uintptr_t)from + size) & ~page;
    if (first < end)
        madvise((void *)first, end - first, MADV_POPULATE_WRITE); /* where that fails, writing does it */
#else
    (void)from;
    (void)size;
#endif
}

void *st_realloc(void *block, size_t size)
{
    void *grown = NULL;
    if (!refused(size))
        grown = own.resize ? own.resize(block, size ? size : 1, own.context) : realloc(block, size ? size : 1);
    if (grown && !block)
        st_number_add(&live, 1);
    return grown;
}

void st_free(void *block)
{
    if (!block)
        return;
    st_number_add(&live, (uint64_t)-1);
    if (own.release)
        own.release(block, own.context);
    else
        free(block);
}

st_alloc_counts st_alloc_read(void)
{
    st_alloc_counts counts = {st_number_read(&calls), st_number_read(&bytes), (int64_t)st_number_read(&live)};
    return counts;
}

void st_alloc_trim(void)
{
#if defined(__GLIBC__)
    malloc_trim(0);
#endif
}

void st_alloc_fail_after(int64_t n)
{
    st_number_write(&remaining, (uint64_t)n);
    st_number_write(&failing, n >= 0);
}
