#include "subject.h"

#include <stdio.h>
#include <stdlib.h>

/* Vocabularies that are kept from one input to the next: building one takes as long as using it. */
#define MADE_MOST 8

typedef struct made_vocab {
    size_t number; /* which; 0 = none yet */
    st_vocab *vocab;
    const char *name;
} made_vocab;

static subject current;
static source files[FILES_MOST];
static st_vocab *whole[FILES_MOST];
static size_t file_count;
static made_vocab made[MADE_MOST];

static void describe(void)
{
    static const char *const errors[] = {"strict", "replace", "ignore"};
    const subject *s = &current;
    if (!s->vocab)
        return;
    fprintf(stderr, "  vocabulary %s (%u tokens), pattern %s, errors %s, allowed %#x, disallowed %#x\n", s->vocab_name,
            s->vocab->count, s->dfa ? "by chance" : s->pattern.dfa ? st_row_name(s->pattern.family) : "none", errors[s->errors], s->allowed_mask, s->disallowed_mask);
    print_bytes("text", s->text.data, s->text.size);
}

static void open_files(void)
{
    if (describe_failure)
        return;
    describe_failure = describe;
    for (const size_t count = vocab_files_read(); file_count < count; file_count++) {
        files[file_count] = source_read(vocab_files[file_count]);
        whole[file_count] = source_vocab(&files[file_count], 0);
    }
}

static void forget_subject(void)
{
    st_dfa_free(current.dfa);
    special_free(current.allowed);
    special_free(current.disallowed);
    free(current.origin);
    current.allowed = current.disallowed = NULL;
    current.origin = NULL;
    current.dfa = NULL;
}

void subjects_close(void)
{
    forget_subject();
    st_bytes_free(&current.text);
    st_bytes_free(&current.valid);
    st_ids_free(&current.ids);
    for (size_t i = 0; i < MADE_MOST; i++)
        st_vocab_free(made[i].vocab);
    for (size_t i = 0; i < file_count; i++) {
        st_vocab_free(whole[i]);
        source_free(&files[i]);
    }
}

/* ---- the vocabulary ---- */

static const made_vocab *make_vocab(size_t number)
{
    made_vocab *m = &made[number % MADE_MOST];
    if (m->number == number)
        return m;
    rng r = {number, NULL, 0};
    source s = {0};
    const size_t kind = rng_below(&r, file_count ? 5 : 4);
    if (kind < 4) {
        m->name = kind < 2 ? "grown" : "grown and damaged";
        s = source_grown(&r);
    } else {
        m->name = "head of a published one, damaged";
        s = source_head(&files[rng_below(&r, file_count)], 300 + rng_below(&r, 3000));
    }
    if (kind >= 2)
        source_damage(&s, &r);
    s.longest = rng_one_in(&r, 4);
    if (s.longest)
        m->name = "of longest match";
    st_vocab_free(m->vocab);
    m->vocab = source_vocab(&s, (uint32_t)(1 + rng_below(&r, 400)));
    m->number = number;
    source_free(&s);
    return m;
}

static void pick_vocab(rng *r)
{
    const size_t number = 1 + rng_below(r, 65535);
    current.bundled = file_count && rng_one_in(r, 3);
    if (current.bundled) {
        current.vocab = whole[number % file_count];
        current.vocab_name = vocab_files[number % file_count];
        return;
    }
    const made_vocab *m = make_vocab(number);
    current.vocab = m->vocab;
    current.vocab_name = m->name;
}

/* ---- what must come out ---- */

static void append_valid(const void *bytes, size_t n, size_t origin, size_t step)
{
    for (size_t i = 0; i < n; i++)
        current.origin[current.valid.size + i] = origin + i * step;
    CHECK(st_bytes_append(&current.valid, bytes, n) == ST_OK);
}

static void repair_text(void)
{
    subject *s = &current;
    st_text_error fault;
    size_t at = 0;
    s->valid.size = 0;
    s->invalid_at = NOWHERE;
    s->origin = take((3 * s->text.size + 1) * sizeof *s->origin);
    while (at < s->text.size) {
        size_t n = st_text_check(s->text.data + at, s->text.size - at, &fault);
        append_valid(s->text.data + at, n, at, 1);
        at += n;
        if (at == s->text.size)
            break;
        if (s->errors == ST_ERRORS_STRICT) {
            s->invalid_at = at;
            break;
        }
        if (s->errors == ST_ERRORS_REPLACE)
            append_valid("\xEF\xBF\xBD", 3, at, 0);
        at += fault.end - fault.start;
    }
    s->origin[s->valid.size] = at;
}

