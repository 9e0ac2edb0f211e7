/* utf8_valid_template.h - st_text_valid (utf8_valid.h), compiled once for each set of instructions: utf8_valid_*.c include it
 * after defining
 *
 *     ST_TIER                  the tier's name: the function made here is st_text_valid_<ST_TIER>
 *     block                    64 bytes
 *     load_block(text)
 *     load_rest(text, n)       of n bytes, 0 < n < 64, with zeros behind them
 *     at_least(bytes, value)   which bytes are `value` or above, a bit for each
 *
 * A byte must be a continuation exactly where a lead byte in front of it asks for one, and the first continuation behind E0, ED,
 * F0 and F4 has bounds of its own; all of it is shifts of masks. */
#include "base/utf8.h"
#include "text/utf8_valid.h"

#define ST_JOIN_(a, b) a##b
#define ST_JOIN(a, b) ST_JOIN_(a, b)

/* Which bytes ask something of those behind them; of the block before, its last three matter. */
typedef struct leads {
    uint64_t two, three, four;    /* of so many bytes or more */
    uint64_t at_e0, at_ed, at_f0, at_f4;
} leads;

/* The bits that stand `by` bytes in front. */
static inline uint64_t behind(uint64_t now, uint64_t before, int by)
{
    return now << by | before >> (64 - by);
}

/* Which bytes are wrong where they stand. */
static inline uint64_t wrong_bytes(block bytes, leads *l)
{
    const leads before = *l;
    const uint64_t high = at_least(bytes, 0x80), lead = at_least(bytes, 0xC0), beyond = at_least(bytes, 0xF5);
    const uint64_t from_90 = at_least(bytes, 0x90), from_a0 = at_least(bytes, 0xA0);
    l->two = at_least(bytes, 0xC2);
    l->three = at_least(bytes, 0xE0);
    l->four = at_least(bytes, 0xF0);
    l->at_e0 = l->three & ~at_least(bytes, 0xE1);
    l->at_ed = at_least(bytes, 0xED) & ~at_least(bytes, 0xEE);
    l->at_f0 = l->four & ~at_least(bytes, 0xF1);
    l->at_f4 = at_least(bytes, 0xF4) & ~beyond;
    const uint64_t wanted = behind(l->two, before.two, 1) | behind(l->three, before.three, 2) | behind(l->four, before.four, 3);
    return (wanted ^ (high & ~lead)) | (lead & ~l->two) | beyond | (behind(l->at_e0, before.at_e0, 1) & ~from_a0) |
           (behind(l->at_ed, before.at_ed, 1) & from_a0) | (behind(l->at_f0, before.at_f0, 1) & ~from_90) |
           (behind(l->at_f4, before.at_f4, 1) & from_90);
}

size_t ST_JOIN(st_text_valid_, ST_TIER)(const uint8_t *text, size_t n)
{
    leads l = {0};
    size_t at = 0;
    for (; at < n; at += 64) {
        const block bytes = n - at >= 64 ? load_block(text + at) : load_rest(text + at, n - at);
        if (!(at_least(bytes, 0x80) | l.two >> 61)) /* all ASCII, and the last three bytes before it */
            continue;
        if (wrong_bytes(bytes, &l)) /* what is cut at the end of the text has zeros behind it, unless the text ends with the block */
            break;
    }
    at = at < n ? at : n;
    return at - st_utf8_unfinished(text, at);
}
