/* Ids to text: whole rows, and texts that are decoded as their ids come. */
#include "api/objects.h"
#include "base/search.h"
#include "decoders/decoder.h"

static int is_skipped(const st_compiled *c, uint32_t flags, uint32_t id)
{
    return flags & STK_SKIP_SPECIAL && c->skipped_count && st_find_sorted(c->skipped, c->skipped_count, id) < c->skipped_count;
}

/* The ids that are decoded: all, or a copy without some. */
static st_status choose_ids(const st_compiled *c, const uint32_t *ids, size_t count, uint32_t flags, st_ids *buffer,
                            const uint32_t **chosen)
{
    *chosen = ids;
    buffer->size = count;
    if (!(flags & STK_SKIP_SPECIAL) || !c->skipped_count || !count)
        return ST_OK;
    buffer->size = 0;
    ST_TRY(st_ids_reserve(buffer, count));
    buffer->size = st_ids_without(ids, count, c->skipped, c->skipped_count, buffer->data);
    *chosen = buffer->data;
    return ST_OK;
}

static void blame(stk_fault *fault, const st_compiled *c, const uint32_t *ids, size_t bad, uint32_t flags)
{
    if (!fault || fault->size < sizeof *fault)
        return;
    for (size_t i = 0; i <= bad; i++) /* counted among all ids */
        bad += (size_t)is_skipped(c, flags, ids[i]);
    fault->index = bad;
}

/* ---- whole rows ---- */

static st_status by_rules(const st_rules *rules, const uint32_t *ids, size_t count, int raw, st_bytes *out, size_t *bad)
{
    st_rule_place place = {0};
    st_rule_place_reset(&place, rules);
    st_status status = raw ? st_rules_bytes(rules, &place, ids, count, ST_RULES_LAST, out, bad)
                           : st_rules_feed(rules, &place, ids, count, out, bad);
    if (!status && !raw)
        status = st_rules_end(rules, &place, out);
    st_rule_place_free(&place);
    return status;
}

static st_status bytes_of(const st_compiled *c, const uint32_t *ids, size_t count, uint32_t flags, st_bytes *out, size_t *bad)
{
    if (c->rules)
        return by_rules(c->rules, ids, count, flags & STK_RAW_BYTES, out, bad);
    ST_TRY(st_decode(c->vocab, &c->names, ids, count, out, bad));
    st_text_error error;
    if (flags & STK_RAW_BYTES || !out->size || st_text_check(out->data, out->size, &error) == out->size)
        return ST_OK;
    st_bytes text = {0};
    const st_status status = st_text_repair(out->data, out->size, ST_ERRORS_REPLACE, &text);
    st_bytes_free(out);
    *out = text;
    return status;
}

static stk_status put_text(const uint8_t *from, size_t n, char *text, size_t capacity, size_t *size)
{
    const size_t fits = n < capacity ? n : capacity;
    if (fits)
        memcpy(text, from, fits);
    *size = n;
    return n > capacity ? STK_MORE : STK_OK;
}

/* Fragments have ids in the core that no caller sees. */
static size_t first_hidden(const uint32_t *ids, size_t count)
{
    size_t i = 0;
    while (i < count && ids[i] < ST_FIRST_FRAGMENT)
        i++;
    return i;
}

stk_status stk_decode(stk_model *model, const uint32_t *ids, size_t count, uint32_t flags, char *text, size_t capacity, size_t *size,
                      stk_fault *fault)
{
    st_bytes out = {0};
    st_ids buffer = {0};
    const uint32_t *chosen;
    size_t bad = 0;
    if (!model || !size || (count && !ids) || (capacity && !text) || flags > (STK_SKIP_SPECIAL | STK_RAW_BYTES))
        return STK_BAD_ARGUMENT;
    *size = 0;
    stk_fault_clear(fault);
    const st_compiled *c = model->compiled;
    st_status status = choose_ids(c, ids, count, flags, &buffer, &chosen);
    if (!status && (bad = first_hidden(chosen, buffer.size)) < buffer.size)
        status = ST_UNKNOWN_TOKEN;
    if (!status && buffer.size)
        status = bytes_of(c, chosen, buffer.size, flags, &out, &bad);
    if (status == ST_UNKNOWN_TOKEN)
        blame(fault, c, ids, bad, flags);
    const stk_status result = status ? stk_status_of(status) : put_text(out.data, out.size, text, capacity, size);
    st_bytes_free(&out);
    st_ids_free(&buffer);
    return result;
}

