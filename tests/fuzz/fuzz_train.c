/* Training on random pieces. The merges must be those of counting all pairs anew each time, by both rules for ties, whatever
 * room the lists have, in any number of steps, also if another trainer goes on from a saved state or from given tokens, if
 * each merge is asked for and made apart, and if an allocation fails at any moment. Damaged records must be refused without a crash. The counts of texts of any bytes are those of the
 * pieces that a splitter of its own finds between special names. */
#include "fuzz.h"
#include "train/count.h"
#include "train/trainer.h"

#include <stdio.h>
#include <stdlib.h>

#define PIECES 12
#define LONGEST 40
#define WANTED (256 + 60)

static struct {
    uint64_t texts, merges, given, resumed, failed_allocations, damaged, counted;
} counts;

typedef struct piece {
    uint8_t bytes[LONGEST];
    size_t n;
    uint64_t count;
} piece;

static piece pieces[PIECES];
static size_t piece_count;

static void describe(void)
{
    for (size_t i = 0; i < piece_count; i++)
        print_bytes("piece", pieces[i].bytes, pieces[i].n);
}

/* Few letters, so that runs and overlaps are common; distinct, as they come out of a table. */
static void make_pieces(rng *r)
{
    const size_t letters = 1 + rng_below(r, 5);
    piece_count = 1 + rng_below(r, PIECES);
    for (size_t i = 0; i < piece_count; i++) {
        piece *p = &pieces[i];
        p->n = 1 + rng_below(r, rng_one_in(r, 3) ? LONGEST : 8);
        p->count = 1 + rng_below(r, rng_one_in(r, 4) ? (uint64_t)1 << 40 : 3);
        for (size_t k = 0; k < p->n; k++)
            p->bytes[k] = (uint8_t)('a' + rng_below(r, letters));
    }
}

/* ---- by the definition ---- */

typedef struct plain {
    uint32_t tokens[PIECES][LONGEST];
    size_t n[PIECES];
    st_train_tokens known;
    uint8_t bytes[WANTED][LONGEST]; /* of the same tokens */
    size_t lengths[WANTED];
} plain;

static int compare(const plain *t, uint32_t a, uint32_t b)
{
    const size_t n = t->lengths[a], m = t->lengths[b];
    const int order = memcmp(t->bytes[a], t->bytes[b], n < m ? n : m);
    return order ? order : (n > m) - (n < m);
}

/* Of two pairs with the same count: does the first go before the second? */
static int goes_before(const plain *t, uint32_t left, uint32_t right, uint32_t other_left, uint32_t other_right)
{
    if (t->known.ties == ST_TIES_HUGGINGFACE)
        return left < other_left || (left == other_left && right < other_right);
    const int order = compare(t, left, other_left);
    return order > 0 || (!order && compare(t, right, other_right) > 0);
}

static int is_short(const plain *t, uint32_t left, uint32_t right)
{
    const size_t n = t->lengths[left] + t->lengths[right];
    return t->known.ties == ST_TIES_HUGGINGFACE ? n == 2 || n < t->known.max_token_bytes : n <= t->known.max_token_bytes;
}

static uint64_t count_pair(const plain *t, uint32_t left, uint32_t right)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < piece_count; i++)
        for (size_t k = 0; k + 1 < t->n[i]; k++)
            sum += t->tokens[i][k] == left && t->tokens[i][k + 1] == right ? pieces[i].count : 0;
    return sum;
}

static int best_pair(const plain *t, st_train_key *best)
{
    uint64_t most = 0;
    for (size_t i = 0; i < piece_count; i++)
        for (size_t k = 0; k + 1 < t->n[i]; k++) {
            const uint32_t left = t->tokens[i][k], right = t->tokens[i][k + 1];
            const st_train_key key = st_train_key_of(left, right);
            const uint64_t count = count_pair(t, left, right);
            if (!is_short(t, left, right) || (most && key == *best))
                continue;
            if (count > most || (count == most && goes_before(t, left, right, st_train_left(*best), st_train_right(*best)))) {
                most = count;
                *best = key;
            }
        }
    return most > 0;
}

