/* Damaged vocabularies: st_vocab_new must name the damage with the right code and place, and never crash or leak, also
 * when memory is short. Sound ones: the pairs found by merging are those of BPE's definition and of stored splits.
 *
 *     fuzz_vocab [--seed N] [--iterations N] [--seconds N] */
#include "fuzz.h"

#include <stdio.h>
#include <stdlib.h>

static struct {
    uint64_t sources, built, refused, failed_allocations;
} counts;

static const source *current;

static void describe(void)
{
    if (!current)
        return;
    size_t total = 0;
    for (size_t i = 0; i < current->count; i++)
        total += current->lengths[i];
    fprintf(stderr, "  %zu tokens, %s splits\n", current->count, current->splits ? "with" : "without");
    print_bytes("tokens", current->bytes, total);
}

/* ---- building ---- */

/* Builds it with allocations failing, each in turn; nothing may be left of a failed attempt. */
static st_status build_against_odds(const source *s, st_vocab **vocab, size_t *bad)
{
    const int64_t live = st_alloc_read().live;
    st_status status = ST_NO_MEMORY;
    for (int64_t succeeding = 0; status == ST_NO_MEMORY; succeeding = next_failure(succeeding)) {
        st_alloc_fail_after(succeeding);
        status = source_build(s, 64, vocab, bad);
        st_alloc_fail_after(-1);
        CHECK((status == ST_OK) == (*vocab != NULL));
        CHECK(!status || st_alloc_read().live == live);
        counts.failed_allocations += status == ST_NO_MEMORY;
    }
    return status;
}

static void check_refused(const source *s, st_status expected, size_t place)
{
    st_vocab *vocab;
    size_t bad;
    st_status status = build_against_odds(s, &vocab, &bad);
    CHECK(status == expected && bad == place);
    counts.refused++;
}

/* ---- sound vocabularies ---- */

static void check_found(const source *s, const st_vocab *v)
{
    const uint8_t *at = s->bytes;
    CHECK(v->count == s->count);
    for (uint32_t i = 0; i < v->count; at += s->lengths[i++]) {
        CHECK(st_vocab_find(v, at, s->lengths[i]) == i && st_vocab_index(v, s->ids[i]) == i);
        CHECK(st_token_length(v, i) == s->lengths[i] && same_bytes(st_token_bytes(v, i), at, s->lengths[i]));
    }
    CHECK(st_vocab_find(v, at, 0) == ST_NONE);
    CHECK(st_vocab_index(v, s->ids[s->count - 1] + 1) == ST_NONE);
}

/* Bytes of the left part of the last merge of a token's own bytes, by the definition of BPE; 0 if that is not how the
 * token comes about. */
static size_t defined_split(const st_vocab *v, uint32_t index)
{
    const uint8_t *text = st_token_bytes(v, index);
    size_t count = st_token_length(v, index), *ends = take(count * sizeof *ends), split = 0;
    for (size_t i = 0; i < count; i++)
        ends[i] = i + 1;
    while (count > 1) {
        uint32_t best = ST_NONE;
        size_t at = 0;
        for (size_t i = 0; i + 1 < count; i++) {
            size_t start = i ? ends[i - 1] : 0;
            uint32_t joined = st_vocab_find(v, text + start, ends[i + 1] - start);
            if (joined < best) {
                best = joined;
                at = i;
            }
        }
        if (best == ST_NONE)
            break;
        split = ends[at];
        memmove(ends + at, ends + at + 1, (--count - at) * sizeof *ends);
    }
    free(ends);
    return count == 1 ? split : 0;
}

static void check_pairs(const st_vocab *v)
{
    uint32_t unreachable = 0;
    for (uint32_t i = 0; i < v->count; i++) {
        size_t n = st_token_length(v, i), split = n <= 100 ? defined_split(v, i) : 0;
        unreachable += !st_token_reachable(v, i);
        if (n > 100)
            continue; /* the definition takes cubic time */
        CHECK(st_token_reachable(v, i) == (n == 1 || split > 0));
        if (split)
            CHECK(st_token_length(v, v->left[i]) == split && st_pairs_find(&v->pairs, v->left[i], v->right[i]) == i);
    }
    CHECK(v->unreachable == unreachable);
}

