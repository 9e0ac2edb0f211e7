/* A text in segments, each of which allows names of special tokens or does not. Names are found first, and what lies between two of
 * them goes through an encoder, segment after segment: nothing is copied. */
#include "api/objects.h"
#include "api/token_sizes.h"

typedef struct work {
    stk_coder *coder;
    const stk_segment *segments;
    size_t count;
    st_encoder encoder;
    st_ids *ids;
    st_bytes sizes; /* size_t: of the text that each id stands for */
    size_t sized;   /* ids that have one */
} work;

static const st_special *names_of(const work *w, size_t i)
{
    return w->segments[i].special ? w->coder->allowed : w->coder->plain;
}

static int allows(const work *w, size_t segment, size_t name)
{
    return (w->segments[segment].special ? w->coder->is_allowed : w->coder->is_plain)[name];
}

/* ---- names ---- */

typedef struct found_name {
    size_t start, end;
    int found;
    uint32_t id;
} found_name;

/* Whether text at a place is a name that goes on in the next segments, each of which allows it. */
static int is_here(const work *w, size_t index, size_t place, size_t name)
{
    const st_span text = w->coder->model->compiled->added[name].name;
    size_t done = 0;
    for (size_t i = index; i < w->count && done < text.n; i++, place = 0) {
        const size_t left = w->segments[i].size - place, n = text.n - done < left ? text.n - done : left;
        if (n && (!allows(w, i, name) || memcmp(w->segments[i].data + place, text.bytes + done, n)))
            return 0;
        done += n;
    }
    return done == text.n;
}

/* The longest name that counts at a place shortly before the end of a segment. */
static found_name name_at(const work *w, size_t index, size_t place)
{
    const st_compiled *c = w->coder->model->compiled;
    found_name best = {place, place, 0, 0};
    for (size_t i = 0; i < c->added_count; i++)
        if (c->added[i].name.n > best.end - best.start && is_here(w, index, place, i))
            best = (found_name){place, place + c->added[i].name.n, 1, c->added[i].id};
    return best;
}

/* The next name that begins in a segment at or behind a place. */
static found_name next_name(const work *w, size_t index, size_t at)
{
    const stk_segment *s = &w->segments[index];
    const st_special *names = names_of(w, index);
    const found_name none = {s->size, s->size, 0, 0};
    st_special_match match;
    if (!names)
        return none;
    st_special_search search = st_special_search_from(at);
    const st_special_result result = st_special_find(names, &search, (const uint8_t *)s->data, SIZE_MAX, s->size, 0, &match);
    if (result == ST_SPECIAL_FOUND)
        return (found_name){match.start, match.end, 1, match.id};
    for (size_t place = match.start; result == ST_SPECIAL_HELD && place < s->size; place++) {
        const found_name found = name_at(w, index, place);
        if (found.found)
            return found;
    }
    return none;
}

/* ---- sizes ---- */

static st_status add_size(work *w, size_t size)
{
    w->sized++;
    return st_bytes_append(&w->sizes, &size, sizeof size);
}

/* Of the ids that have none yet. */
static st_status add_sizes(work *w)
{
    while (w->sized < w->ids->size)
        ST_TRY(add_size(w, stk_token_size(w->coder->model->compiled, w->ids->data[w->sized])));
    return ST_OK;
}

/* Where the ids of each segment begin; UINT64_MAX where that is not known. */
static void find_starts(const work *w, uint64_t *starts, int known)
{
    const size_t *sizes = (const size_t *)(const void *)w->sizes.data;
    size_t at = 0, text = 0, id = 0, total = 0;
    for (size_t i = 0; known && i < w->sized; i++)
        total += sizes[i];
    for (size_t i = 0; i < w->count; i++)
        text += w->segments[i].size;
    known = known && total == text;
    for (size_t i = 0, begin = 0; i <= w->count; begin += i < w->count ? w->segments[i].size : 0, i++) {
        for (; known && at < begin; id++)
            at += sizes[id];
        starts[i] = known ? id : UINT64_MAX;
    }
}

/* ---- encoding ---- */

static st_status feed(work *w, const char *text, size_t n, int final, st_feed_error *error)
{
    return st_encoder_feed(&w->encoder, stk_text_of(text, n), n, final, w->ids, error);
}

