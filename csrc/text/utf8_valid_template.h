/* utf8_valid_template.h - st_text_valid (utf8_valid.h) for the tier of the file that includes it (base/vector.h).
 *
 * A byte must be a continuation exactly where a lead byte in front of it asks for one, and the first continuation behind E0, ED,
 * F0 and F4 has bounds of its own; all of it is shifts of masks. */
#include "base/utf8.h"
#include "text/utf8_valid.h"

/* The lead bytes of a block, as masks. Of the block before, only those among the last three bytes matter. */
typedef struct leads {
    uint64_t two, three, four;    /* of so many bytes or more */
    uint64_t at_e0, at_ed, at_f0, at_f4;
} leads;

/* The bits that stand `by` bytes in front. */
static inline uint64_t behind(uint64_t now, uint64_t before, int by)
{
    return now << by | before >> (64 - by);
}

/* The bytes that are not valid at their place. */
static inline uint64_t wrong_bytes(st_vector bytes, leads *l)
{
    const leads before = *l;
    const uint64_t high = st_vector_high(bytes), lead = st_vector_at_least(bytes, 0xC0), beyond = st_vector_at_least(bytes, 0xF5);
    const uint64_t from_90 = st_vector_at_least(bytes, 0x90), from_a0 = st_vector_at_least(bytes, 0xA0);
    l->two = st_vector_at_least(bytes, 0xC2);
    l->three = st_vector_at_least(bytes, 0xE0);
    l->four = st_vector_at_least(bytes, 0xF0);
    l->at_e0 = st_vector_is(bytes, 0xE0);
    l->at_ed = st_vector_is(bytes, 0xED);
    l->at_f0 = st_vector_is(bytes, 0xF0);
    l->at_f4 = st_vector_at_least(bytes, 0xF4) & ~beyond;
    const uint64_t wanted = behind(l->two, before.two, 1) | behind(l->three, before.three, 2) | behind(l->four, before.four, 3);
    return (wanted ^ (high & ~lead)) | (lead & ~l->two) | beyond | (behind(l->at_e0, before.at_e0, 1) & ~from_a0) |
           (behind(l->at_ed, before.at_ed, 1) & from_a0) | (behind(l->at_f0, before.at_f0, 1) & ~from_90) |
           (behind(l->at_f4, before.at_f4, 1) & from_90);
}

static size_t ST_OF_TIER(st_text_valid)(const uint8_t *text, size_t n)
{
    leads l = {0};
    size_t at = 0;
    for (; at < n; at += ST_VECTOR_BYTES) {
        const st_vector bytes = n - at >= ST_VECTOR_BYTES ? st_vector_load(text + at) : st_vector_load_rest(text + at, n - at);
        if (!(st_vector_any_high(bytes) | l.two >> 61)) /* all ASCII, and the last three bytes before it */
            continue;
        /* A character that is cut at the end of the text has zeros behind it, unless the text ends with the block. */
        if (wrong_bytes(bytes, &l))
            break;
    }
    at = at < n ? at : n;
    return at - st_utf8_unfinished(text, at);
}
