/* The two long lists of a model file, written in every way that JSON has: the reader finds them among other members, and gives the
 * tokens, ids and merges that were written; with bytes damaged or cut off it refuses or reads, and does no other harm; nothing is
 * lost or left when memory is short. */
#include "base/utf8.h"
#include "fuzz.h"
#include "listing/listing.h"
#include "text/utf8_check.h"

#include <stdio.h>
#include <stdlib.h>

#define MOST_TOKENS 48
#define MOST_MERGES 40
#define LONGEST 24 /* bytes of a token, as UTF-8 */

static struct {
    uint64_t lists, merges, damaged, refused, failed_allocations;
} counts;

typedef struct lists {
    uint8_t tokens[MOST_TOKENS][LONGEST];
    size_t lengths[MOST_TOKENS], count, merges;
    uint32_t ids[MOST_TOKENS], rows[MOST_MERGES][3];
} lists;

/* ---- what is written ---- */

static size_t put_unit(rng *r, uint8_t *to)
{
    static const uint32_t points[] = {'a', 'b', '"', '\\', '/', '\n', 1, 0x7F, 0x120, 0x10A, 0xE9, 0x141, 0x4E2D, 0xFFFF, 0x1F600};
    return st_utf8_write(to, points[rng_below(r, sizeof points / sizeof *points)]);
}

static size_t find(const lists *l, const uint8_t *token, size_t n)
{
    for (size_t i = 0; i < l->count; i++)
        if (l->lengths[i] == n && same_bytes(l->tokens[i], token, n))
            return i;
    return MOST_TOKENS;
}

static void make_tokens(rng *r, lists *l)
{
    const size_t tries = rng_below(r, MOST_TOKENS + 1);
    for (size_t i = 0; i < tries; i++) {
        uint8_t token[LONGEST];
        size_t n = 0;
        if (l->count > 1 && rng_one_in(r, 2)) { /* two of the others, so that there are merges */
            const size_t left = rng_below(r, l->count), right = rng_below(r, l->count);
            if (l->lengths[left] + l->lengths[right] > LONGEST)
                continue;
            memcpy(token, l->tokens[left], l->lengths[left]);
            memcpy(token + l->lengths[left], l->tokens[right], l->lengths[right]);
            n = l->lengths[left] + l->lengths[right];
            if (l->merges < MOST_MERGES && find(l, token, n) == MOST_TOKENS && n) {
                l->rows[l->merges][0] = (uint32_t)left;
                l->rows[l->merges][1] = (uint32_t)right;
                l->rows[l->merges++][2] = (uint32_t)l->count;
            }
        } else {
            for (size_t units = 1 + rng_below(r, 4); units; units--)
                n += put_unit(r, token + n);
        }
        if (find(l, token, n) != MOST_TOKENS)
            continue;
        memcpy(l->tokens[l->count], token, n);
        l->lengths[l->count] = n;
        l->ids[l->count++] = (uint32_t)rng_size(r, ST_LISTING_LARGEST);
    }
}

static void put(st_bytes *out, const char *text)
{
    CHECK(st_bytes_append(out, text, strlen(text)) == ST_OK);
}

static void put_blank(rng *r, st_bytes *out)
{
    static const char *const blanks[] = {"", "", "", " ", "\n", "\t", "\r\n  "};
    put(out, blanks[rng_below(r, sizeof blanks / sizeof *blanks)]);
}

static void put_escape(st_bytes *out, unsigned value, int upper)
{
    char text[8];
    snprintf(text, sizeof text, upper ? "\\u%04X" : "\\u%04x", value);
    put(out, text);
}