static st_status take_name(work *w, const found_name *name, st_feed_error *error)
{
    ST_TRY(feed(w, NULL, 0, ST_FEED_FINAL, error));
    ST_TRY(add_sizes(w));
    ST_TRY(st_ids_reserve(w->ids, 1));
    w->ids->data[w->ids->size++] = name->id;
    return add_size(w, name->end - name->start);
}

static st_status encode(work *w, size_t *row, st_feed_error *error)
{
    size_t skip = 0; /* bytes of the next segments that belong to a name */
    for (size_t i = *row = 0; i < w->count; *row = ++i) {
        const size_t n = w->segments[i].size;
        size_t at = skip < n ? skip : n;
        skip -= at;
        while (at < n) {
            const found_name name = next_name(w, i, at);
            if (name.start > at)
                ST_TRY(feed(w, w->segments[i].data + at, name.start - at, 0, error));
            if (name.found)
                ST_TRY(take_name(w, &name, error));
            at = name.end < n ? name.end : n;
            skip = name.end - at;
        }
    }
    ST_TRY(feed(w, NULL, 0, ST_FEED_FINAL, error));
    return add_sizes(w);
}

/* Where the engine alone can find the names. */
static st_status encode_as_one(work *w, size_t *row, st_feed_error *error)
{
    for (*row = 0; *row < w->count; ++*row)
        ST_TRY(feed(w, w->segments[*row].data, w->segments[*row].size, 0, error));
    return feed(w, NULL, 0, ST_FEED_FINAL, error);
}

static int begins_in_its_own_way(const st_normalizer *n)
{
    for (; n; n = n->behind)
        for (size_t i = 0; i < n->count; i++)
            if (n->steps[i].kind == ST_STEP_PREPEND)
                return 1;
    return 0;
}

static int has_rules(const work *w)
{
    int found = begins_in_its_own_way(w->coder->model->compiled->normalizer);
    for (size_t i = 0; i < w->count; i++)
        found |= names_of(w, i) && st_special_has_rules(names_of(w, i));
    return found;
}

/* Whether the same names are allowed in all segments with text; *special: whether those of special tokens. */
static int are_alike(const work *w, int *special)
{
    int seen[2] = {0, 0};
    for (size_t i = 0; i < w->count; i++)
        seen[w->segments[i].special != 0] |= w->segments[i].size > 0;
    *special = seen[1];
    return !(seen[0] && seen[1]) || w->coder->allowed == w->coder->plain;
}

static stk_status run(work *w, uint64_t *starts, stk_fault *fault)
{
    const st_compiled *c = w->coder->model->compiled;
    st_feed_error error;
    size_t row = 0;
    int special = 0;
    const int as_one = has_rules(w);
    if (as_one && !are_alike(w, &special))
        return STK_UNSUPPORTED;
    stk_encoder_begin(w->coder, &w->encoder);
    w->encoder.watch.names = NULL;
    st_encoder_allow(&w->encoder, !as_one ? NULL : special ? w->coder->allowed : w->coder->plain, c->normalizer);
    const st_status status = as_one ? encode_as_one(w, &row, &error) : encode(w, &row, &error);
    st_encoder_free(&w->encoder);
    if (status) {
        if (fault && fault->size >= sizeof *fault)
            fault->row = row;
        return stk_fault_of(status, &error, fault);
    }
    if (starts)
        find_starts(w, starts, !as_one && !c->normalizer && st_vocab_has(c->vocab, ST_MODEL_KEEPS_BYTES));
    return STK_OK;
}

stk_status stk_encode_segments(stk_coder *coder, const stk_segment *segments, size_t segment_count, uint32_t *ids, size_t capacity,
                               size_t *count, uint64_t *starts, stk_fault *fault)
{
    if (!coder || !count || (segment_count && !segments) || (capacity && !ids))
        return STK_BAD_ARGUMENT;
    for (size_t i = 0; i < segment_count; i++)
        if (segments[i].size && !segments[i].data)
            return STK_BAD_ARGUMENT;
    *count = 0;
    stk_fault_clear(fault);
    stk_buffer buffer = stk_buffer_take(coder);
    work w = {.coder = coder, .segments = segments, .count = segment_count, .ids = &buffer.ids};
    stk_status status = run(&w, starts, fault);
    if (!status)
        status = stk_put_ids(&buffer.ids, ids, capacity, count);
    st_bytes_free(&w.sizes);
    stk_buffer_give(coder, &buffer);
    return status;
}
