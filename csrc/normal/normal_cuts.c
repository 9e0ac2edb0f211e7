/* Where a text can be cut so that its parts are normalized each by itself. */
#include "normal/step.h"

int st_normalizer_has_cuts(const st_normalizer *normalizer)
{
    if (normalizer->behind)
        return 0;
    for (size_t i = 0; i < normalizer->count; i++) {
        const st_step *step = &normalizer->steps[i];
        if (step->kind != ST_STEP_FORM && step->kind != ST_STEP_LOWER && step->kind != ST_STEP_CLEAN &&
            (step->kind != ST_STEP_CLASS || step->runs))
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

/* No step changes the character, alone or for what stands in front of it. */
static int is_untouched(const st_normalizer *normalizer, const uint8_t *text)
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
    if (!st_normalizer_has_cuts(normalizer))
        return 0;
    for (int i = 0; i < 2; i++) {
        if (!first || behind >= n)
            return 0;
        first -= st_utf8_size_before(text, first);
        if (!is_untouched(normalizer, text + first) || !is_untouched(normalizer, text + behind))
            return 0;
        behind += st_utf8_size(text[behind]);
    }
    return 1;
}