/* Built once more from its own splits, a vocabulary must come out the same. */
static void check_splits(source *s, const st_vocab *v)
{
    st_vocab *again;
    size_t bad;
    s->splits = take(s->count * sizeof *s->splits);
    for (uint32_t i = 0; i < v->count; i++)
        s->splits[i] = v->left[i] == ST_NONE ? 0 : (uint32_t)st_token_length(v, v->left[i]);
    CHECK(build_against_odds(s, &again, &bad) == ST_OK);
    CHECK(same_bytes(v->left, again->left, v->count * sizeof *v->left));
    CHECK(same_bytes(v->right, again->right, v->count * sizeof *v->right));
    CHECK(v->monotone == again->monotone && v->unreachable == again->unreachable && v->identity == again->identity);
    st_vocab_free(again);
}

static void check_sound(source *s)
{
    st_vocab *v;
    size_t bad;
    CHECK(build_against_odds(s, &v, &bad) == ST_OK);
    check_found(s, v);
    check_pairs(v);
    check_splits(s, v);
    st_vocab_free(v);
    counts.built++;
}

/* ---- damaged ones ---- */

static size_t start_of(const source *s, size_t index)
{
    size_t start = 0;
    for (size_t i = 0; i < index; i++)
        start += s->lengths[i];
    return start;
}

/* Puts `n` other bytes in the place of token `index`. */
static void set_token(source *s, size_t index, const uint8_t *bytes, uint32_t n)
{
    const size_t start = start_of(s, index), end = start + s->lengths[index], total = start_of(s, s->count);
    uint8_t *all = take(total - (end - start) + n);
    memcpy(all, s->bytes, start);
    if (n)
        memcpy(all + start, bytes, n);
    memcpy(all + start + n, s->bytes + end, total - end);
    free(s->bytes);
    s->bytes = all;
    s->lengths[index] = n;
}

static void check_duplicate(source *s, rng *r)
{
    size_t first = rng_below(r, s->count - 1), second = first + 1 + rng_below(r, s->count - 1 - first);
    uint8_t *copy = take(s->lengths[first]);
    memcpy(copy, s->bytes + start_of(s, first), s->lengths[first]);
    set_token(s, second, copy, s->lengths[first]);
    free(copy);
    check_refused(s, ST_DUPLICATE_TOKEN, second);
}

static void check_missing_byte(source *s, rng *r)
{
    static const uint8_t other[6] = {0xFE, 0xFD, 0xFE, 0xFD, 0xFE, 0xFD}; /* in no vocabulary made here */
    size_t index = rng_below(r, s->count);
    while (s->lengths[index] != 1)
        index = rng_below(r, s->count);
    const uint8_t byte = s->bytes[start_of(s, index)];
    set_token(s, index, other, sizeof other);
    check_refused(s, ST_MISSING_BYTE, byte);
}

static void check_too_long(source *s, rng *r)
{
    enum { LONG = ST_MAX_TOKEN_BYTES + 1 };
    uint8_t *bytes = take(LONG);
    size_t index = rng_below(r, s->count);
    memset(bytes, 'x', LONG);
    set_token(s, index, bytes, LONG);
    free(bytes);
    check_refused(s, ST_TOKEN_TOO_LONG, index);
}

static void check_unsorted(source *s, rng *r)
{
    size_t index = 1 + rng_below(r, s->count - 1);
    s->ids[index] = rng_one_in(r, 2) ? s->ids[index - 1] : (uint32_t)rng_below(r, s->ids[index - 1] + 1);
    check_refused(s, ST_UNSORTED_RANKS, index);
}

/* Splits from chance. Some may be those of other tokens that exist; wrong ones that fit are the caller's fault, so
 * only building and freeing is tried. */
