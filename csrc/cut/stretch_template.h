/* stretch_template.h - the rule of cut_rule.h for a stretch of text at once: st_cuts_of_pieces (cuts.h) for the tier of the file that
 * includes it (base/vector.h). AVX-512 has more for it, and its own file.
 *
 * What depends on the text is a bit in a mask: where pieces begin, which pieces are long. The characters of long pieces are listed
 * without gaps, so that no branch asks where a piece ends. Whether a token joins two of them is looked up for ST_LANES at a time. */
#include "base/tier.h"
#include "base/utf8.h"
#include "cut/cuts.h"

#define WORDS (ST_CUT_STRETCH / 64) /* of 64 bits, one for each byte of a stretch */

/* Characters that are written at a time, and read behind the last one. */
#define SPARE 8

/* The bytes of a stretch where pieces begin, and those that lie in long pieces behind their first byte. */
typedef struct stretch {
    uint64_t starts[WORDS], inside[WORDS];
    size_t n, pieces;
} stretch;

/* The characters of long pieces, in order: where they begin, and four bytes from there, the first one lowest. */
typedef struct characters {
    uint32_t four[ST_CUT_STRETCH + SPARE];
    uint8_t at[ST_CUT_STRETCH + SPARE];
    size_t count;
} characters;

/* ---- where pieces begin ---- */

static inline uint64_t bits_below(size_t n, size_t word)
{
    return n >= 64 * word + 64 ? UINT64_MAX : n <= 64 * word ? 0 : ((uint64_t)1 << (n - 64 * word)) - 1;
}

/* Bits shifted by less than 64 places, towards the first one and towards the last. `to` may be `from`. */
static inline void and_down(uint64_t bits[WORDS], unsigned by)
{
    for (size_t i = 0; i < WORDS; i++)
        bits[i] &= bits[i] >> by | (i + 1 < WORDS ? bits[i + 1] << (64 - by) : 0);
}

static inline void or_up(uint64_t bits[WORDS], unsigned by)
{
    for (size_t i = WORDS; i-- > 0;)
        bits[i] |= bits[i] << by | (i ? bits[i - 1] >> (64 - by) : 0);
}

/* Keeps the runs of ones that are at least ST_KEY_BYTES long. */
static inline void keep_long_runs(uint64_t ones[WORDS])
{
    _Static_assert(ST_KEY_BYTES == 15, "1 + 1 + 2 + 4 + 7");
    and_down(ones, 1);
    and_down(ones, 2);
    and_down(ones, 4);
    and_down(ones, 7);
    or_up(ones, 1);
    or_up(ones, 2);
    or_up(ones, 4);
    or_up(ones, 7);
}

/* Reads as many pieces as the stretch takes. */
static inline void read_pieces(stretch *s, size_t at, const uint64_t *ends, size_t count)
{
    const st_longs first = st_longs_all(at);
    st_longs bits[WORDS];
    size_t taken = 0, here = ST_LONGS;
    for (size_t i = 0; i < WORDS; i++)
        bits[i] = st_longs_all(0);
    while (here == ST_LONGS && taken + ST_LONGS <= count) {
        const st_longs end = st_longs_minus(st_longs_load(ends + taken), first);
        for (size_t i = 0; i < WORDS; i++)
            bits[i] = st_longs_or(bits[i], st_longs_bit(st_longs_minus(end, st_longs_all(64 * i))));
        here = st_longs_up_to(end, ST_CUT_STRETCH);
        taken += here;
    }
    for (size_t i = 0; i < WORDS; i++)
        s->starts[i] = st_longs_fold(bits[i]);
    for (; here == ST_LONGS && taken < count && ends[taken] - at <= ST_CUT_STRETCH; taken++)
        if (ends[taken] - at < ST_CUT_STRETCH)
            s->starts[(ends[taken] - at) / 64] |= (uint64_t)1 << (ends[taken] - at) % 64;
    s->pieces = taken;
    s->n = taken ? (size_t)ends[taken - 1] - at : 0;
    s->starts[0] |= 1;
    for (size_t i = 0; i < WORDS; i++) {
        s->starts[i] &= bits_below(s->n, i);
        s->inside[i] = ~s->starts[i] & bits_below(s->n, i);
    }
    keep_long_runs(s->inside);
}

/* ---- the characters of long pieces ---- */

/* Takes four bits at a time, so that the branch at the end of the loop is mostly predicted. */
static inline void list_characters(characters *c, const stretch *s, const uint8_t *text)
{
    size_t count = 0;
    for (size_t i = 0; i < WORDS; i++) {
        const uint64_t leads = ~st_vector_in(st_vector_load(text + 64 * i), 0x80, 64);
        const uint64_t before_inside = s->inside[i] >> 1 | (i + 1 < WORDS ? s->inside[i + 1] << 63 : 0);
        uint64_t which = (s->starts[i] & before_inside) | (leads & s->inside[i]);
        const size_t more = (size_t)st_mask_count(which);
        for (size_t k = 0; k < more; k += SPARE)
            for (size_t j = count + k; j < count + k + SPARE; j++) {
                const size_t at = 64 * i + (size_t)(st_mask_first(which) & 63);
                c->at[j] = (uint8_t)at;
                c->four[j] = st_load32(text + at);
                which &= which - 1;
            }
        count += more;
    }
    memset(c->four + count, 0, SPARE * sizeof *c->four);
    c->count = count;
}

/* The character at the first of four bytes, as st_char_bits has it. */
static inline st_lanes characters_of(st_lanes four)
{
    static const uint8_t shifts[16] = {24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 24, 16, 16, 8, 0}; /* by the first four bits */
    const st_lanes turned = st_lanes_reversed(four);
    return st_lanes_right_each(turned, st_lanes_entry(st_lanes_right(turned, 28), shifts));
}

