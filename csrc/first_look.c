#include "first_look.h"

#include "prefetch.h"
#include "tier.h"

/* Keys are made for so many spans before the first is looked for: what the hot table has not in the cache arrives meanwhile. */
#define AHEAD 32

typedef struct looked_for {
    st_key keys[AHEAD];
    size_t starts[AHEAD]; /* in the round's text */
} looked_for;

static inline void put_key(looked_for *l, size_t i, const st_hot *hot, size_t start, st_key key)
{
    st_prefetch(&hot->entries[st_hot_place(key)]);
    l->keys[i] = key;
    l->starts[i] = start;
}

static inline void look_at_all(st_spans *s, const st_hot *hot, const looked_for *l, size_t count)
{
    st_list_ends lists = st_list_ends_of(s);
    for (size_t i = 0; i < count; i++)
        st_look_at_span(s, hot, &lists, l->starts[i], l->keys[i]);
    st_move_list_ends(s, lists, count);
}

size_t st_first_look_portable(st_spans *s, const st_hot *hot, const uint8_t *text, size_t readable, size_t at,
                              const uint64_t *ends, size_t count)
{
    looked_for l;
    size_t done = 0, i;
    do {
        const size_t most = count - done < AHEAD ? count - done : AHEAD;
        for (i = 0; i < most; i++) {
            const size_t end = (size_t)ends[done + i], n = end - at;
            if (n > ST_KEY_BYTES || at >= readable)
                break;
            put_key(&l, i, hot, at - s->first, st_key_of_padded(text + at, n));
            at = end;
        }
        look_at_all(s, hot, &l, i);
        done += i;
    } while (i == AHEAD);
    return done;
}

void st_first_look_any_portable(st_spans *s, const st_hot *hot, const uint8_t *text, size_t at, const uint32_t *ends,
                                size_t count)
{
    looked_for l;
    size_t start = 0;
    for (size_t done = 0; done < count; done += AHEAD) {
        const size_t most = count - done < AHEAD ? count - done : AHEAD;
        for (size_t i = 0; i < most; start = ends[done + i++]) {
            const size_t n = ends[done + i] - start;
            const st_key key = n > ST_KEY_BYTES ? st_key_of_long(n) : st_key_of_padded(text + at + start, n);
            put_key(&l, i, hot, at + start - s->first, key);
        }
        look_at_all(s, hot, &l, most);
    }
}

static st_first_look_function *const by_tier[ST_TIERS] = {
#if defined(ST_X86)
    [ST_TIER_AVX512] = st_first_look_avx512,
#endif
};

static st_first_look_any_function *const any_by_tier[ST_TIERS] = {
#if defined(ST_X86)
    [ST_TIER_AVX512] = st_first_look_any_avx512,
#endif
};

size_t st_first_look(st_spans *s, const st_hot *hot, const uint8_t *text, size_t readable, size_t at, const uint64_t *ends,
                     size_t count)
{
    st_first_look_function *const look = by_tier[st_tier()];
    return (look ? look : st_first_look_portable)(s, hot, text, readable, at, ends, count);
}

void st_first_look_any(st_spans *s, const st_hot *hot, const uint8_t *text, size_t at, const uint32_t *ends, size_t count)
{
    st_first_look_any_function *const look = any_by_tier[st_tier()];
    (look ? look : st_first_look_any_portable)(s, hot, text, at, ends, count);
}
