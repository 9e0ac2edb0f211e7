#include "cut/build_cuts.h"

#include <string.h>

#include "base/utf8.h"
#include "text/utf8_check.h"

static void set_bit(uint8_t *bits, uint32_t at)
{
    bits[at >> 3] |= (uint8_t)(1u << (at & 7));
}

/* Bytes of the character part that ends in front of the border: a whole character (then *part is 0), or, when the token
 * begins inside it, its last 1 to 3 bytes (then *part is their number). 0: no valid text has this. */
static size_t part_before(const uint8_t *token, size_t border, unsigned *part)
{
    size_t n = 1;
    while (n < border && n <= 3 && st_utf8_is_continuation(token[border - n]))
        n++;
    const uint8_t first = token[border - n];
    if (st_utf8_is_continuation(first)) {
        *part = (unsigned)n;
        return n == border && n <= 3 ? n : 0;
    }
    *part = 0;
    return st_utf8_size(first) == n ? n : 0;
}

static size_t part_behind(const uint8_t *token, size_t border, size_t n, unsigned *part)
{
    size_t size = st_utf8_size(token[border]), there = n - border < size ? n - border : size;
    for (size_t i = 1; i < there; i++)
        if (!st_utf8_is_continuation(token[border + i]))
            return 0;
    *part = there < size ? (unsigned)there : 0;
    return there;
}

/* Enters what the token holds on the two sides of one of its inner character borders. */
static void enter_border(st_cut_tables *cuts, const uint8_t *token, size_t border, size_t n)
{
    unsigned a, b;
    size_t x = part_before(token, border, &a), y = part_behind(token, border, n, &b);
    if (!x || !y)
        return;
    uint32_t shape = 4 * a + b;
    uint32_t hash = st_cut_hash(st_char_bits(token + border - x, x), st_char_bits(token + border, y), shape);
    if (shape == 0) {
        set_bit(cuts->pairs, hash >> (32 - ST_CUT_BITS));
        return;
    }
    set_bit(cuts->partials, hash >> (32 - ST_CUT_BITS));
    cuts->near[(size_t)token[border - 1] << 8 | token[border]] |= (uint16_t)(1u << shape);
}

static void enter_ascii_pairs(st_cut_tables *cuts, const uint8_t *token, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if ((token[i - 1] | token[i]) < 0x80)
            cuts->ascii[4 * token[i - 1] + token[i] / 32] |= (uint32_t)1 << (token[i] & 31);
}

static void enter_character(st_cut_tables *cuts, const st_vocab *vocab, uint32_t index)
{
    const uint8_t *token = st_token_bytes(vocab, index);
    size_t n = st_token_length(vocab, index);
    unsigned size;
    st_text_error error;
    if (n >= 2 && n <= 3 && st_text_check(token, n, &error) == n && st_utf8_size(token[0]) == n &&
        st_token_reachable(vocab, index) && st_token_is_sound(vocab, index))
        cuts->characters[st_utf8_decode(token, &size)] = index;
}

/* ---- the size of the bit sets ---- */

#define LEAST_BITS 13 /* 1 KB */
#define SPARSE 6      /* at least 2^6 bits for each that is set: at most one of 64 absent pairs is a false hit */

static size_t count_bits(const uint8_t *bits)
{
    size_t count = 0;
    for (size_t i = 0; i < sizeof ((st_cut_tables *)0)->pairs; i++)
        for (unsigned byte = bits[i]; byte; byte &= byte - 1)
            count++;
    return count;
}

/* Folds a set of 2^ST_CUT_BITS bits to the smallest size that is sparse enough, so that more of it stays in the first-level
 * cache. A place is the first bits of a hash, so places that become one lie side by side. Returns the shift from a hash to
 * its place. */
static uint8_t fold(uint8_t *bits)
{
    const size_t count = count_bits(bits);
    unsigned wanted = LEAST_BITS;
    while (wanted < ST_CUT_BITS && count << SPARSE > (size_t)1 << wanted)
        wanted++;
    for (uint32_t i = 0; wanted < ST_CUT_BITS && i < 1u << (ST_CUT_BITS - 3); i++) {
        unsigned byte = bits[i];
        for (bits[i] = 0; byte; byte &= byte - 1) /* its new places do not lie behind it */
            set_bit(bits, (8 * i + st_first_bit(byte)) >> (ST_CUT_BITS - wanted));
    }
    return (uint8_t)(32 - wanted);
}

/* ---- classes of bytes ---- */

#define CLASSES 7 /* bits; the eighth is ST_CUT_SURE */

/* A class of bytes behind a border, by the bytes in front of the border for which near[] is not 0 with one of them. */
typedef struct byte_class {
    uint64_t left[4];
    uint32_t left_count, right_count;
} byte_class;

static uint32_t count_of(const uint64_t set[4])
{
    uint32_t count = 0;
    for (size_t i = 0; i < 4; i++)
        for (uint64_t word = set[i]; word; word &= word - 1)
            count++;
    return count;
}

/* Whether a token holds a blank and the first byte of a longer character, and nothing else: wherever the two bytes meet, that
 * token spans the border. */