static void join_pair(plain *t, st_train_key pair)
{
    const uint32_t joined = (uint32_t)t->known.count;
    const size_t n = t->lengths[st_train_left(pair)], m = t->lengths[st_train_right(pair)];
    memcpy(t->bytes[joined], t->bytes[st_train_left(pair)], n);
    memcpy(t->bytes[joined] + n, t->bytes[st_train_right(pair)], m);
    t->lengths[joined] = n + m;
    CHECK(st_train_tokens_add(&t->known, pair) == ST_OK);
    for (size_t i = 0; i < piece_count; i++) {
        size_t kept = 0;
        for (size_t k = 0; k < t->n[i]; k++, kept++) {
            const int is_pair = k + 1 < t->n[i] && t->tokens[i][k] == st_train_left(pair) &&
                                t->tokens[i][k + 1] == st_train_right(pair);
            t->tokens[i][kept] = is_pair ? joined : t->tokens[i][k];
            k += (size_t)is_pair;
        }
        t->n[i] = kept;
    }
}

static void begin_plainly(plain *t, const st_train_options *options)
{
    CHECK(st_train_tokens_init(&t->known, options->alphabet, options->wanted, options->ties, options->max_token_bytes) == ST_OK);
    for (size_t i = 0; i < 256; i++) {
        t->bytes[i][0] = (uint8_t)i;
        t->lengths[i] = 1;
    }
    for (size_t i = 0; i < piece_count; i++) {
        t->n[i] = pieces[i].n;
        for (size_t k = 0; k < pieces[i].n; k++)
            t->tokens[i][k] = pieces[i].bytes[k]; /* the alphabet is in order */
    }
}

static void learn_plainly(plain *t, const st_train_options *options)
{
    st_train_key best = 0;
    begin_plainly(t, options);
    while (t->known.count < options->wanted && best_pair(t, &best))
        join_pair(t, best);
}

/* ---- by the engine ---- */

/* A trainer with the pieces in it, ready to begin. */
static st_status fill(const st_train_options *options, const st_bytes *parts, st_trainer *trainer)
{
    st_status status = st_trainer_init(trainer, options);
    for (size_t i = 0; i < 2 && !status; i++)
        status = st_train_text_measure(&trainer->text, parts[i].data, parts[i].size);
    if (!status)
        status = st_train_text_lay_out(&trainer->text);
    for (size_t i = 2; i-- > 0 && !status;)
        status = st_train_text_place(&trainer->text, parts[i].data, parts[i].size);
    return status ? status : st_train_text_finish(&trainer->text);
}

/* What a checkpoint holds goes into a new trainer: the learned tokens and the text as it is. */
static st_status go_on_elsewhere(const st_train_options *options, const st_bytes *parts, st_trainer *trainer)
{
    st_trainer other;
    st_status status = fill(options, parts, &other);
    for (size_t i = 256; i < trainer->tokens.count && !status; i++)
        status = st_train_tokens_add(&other.tokens, trainer->tokens.pairs[i]);
    if (!status) {
        CHECK(other.text.places == trainer->text.places);
        memcpy(other.text.tokens, trainer->text.tokens, trainer->text.places * sizeof *other.text.tokens);
        st_trainer_begin(&other, trainer->index.least);
        counts.resumed++;
    }
    st_trainer_free(trainer);
    *trainer = other;
    return status;
}

static st_status learn(rng r, const st_train_options *options, st_trainer *trainer)
{
    st_bytes parts[2] = {{0}, {0}};
    st_train_table table = {0};
    st_status status = ST_OK;
    memset(trainer, 0, sizeof *trainer);
    for (size_t i = 0; i < piece_count && !status; i++)
        status = st_train_table_add(&table, pieces[i].bytes, pieces[i].n, pieces[i].count);
    if (!status)
        status = st_train_table_write(&table, parts, 2);
    if (!status)
        status = fill(options, parts, trainer);
    if (!status)
        st_trainer_begin(trainer, rng_one_in(&r, 2) ? 0 : 1 + rng_below(&r, 20));
    while (!status && !trainer->done) {
        status = st_trainer_run(trainer, 1 + rng_below(&r, 30), 1 + rng_below(&r, 1000));
        if (!status && !trainer->done && rng_one_in(&r, 4))
            status = go_on_elsewhere(options, parts, trainer);
    }
    st_train_table_free(&table);
    st_bytes_free(&parts[0]);
    st_bytes_free(&parts[1]);
    return status;
}

