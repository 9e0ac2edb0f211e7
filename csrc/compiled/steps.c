/* The steps of a normalizer, as streamtok/native/normal.pyx packs them, checked as that module checks what makes them. */
#include "base/utf8.h"
#include "compiled/compiled.h"
#include "text/utf8_check.h"

#define MOST_GROWTH 4e9 /* so that products stay numbers; normal.pyx allows 1024 by a closer estimate */

static int is_text(const st_step *s)
{
    st_text_error error;
    return st_text_check(s->content, s->content_size, &error) == s->content_size;
}

static int is_character(const st_step *s)
{
    return s->content_size && is_text(s) && st_utf8_size(s->content[0]) == s->content_size;
}

static int has_ranges(const st_step *s)
{
    if (s->mask)
        return !s->range_count && (s->mask == ST_MASK_ACCENTS || s->mask == ST_MASK_NONSPACING);
    for (size_t i = 0; i < s->range_count; i++)
        if (s->ranges[2 * i] > s->ranges[2 * i + 1] || s->ranges[2 * i + 1] > 0x10FFFF || (i && s->ranges[2 * i] <= s->ranges[2 * i - 1]))
            return 0;
    return s->range_count > 0;
}

static int has_map(const st_step *s, double *growth, size_t *longest)
{
    st_charsmap map;
    return st_charsmap_open(&map, s->pattern, s->pattern_size) && st_charsmap_check(&map, growth, longest);
}

/* Whether the symbols of a step are texts with their sizes in front; *longest: at least that of the longest one. */
static int has_symbols(const st_step *s, size_t *longest)
{
    st_text_error error;
    for (size_t at = 0, n; at < s->content_size; at += 2 + n) {
        if (s->content_size - at < 2)
            return 0;
        n = s->content[at] | (size_t)s->content[at + 1] << 8;
        if (!n || n > s->content_size - at - 2 || st_text_check(s->content + at + 2, n, &error) != n)
            return 0;
        *longest = n > *longest ? n : *longest;
    }
    return 1;
}

static int is_replacement(const st_step *s)
{
    st_text_error error;
    return s->pattern_size && st_text_check(s->pattern, s->pattern_size, &error) == s->pattern_size && is_text(s);
}

/* Whether a step is one; sets what follows from it. *growth: bytes that one becomes at most. */
static int is_sound(st_step *s, int has_behind, double *growth)
{
    size_t longest = 4;
    *growth = s->content_size > 2 ? (double)s->content_size : 2;
    switch (s->kind) {
    case ST_STEP_FORM: *growth = 11; return s->form == ST_NFC || s->form == ST_NFD || s->form == ST_NFKC || s->form == ST_NFKD;
    case ST_STEP_LOWER:
    case ST_STEP_STRIP:
    case ST_STEP_CLEAN:
    case ST_STEP_LETTERS: return 1;
    case ST_STEP_REPLACE: return is_replacement(s);
    case ST_STEP_CLASS: return has_ranges(s) && is_text(s) && s->least >= 0;
    case ST_STEP_PREPEND: return s->unless ? is_character(s) : is_text(s);
    case ST_STEP_MAP: return has_map(s, growth, &longest);
    case ST_STEP_WORDS: return is_character(s);
    case ST_STEP_SENTENCE:
        if (!has_map(s, growth, &longest) || !has_symbols(s, &longest) || longest > INT32_MAX)
            return 0;
        *growth *= 3;
        s->least = (int)(longest > 4 ? longest : 4);
        return 1;
    case ST_STEP_MATCHES: return s->dfa && is_text(s);
    case ST_STEP_PIECES: return s->dfa && has_behind;
    }
    return 0;
}

static int any(st_reader *r)
{
    return st_read_number(r) != 0;
}

/* Reads a step; ranges: memory of the step's own, to be freed. */
static st_status read_step(st_compiled *c, st_reader *r, st_step *s)
{
    *s = (st_step){.kind = (st_step_kind)st_read_number(r)};
    s->form = (st_form)st_read_number(r);
    int *const flags[] = {&s->left, &s->right, &s->unless, &s->first, &s->runs};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        *flags[i] = any(r);
    s->least = (int)(st_read_number(r) & INT32_MAX);
    s->mask = (int)(st_read_number(r) & INT32_MAX);
    s->clean.controls = any(r);
    s->clean.ideographs = any(r);
    s->clean.lower = any(r);
    const size_t count = st_read_count(r, 8);
    s->ranges = count ? st_malloc(count * 2 * sizeof *s->ranges) : NULL;
    if (count && !s->ranges)
        return ST_NO_MEMORY;
    for (s->range_count = 0; s->range_count < count; s->range_count++) {
        s->ranges[2 * s->range_count] = st_read_number(r);
        s->ranges[2 * s->range_count + 1] = st_read_number(r);
    }
    const st_span pattern = st_read_span(r), content = st_read_span(r);
    s->pattern = (uint8_t *)(uintptr_t)pattern.bytes; /* both are copied by st_normalizer_add */
    s->pattern_size = pattern.n;
    s->content = (uint8_t *)(uintptr_t)content.bytes;
    s->content_size = content.n;
    st_dfa *table;
    ST_TRY(st_compiled_read_table(r, &table));
    if (table)
        c->tables[c->table_count++] = table;
    s->dfa = table;
    return ST_OK;
}

/* Reads the steps of one normalizer. *splits: it ends with pieces. */
static st_status read_normalizer(st_compiled *c, st_reader *r, st_normalizer *normalizer, double *growth, int *splits)
{
    const size_t count = st_read_count(r, 64);
    *splits = 0;
    if (r->failed || count > ST_MOST_STEPS)
        return ST_BAD_IMAGE;
    for (size_t i = 0; i < count; i++) {
        st_step step;
        double factor;
        st_status status = read_step(c, r, &step);
        *splits = step.kind == ST_STEP_PIECES;
        if (!status)
            status = st_reader_status(r);
        if (!status && (!is_sound(&step, i + 1 == count, &factor) || (*growth *= factor) > MOST_GROWTH))
            status = ST_BAD_IMAGE;
        if (!status)
            status = st_normalizer_add(normalizer, &step);
        st_free(step.ranges);
        ST_TRY(status);
    }
    return ST_OK;
}

st_status st_compiled_read_steps(st_compiled *c, st_reader *r)
{
    double growth = 1;
    int splits = 0, more = any(r);
    for (size_t i = 0, divided = 0; more; i++) {
        if (i > 1 && !splits) /* late names are sought once, and behind them each but the last one divides */
            return ST_BAD_IMAGE;
        divided += splits;
        if (divided > ST_MOST_SPLITS)
            return ST_BAD_IMAGE;
        c->normalizer = &c->normalizers[0];
        c->normalizer_count = i + 1;
        st_normalizer_init(&c->normalizers[i]);
        ST_TRY(read_normalizer(c, r, &c->normalizers[i], &growth, &splits));
        more = any(r);
        if (splits && !more)
            return ST_BAD_IMAGE;
        if (more)
            c->normalizers[i].behind = &c->normalizers[i + 1];
    }
    return st_reader_status(r);
}