static int is_sure(const st_cut_tables *cuts, size_t left, size_t right)
{
    const unsigned whole_and_one_byte = 1u << (4 * 0 + 1);
    return left == ' ' && cuts->near[left << 8 | right] & whole_and_one_byte;
}

static byte_class class_of(const st_cut_tables *cuts, size_t right)
{
    byte_class c = {.right_count = 1};
    for (size_t left = 0; left < 256; left++)
        if (cuts->near[left << 8 | right] && !is_sure(cuts, left, right))
            c.left[left / 64] |= (uint64_t)1 << left % 64;
    c.left_count = count_of(c.left);
    return c;
}

static byte_class joined(const byte_class *a, const byte_class *b)
{
    byte_class c = {.right_count = a->right_count + b->right_count};
    for (size_t i = 0; i < 4; i++)
        c.left[i] = a->left[i] | b->left[i];
    c.left_count = count_of(c.left);
    return c;
}

/* How many more pairs of bytes would count as near if the two classes were one. */
static uint32_t cost_of_joining(const byte_class *a, const byte_class *b)
{
    return joined(a, b).left_count * (a->right_count + b->right_count) - a->left_count * a->right_count -
           b->left_count * b->right_count;
}

/* The class that the byte joins at the least cost; joining an empty one costs nothing. */
static size_t cheapest(const byte_class classes[CLASSES], const byte_class *c)
{
    size_t best = 0;
    for (size_t i = 1; i < CLASSES; i++)
        if (cost_of_joining(&classes[i], c) < cost_of_joining(&classes[best], c))
            best = i;
    return best;
}

/* Puts each byte that may stand behind an open border into a class, those with the most neighbours first. */
static void enter_classes(st_cut_tables *cuts)
{
    byte_class of[256], classes[CLASSES] = {{{0}, 0, 0}};
    for (size_t right = 0; right < 256; right++)
        of[right] = class_of(cuts, right);
    for (uint32_t size = 256; size > 0; size--)
        for (size_t right = 0; right < 256; right++)
            if (of[right].left_count == size) {
                const size_t k = cheapest(classes, &of[right]);
                classes[k] = joined(&classes[k], &of[right]);
                cuts->right_classes[right] = (uint8_t)(1u << k);
            }
    for (size_t byte = 0; byte < 256; byte++) {
        for (size_t k = 0; k < CLASSES; k++)
            cuts->left_classes[byte] |= (uint8_t)((classes[k].left[byte / 64] >> byte % 64 & 1) << k);
        if (byte == ' ')
            cuts->left_classes[byte] |= ST_CUT_SURE;
        if (is_sure(cuts, ' ', byte))
            cuts->right_classes[byte] |= ST_CUT_SURE;
    }
}

/* Takes a part of a token out of characters[] if it comes later than the token. */
static void leave_out_later(st_cut_tables *cuts, const st_vocab *vocab, uint32_t part, uint32_t index)
{
    unsigned size;
    const size_t n = st_token_length(vocab, part);
    if (part < index || n < 2 || n > 3)
        return;
    const uint8_t *token = st_token_bytes(vocab, part);
    st_text_error error;
    if (st_text_check(token, n, &error) == n && st_utf8_size(token[0]) == n)
        cuts->characters[st_utf8_decode(token, &size)] = ST_NONE;
}

/* What follows in a piece depends on what is in front of it, so no border is a cut. */
static void fill_without_cuts(st_cut_tables *cuts)
{
    memset(cuts->pairs, 0xff, (size_t)1 << (LEAST_BITS - 3));
    memset(cuts->ascii, 0xff, sizeof cuts->ascii);
    cuts->pair_shift = cuts->partial_shift = 32 - LEAST_BITS;
}

void st_fill_cuts(st_cut_tables *cuts, const st_vocab *vocab)
{
    memset(cuts->characters, 0xff, sizeof cuts->characters);
    if (!st_vocab_has(vocab, ST_MODEL_HAS_CUTS)) {
        fill_without_cuts(cuts);
        return;
    }
    for (uint32_t i = 0; i < vocab->count; i++) {
        const uint8_t *token = st_token_bytes(vocab, i);
        size_t n = st_token_length(vocab, i);
        if (st_token_is_silent(vocab, i))
            continue;
        enter_ascii_pairs(cuts, token, n);
        if (!st_has_high_bytes(token, n))
            continue;
        enter_character(cuts, vocab, i);
        for (size_t border = 1; border < n; border++)
            if (!st_utf8_is_continuation(token[border]) && (token[border - 1] | token[border]) >= 0x80)
                enter_border(cuts, token, border, n);
    }
    for (uint32_t i = 0; i < vocab->count && !vocab->monotone; i++)
        if (vocab->left[i] != ST_NONE) {
            leave_out_later(cuts, vocab, vocab->left[i], i);
            leave_out_later(cuts, vocab, vocab->right[i], i);
        }
    cuts->pair_shift = fold(cuts->pairs);
    cuts->partial_shift = fold(cuts->partials);
    enter_classes(cuts);
}
