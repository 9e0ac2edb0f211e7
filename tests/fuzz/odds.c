/* Allocations that fail, each in turn, and encoders that are saved, loaded and copied meanwhile. */
#include "base/interrupt.h"
#include "subject.h"

uint64_t failed_allocations;

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

/* ---- calls that are ended ---- */

static int yes(st_interrupt *scope)
{
    (void)scope;
    return 1;
}

/* Interrupts the feed when it first asks whether to stop, then later and later, until it ends without having asked. */
static st_status feed_until_done(st_encoder *e, const uint8_t *text, size_t n, int flags, st_ids *out, st_feed_error *error)
{
    st_bytes before = {0};
    const size_t size = out->size;
    st_status status = ST_INTERRUPTED;
    state_of(e, &before);
    for (size_t work = 1; status == ST_INTERRUPTED; work *= 2) {
        st_interrupt scope;
        st_interrupt_begin(&scope, yes, NULL);
        scope.left = work;
        scope.due = 1; /* long ago */
        status = st_encoder_feed(e, text, n, flags, out, error);
        st_interrupt_end(&scope);
        CHECK(status || !scope.ended);
        if (status) {
            CHECK(out->size == size);
            check_state(e, &before);
        }
    }
    st_bytes_free(&before);
    return status;
}

/* ---- failing allocations ---- */

st_status feed_against_odds(st_encoder *e, const uint8_t *text, size_t n, int flags, st_ids *out, st_feed_error *error)
{
    static unsigned turn;
    if (turn++ % 4 == 0)
        return feed_until_done(e, text, n, flags, out, error);
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
        failed_allocations += status == ST_NO_MEMORY;
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
        failed_allocations += status == ST_NO_MEMORY;
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
        failed_allocations += status == ST_NO_MEMORY;
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
        failed_allocations += status == ST_NO_MEMORY;
    }
}

/* ---- saved and copied ---- */

/* Feeds other text to an encoder that is no longer used: memory that it shares with its copy would show. */
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
}
