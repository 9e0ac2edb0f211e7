#define _GNU_SOURCE
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

void (*describe_failure)(void);

/* ---- chance ---- */

static uint64_t take_given(rng *r, size_t bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes && r->left; i++, r->left--)
        value |= (uint64_t)*r->given++ << (8 * i);
    return value;
}

rng rng_of(const uint8_t *data, size_t n)
{
    rng r = {0, data, n < 8 ? n : 8};
    r.state = take_given(&r, 8);
    r.left = n < 8 ? 0 : n - 8;
    return r;
}

/* splitmix64: neighbouring seeds give unrelated numbers, so that iterations can be numbered. */
uint64_t rng_next(rng *r)
{
    if (r->left)
        return take_given(r, 8);
    uint64_t x = r->state += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

size_t rng_below(rng *r, size_t n)
{
    if (r->left) /* no more bytes than the choice needs */
        return (size_t)(take_given(r, n <= 256 ? 1 : n <= 65536 ? 2 : 8) % n);
    return (size_t)(rng_next(r) % n);
}

int rng_one_in(rng *r, size_t n)
{
    return rng_below(r, n) == 0;
}

size_t rng_size(rng *r, size_t most)
{
    unsigned bits = 0;
    while (bits < 63 && most >> bits)
        bits++;
    return rng_below(r, ((size_t)1 << rng_below(r, bits + 1))) % (most + 1);
}

const uint8_t *rng_rest(rng *r, size_t *n)
{
    *n = r->left;
    r->left = 0;
    return r->given;
}

/* ---- failures ---- */

void print_bytes(const char *name, const uint8_t *data, size_t n)
{
    const size_t shown = n < 768 ? n : 768;
    fprintf(stderr, "  %s, %zu bytes:", name, n);
    for (size_t i = 0; i < shown; i++)
        fprintf(stderr, i % 32 ? "%02x" : "\n    %02x", data[i]);
    fprintf(stderr, shown < n ? "\n    ...\n" : "\n");
}

_Noreturn void fail(const char *file, int line, const char *what)
{
    st_alloc_fail_after(-1);
    fprintf(stderr, "%s:%d: failed: %s\n", file, line, what);
    if (describe_failure)
        describe_failure();
    abort(); /* whoever runs the harness keeps the input */
}

void *take(size_t size)
{
    void *block = malloc(size ? size : 1);
    CHECK(block);
    return block;
}

int64_t next_failure(int64_t number)
{
    CHECK(number < 10000000);
    return number + 1 + number / 64 * 8;
}

/* ---- files ---- */

const char *vocab_files[FILES_MOST];

size_t vocab_files_read(void)
{
    static char *names;
    static size_t count;
    const char *given = getenv("STREAMTOK_FUZZ_VOCAB");
    if (names || !given || !*given)
        return count;
    names = take(strlen(given) + 1);
    memcpy(names, given, strlen(given) + 1);
    for (char *at = names, *end; at && count < FILES_MOST; at = end ? end + 1 : NULL) {
        end = strchr(at, ':');
        if (end)
            *end = 0;
        vocab_files[count++] = at;
    }
    return count;
}

/* ---- guarded memory ---- */

static uint8_t *guard_begin, *last_copy;
static size_t last_size;

static void guard_map(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    uint8_t *all = mmap(NULL, GUARDED_MOST + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(all != MAP_FAILED && mprotect(all + page, GUARDED_MOST, PROT_READ | PROT_WRITE) == 0);
    guard_begin = all + page;
}

const uint8_t *guarded(const uint8_t *data, size_t n, int at_start)
{
    CHECK(n <= GUARDED_MOST);
    if (!guard_begin)
        guard_map();
    last_copy = at_start ? guard_begin : guard_begin + GUARDED_MOST - n;
    last_size = n;
    if (n)
        memcpy(last_copy, data, n);
    return last_copy;
}

void guarded_scribble(void)
{
    memset(last_copy, 0xAA, last_size);
}
