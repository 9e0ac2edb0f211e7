/* Where a text can be cut so that its parts are normalized each by itself. */
#include "normal/charsmap.h"
#include "normal/step.h"

static int has_plain_cuts(const st_normalizer *normalizer)
{
    if (normalizer->behind)
        return 0;
    for (size_t i = 0; i < normalizer->count; i++) {
        const st_step *step = &normalizer->steps[i];
        if (step->kind != ST_STEP_FORM && step->kind != ST_STEP_LOWER && step->kind != ST_STEP_CLEAN && step->kind != ST_STEP_CLASS)
            return 0;
    }
    return 1;
}

/* Does the step leave the character as it is, alone and for what stands in front of it? */
static int leaves(const st_step *step, const uint8_t *text)
{
    unsigned size;
    const uint32_t point = st_utf8_decode(text, &size);
    switch (step->kind) {
    case ST_STEP_LOWER:
        return st_lower_of(point) == point;
    case ST_STEP_CLASS:
        return st_step_class_keeps(step, text);
    case ST_STEP_CLEAN:
        return st_step_clean_keeps(step, text);
    default:
        return !st_normal_in(point, (int)step->form) && !st_normal_in(point, ST_MASK_MARKS);
    }
}

int st_normalizer_leaves(const st_normalizer *normalizer, const uint8_t *text)
{
    for (size_t i = 0; i < normalizer->count; i++)
        if (!leaves(&normalizer->steps[i], text))
            return 0;
    return 1;
}

/* Each of the four begins a run, so none composes with the next: they stand in the normalized text as they stand here. */
int st_normalizer_cut(const st_normalizer *normalizer, const uint8_t *text, size_t n, size_t at)
{
    size_t first = at, behind = at;
    if (!has_plain_cuts(normalizer))
        return 0;
    for (int i = 0; i < 2; i++) {
        if (!first || behind >= n)
            return 0;
        first -= st_utf8_size_before(text, first);
        if (!st_normalizer_leaves(normalizer, text + first) || !st_normalizer_leaves(normalizer, text + behind))
            return 0;
        behind += st_utf8_size(text[behind]);
    }
    return 1;
}

/* ---- in front of a blank ---- */

/* A blank on its way through the steps. */
typedef struct blank {
    const uint8_t *text;
    size_t n;
} blank;

static int is_in(const uint8_t *text, size_t n, const uint8_t *in, size_t size)
{
    for (size_t at = 0; n && at + n <= size; at++)
        if (!memcmp(in + at, text, n))
            return 1;
    return 0;
}

static int is_white_blank(blank b)
{
    return b.n == 1 && (*b.text == ' ' || *b.text == '\n');
}

static int is_text(blank b, const uint8_t *text, size_t n)
{
    return b.n == n && !memcmp(b.text, text, n);
}

static int stays_still(const st_step *step, const uint8_t *text)
{
    unsigned size;
    const uint32_t point = st_utf8_decode(text, &size);
    return point < 64 * ST_BASIC_WORDS && step->still.bits[point >> 6] >> (point & 63) & 1;
}

/* Whether the step leaves a character that a blank stands beside. No text that it replaces spans the border between the two. */
static int leaves_beside(const st_step *step, const uint8_t *text)
{
    const size_t n = st_utf8_size(*text);
    unsigned size;
    switch (step->kind) {
    case ST_STEP_REPLACE:
        return !is_in(text, n, step->pattern, step->pattern_size);
    case ST_STEP_MAP:
    case ST_STEP_SENTENCE:
        return stays_still(step, text);
    case ST_STEP_WORDS:
        return !st_is_white(st_utf8_decode(text, &size)) && !is_in(text, n, step->content, step->content_size);
    case ST_STEP_PREPEND:
        return !is_in(text, n, step->content, step->content_size);
    case ST_STEP_STRIP:
        return 1;
    default:
        return leaves(step, text);
    }
}

/* The map by itself, of a cluster of one character. */
static int map_blank(const st_step *step, blank *b)
{
    st_charsmap map;
    st_mapped found;
    int open;
    if (!is_white_blank(*b))
        return stays_still(step, b->text);
    if (st_charsmap_open(&map, step->pattern, step->pattern_size) && st_charsmap_find(&map, b->text, b->n, 0, &found, &open))
        *b = (blank){found.text, found.n};
    return is_white_blank(*b);
}

