#include "normal/normalizer.h"

#include "normal/quick.h"

#include "base/alloc.h"

/* ---- the list ---- */

void st_normalizer_init(st_normalizer *normalizer)
{
    memset(normalizer, 0, sizeof *normalizer);
}

static void free_step(st_step *step)
{
    st_free(step->pattern);
    st_free(step->content);
    st_free(step->ranges);
    st_free(step->fails);
}

void st_normalizer_free(st_normalizer *normalizer)
{
    for (size_t i = 0; i < normalizer->count; i++)
        free_step(&normalizer->steps[i]);
    normalizer->count = 0;
}

static int copy_array(void *to, const void *from, size_t n)
{
    void *copy = n ? st_malloc(n) : NULL;
    if (n && !copy)
        return 0;
    if (n)
        memcpy(copy, from, n);
    memcpy(to, &copy, sizeof copy);
    return 1;
}

/* fails[k]: of the first k bytes of the pattern, the longest proper ending that begins the pattern. */
static int find_fails(st_step *step)
{
    const size_t n = step->pattern_size;
    size_t k = 0;
    step->fails = n ? st_calloc(n + 1, sizeof *step->fails) : NULL;
    if (n && !step->fails)
        return 0;
    for (size_t i = 1; i < n; i++) {
        while (k && step->pattern[i] != step->pattern[k])
            k = step->fails[k];
        k += step->pattern[i] == step->pattern[k];
        step->fails[i + 1] = k;
    }
    return 1;
}

st_status st_normalizer_add(st_normalizer *normalizer, const st_step *step)
{
    st_step copy = *step;
    copy.pattern = copy.content = NULL;
    copy.ranges = NULL;
    copy.fails = NULL;
    if (normalizer->count == ST_MOST_STEPS || !copy_array(&copy.pattern, step->pattern, step->pattern_size) ||
        !copy_array(&copy.content, step->content, step->content_size) ||
        !copy_array(&copy.ranges, step->ranges, step->range_count * 2 * sizeof *step->ranges) || !find_fails(&copy)) {
        free_step(&copy);
        return ST_NO_MEMORY;
    }
    normalizer->steps[normalizer->count++] = copy;
    return ST_OK;
}

int st_normalizer_keeps(const st_normalizer *normalizer, const uint8_t *text, size_t n)
{
    for (size_t i = 0; i < normalizer->count; i++)
        if (normalizer->steps[i].kind != ST_STEP_FORM || st_normal_quick(normalizer->steps[i].form, text, n) < n)
            return 0;
    return 1;
}
