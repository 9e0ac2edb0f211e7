#include "first_look.h"

#include "tier.h"

size_t st_first_look_portable(st_spans *s, const st_hot *hot, const uint8_t *text, size_t readable, size_t at,
                              const uint64_t *ends, size_t count)
{
    st_list_ends lists = st_list_ends_of(s);
    const size_t first = s->first;
    size_t i = 0;
    for (; i < count; i++) {
        const size_t end = (size_t)ends[i], n = end - at;
        if (n > ST_KEY_BYTES || at >= readable)
            break;
        st_look_at_span(s, hot, &lists, at - first, st_key_of_padded(text + at, n));
        at = end;
    }
    st_move_list_ends(s, lists, i);
    return i;
}

void st_first_look_any_portable(st_spans *s, const st_hot *hot, const uint8_t *text, size_t at, const uint32_t *ends,
                                size_t count)
{
    st_list_ends lists = st_list_ends_of(s);
    for (size_t i = 0, start = 0; i < count; start = ends[i++]) {
        const size_t n = ends[i] - start;
        const st_key key = n > ST_KEY_BYTES ? st_key_of_long(n) : st_key_of_padded(text + at + start, n);
        st_look_at_span(s, hot, &lists, at + start - s->first, key);
    }
    st_move_list_ends(s, lists, count);
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
