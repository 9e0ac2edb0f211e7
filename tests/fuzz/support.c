#define _GNU_SOURCE
#include "fuzz.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* An iteration takes milliseconds; under a sanitizer on a busy machine some hundred. */
#define HANG_SECONDS 120

void (*describe_failure)(void);
static volatile uint64_t current_seed;

/* ---- chance ---- */

/* splitmix64: neighbouring seeds give unrelated numbers, so that iterations can be numbered. */
uint64_t rng_next(rng *r)
{
    uint64_t x = r->state += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ x >> 30) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ x >> 27) * UINT64_C(0x94D049BB133111EB);
    return x ^ x >> 31;
}

size_t rng_below(rng *r, size_t n)
{
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

/* ---- failures ---- */

void print_bytes(const char *name, const uint8_t *data, size_t n)
{
    const size_t shown = n < 768 ? n : 768;
    fprintf(stderr, "  %s, %zu bytes:", name, n);
    for (size_t i = 0; i < shown; i++)
        fprintf(stderr, i % 32 ? "%02x" : "\n    %02x", data[i]);
    fprintf(stderr, shown < n ? "\n    ...\n" : "\n");
}

static void tell(void)
{
    fprintf(stderr, "  repeat with: --seed %llu --iterations 1 and the same files\n", (unsigned long long)current_seed);
    if (describe_failure)
        describe_failure();
}

_Noreturn void fail(const char *file, int line, const char *what)
{
    st_alloc_fail_after(-1);
    fprintf(stderr, "%s:%d: failed: %s\n", file, line, what);
    tell();
#ifdef ST_LIBFUZZER
    abort(); /* so that libFuzzer keeps the input */
#else
    exit(1);
#endif
}

static void on_signal(int signal)
{
    /* Not safe in a signal handler, but the process is lost anyway and mostly this tells where. */
    fprintf(stderr, signal == SIGALRM ? "an iteration hangs\n" : "crashed with signal %d\n", signal);
    tell();
    _exit(1);
}

/* Sanitizers have handlers of their own and end the process; then this adds the seed to their report. */
__attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)(void));

static void catch_crashes(void)
{
    signal(SIGALRM, on_signal);
    signal(SIGABRT, on_signal);
    if (__sanitizer_set_death_callback) {
        __sanitizer_set_death_callback(tell);
        return;
    }
    signal(SIGSEGV, on_signal);
    signal(SIGBUS, on_signal);
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

/* ---- the run ---- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

settings settings_read(int argc, char **argv)
{
    settings s = {1, 0, 0, take((size_t)argc * sizeof(char *)), 0};
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "0";
        if (!strcmp(argv[i], "--seed"))
            s.seed = strtoull(value, NULL, 10), i++;
        else if (!strcmp(argv[i], "--iterations"))
            s.iterations = strtoull(value, NULL, 10), i++;
        else if (!strcmp(argv[i], "--seconds"))
            s.seconds = strtod(value, NULL), i++;
        else
            s.files[s.file_count++] = argv[i];
    }
    if (!s.iterations && s.seconds <= 0)
        s.iterations = 1000;
    catch_crashes();
    return s;
}

int next_iteration(const settings *s, uint64_t done)
{
    static double start;
    if (done == 0)
        start = now();
    if ((s->iterations && done >= s->iterations) || (s->seconds > 0 && now() - start >= s->seconds)) {
        alarm(0);
        return 0;
    }
    current_seed = s->seed + done;
    alarm(HANG_SECONDS);
    return 1;
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