static void check_bad_splits(source *s, rng *r)
{
    st_vocab *v;
    size_t bad;
    s->splits = take(s->count * sizeof *s->splits);
    for (size_t i = 0; i < s->count; i++)
        s->splits[i] = rng_one_in(r, 20) ? (uint32_t)rng_next(r) : (uint32_t)rng_below(r, s->lengths[i]);
    st_status status = build_against_odds(s, &v, &bad);
    CHECK(status == ST_OK || (status == ST_BAD_SPLIT && bad < s->count));
    st_vocab_free(v);
    counts.refused += status != ST_OK;
}

/* Sizes beyond the limits, which must be seen before anything is read or allocated by them. */
static void check_limits(source *s, rng *r)
{
    st_vocab *v;
    size_t bad;
    source large = *s;
    large.count = ST_MAX_TOKENS + 1 + rng_below(r, 1000);
    CHECK(source_build(&large, 0, &v, &bad) == ST_TOO_MANY_TOKENS && !v);
    large.count = 0;
    check_refused(&large, ST_MISSING_BYTE, 0);
    s->lengths[rng_below(r, s->count)] = ST_MAX_TOTAL_BYTES + 1 + (uint32_t)rng_next(r) / 2;
    CHECK(source_build(s, 0, &v, &bad) == ST_TOKEN_TOO_LONG && !v);
    s->count = 0; /* its lengths are wrong: nothing to describe */
}

/* ---- special tokens ---- */

static void check_special(rng *r)
{
    uint8_t names[64];
    size_t lengths[16], count = rng_below(r, 17), total = 0;
    uint32_t ids[16];
    int empty = 0;
    const int64_t live = st_alloc_read().live;
    for (size_t i = 0; i < count; i++) {
        lengths[i] = rng_one_in(r, 30) ? 0 : 1 + rng_below(r, 4);
        empty |= lengths[i] == 0;
        total += lengths[i];
        ids[i] = (uint32_t)i;
    }
    for (size_t i = 0; i < total; i++)
        names[i] = (uint8_t)"ab<"[rng_below(r, 3)];
    st_special *special;
    st_status status = ST_NO_MEMORY;
    for (int64_t succeeding = 0; status == ST_NO_MEMORY; succeeding = next_failure(succeeding)) {
        st_alloc_fail_after(succeeding);
        status = st_special_new(names, lengths, ids, count, &special);
        st_alloc_fail_after(-1);
        CHECK(!status || (!special && st_alloc_read().live == live));
        counts.failed_allocations += status == ST_NO_MEMORY;
    }
    CHECK(status == (empty ? ST_EMPTY_TOKEN : ST_OK));
    st_special_free(special);
}

/* ---- the program ---- */

static void one_case(rng *r)
{
    source s = source_grown(r);
    current = &s;
    if (rng_one_in(r, 2))
        source_damage(&s, r);
    switch (rng_below(r, 10)) {
    case 0: check_duplicate(&s, r); break;
    case 1: check_missing_byte(&s, r); break;
    case 2: check_too_long(&s, r); break;
    case 3: check_unsorted(&s, r); break;
    case 4: case 5: check_bad_splits(&s, r); break;
    case 6: check_limits(&s, r); break;
    case 7: {
        size_t index = rng_below(r, s.count);
        set_token(&s, index, NULL, 0);
        check_refused(&s, ST_EMPTY_TOKEN, index);
        break;
    }
    default: check_sound(&s);
    }
    current = NULL;
    source_free(&s);
    check_special(r);
    counts.sources++;
}

int main(int argc, char **argv)
{
    settings run = settings_read(argc, argv);
    describe_failure = describe;
    for (uint64_t done = 0; next_iteration(&run, done); done++) {
        rng r = {run.seed + done};
        one_case(&r);
        CHECK(st_alloc_read().live == 0);
    }
    free(run.files);
    printf("fuzz_vocab: %llu vocabularies, %llu sound ones built twice, %llu refused, %llu failed allocations: "
           "no crash, no leak\n", (unsigned long long)counts.sources, (unsigned long long)counts.built,
           (unsigned long long)counts.refused, (unsigned long long)counts.failed_allocations);
    return 0;
}