/* ---- from given tokens, and merges that others choose ---- */

/* Lays the text out in the tokens of `from`, of which those behind the 256 bytes are given. */
static void lay_out_tokens(st_trainer *trainer, const plain *from, const st_train_options *options)
{
    st_bytes rows = {0};
    CHECK(st_trainer_init(trainer, options) == ST_OK);
    for (size_t i = 256; i < from->known.count; i++)
        CHECK(st_train_tokens_give(&trainer->tokens, from->known.pairs[i]) == ST_OK);
    trainer->text.given = (uint32_t)trainer->tokens.count;
    for (size_t i = 0; i < piece_count; i++) {
        const uint8_t *row = (const uint8_t *)from->tokens[i];
        CHECK(st_train_record_write(&rows, row, from->n[i] * sizeof(uint32_t), pieces[i].count) == ST_OK);
    }
    CHECK(st_train_text_measure(&trainer->text, rows.data, rows.size) == ST_OK);
    CHECK(st_train_text_lay_out(&trainer->text) == ST_OK);
    CHECK(st_train_text_place(&trainer->text, rows.data, rows.size) == ST_OK);
    CHECK(st_train_text_finish(&trainer->text) == ST_OK);
    if (rows.size) { /* a number that is no token's */
        memset(rows.data + 1, 0xFF, sizeof(uint32_t));
        CHECK(st_train_text_place(&trainer->text, rows.data, rows.size) == ST_BAD_STATE);
    }
    st_bytes_free(&rows);
}

/* A trainer that goes on from the first merges of `whole` makes the others. */
static void check_given(rng *r, const plain *whole, st_train_options options)
{
    static plain from;
    st_trainer trainer;
    st_train_key pair;
    uint64_t count, size = 0;
    const size_t given = rng_below(r, whole->known.count - 256 + 1);
    const int by_others = rng_one_in(r, 2);
    begin_plainly(&from, &options);
    for (size_t i = 0; i < given; i++)
        join_pair(&from, whole->known.pairs[256 + i]);
    options.most_lists = by_others ? SIZE_MAX : options.most_lists;
    lay_out_tokens(&trainer, &from, &options);
    st_trainer_begin(&trainer, by_others ? 1 : rng_below(r, 9));
    st_trainer_measure(&trainer);
    while (by_others && trainer.tokens.count < options.wanted) {
        CHECK(st_trainer_best(&trainer, &pair, &count) == ST_OK);
        if (pair == ST_TRAIN_NO_PAIR)
            break;
        CHECK(count && st_trainer_merge(&trainer, pair) == ST_OK);
    }
    while (!by_others && !trainer.done)
        CHECK(st_trainer_run(&trainer, 1 + rng_below(r, 30), 1 + rng_below(r, 1000)) == ST_OK);
    CHECK(trainer.tokens.count == whole->known.count);
    for (size_t i = 256; i < trainer.tokens.count; i++)
        CHECK(trainer.tokens.pairs[i] == whole->known.pairs[i]);
    for (size_t i = 0; i < piece_count; i++)
        size += whole->n[i] * pieces[i].count;
    CHECK(trainer.size == size);
    counts.given += trainer.tokens.count - 256 - given;
    st_trainer_free(&trainer);
    st_train_tokens_free(&from.known);
}

static void check_merges(rng *r)
{
    static plain by_definition;
    uint8_t alphabet[256];
    st_trainer trainer;
    for (size_t i = 0; i < 256; i++)
        alphabet[i] = (uint8_t)i;
    const uint32_t max_token_bytes = rng_one_in(r, 4) ? (uint32_t)(1 + rng_below(r, 6)) : 1000;
    const st_train_options options = {alphabet, WANTED, rng_one_in(r, 2) ? ST_TIES_LEXICOGRAPHIC : ST_TIES_HUGGINGFACE,
                                      max_token_bytes, 0, rng_one_in(r, 2) ? SIZE_MAX : (size_t)rng_below(r, 100)};
    learn_plainly(&by_definition, &options);
    const int64_t live = st_alloc_read().live;
    const rng seed = {rng_next(r), NULL, 0};
    st_status status = ST_NO_MEMORY;
    for (int64_t succeeding = rng_one_in(r, 8) ? 0 : -1; status == ST_NO_MEMORY; succeeding = next_failure(succeeding)) {
        st_alloc_fail_after(succeeding);
        status = learn(seed, &options, &trainer);
        st_alloc_fail_after(-1);
        if (status)
            st_trainer_free(&trainer);
        CHECK(!status || st_alloc_read().live == live);
        counts.failed_allocations += status == ST_NO_MEMORY;
    }
    CHECK(status == ST_OK && trainer.tokens.count == by_definition.known.count);
    for (size_t i = 256; i < trainer.tokens.count; i++)
        CHECK(trainer.tokens.pairs[i] == by_definition.known.pairs[i]);
    counts.merges += trainer.tokens.count - 256;
    st_trainer_free(&trainer);
    check_given(r, &by_definition, options);
    st_train_tokens_free(&by_definition.known);
}

