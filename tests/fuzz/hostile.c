/* The unfriendly half of fuzz_encoder: allocations that fail, states that nobody saved, ids that nobody made. */
#include "subject.h"

tally counts;

void state_of(const st_encoder *e, st_bytes *state)
{
    state->size = 0;
    CHECK(st_encoder_save(e, state) == ST_OK);
}

static void check_state(const st_encoder *e, const st_bytes *expected)
{
    st_bytes state = {0};
    state_of(e, &state);
    CHECK(state.size == expected->size && same_bytes(state.data, expected->data, state.size));
    st_bytes_free(&state);
}

/* ---- failing allocations ---- */

st_status feed_against_odds(st_encoder *e, const uint8_t *text, size_t n, int flags, st_ids *out, st_feed_error *error)
{
    st_bytes before = {0};
    const size_t size = out->size;
    const uint64_t pending = st_encoder_pending(e);
    st_status status = ST_NO_MEMORY;
    state_of(e, &before);
    for (int64_t succeeding = 0; status == ST_NO_MEMORY; succeeding = next_failure(succeeding)) {
        st_alloc_fail_after(succeeding);
        status = st_encoder_feed(e, text, n, flags, out, error);
        st_alloc_fail_after(-1);
        if (status) {
            CHECK(out->size == size && st_encoder_pending(e) == pending);
            check_state(e, &before);
        }
        counts.failed_allocations += status == ST_NO_MEMORY;
    }
    st_bytes_free(&before);
    return status;
}

static void load_against_odds(st_encoder *e, const st_bytes *state)
{
    st_status status = ST_NO_MEMORY;
    for (int64_t succeeding = 0; status; succeeding = next_failure(succeeding)) {
        CHECK(status == ST_NO_MEMORY);
        st_alloc_fail_after(succeeding);
        status = st_encoder_load(e, state->data, state->size);
        st_alloc_fail_after(-1);
        CHECK(!status || st_encoder_pending(e) == 0);
        counts.failed_allocations += status == ST_NO_MEMORY;
    }
}

static void copy_against_odds(st_encoder *target, const st_encoder *e)
{
    st_status status = ST_NO_MEMORY;
    for (int64_t succeeding = 0; status; succeeding = next_failure(succeeding)) {
        CHECK(status == ST_NO_MEMORY);
        st_alloc_fail_after(succeeding);
        status = st_encoder_copy(target, e);
        st_alloc_fail_after(-1);
        CHECK(!status || st_encoder_pending(target) == 0);
        counts.failed_allocations += status == ST_NO_MEMORY;
    }
}

static void save_against_odds(const st_encoder *e, st_bytes *state)
{
    st_status status = ST_NO_MEMORY;
    for (int64_t succeeding = 0; status; succeeding = next_failure(succeeding)) {
        CHECK(status == ST_NO_MEMORY);
        state->size = 0;
        st_alloc_fail_after(succeeding);
        status = st_encoder_save(e, state);
        st_alloc_fail_after(-1);
        counts.failed_allocations += status == ST_NO_MEMORY;
    }
}

/* ---- saved and copied ---- */

/* Gives a stray encoder other text: what it shares with its copy would show. */
static void wear(const subject *s, rng *r, st_encoder *e)
{
    st_ids ids = {0};
    st_feed_error error;
    size_t n = rng_below(r, s->text.size + 1);
    st_encoder_feed(e, s->text.data, n, rng_one_in(r, 2) ? ST_FEED_FINAL : 0, &ids, &error);
    st_ids_free(&ids);
}

void replace_encoder(const subject *s, rng *r, st_encoder *e)
{
    st_encoder other;
    st_bytes state = {0};
    subject_encoder(s, e->engine, &other);
    if (rng_one_in(r, 3))
        wear(s, r, &other); /* the target need not be new */
    save_against_odds(e, &state);
    if (rng_one_in(r, 2))
        load_against_odds(&other, &state);
    else
        copy_against_odds(&other, e);
    check_state(e, &state);
    if (rng_one_in(r, 2))
        wear(s, r, e);
    st_encoder_free(e);
    check_state(&other, &state);
    *e = other;
    st_bytes_free(&state);
    counts.copies++;
}

/* ---- damaged states ---- */

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

/* What was accepted need not make sense, but it must be safe to use, and it must end. */
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

void try_damaged_states(const subject *s, rng *r, const st_encoder *e)
{
    st_bytes state = {0};
    st_encoder other;
    for (int i = 0; i < 8; i++) {
        state_of(e, &state);
        if (e->open.tail.active && rng_one_in(r, 2))
            change_previous(s, r, e, &state);
        else
            damage(r, &state);
        subject_encoder(s, e->engine, &other);
        uint8_t *exact = st_malloc(state.size); /* a read beyond its end shows */
        CHECK(exact);
        memcpy(exact, state.data, state.size);
        st_status status = st_encoder_load(&other, exact, state.size);
        st_free(exact);
        CHECK(status == ST_OK || status == ST_BAD_STATE);
        CHECK(!status || st_encoder_pending(&other) == 0);
        use_state(s, r, &other);
        st_encoder_free(&other);
        counts.states++;
        counts.refused_states += status == ST_BAD_STATE;
    }
    st_bytes_free(&state);
}

/* ---- back to text ---- */

static st_status decode_against_odds(const subject *s, const st_ids *ids, st_bytes *text, size_t *bad)
{
    const size_t size = text->size;
    st_status status = ST_NO_MEMORY;
    for (int64_t succeeding = 0; status == ST_NO_MEMORY; succeeding = next_failure(succeeding)) {
        st_alloc_fail_after(succeeding);
        status = st_decode(s->vocab, &special_names, ids->data, ids->size, text, bad);
        st_alloc_fail_after(-1);
        CHECK(!status || text->size == size);
    }
    return status;
}

void check_decoder(const subject *s, rng *r)
{
    st_bytes text = {0};
    size_t bad = 0;
    CHECK(st_bytes_append(&text, "x", 1) == ST_OK);
    CHECK(decode_against_odds(s, &s->ids, &text, &bad) == ST_OK);
    CHECK(text.size == s->valid.size + 1 && same_bytes(text.data + 1, s->valid.data, s->valid.size));
    if (s->ids.size) {
        size_t at = rng_below(r, s->ids.size);
        const uint32_t kept = s->ids.data[at], none = SPECIAL_FIRST_ID + SPECIAL_COUNT;
        s->ids.data[at] = rng_one_in(r, 2) ? none : UINT32_MAX;
        CHECK(decode_against_odds(s, &s->ids, &text, &bad) == ST_UNKNOWN_TOKEN && bad == at);
        s->ids.data[at] = kept;
    }
    st_bytes_free(&text);
}
