/* Merging takes the pair of lowest rank, and the leftmost of several. If every token comes after its parts, the token that a merge
 * makes takes part only in merges of higher rank. So all merges of one rank are made, from left to right, before the next rank
 * begins. In a run of one token every two become one, and an odd one stays at the right end. Where two runs meet, one token of
 * each merges. */
#include "merge/runs.h"

#include "base/interrupt.h"

#define MOST_RUNS 64 /* a megabyte of one byte needs at most a dozen with the published vocabularies */
#define FEW_RUNS 8   /* of bytes: a ruler has up to five, and text with more is merged faster byte by byte */

typedef struct run {
    uint32_t token;
    size_t count;
} run;

typedef struct runs {
    run at[MOST_RUNS];
    size_t size;
} runs;

/* Bytes read, or tokens written, between two calls of st_go_on. */
#define STEP ((size_t)1 << 16)

/* Appends a run. A run of 0 tokens is left out, and a run of the same token as the last one is added to it. Returns 0 when there
 * is no room. */
static int add(runs *r, uint32_t token, size_t count)
{
    if (!count)
        return 1;
    if (r->size && r->at[r->size - 1].token == token) {
        r->at[r->size - 1].count += count;
        return 1;
    }
    if (r->size == MOST_RUNS)
        return 0;
    r->at[r->size++] = (run){token, count};
    return 1;
}

/* Returns the lowest token that some pair merges to, and the pair; ST_NONE: no pair merges. */
static uint32_t lowest(const st_pairs *pairs, const runs *r, uint32_t *left, uint32_t *right)
{
    uint32_t best = ST_NONE;
    for (size_t i = 0; i < r->size; i++) {
        const uint32_t token = r->at[i].token, next = i + 1 < r->size ? r->at[i + 1].token : ST_NO_TOKEN;
        const uint32_t twice = r->at[i].count > 1 ? st_pairs_find(pairs, token, token) : ST_NONE;
        const uint32_t both = st_pairs_find(pairs, token, next);
        if (twice < best) {
            best = twice;
            *left = *right = token;
        }
        if (both < best) {
            best = both;
            *left = token;
            *right = next;
        }
    }
    return best;
}

/* Makes all merges of one pair, from left to right. */
static int merge_pair(const runs *from, runs *to, uint32_t left, uint32_t right, uint32_t merged)
{
    size_t taken = 0; /* tokens at the front of the run that the merge with the run before took */
    to->size = 0;
    for (size_t i = 0; i < from->size; i++) {
        const uint32_t token = from->at[i].token;
        const size_t count = from->at[i].count - taken;
        taken = 0;
        if (token == left && left == right) {
            if (!add(to, merged, count / 2) || !add(to, token, count % 2))
                return 0;
            continue;
        }
        taken = count && token == left && i + 1 < from->size && from->at[i + 1].token == right;
        if (!add(to, token, count - taken) || !add(to, merged, taken))
            return 0;
    }
    return 1;
}

static st_status write_out(const runs *r, st_ids *tokens)
{
    size_t count = 0;
    for (size_t i = 0; i < r->size; i++)
        count += r->at[i].count;
    ST_TRY(st_ids_reserve(tokens, count));
    for (size_t i = 0; i < r->size; i++)
        for (size_t left = r->at[i].count, step; left; left -= step) {
            step = left < STEP ? left : STEP;
            for (size_t k = 0; k < step; k++)
                tokens->data[tokens->size++] = r->at[i].token;
            ST_TRY(st_go_on(step));
        }
    return ST_OK;
}

/* Where the run of the byte at `start` ends, at most STEP bytes further. */
static size_t end_of_run(const uint8_t *text, size_t n, size_t start)
{
    const size_t limit = n - start < STEP ? n : start + STEP;
    size_t end = start + 1;
    while (end < limit && text[end] == text[start])
        end++;
    return end;
}

/* Reads the text as runs. Returns 0 if they are too many, or if the call is to end. */
static int read_runs(const st_pairs *pairs, const uint8_t *text, size_t n, runs *r)
{
    r->size = 0;
    for (size_t start = 0, end; start < n; start = end) {
        const uint32_t token = pairs->byte_token[text[start]];
        end = end_of_run(text, n, start);
        if ((r->size == FEW_RUNS && r->at[FEW_RUNS - 1].token != token) || !add(r, token, end - start))
            return 0;
        if (end - start == STEP && st_go_on(STEP))
            return 0;
    }
    return 1;
}

st_status st_merge_runs(const st_vocab *v, const uint8_t *text, size_t n, st_ids *tokens, int *done)
{
    runs a, b, *from = &a, *to = &b;
    uint32_t left = ST_NO_TOKEN, right = ST_NO_TOKEN, merged;
    *done = 0;
    if (!v->monotone || !read_runs(&v->pairs, text, n, &a))
        return ST_OK;
    while ((merged = lowest(&v->pairs, from, &left, &right)) != ST_NONE) {
        if (!merge_pair(from, to, left, right, merged))
            return ST_OK;
        runs *const old = from;
        from = to;
        to = old;
    }
    *done = 1;
    return write_out(from, tokens);
}