/* ---- records ---- */

static void check_damage(rng *r)
{
    uint8_t alphabet[256];
    st_bytes records = {0};
    st_train_table table = {0};
    st_train_text text;
    for (size_t i = 0; i < 256; i++)
        alphabet[i] = (uint8_t)i;
    for (size_t i = 0; i < piece_count; i++)
        CHECK(st_train_record_write(&records, pieces[i].bytes, pieces[i].n, pieces[i].count) == ST_OK);
    uint8_t *bad = take(records.size); /* of its exact size: a sanitizer sees reads behind it */
    memcpy(bad, records.data, records.size);
    st_train_text_init(&text, alphabet);
    CHECK(st_train_text_measure(&text, bad, records.size) == ST_OK && st_train_text_lay_out(&text) == ST_OK);
    for (size_t n = 1 + rng_below(r, 4); n; n--)
        bad[rng_below(r, records.size)] = (uint8_t)rng_next(r);
    const size_t size = rng_one_in(r, 2) ? records.size : rng_below(r, records.size);
    st_status status = st_train_text_place(&text, bad, size);
    CHECK(status == ST_OK || status == ST_BAD_STATE);
    status = status ? status : st_train_text_finish(&text);
    CHECK(status == ST_OK || status == ST_BAD_STATE);
    status = st_train_table_read(&table, bad, size);
    CHECK(status == ST_OK || status == ST_BAD_STATE);
    counts.damaged += status == ST_BAD_STATE;
    st_train_text_free(&text);
    st_train_table_free(&table);
    st_bytes_free(&records);
    free(bad);
}

/* ---- counting ---- */

static void check_counter(rng *r)
{
    static st_train_counter counter;
    uint8_t text[600];
    st_text_error error;
    size_t n = 0;
    for (size_t i = 0; i < piece_count; i++)
        for (size_t k = 0; k < pieces[i].n; k++)
            text[n++] = rng_one_in(r, 6) ? ' ' : pieces[i].bytes[k];
    uint8_t *exact = take(n);
    memcpy(exact, text, n);
    st_train_counter_init(&counter);
    CHECK(st_train_count_text(&counter, pattern_random(r), NULL, exact, n, 0, &error) == ST_OK);
    CHECK(counter.bytes == n && counter.pieces >= counter.table.short_count + counter.table.long_count);
    exact[rng_below(r, n)] = 0xFF;
    CHECK(st_train_count_text(&counter, pattern_of(ST_SPLIT_CL100K), NULL, exact, n, 0, &error) == ST_INVALID_UTF8);
    st_train_counter_free(&counter);
    free(exact);
}

/* ---- texts of any bytes ---- */

static const char names[] = "<|x|>" "<|" "ab";
static const size_t name_lengths[] = {5, 2, 2};
#define NAME_COUNT 3

/* Bytes of the longest name at the place; 0: none. */
static size_t name_at(const uint8_t *text, size_t n)
{
    size_t longest = 0, at = 0;
    for (size_t i = 0; i < NAME_COUNT; at += name_lengths[i++])
        if (name_lengths[i] <= n && !memcmp(text, names + at, name_lengths[i]) && name_lengths[i] > longest)
            longest = name_lengths[i];
    return longest;
}