/* Special tokens are found here by comparing names, and what lies between them is encoded as texts of their own. */
static void reference_ids(void)
{
    subject *s = &current;
    st_encoder e;
    st_feed_error error;
    size_t from = 0, start, end;
    st_encoder_init(&e, s->vocab, s->pattern);
    e.engine = ST_ENGINE_REFERENCE;
    s->ids.size = 0;
    for (int name; ; from = end) {
        name = special_first(s->allowed_mask, s->valid.data, from, s->valid.size, &start, &end);
        size_t stop = name < 0 ? s->valid.size : start;
        const int flags = ST_FEED_FINAL | ST_FEED_TRUSTED;
        CHECK(st_encoder_feed(&e, s->valid.data + from, stop - from, flags, &s->ids, &error) == ST_OK);
        if (name < 0)
            break;
        CHECK(st_ids_reserve(&s->ids, 1) == ST_OK);
        s->ids.data[s->ids.size++] = special_names.ids[name];
    }
    st_encoder_free(&e);
}

/* Half of them are the rest of the input as it is. */
static void pick_text(rng *r)
{
    subject *s = &current;
    s->text.size = 0;
    s->endless = 0;
    CHECK(st_bytes_reserve(&s->text, 1) == ST_OK); /* never NULL */
    if (rng_one_in(r, 2) && r->left) {
        size_t n;
        const uint8_t *given = rng_rest(r, &n);
        CHECK(st_bytes_append(&s->text, given, n < GUARDED_MOST / 4 ? n : GUARDED_MOST / 4) == ST_OK);
        return;
    }
    s->endless = rng_one_in(r, 16);
    if (s->endless)
        text_endless(r, 5000, &s->text);
    else
        text_random(r, s->vocab, rng_size(r, rng_one_in(r, 20) ? 20000 : 2000), &s->text);
}

subject *subject_new(rng *r)
{
    subject *s = &current;
    size_t end;
    open_files();
    forget_subject();
    pick_vocab(r);
    s->pattern = pattern_random(r);
    if (rng_one_in(r, 5))
        s->pattern = st_pattern_of(ST_SPLIT_TABLE, s->dfa = table_random(r));
    while (st_pattern_drops(s->pattern)) { /* all text is to come back from the ids */
        st_dfa_free(s->dfa);
        s->pattern = st_pattern_of(ST_SPLIT_TABLE, s->dfa = table_random(r));
    }
    s->errors = (st_errors)rng_below(r, 3);
    s->allowed_mask = rng_one_in(r, 2) ? (unsigned)rng_below(r, 1u << SPECIAL_COUNT) : 0;
    s->disallowed_mask = rng_one_in(r, 4) ? (unsigned)rng_below(r, 1u << SPECIAL_COUNT) & ~s->allowed_mask : 0;
    s->allowed = special_build(s->allowed_mask);
    s->disallowed = special_build(s->disallowed_mask);
    pick_text(r);
    CHECK(st_bytes_reserve(&s->valid, 1) == ST_OK);
    if (s->errors == ST_ERRORS_STRICT && !rng_one_in(r, 4)) { /* mostly something to encode */
        st_bytes repaired = {0};
        CHECK(st_bytes_reserve(&repaired, 1) == ST_OK);
        CHECK(st_text_repair(s->text.data, s->text.size, ST_ERRORS_REPLACE, &repaired) == ST_OK);
        st_bytes_free(&s->text);
        s->text = repaired;
    }
    repair_text();
    reference_ids();
    s->name_at = NOWHERE;
    if (special_first(s->disallowed_mask, s->valid.data, 0, s->valid.size, &s->name_start, &end) >= 0)
        s->name_at = s->origin[s->name_start];
    return s;
}

void subject_encoder(const subject *s, st_engine engine, st_encoder *e)
{
    st_encoder_init(e, s->vocab, s->pattern);
    e->engine = engine;
    e->text.errors = s->errors;
    e->allowed = s->allowed;
    e->watch.names = s->disallowed;
}

/* Where bytes are dropped from the middle of what may become a name, the stream does not remember which. */
static int offset_is_certain(const subject *s)
{
    const size_t longest = 32, from = s->name_start < longest ? 0 : s->name_start - longest;
    return s->errors != ST_ERRORS_IGNORE || s->name_at - s->origin[from] == s->name_start - from;
}

void subject_judge(const subject *s, st_status status, const st_feed_error *error)
{
    if (status == ST_INVALID_UTF8) {
        CHECK(error->offset == s->invalid_at);
        return;
    }
    if (status == ST_DISALLOWED_SPECIAL) {
        size_t start, end, named = error->id - SPECIAL_FIRST_ID;
        CHECK(error->offset == s->name_at || !offset_is_certain(s));
        CHECK(named < SPECIAL_COUNT && s->disallowed_mask >> named & 1);
        CHECK(special_first(1u << named, s->valid.data, s->name_start, s->valid.size, &start, &end) >= 0);
        CHECK(start == s->name_start);
        return;
    }
    CHECK(status == ST_OK);
}