/* The places of bits in the tables: for pairs of characters, as st_char_bits gives them, the bit that tells whether they stand side
 * by side in a token. Two ASCII characters have an exact table. `hash` is that of st_cut_hash. */
static inline st_lanes pair_bits(const st_cut_tables *tables, st_lanes left, st_lanes right, st_lanes hash)
{
    const st_where are_ascii = st_lanes_same(st_lanes_and(st_lanes_or(left, right), st_lanes_all(~0x7Fu)), st_lanes_all(0));
    const st_lanes ascii = st_lanes_or(st_lanes_left(left, 7), right);
    const st_lanes place = st_lanes_right(hash, tables->pair_shift);
    return st_lanes_pick(are_ascii, st_lanes_plus(ascii, st_lanes_all(8 * offsetof(st_cut_tables, ascii))), place);
}

/* Sets the bits of the characters that a token joins to the one in front. */
static inline void find_joined(const characters *c, const st_cut_tables *tables, uint64_t joined[WORDS])
{
    const st_lanes low = st_lanes_all((uint32_t)ST_GOLDEN), high = st_lanes_all((uint32_t)(ST_GOLDEN >> 32));
    st_lanes left = st_lanes_all(0), left_hash = left;
    for (size_t i = 0; i < c->count; i += ST_LANES) {
        const st_lanes right = characters_of(st_lanes_load(c->four + i));
        const st_lanes hash = st_lanes_times(right, low); /* of the left character the lower bits count */
        const st_lanes upper = st_lanes_plus(st_lanes_times_high(right, low), st_lanes_times(right, high));
        const st_lanes sum = st_lanes_plus(upper, st_lanes_after(left_hash, hash));
        const st_lanes bits = pair_bits(tables, st_lanes_after(left, right), right, sum);
        const st_lanes words = st_lanes_gather(tables, st_lanes_right(bits, 5));
        joined[i / 64] |= (uint64_t)st_lanes_bit(words, bits) << i % 64;
        left = right;
        left_hash = hash;
    }
}

/* ---- spans ---- */

/* Adds those of the listed borders as cuts that no token with a part of a character spans. */
static inline void add_doubtful(uint8_t *begins, const characters *c, const st_cut_tables *tables, const uint8_t *doubtful,
                                size_t count, const uint8_t *text)
{
    for (size_t k = 0; k < count; k++) {
        const size_t i = doubtful[k], border = c->at[i];
        const unsigned shapes = st_cut_shapes(tables, text[border - 1], text[border]);
        const size_t end = border + st_utf8_size(text[border]);
        begins[border] = st_cut_is_partial(tables, shapes, text, c->at[i - 1], border, end) ? 0 : 0xFF;
    }
}

/* Adds the cuts to the places where pieces begin. The first character begins a piece. */
static inline void add_cuts(stretch *s, const characters *c, const st_cut_tables *tables, const uint64_t joined[WORDS],
                            const uint8_t *text)
{
    uint8_t doubtful[ST_CUT_STRETCH], begins[ST_CUT_STRETCH] = {0}; /* a byte each: bits would be read, changed and written */
    size_t count = 0;
    for (size_t word = 0; 64 * word < c->count; word++) {
        uint64_t open = ~joined[word] & bits_below(c->count, word) & (word ? UINT64_MAX : UINT64_MAX - 1);
        for (; open; open &= open - 1) {
            const size_t i = 64 * word + st_first_bit(open), at = c->at[i];
            const unsigned classes = tables->left_classes[text[at - 1]] & tables->right_classes[text[at]];
            doubtful[count] = (uint8_t)i;
            count += (classes - 1) < ST_CUT_SURE - 1; /* some, and none that is sure */
            begins[at] = classes ? 0 : 0xFF;
        }
    }
    add_doubtful(begins, c, tables, doubtful, count, text);
    for (size_t i = 0; i < WORDS; i++)
        s->starts[i] |= st_vector_high(st_vector_load(begins + 64 * i));
}

/* Writes where spans end, except for the last one: where others begin. Returns how many it wrote. */
static inline size_t put_spans(const stretch *s, uint32_t *spans)
{
    size_t count = 0;
    for (size_t i = 0; i < WORDS; i++) {
        uint64_t begins = s->starts[i] & (UINT64_MAX - !i);
        const size_t more = (size_t)st_mask_count(begins);
        for (size_t k = 0; k < more; k += SPARE)
            for (size_t j = count + k; j < count + k + SPARE; j++) {
                spans[j] = (uint32_t)(64 * i + st_mask_first(begins));
                begins &= begins - 1;
            }
        count += more;
    }
    return count;
}

static size_t ST_OF_TIER(st_cuts_of_pieces)(const st_cuts *cuts, const uint8_t *text, size_t at, const uint64_t *ends, size_t count,
                                     uint32_t *spans, size_t *pieces)
{
    uint8_t copy[ST_CUT_STRETCH + 4];
    const uint8_t *bytes = text + at;
    uint64_t joined[WORDS] = {0};
    stretch s;
    characters c;
    read_pieces(&s, at, ends, count);
    *pieces = s.pieces;
    if (!s.pieces)
        return 0;
    if (ends[count - 1] - at < sizeof copy) { /* vectors are read to the end of the stretch */
        memset(copy, 0, sizeof copy);
        memcpy(copy, bytes, s.n);
        bytes = copy;
    }
    list_characters(&c, &s, bytes);
    find_joined(&c, cuts->tables, joined);
    add_cuts(&s, &c, cuts->tables, joined, bytes);
    const size_t written = put_spans(&s, spans);
    spans[written] = (uint32_t)s.n;
    return written + 1;
}
