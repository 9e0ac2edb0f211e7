/* Runs a harness where there is no libFuzzer: inputs made from a seed, or from files.
 *
 *     PROGRAM FILE ...                                     each file once
 *     PROGRAM --seconds S | --iterations N [--seed N] [--save PREFIX] [FILE ...]
 *
 * Inputs are made in groups: the first of a group is new, or one of the files, and each other is the one before it with
 * some bytes changed. Input number k follows from the seed, k and the files. The input that fails is written to
 * PREFIX-SEED-K. An input that hangs fails as well. */
#define _GNU_SOURCE
#include "fuzz.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* An input takes milliseconds; under a sanitizer on a busy machine some hundred. */
#define HANG_SECONDS 120

#define GROUP 16
#define INPUT_MOST ((size_t)4096)

static struct {
    uint64_t seed, iterations;
    double seconds; /* the run ends when either is used up; 0 = no limit of that kind */
    const char *save;
    char **files;
    size_t file_count;
} run = {.seed = 1};

static uint8_t *input; /* a block of its size, so that reads beyond its end show */
static size_t input_size;
static uint64_t input_number;
static const char *input_name; /* of an input that is a file */

/* ---- failures ---- */

/* Not safe in a signal handler. But the process ends anyway, and it nearly always works. */
static void keep_input(void)
{
    char path[4096];
    if (input_name) {
        fprintf(stderr, "  the input: %s\n", input_name);
        return;
    }
    fprintf(stderr, "  input %llu of seed %llu\n", (unsigned long long)input_number, (unsigned long long)run.seed);
    if (!run.save)
        return;
    snprintf(path, sizeof path, "%s-%llu-%llu", run.save, (unsigned long long)run.seed, (unsigned long long)input_number);
    FILE *file = fopen(path, "wb");
    if (file && fwrite(input, 1, input_size, file) == input_size)
        fprintf(stderr, "  kept as %s\n", path);
    if (file)
        fclose(file);
}

static void on_signal(int signal)
{
    fprintf(stderr, signal == SIGALRM ? "an input hangs\n" : "ended by signal %d\n", signal);
    keep_input();
    _exit(1);
}

/* Sanitizers have handlers of their own and end the process; then this adds the input to their report. */
__attribute__((weak)) void __sanitizer_set_death_callback(void (*callback)(void));

static void catch_crashes(void)
{
    signal(SIGALRM, on_signal);
    signal(SIGABRT, on_signal);
    if (__sanitizer_set_death_callback) {
        __sanitizer_set_death_callback(keep_input);
        return;
    }
    signal(SIGSEGV, on_signal);
    signal(SIGBUS, on_signal);
}

/* ---- inputs ---- */

static void set_input(const uint8_t *data, size_t n)
{
    free(input);
    input = take(n);
    input_size = n;
    if (n)
        memcpy(input, data, n);
}

static void read_input(const char *path)
{
    static uint8_t bytes[1 << 20];
    FILE *file = fopen(path, "rb");
    if (!file) {
        fprintf(stderr, "%s cannot be read\n", path);
        exit(2);
    }
    set_input(bytes, fread(bytes, 1, sizeof bytes, file));
    fclose(file);
}

static void new_input(rng *r)
{
    uint8_t bytes[INPUT_MOST];
    if (run.file_count && rng_one_in(r, 2)) {
        read_input(run.files[rng_below(r, run.file_count)]);
        return;
    }
    const size_t n = 8 + rng_size(r, rng_one_in(r, 4) ? 1000 : 100);
    for (size_t i = 0; i < n; i++)
        bytes[i] = (uint8_t)rng_next(r);
    set_input(bytes, n);
}

/* Takes out, repeats, adds or replaces bytes at one place. */
static void mutate(rng *r)
{
    uint8_t bytes[INPUT_MOST + 100];
    const size_t size = input_size < INPUT_MOST ? input_size : INPUT_MOST, at = rng_below(r, size + 1);
    const size_t left = size - at, n = rng_size(r, left < 64 ? left : 64), kind = rng_below(r, 4);
    size_t kept = at, from = at; /* bytes[0..kept) are made, the input goes on at `from` */
    if (at)
        memcpy(bytes, input, at);
    if (kind == 0) {
        from = at + n;
    } else if (kind == 1) {
        memcpy(bytes + at, input + at, n);
        kept = at + n;
    } else {
        const size_t more = 1 + rng_below(r, 8);
        while (kept < at + more)
            bytes[kept++] = (uint8_t)(rng_one_in(r, 3) ? rng_below(r, 4) : rng_next(r));
        from = kind == 2 ? at : at + (more < left ? more : left);
    }
    memcpy(bytes + kept, input + from, size - from);
    set_input(bytes, kept + size - from);
}

static void make_input(uint64_t number)
{
    const uint64_t group = number / GROUP;
    rng r = {run.seed + (group << 32), NULL, 0};
    rng_next(&r);
    new_input(&r);
    for (uint64_t i = 0; i < number % GROUP; i++)
        for (size_t n = 1 + rng_below(&r, 3); n; n--)
            mutate(&r);
    input_number = number;
}

/* ---- the run ---- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void read_options(int argc, char **argv)
{
    run.files = take((size_t)argc * sizeof *run.files);
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : "0";
        if (!strcmp(argv[i], "--seed"))
            run.seed = strtoull(value, NULL, 10), i++;
        else if (!strcmp(argv[i], "--iterations"))
            run.iterations = strtoull(value, NULL, 10), i++;
        else if (!strcmp(argv[i], "--seconds"))
            run.seconds = strtod(value, NULL), i++;
        else if (!strcmp(argv[i], "--save"))
            run.save = value, i++;
        else
            run.files[run.file_count++] = argv[i];
    }
}

static void run_files(void)
{
    for (size_t i = 0; i < run.file_count; i++) {
        input_name = run.files[i];
        read_input(input_name);
        alarm(HANG_SECONDS);
        LLVMFuzzerTestOneInput(input, input_size);
    }
    input_name = NULL;
}

static void run_made(void)
{
    const double start = now();
    for (uint64_t i = 0; !run.iterations || i < run.iterations; i++) {
        if (run.seconds > 0 && now() - start >= run.seconds)
            break;
        make_input(i);
        alarm(HANG_SECONDS);
        LLVMFuzzerTestOneInput(input, input_size);
    }
}

int main(int argc, char **argv)
{
    read_options(argc, argv);
    catch_crashes();
    if (run.iterations || run.seconds > 0)
        run_made();
    else
        run_files();
    alarm(0);
    harness_close();
    patterns_close();
    CHECK(st_alloc_read().live == 0);
    free(run.files);
    free(input);
    return 0;
}