/* Splits one text without names, and adds its pieces. */
static void count_plainly(st_train_table *table, st_pattern pattern, const uint8_t *text, size_t n, uint64_t *seen)
{
    uint64_t *ends = take((n + ST_SCAN_MIN_CAPACITY) * sizeof *ends), start = 0;
    size_t used, count = 0;
    st_scan scan;
    st_scan_init(&scan);
    if (n) {
        count = st_scan_feed(pattern, &scan, text, n, &used, ends, n + ST_SCAN_MIN_CAPACITY);
        CHECK(used == n);
    }
    const uint64_t open = count ? ends[count - 1] : 0;
    const size_t more = st_scan_finish(pattern, &scan, ends + count);
    for (size_t i = count; i < count + more; i++)
        ends[i] += open;
    for (size_t i = 0; i < count + more; start = ends[i++])
        CHECK(st_train_table_add(table, text + start, (size_t)(ends[i] - start), 1) == ST_OK);
    *seen += count + more;
    free(ends);
}

static int same_counts(st_train_table *a, st_train_table *b)
{
    st_bytes one = {0}, other = {0};
    st_train_record record;
    size_t at = 0;
    int same = a->short_count == b->short_count && a->long_count == b->long_count;
    CHECK(st_train_table_write(a, &one, 1) == ST_OK);
    while (same && at < one.size) { /* each of a's pieces takes b to twice its count, and none is new to b */
        CHECK(st_train_record_read(one.data, one.size, &at, &record) == ST_OK);
        CHECK(st_train_table_add(b, record.piece, record.n, record.count) == ST_OK);
    }
    same = same && a->short_count == b->short_count && a->long_count == b->long_count;
    CHECK(st_train_table_read(a, one.data, one.size) == ST_OK);
    one.size = 0;
    CHECK(st_train_table_write(a, &one, 1) == ST_OK && st_train_table_write(b, &other, 1) == ST_OK);
    same = same && one.size == other.size;
    st_bytes_free(&one);
    st_bytes_free(&other);
    return same;
}

static void check_counting(rng *r)
{
    static st_train_counter counter;
    static st_train_table plain;
    static const uint32_t ids[NAME_COUNT] = {0, 1, 2};
    st_text_error error;
    size_t n, from = 0;
    uint64_t seen = 0;
    const st_pattern pattern = pattern_random(r);
    const int with_names = rng_one_in(r, 2);
    st_special *special = NULL;
    st_bytes text = {0};
    const uint8_t *rest = rng_rest(r, &n);
    CHECK(st_bytes_reserve(&text, 1) == ST_OK && st_text_repair(rest, n, ST_ERRORS_REPLACE, &text) == ST_OK);
    CHECK(!with_names || st_special_new((const uint8_t *)names, name_lengths, ids, NAME_COUNT, &special) == ST_OK);
    st_train_counter_init(&counter);
    CHECK(st_train_count_text(&counter, pattern, special, text.data, text.size, 0, &error) == ST_OK);
    for (size_t at = 0, length; at <= text.size; at++) {
        length = with_names && at < text.size ? name_at(text.data + at, text.size - at) : 0;
        if (!length && at < text.size)
            continue;
        count_plainly(&plain, pattern, text.data + from, at - from, &seen);
        from = at + length;
        at = length ? from - 1 : at;
    }
    CHECK(counter.pieces == seen && same_counts(&counter.table, &plain));
    counts.counted += seen;
    st_train_table_free(&plain);
    st_train_counter_free(&counter);
    st_special_free(special);
    st_bytes_free(&text);
}

/* ---- the harness ---- */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    rng r = rng_of(data, n);
    describe_failure = describe;
    patterns_open();
    const int64_t live = st_alloc_read().live;
    if (rng_one_in(&r, 2)) {
        piece_count = 0;
        check_counting(&r);
    } else {
        make_pieces(&r);
        check_merges(&r);
        check_damage(&r);
        check_counter(&r);
    }
    counts.texts++;
    CHECK(st_alloc_read().live == live);
    return 0;
}

void harness_close(void)
{
    printf("fuzz_train: %llu texts, %llu merges, %llu from given tokens, %llu states gone on with, %llu failed allocations, %llu damaged records, "
           "%llu pieces counted: no difference, no leak\n",
           (unsigned long long)counts.texts, (unsigned long long)counts.merges, (unsigned long long)counts.given,
           (unsigned long long)counts.resumed,
           (unsigned long long)counts.failed_allocations, (unsigned long long)counts.damaged,
           (unsigned long long)counts.counted);
}