/* SentencePiece's, where a text that begins with the blank begins with its mark, too, and no symbol holds one. */
static int mark_blank(const st_step *step, blank *b)
{
    static const uint8_t mark[] = {0xE2, 0x96, 0x81};
    if (!step->runs || !step->left || step->right || !step->unless)
        return 0;
    if (memchr(step->content, ' ', step->content_size) || memchr(step->content, '\n', step->content_size))
        return 0; /* the sizes of symbols may look so, too */
    if (!map_blank(step, b) || *b->text != ' ')
        return 0;
    *b = (blank){mark, sizeof mark};
    return 1;
}

/* What becomes of a blank between two characters that stay. 0: that depends on more of the text, or on where it begins. */
static int pass_blank(const st_step *step, blank *b)
{
    switch (step->kind) {
    case ST_STEP_REPLACE:
        if (is_text(*b, step->pattern, step->pattern_size))
            *b = (blank){step->content, step->content_size};
        else if (is_in(b->text, b->n, step->pattern, step->pattern_size))
            return 0;
        return b->n && b->n <= ST_MOST_MARK;
    case ST_STEP_MAP:
        return map_blank(step, b);
    case ST_STEP_SENTENCE:
        return mark_blank(step, b);
    case ST_STEP_WORDS:
        if (is_white_blank(*b))
            *b = (blank){step->content, step->content_size};
        return is_text(*b, step->content, step->content_size) && b->n <= ST_MOST_MARK;
    case ST_STEP_PREPEND:
        return step->unless && is_text(*b, step->content, step->content_size);
    case ST_STEP_STRIP:
        return !step->left || !is_white_blank(*b);
    case ST_STEP_CLASS:
        return st_step_class_keeps(step, b->text) || (step->runs && step->least > 1);
    case ST_STEP_FORM:
    case ST_STEP_LOWER:
    case ST_STEP_CLEAN:
        return leaves(step, b->text);
    default:
        return 0;
    }
}

/* The blank behind the two characters at first[0..1], in front of those at behind[0..1], goes through all steps. */
static int pass_all(const st_normalizer *normalizer, blank *b, const uint8_t *const *beside)
{
    for (size_t i = 0; i < normalizer->count; i++) {
        const st_step *step = &normalizer->steps[i];
        if (!pass_blank(step, b)) /* first: it refuses kinds that leaves_beside does not know */
            return 0;
        for (int k = 0; k < 4; k++)
            if (!leaves_beside(step, beside[k]))
                return 0;
    }
    return !normalizer->behind || pass_all(normalizer->behind, b, beside);
}

size_t st_normalizer_blank_cut(const st_normalizer *normalizer, const uint8_t *text, size_t n, size_t at, uint8_t *mark)
{
    blank b = {text + at, 1};
    const uint8_t *beside[4];
    size_t front = at, behind = at + 1;
    if (at >= n || !is_white_blank(b))
        return 0;
    for (int i = 0; i < 2; i++) {
        if (!front || behind >= n)
            return 0;
        front -= st_utf8_size_before(text, front);
        beside[i] = text + front;
        beside[2 + i] = text + behind;
        behind += st_utf8_size(text[behind]);
    }
    if (!pass_all(normalizer, &b, beside) || is_white_blank(b))
        return 0;
    memcpy(mark, b.text, b.n);
    return b.n;
}

int st_normalizer_marks_blanks(const st_normalizer *normalizer)
{
    uint8_t mark[ST_MOST_MARK];
    return st_normalizer_blank_cut(normalizer, (const uint8_t *)"ab cd", 5, 2, mark) != 0;
}

int st_normalizer_has_cuts(const st_normalizer *normalizer)
{
    return has_plain_cuts(normalizer) || st_normalizer_marks_blanks(normalizer);
}

size_t st_normalizer_still(const st_normalizer *normalizer, const uint8_t *text, size_t n)
{
    size_t still = 0, size;
    const st_step *step = normalizer->count == 1 && !normalizer->behind ? normalizer->steps : NULL;
    for (size_t at = 0; step && at < n && (size = st_utf8_size(text[at])) <= n - at; at += size)
        still += step->kind == ST_STEP_SENTENCE && text[at] != ' ' && stays_still(step, text + at) ? size : 0;
    return still;
}
