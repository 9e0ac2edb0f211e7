/* The state of an open piece as bytes. */
#include "base/utf8.h"
#include "unigram/lattice.h"
#include "unigram/places.h"

static st_status put_number(st_bytes *out, uint64_t value)
{
    uint8_t bytes[8];
    for (int i = 0; i < 8; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
    return st_bytes_append(out, bytes, sizeof bytes);
}

static uint64_t get_number(const uint8_t *at)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++)
        value |= (uint64_t)at[i] << (8 * i);
    return value;
}

static uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Numbers of 8 bytes: the run, `left`, `wait`, then for each place its sum, and its token and size. */
st_status st_lattice_save(const st_open *open, st_bytes *out)
{
    const lattice *l = lattice_of(open);
    const place *places = places_of(open);
    if (!open->own.size)
        return ST_OK;
    if (put_number(out, open->state) || put_number(out, l->left) || put_number(out, l->wait))
        return ST_NO_MEMORY;
    for (size_t i = 0; i <= open->text.size; i++)
        if (put_number(out, bits_of(places[i].sum)) ||
            put_number(out, i ? (uint64_t)places[i].token << 32 | places[i].size : 0))
            return ST_NO_MEMORY;
    return ST_OK;
}

/* Whether the token of place number i is there. */
static int is_token_at(const st_vocab *v, const st_open *open, const place *p, size_t i)
{
    const uint8_t *text = open->text.data;
    if (!p->size || p->size > i || p->token >= v->count || st_utf8_is_continuation(text[i - p->size]))
        return 0;
    if (p->token == st_unigram_of(v)->unknown && p->size == st_utf8_size(text[i - p->size]))
        return 1;
    return !st_token_is_silent(v, p->token) && st_token_length(v, p->token) == p->size &&
           !memcmp(text + i - p->size, st_token_bytes(v, p->token), p->size);
}

/* Whether the paths to all places from `left` on are tokens that are there. Places that are on no such path may be anything: theirs can
 * begin in front of the text. */
static int is_sound(const st_vocab *v, const st_open *open)
{
    lattice *l = lattice_of(open);
    place *places = places_of(open);
    const size_t n = open->text.size;
    int sound = l->left <= n && (l->left == n || !st_utf8_is_continuation(open->text.data[l->left]));
    if (!sound || (open->state == RUN_SPELLED && !(st_unigram_of(v)->flags & ST_UNIGRAM_FALLBACK)))
        return 0;
    l->far = l->left;
    for (size_t i = (size_t)l->left; i <= n; i++) {
        if (!i || (!places[i].size && i > l->left))
            continue;
        sound &= i == n || !st_utf8_is_continuation(open->text.data[i]);
        places[i].size |= MARK;
        l->far = i;
    }
    for (size_t i = n; i > 0; i--) {
        if (!(places[i].size & MARK))
            continue;
        places[i].size &= ~MARK;
        sound = sound && is_token_at(v, open, &places[i], i);
        if (sound && places[i].size < i)
            places[i - places[i].size].size |= MARK;
    }
    return sound;
}

st_status st_lattice_load(st_open *open, st_vocab *vocab, const uint8_t *text, size_t n, const uint8_t *state, size_t size)
{
    const st_unigram *rule = st_unigram_of(vocab);
    if (!size)
        return n ? ST_BAD_STATE : ST_OK;
    if (size != 24 + 16 * (n + 1) || (n && st_utf8_is_continuation(text[0])))
        return ST_BAD_STATE;
    ST_TRY(st_lattice_extend(open, text, n));
    lattice *l = lattice_of(open);
    place *places = places_of(open);
    if (get_number(state) > RUN_SPELLED)
        return ST_BAD_STATE;
    open->state = (uint32_t)get_number(state);
    l->left = get_number(state + 8);
    l->wait = get_number(state + 16);
    for (size_t i = 0; i <= n; i++) {
        const uint64_t bits = get_number(state + 24 + 16 * i), token = get_number(state + 32 + 16 * i);
        memcpy(&places[i].sum, &bits, sizeof bits);
        places[i].token = (uint32_t)(token >> 32);
        places[i].size = (uint32_t)token & ~MARK;
        if (places[i].sum != places[i].sum || (rule->flags & ST_UNIGRAM_SINGLE && (double)(float)places[i].sum != places[i].sum))
            return ST_BAD_STATE;
    }
    return is_sound(vocab, open) && l->wait <= l->left + n + 1 ? ST_OK : ST_BAD_STATE;
}
