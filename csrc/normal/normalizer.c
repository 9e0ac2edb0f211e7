#include "normal/normalizer.h"

#include "normal/charsmap.h"
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
    const size_t n = step->kind == ST_STEP_REPLACE ? step->pattern_size : 0;
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

/* Whether a text of the map is the byte, or begins with it and another one of ASCII. */
static int begins_in_map(const st_charsmap *map, unsigned byte)
{
    uint8_t text[2] = {(uint8_t)byte, 0};
    st_mapped found;
    int open;
    if (st_charsmap_find(map, text, 1, 1, &found, &open))
        return 1;
    for (text[1] = 1; text[1] < 0x80; text[1]++)
        if (st_charsmap_find(map, text, 2, 1, &found, &open) || open)
            return 1;
    return 0;
}

static void find_plain(st_step *step)
{
    const int sentence = step->kind == ST_STEP_SENTENCE;
    st_charsmap map;
    if ((step->kind != ST_STEP_MAP && !sentence) || !st_charsmap_open(&map, step->pattern, step->pattern_size))
        return;
    for (size_t at = 0; sentence && at < step->content_size; at += 2 + (step->content[at] | (size_t)step->content[at + 1] << 8))
        step->firsts[step->content[at + 2] >> 6] |= UINT64_C(1) << (step->content[at + 2] & 63);
    for (unsigned byte = 0x20 + sentence; byte < 0x7F; byte++) /* neither controls nor ends of lines */
        if (!begins_in_map(&map, byte) && !(step->firsts[byte >> 6] >> (byte & 63) & 1))
            step->plain[byte >> 6] |= UINT64_C(1) << (byte & 63);
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
    find_plain(&copy);
    normalizer->steps[normalizer->count++] = copy;
    return ST_OK;
}

int st_normalizer_keeps(const st_normalizer *normalizer, const uint8_t *text, size_t n)
{
    if (normalizer->behind)
        return 0;
    for (size_t i = 0; i < normalizer->count; i++)
        if (normalizer->steps[i].kind != ST_STEP_FORM || st_normal_quick(normalizer->steps[i].form, text, n) < n)
            return 0;
    return 1;
}
