/* Saved states of an encoder. A true one goes on as the encoder itself would. One that nobody saved, cut, changed or made of
 * any bytes, is refused with the encoder reset, or it is safe to use: it ends, and saving it again gives a state that
 * loads as itself. */
#include "subject.h"

#include <stdio.h>
#include <stdlib.h>

static struct {
    uint64_t states, refused;
} counts;

/* ---- damage ---- */

static uint64_t telling_number(rng *r)
{
    static const uint64_t numbers[] = {0,   1,   2,          3,                 63,        64,        65,
                                       255, 256, UINT32_MAX, UINT64_C(1) << 32, INT64_MAX, UINT64_MAX};
    const uint64_t number = numbers[rng_below(r, sizeof numbers / sizeof *numbers)];
    return rng_one_in(r, 3) ? number : number + rng_below(r, 400) - 200 * (uint64_t)rng_one_in(r, 2);
}

static void damage(rng *r, st_bytes *state)
{
    for (size_t n = 1 + rng_below(r, 3); n; n--) {
        size_t at = rng_below(r, state->size);
        uint64_t number = telling_number(r);
        switch (rng_below(r, 6)) {
        case 0: state->data[at] ^= (uint8_t)(1u << rng_below(r, 8)); break;
        case 1: state->data[at] = (uint8_t)rng_next(r); break;
        case 2: state->size = at + 1; break;
        case 3: case 4: /* one of the numbers */
            at = rng_one_in(r, 2) ? at & ~(size_t)7 : 8 * rng_below(r, 6);
            for (size_t i = 0; i < 8 && at + i < state->size; i++)
                state->data[at + i] = (uint8_t)(number >> (8 * i));
            break;
        default: /* a small step up or down */
            state->data[at] = (uint8_t)(state->data[at] + rng_below(r, 5) - 2);
        }
    }
}

/* The token in front of the pending text is the state's third last part: any may be named there, few fit. */
static void change_previous(const subject *s, rng *r, const st_encoder *e, st_bytes *state)
{
    const size_t open = e->open.tail.active ? e->open.tail.text.size : 0;
    const uint64_t index = rng_one_in(r, 8) ? ST_NONE : rng_below(r, s->vocab->count);
    for (size_t i = 0; i < 8; i++)
        state->data[state->size - open - 16 + i] = (uint8_t)(index >> (8 * i));
}

/* A state that was accepted may be meaningless. It must be safe to use, and encoding must end. */
static void use_state(const subject *s, rng *r, st_encoder *e)
{
    st_ids ids = {0};
    st_feed_error error;
    for (int i = 0; i < 3; i++) {
        size_t from = rng_below(r, s->text.size + 1), n = rng_below(r, s->text.size - from + 1);
        CHECK(st_encoder_feed(e, s->text.data + from, n, 0, &ids, &error) != ST_NO_MEMORY);
    }
    st_status status = st_encoder_feed(e, NULL, 0, ST_FEED_FINAL, &ids, &error);
    CHECK(status != ST_NO_MEMORY);
    CHECK(status || st_encoder_pending(e) == 0);
    st_ids_free(&ids);
}

/* ---- any state ---- */

static st_status load_exact(st_encoder *e, const uint8_t *state, size_t n)
{
    uint8_t *exact = take(n); /* a read beyond its end shows */
    if (n)
        memcpy(exact, state, n);
    const st_status status = st_encoder_load(e, exact, n);
    free(exact);
    return status;
}

/* What was accepted is a state that an encoder can save: it loads, and is then saved as the same bytes. */
static void check_saved_again(const subject *s, const st_encoder *e)
{
    st_bytes once = {0}, twice = {0};
    st_encoder other;
    state_of(e, &once);
    subject_encoder(s, e->engine, &other);
    CHECK(load_exact(&other, once.data, once.size) == ST_OK);
    state_of(&other, &twice);
    CHECK(once.size == twice.size && same_bytes(once.data, twice.data, once.size));
    st_encoder_free(&other);
    st_bytes_free(&once);
    st_bytes_free(&twice);
}

