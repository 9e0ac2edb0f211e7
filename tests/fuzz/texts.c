#include "fuzz.h"

#include "base/utf8.h"

/* ---- special tokens ---- */

/* One begins another, one ends in the middle of another, one begins like a word, one like white space. */
static const char NAMES[] = "<|endoftext|>" "<|end|>" "<|" "<|endof" "ab" "\xE2\x96\x81<s>" "\n\n#" "<|e\xCC\x81|>"
                             "aaaaaaaaaaaaaaaaaaaaab";
static const size_t name_starts[SPECIAL_COUNT + 1] = {0, 13, 20, 22, 29, 31, 37, 40, 47, 69};
static const uint32_t name_ids[SPECIAL_COUNT] = {
    SPECIAL_FIRST_ID,     SPECIAL_FIRST_ID + 1, SPECIAL_FIRST_ID + 2, SPECIAL_FIRST_ID + 3, SPECIAL_FIRST_ID + 4,
    SPECIAL_FIRST_ID + 5, SPECIAL_FIRST_ID + 6, SPECIAL_FIRST_ID + 7, SPECIAL_FIRST_ID + 8,
};
_Static_assert(sizeof NAMES - 1 == 69, "name_starts belongs to NAMES");
const st_names special_names = {(const uint8_t *)NAMES, name_starts, name_ids, SPECIAL_COUNT};

static size_t name_length(int i)
{
    return name_starts[i + 1] - name_starts[i];
}

st_special *special_build(unsigned mask)
{
    uint8_t bytes[sizeof NAMES];
    size_t lengths[SPECIAL_COUNT], count = 0, at = 0;
    uint32_t ids[SPECIAL_COUNT];
    st_special *special = NULL;
    for (int i = 0; i < SPECIAL_COUNT; i++) {
        if (!(mask >> i & 1))
            continue;
        memcpy(bytes + at, NAMES + name_starts[i], name_length(i));
        at += lengths[count] = name_length(i);
        ids[count++] = name_ids[i];
    }
    CHECK(!mask || st_special_new(bytes, lengths, ids, count, &special) == ST_OK);
    return special;
}

void special_free(st_special *special)
{
    st_special_free(special);
}

static int begins_with(const uint8_t *text, size_t n, int i)
{
    return name_length(i) <= n && !memcmp(text, NAMES + name_starts[i], name_length(i));
}

int special_first(unsigned mask, const uint8_t *text, size_t from, size_t n, size_t *start, size_t *end)
{
    for (size_t at = from; at < n; at++) {
        int found = -1;
        for (int i = 0; i < SPECIAL_COUNT; i++)
            if (mask >> i & 1 && begins_with(text + at, n - at, i) &&
                (found < 0 || name_length(i) > name_length(found)))
                found = i;
        if (found >= 0) {
            *start = at;
            *end = at + name_length(found);
            return found;
        }
    }
    return -1;
}

/* ---- characters ---- */

/* Some of each kind that the patterns tell apart, and those that look like another kind. */
static const char *const CHARACTERS[] = {
    "a", "b", "e", "s", "t", "l", "v", "r", "m", "d", "z", "\xC3\xA9", "\xC3\x9F", "\xC5\xBF",      /* Ll, long s */
    "A", "B", "S", "T", "L", "\xC3\x89", "\xE2\x84\xAA", "\xC7\x85",                                /* Lu, Kelvin, Lt */
    "\xE4\xB8\xAD", "\xE6\x96\x87", "\xE3\x81\x82", "\xD7\x90", "\xCA\xB0", "\xF0\xA0\x80\x80",     /* Lo, Lm */
    "\xCC\x81", "\xE0\xA4\xBE", "\xE2\x83\x9D",                                                     /* Mn, Mc, Me */
    "0", "1", "9", "\xD9\xA3", "\xC2\xBD", "\xE2\x85\xA7",                                          /* Nd, No, Nl */
    "\r", "\n", "\r\n", " ", " ", " ", "\t", "\x0B", "\xC2\x85", "\xC2\xA0", "\xE2\x80\xA8", "\xE3\x80\x80", /* \s */
    "'", "'", "!", "=", "/", "<", "|", ">", "_", "\xE2\x80\x99", "\xE2\x82\xAC", "\xF0\x9F\x98\x80", /* P, S */
    "\x00", "\x7F", "\xE2\x80\x8D", "\xEF\xB8\x8F", "\xEF\xBF\xBD", "\xF4\x8F\xBF\xBF", "\xCD\xB8",  /* C */
};
#define CHARACTER_COUNT (sizeof CHARACTERS / sizeof *CHARACTERS)

/* Invalid UTF-8: a lone continuation, cut characters, overlong forms, surrogates, beyond U+10FFFF, bytes that never occur. */
static const char *const BROKEN[] = {
    "\x80", "\xBF", "\xC3", "\xE2", "\xE2\x82", "\xF0", "\xF0\x9F", "\xF0\x9F\x98", "\xC0\xAF", "\xC1\xBF",
    "\xE0\x80\xAF", "\xE0\x9F", "\xF0\x80\x80\xAF", "\xF0\x8F", "\xED\xA0\x80", "\xED\xBF\xBF", "\xF4\x90\x80\x80",
    "\xF5", "\xFE", "\xFF", "\xF4\x8F", "\xED\x9F",
};
#define BROKEN_COUNT (sizeof BROKEN / sizeof *BROKEN)

static const char *const CONTRACTIONS[] = {"'s", "'S",  "'t", "'ll", "'LL", "'lL",      "'ve",
                                           "'v", "'re", "'r", "'d",  "'l",  "'\xC5\xBF", "'\xC5"};
#define CONTRACTION_COUNT (sizeof CONTRACTIONS / sizeof *CONTRACTIONS)