/* ---- stop strings, which copies of a decoder share ---- */

#define MOST_STOPS 256

typedef struct stops {
    st_special *names;
    int users;
} stops;

static int ends_inside(stk_text other, stk_text name)
{
    for (size_t at = 0; at + other.size < name.size; at++)
        if (!memcmp(name.data + at, other.data, other.size))
            return 1;
    return 0;
}

/* Whether another one always ends first, or it was there before. */
static int is_needless(const stk_text *all, size_t count, size_t i)
{
    for (size_t j = 0; j < count; j++)
        if (ends_inside(all[j], all[i]) || (j < i && all[j].size == all[i].size && !memcmp(all[j].data, all[i].data, all[i].size)))
            return 1;
    return 0;
}

static stk_status make_stops(const stk_text *given, size_t count, stops **made)
{
    st_bytes joined = {0};
    size_t lengths[MOST_STOPS], kept = 0;
    uint32_t ids[MOST_STOPS];
    st_text_error error;
    st_status status = ST_OK;
    if (count > MOST_STOPS || (count && !given))
        return STK_BAD_ARGUMENT;
    for (size_t i = 0; i < count; i++)
        if (!given[i].size || !given[i].data ||
            st_text_check((const uint8_t *)given[i].data, given[i].size, &error) != given[i].size)
            return STK_BAD_ARGUMENT;
    for (size_t i = 0; i < count && !status; i++) {
        if (is_needless(given, count, i))
            continue;
        status = st_bytes_append(&joined, given[i].data, given[i].size);
        lengths[kept] = given[i].size;
        ids[kept++] = (uint32_t)i;
    }
    *made = !status && count ? st_calloc(1, sizeof **made) : NULL;
    if (!status && count)
        status = *made ? st_special_new(joined.data, lengths, ids, kept, &(*made)->names) : ST_NO_MEMORY;
    st_bytes_free(&joined);
    if (status) {
        st_free(*made);
        *made = NULL;
    } else if (*made) {
        (*made)->users = 1;
    }
    return stk_status_of(status);
}

static void free_stops(stops *s)
{
    if (!s || st_count_add(&s->users, -1))
        return;
    st_special_free(s->names);
    st_free(s);
}

/* ---- decoders ---- */

struct stk_decoder {
    stk_model *model;
    stops *stops;
    uint32_t flags;
    st_decoder core;
    st_rule_place place; /* where the model has rules */
    st_decoder_scratch scratch;
    st_bytes text; /* of one call, by rules */
    st_bytes out;
    size_t taken;
    st_ids chosen;
};

static void begin(stk_decoder *d)
{
    st_decoder_reset(&d->core, d->stops ? d->stops->names : NULL);
    if (d->model->compiled->rules)
        st_rule_place_reset(&d->place, d->model->compiled->rules);
}

stk_status stk_decoder_new(stk_model *model, uint32_t flags, const stk_text *stop, size_t stop_count, stk_decoder **decoder)
{
    stops *made_stops;
    if (!decoder)
        return STK_BAD_ARGUMENT;
    *decoder = NULL;
    if (!model || flags > STK_SKIP_SPECIAL)
        return STK_BAD_ARGUMENT;
    const stk_status status = make_stops(stop, stop_count, &made_stops);
    if (status)
        return status;
    stk_decoder *made = st_calloc(1, sizeof *made);
    if (!made) {
        free_stops(made_stops);
        return STK_NO_MEMORY;
    }
    made->model = stk_model_keep(model);
    made->stops = made_stops;
    made->flags = flags;
    made->scratch.stage.errors = ST_ERRORS_REPLACE;
    begin(made);
    *decoder = made;
    return STK_OK;
}

void stk_decoder_free(stk_decoder *d)
{
    if (!d)
        return;
    free_stops(d->stops);
    st_rule_place_free(&d->place);
    st_decoder_scratch_free(&d->scratch);
    st_bytes_free(&d->text);
    st_bytes_free(&d->out);
    st_ids_free(&d->chosen);
    stk_model_free(d->model);
    st_free(d);
}