static void try_state(const subject *s, rng *r, st_engine engine, const uint8_t *state, size_t n)
{
    st_encoder e;
    subject_encoder(s, engine, &e);
    const st_status status = load_exact(&e, state, n);
    CHECK(status == ST_OK || status == ST_BAD_STATE);
    CHECK(!status || st_encoder_pending(&e) == 0);
    if (!status)
        check_saved_again(s, &e);
    use_state(s, r, &e);
    st_encoder_free(&e);
    counts.states++;
    counts.refused += status == ST_BAD_STATE;
}

/* ---- one stream ---- */

/* Feeds text[from..to) in chunks, appending the ids; 0 if the text is refused. */
static int feed_part(const subject *s, rng *r, st_encoder *e, size_t from, size_t to, st_ids *ids)
{
    st_feed_error error;
    for (size_t n; from < to; from += n) {
        n = 1 + rng_below(r, rng_one_in(r, 4) ? to - from : to - from < 40 ? to - from : 40);
        const st_status status = st_encoder_feed(e, s->text.data + from, n, 0, ids, &error);
        subject_judge(s, status, &error);
        if (status)
            return 0;
    }
    return 1;
}

/* The ids behind a loaded state are those that were still to come. */
static void check_going_on(const subject *s, rng *r, const st_bytes *state, st_engine engine, size_t at, st_ids *ids)
{
    st_encoder e;
    st_feed_error error;
    subject_encoder(s, engine, &e);
    CHECK(load_exact(&e, state->data, state->size) == ST_OK);
    if (feed_part(s, r, &e, at, s->text.size, ids)) {
        const st_status status = st_encoder_feed(&e, NULL, 0, ST_FEED_FINAL, ids, &error);
        subject_judge(s, status, &error);
        CHECK(status || (ids->size == s->ids.size && same_bytes(ids->data, s->ids.data, ids->size * sizeof *ids->data)));
    }
    st_encoder_free(&e);
}

static void check_states(const subject *s, rng *r)
{
    const size_t at = rng_below(r, s->text.size + 1);
    st_encoder e;
    st_ids ids = {0};
    st_bytes state = {0}, bad = {0};
    subject_encoder(s, rng_one_in(r, 6) ? ST_ENGINE_REFERENCE : ST_ENGINE_FAST, &e);
    if (feed_part(s, r, &e, 0, at, &ids)) {
        state_of(&e, &state);
        for (int i = 0; i < 8; i++) {
            bad.size = 0;
            CHECK(st_bytes_append(&bad, state.data, state.size) == ST_OK);
            if (e.open.tail.active && rng_one_in(r, 2))
                change_previous(s, r, &e, &bad);
            else
                damage(r, &bad);
            try_state(s, r, e.engine, bad.data, bad.size);
        }
        check_going_on(s, r, &state, e.engine, at, &ids);
    }
    st_encoder_free(&e);
    st_ids_free(&ids);
    st_bytes_free(&state);
    st_bytes_free(&bad);
}

/* ---- the harness ---- */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    rng r = rng_of(data, n);
    const size_t raw = rng_below(&r, 4); /* one input in four ends with the bytes of a state */
    rng options = r;
    if (raw == 0)
        options.left = options.left < 24 ? options.left : 24;
    const subject *s = subject_new(&options);
    if (raw == 0) {
        const size_t used = r.left < 24 ? r.left : 24;
        try_state(s, &options, ST_ENGINE_FAST, r.given + used, r.left - used);
    } else {
        check_states(s, &options);
    }
    return 0;
}

void harness_close(void)
{
    subjects_close();
    printf("fuzz_state: %llu states, %llu of them refused: no difference\n", (unsigned long long)counts.states,
           (unsigned long long)counts.refused);
}