static void add(st_bytes *text, const void *data, size_t n)
{
    CHECK(st_bytes_append(text, data, n) == ST_OK);
}

/* The entry "\0" has one byte; every other ends at its zero. */
static void add_string(st_bytes *text, const char *string)
{
    size_t n = strlen(string);
    add(text, string, n ? n : 1);
}

static const char *any_character(rng *r)
{
    return CHARACTERS[rng_below(r, CHARACTER_COUNT)];
}

static void add_run(rng *r, st_bytes *text)
{
    const char *unit = any_character(r), *other = any_character(r);
    for (size_t n = rng_size(r, rng_one_in(r, 8) ? 3000 : 100); n; n--) {
        add_string(text, unit);
        if (rng_one_in(r, 200))
            add_string(text, other);
    }
}

static void add_characters(rng *r, st_bytes *text)
{
    /* few distinct ones, so that tokens of a small vocabulary come about */
    const char *few[4];
    for (int i = 0; i < 4; i++)
        few[i] = any_character(r);
    for (size_t n = 1 + rng_size(r, 40), repeat = rng_below(r, 3); n; n--)
        add_string(text, repeat ? few[rng_below(r, 4)] : any_character(r));
}

static void add_word(rng *r, st_bytes *text)
{
    static const char letters[] = "etaoinshrdlucmfwypvbgkjqxzETAOIN";
    for (size_t n = 1 + rng_size(r, 30); n; n--)
        add(text, &letters[rng_below(r, sizeof letters - 1)], 1);
    add_string(text, rng_one_in(r, 3) ? CONTRACTIONS[rng_below(r, CONTRACTION_COUNT)] : " ");
}

static void add_tokens(rng *r, const st_vocab *vocab, st_bytes *text)
{
    /* neighbours in rank tend to share their bytes */
    size_t base = rng_below(r, vocab->count), width = 1 + rng_below(r, rng_one_in(r, 2) ? 20 : vocab->count);
    for (size_t n = 1 + rng_size(r, 30); n; n--) {
        uint32_t index = (uint32_t)((base + rng_below(r, width)) % vocab->count);
        size_t length = st_token_length(vocab, index), from = 0;
        if (rng_one_in(r, 6)) { /* a part of it */
            from = rng_below(r, length);
            length = from + 1 + rng_below(r, length - from);
        }
        add(text, st_token_bytes(vocab, index) + from, length - from);
    }
}

/* Long tokens in a row: rulers, blanks, whole names. They reach over the windows that a core may work in. */
static void add_long_tokens(rng *r, const st_vocab *vocab, st_bytes *text)
{
    for (size_t n = 1 + rng_size(r, 20); n; n--) {
        uint32_t longest = (uint32_t)rng_below(r, vocab->count);
        for (size_t tries = rng_size(r, 500); tries; tries--) {
            uint32_t index = (uint32_t)rng_below(r, vocab->count);
            if (st_token_length(vocab, index) > st_token_length(vocab, longest))
                longest = index;
        }
        add(text, st_token_bytes(vocab, longest), st_token_length(vocab, longest));
    }
}

static void add_special(rng *r, st_bytes *text)
{
    int i = (int)rng_below(r, SPECIAL_COUNT);
    size_t n = name_length(i), from = 0;
    if (rng_one_in(r, 2))
        n = rng_below(r, n + 1);
    else if (rng_one_in(r, 3))
        from = rng_below(r, n);
    add(text, NAMES + name_starts[i] + from, n - from);
}

static void add_noise(rng *r, st_bytes *text)
{
    for (size_t n = 1 + rng_size(r, 60); n; n--) {
        uint8_t byte = (uint8_t)rng_next(r);
        add(text, &byte, 1);
    }
}

static void add_base64(rng *r, st_bytes *text)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    int letters_only = rng_one_in(r, 2);
    for (size_t n = rng_size(r, 1000); n; n--)
        add(text, &digits[rng_below(r, letters_only ? 52 : 64)], 1);
}

/* ---- whole texts ---- */

#define FRAGMENT_KINDS 16

static void add_fragment(rng *r, const st_vocab *vocab, size_t kind, st_bytes *text)
{
    switch (kind) {
    case 0: case 1: add_run(r, text); break;
    case 2: case 3: case 4: add_characters(r, text); break;
    case 5: case 6: case 7: add_word(r, text); break;
    case 8: case 9: add_tokens(r, vocab, text); break;
    case 10: add_long_tokens(r, vocab, text); break;
    case 11: case 12: add_special(r, text); break;
    case 13: add_string(text, BROKEN[rng_below(r, BROKEN_COUNT)]); break;
    case 14: add_base64(r, text); break;
    default: rng_one_in(r, 4) ? add_noise(r, text) : add_string(text, CONTRACTIONS[rng_below(r, CONTRACTION_COUNT)]);
    }
}

void text_random(rng *r, const st_vocab *vocab, size_t least, st_bytes *text)
{
    const size_t only = rng_below(r, 3 * FRAGMENT_KINDS); /* one text in three is of one kind throughout */
    text->size = 0;
    while (text->size < least)
        add_fragment(r, vocab, only < FRAGMENT_KINDS ? only : rng_below(r, FRAGMENT_KINDS), text);
}

void text_endless(rng *r, size_t least, st_bytes *text)
{
    static const char *const units[] = {"a",  "ab", " ", "=",           "-",
                                        "\n", "0",  "\xE4\xB8\xAD", "\xF0\x9F\x98\x80", "\xD7\x90"};
    const char *unit = units[rng_below(r, sizeof units / sizeof *units)];
    text->size = 0;
    while (text->size < least)
        add_string(text, unit);
}