/* The text as the inside of a string: characters as they are where that is allowed, or as one of their escapes. */
static void put_inside(rng *r, st_bytes *out, const uint8_t *text, size_t n)
{
    for (size_t at = 0; at < n;) {
        unsigned size;
        const uint32_t point = st_utf8_decode(text + at, &size);
        const int upper = rng_one_in(r, 2);
        if (point == '"' || point == '\\' || (point == '/' && upper)) {
            put(out, "\\");
            CHECK(st_bytes_append(out, text + at, 1) == ST_OK);
        } else if (point == '\n' && upper) {
            put(out, "\\n");
        } else if (point >= 0x10000 && upper) {
            put_escape(out, 0xD800 + ((unsigned)(point - 0x10000) >> 10), upper);
            put_escape(out, 0xDC00 + ((unsigned)(point - 0x10000) & 0x3FF), upper);
        } else if (point < 0x20 || (point < 0x10000 && rng_one_in(r, 4))) {
            put_escape(out, (unsigned)point, upper);
        } else {
            CHECK(st_bytes_append(out, text + at, size) == ST_OK);
        }
        at += size;
    }
}

static void put_string(rng *r, st_bytes *out, const uint8_t *text, size_t n)
{
    put(out, "\"");
    put_inside(r, out, text, n);
    put(out, "\"");
}

static void put_vocab(rng *r, st_bytes *out, const lists *l)
{
    char number[16];
    put(out, "{");
    for (size_t i = 0; i < l->count; i++) {
        put_blank(r, out);
        put_string(r, out, l->tokens[i], l->lengths[i]);
        put_blank(r, out);
        put(out, ":");
        put_blank(r, out);
        snprintf(number, sizeof number, "%lu", (unsigned long)l->ids[i]);
        put(out, number);
        put_blank(r, out);
        put(out, i + 1 < l->count ? "," : "");
    }
    put_blank(r, out);
    put(out, "}");
}

static void put_merges(rng *r, st_bytes *out, const lists *l)
{
    put(out, "[");
    for (size_t i = 0; i < l->merges; i++) {
        const uint32_t left = l->rows[i][0], right = l->rows[i][1];
        put_blank(r, out);
        if (rng_one_in(r, 2)) {
            put(out, "[");
            put_string(r, out, l->tokens[left], l->lengths[left]);
            put_blank(r, out);
            put(out, ",");
            put_blank(r, out);
            put_string(r, out, l->tokens[right], l->lengths[right]);
            put(out, "]");
        } else {
            put(out, "\"");
            put_inside(r, out, l->tokens[left], l->lengths[left]);
            put(out, " ");
            put_inside(r, out, l->tokens[right], l->lengths[right]);
            put(out, "\"");
        }
        put_blank(r, out);
        put(out, i + 1 < l->merges ? "," : "");
    }
    put(out, "]");
}

/* Other members, which hold what looks like the lists. */
static void put_decoy(rng *r, st_bytes *out, unsigned number)
{
    static const char *const values[] = {"null", "true", "-1.5e+3", "\"model\\\": {\\\"vocab\\\"\"", "[{\"vocab\": {}}, [], \"]\"]",
                                         "{\"model\": {\"vocab\": {\"x\": 1}}, \"merges\": []}", "\"\""};
    char name[32];
    snprintf(name, sizeof name, "\"d%u\":", number);
    put(out, name);
    put_blank(r, out);
    put(out, values[rng_below(r, sizeof values / sizeof *values)]);
    put(out, ",");
}

static void put_file(rng *r, st_bytes *out, const lists *l)
{
    unsigned decoys = 0;
    put_blank(r, out);
    put(out, "{");
    while (rng_one_in(r, 2))
        put_decoy(r, out, decoys++);
    put(out, "\"model\":");
    put_blank(r, out);
    put(out, "{");
    while (rng_one_in(r, 2))
        put_decoy(r, out, decoys++);
    const int vocab_first = rng_one_in(r, 2);
    put(out, vocab_first ? "\"vocab\":" : "\"merges\":");
    put_blank(r, out);
    vocab_first ? put_vocab(r, out, l) : put_merges(r, out, l);
    put(out, ",");
    while (rng_one_in(r, 3))
        put_decoy(r, out, decoys++);
    put(out, vocab_first ? "\"merges\":" : "\"vocab\":");
    vocab_first ? put_merges(r, out, l) : put_vocab(r, out, l);
    put(out, "}}");
    put_blank(r, out);
}

/* ---- what is read ---- */