stk_status stk_decoder_take(stk_decoder *d, char *text, size_t capacity, size_t *size)
{
    if (!d || !size || (capacity && !text))
        return STK_BAD_ARGUMENT;
    const size_t left = d->out.size - d->taken, n = left < capacity ? left : capacity;
    if (n)
        memcpy(text, d->out.data + d->taken, n);
    *size = n;
    d->taken += n;
    if (d->taken == d->out.size)
        d->taken = d->out.size = 0;
    return n < left ? STK_MORE : STK_OK;
}

/* By the rules of the model: their text goes on to the stop strings. What comes behind one is not looked at. */
static st_status run_rules(stk_decoder *d, const uint32_t *ids, size_t count, int final, size_t *bad)
{
    const st_rules *rules = d->model->compiled->rules;
    st_rule_place after = {0};
    st_status status = st_rule_place_copy(&after, &d->place);
    d->text.size = 0;
    if (!status && count)
        status = st_rules_feed(rules, &after, ids, count, &d->text, bad);
    if (!status && final)
        status = st_rules_end(rules, &after, &d->text);
    if (!status)
        status = st_decoder_pass(d->text.size ? d->text.data : (const uint8_t *)"", d->text.size, final, &d->core, &d->out);
    if (!status) {
        const st_rule_place old = d->place;
        d->place = after;
        after = old;
    }
    st_rule_place_free(&after);
    return status;
}

static st_status run(stk_decoder *d, const uint32_t *ids, size_t count, int final, size_t *bad)
{
    const st_compiled *c = d->model->compiled;
    if (c->rules)
        return run_rules(d, ids, count, final, bad);
    for (*bad = 0; *bad < count; ++*bad) {
        size_t n;
        if (!stk_bytes_of(c, ids[*bad], &n))
            return ST_UNKNOWN_TOKEN;
    }
    return st_decoder_feed(c->vocab, &c->names, ids, count, final, &d->scratch, &d->core, &d->out);
}

stk_status stk_decoder_feed(stk_decoder *d, const uint32_t *ids, size_t count, char *text, size_t capacity, size_t *size, stk_fault *fault)
{
    const uint32_t *chosen;
    size_t bad = 0;
    if (!d || !size || (count && !ids) || (capacity && !text))
        return STK_BAD_ARGUMENT;
    *size = 0;
    stk_fault_clear(fault);
    const st_compiled *c = d->model->compiled;
    st_status status = choose_ids(c, ids, count, d->flags, &d->chosen, &chosen);
    if (!status && d->chosen.size)
        status = run(d, chosen, d->chosen.size, 0, &bad);
    if (status == ST_UNKNOWN_TOKEN)
        blame(fault, c, ids, bad, d->flags);
    return status ? stk_status_of(status) : stk_decoder_take(d, text, capacity, size);
}

stk_status stk_decoder_flush(stk_decoder *d, char *text, size_t capacity, size_t *size)
{
    size_t bad;
    if (!d || !size || (capacity && !text))
        return STK_BAD_ARGUMENT;
    *size = 0;
    const st_status status = run(d, NULL, 0, 1, &bad);
    if (status)
        return stk_status_of(status);
    begin(d);
    return stk_decoder_take(d, text, capacity, size);
}

int32_t stk_decoder_stopped(const stk_decoder *d)
{
    return d->core.stop == ST_NO_STOP ? -1 : (int32_t)d->core.stop;
}

void stk_decoder_reset(stk_decoder *d)
{
    d->out.size = d->taken = 0;
    begin(d);
}

stk_status stk_decoder_copy(const stk_decoder *d, stk_decoder **copy)
{
    if (!d || !copy)
        return STK_BAD_ARGUMENT;
    const stk_status status = stk_decoder_new(d->model, d->flags, NULL, 0, copy);
    if (status)
        return status;
    stk_decoder *made = *copy;
    if (st_rule_place_copy(&made->place, &d->place) || st_bytes_append(&made->out, d->out.data, d->out.size)) {
        stk_decoder_free(made);
        *copy = NULL;
        return STK_NO_MEMORY;
    }
    made->taken = d->taken;
    made->stops = d->stops;
    if (d->stops)
        st_count_add(&d->stops->users, 1);
    made->core = d->core;
    return STK_OK;
}