static void check_read(const lists *l, const st_listing *listing, const st_ids *merges)
{
    CHECK(listing->ids.size == l->count && merges->size == 3 * l->merges);
    for (size_t i = 0; i < l->count; i++) {
        CHECK(listing->ids.data[i] == l->ids[i]);
        CHECK(st_listing_number(listing, l->tokens[i], l->lengths[i]) == i);
        const size_t start = listing->starts.data[i], n = listing->starts.data[i + 1] - start;
        CHECK(n == l->lengths[i] && same_bytes(listing->text.data + start, l->tokens[i], n));
    }
    for (size_t i = 0; i < merges->size; i++)
        CHECK(merges->data[i] == l->rows[i / 3][i % 3]);
    CHECK(st_listing_number(listing, (const uint8_t *)"no token", 8) == UINT32_MAX);
}

/* Reads both lists of a text with a 0 behind it. 0: it is refused. */
static int read_file(const uint8_t *text, int64_t succeeding, const lists *expected, st_status *status)
{
    st_listing_span vocab, merges;
    st_listing_fault fault = {0, 0, NULL};
    st_listing listing;
    st_ids rows = {NULL, 0, 0};
    const int64_t live = st_alloc_read().live;
    memset(&listing, 0, sizeof listing);
    st_alloc_fail_after(succeeding);
    const int found = st_listing_find(text, &vocab, &merges, &fault);
    *status = found ? ST_OK : ST_BAD_LIST;
    if (found && vocab.end && merges.end) {
        *status = st_listing_read(&listing, text, vocab, &fault);
        if (!*status)
            *status = st_listing_merges(&listing, text, merges, 0, &rows, &fault);
    }
    st_alloc_fail_after(-1);
    CHECK(*status != ST_BAD_LIST || fault.reason);
    if (expected && !*status)
        check_read(expected, &listing, &rows);
    st_listing_free(&listing);
    st_ids_free(&rows);
    CHECK(st_alloc_read().live == live);
    return *status == ST_OK;
}

/* A byte of ASCII becomes another, or the end is cut off. */
static void damage(rng *r, st_bytes *file)
{
    static const char units[] = "\"\\,:[]{} 0u9e-\n\1";
    for (size_t n = 1 + rng_below(r, 3); n && file->size; n--) {
        const size_t at = rng_below(r, file->size);
        if (rng_one_in(r, 4))
            file->size = at;
        else if (file->data[at] < 0x80)
            file->data[at] = (uint8_t)units[rng_below(r, sizeof units - 1)];
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    rng r = rng_of(data, n);
    lists *l = take(sizeof *l);
    st_bytes file = {NULL, 0, 0};
    st_status status = ST_NO_MEMORY;
    memset(l, 0, sizeof *l);
    make_tokens(&r, l);
    put_file(&r, &file, l);
    CHECK(st_bytes_append(&file, "", 1) == ST_OK);
    const uint8_t *text = guarded(file.data, file.size, 0);
    for (int64_t succeeding = rng_one_in(&r, 8) ? 0 : -1; status; succeeding = next_failure(succeeding)) {
        read_file(text, succeeding, l, &status);
        CHECK(!status || status == ST_NO_MEMORY);
        counts.failed_allocations += status == ST_NO_MEMORY;
    }
    counts.lists++;
    counts.merges += l->merges;
    file.size--;
    damage(&r, &file);
    st_text_error error;
    if (st_text_check(file.data, file.size, &error) == file.size && !memchr(file.data, 0, file.size)) {
        CHECK(st_bytes_append(&file, "", 1) == ST_OK);
        counts.damaged++;
        counts.refused += !read_file(guarded(file.data, file.size, 0), -1, NULL, &status);
    }
    st_bytes_free(&file);
    free(l);
    return 0;
}

void harness_close(void)
{
    printf("fuzz_listing: %llu files, %llu merges, %llu damaged, %llu of them refused, %llu failed allocations: no difference\n",
           (unsigned long long)counts.lists, (unsigned long long)counts.merges, (unsigned long long)counts.damaged,
           (unsigned long long)counts.refused, (unsigned long long)counts.failed_allocations);
}
