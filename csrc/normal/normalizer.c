#include "normal/normalizer.h"

#include "normal/clusters.h"
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
    st_free(step->still.bits);
    st_joined_free(step->joined);
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

/* Whether a character stands by itself, whatever the map says: by its class, and as no symbol begins with it. */
static int is_by_itself(const st_step *step, uint32_t point)
{
    const unsigned class = st_cluster_class(point);
    uint8_t bytes[4];
    st_utf8_write(bytes, point);
    if (step->kind == ST_STEP_SENTENCE)
        return point != ' ' && point != 0x2581 && !(step->firsts[*bytes >> 6] >> (*bytes & 63) & 1);
    return class == ST_CLUSTER_OTHER || class == ST_CLUSTER_LV || class == ST_CLUSTER_LVT;
}

static void choose_still(st_step *step, const uint64_t *seconds)
{
    step->still.blank = !((step->still.bits[0] | step->firsts[0]) >> ' ' & 1);
    for (uint32_t point = 0; point < 64 * ST_BASIC_WORDS; point++) {
        const uint64_t bit = UINT64_C(1) << (point & 63);
        const int is_still = !((step->still.bits[point >> 6] | seconds[point >> 6]) & bit) && is_by_itself(step, point);
        step->still.bits[point >> 6] = (step->still.bits[point >> 6] & ~bit) | (is_still ? bit : 0);
    }
    step->still.behind[0] = ~seconds[0];
    step->still.behind[1] = ~seconds[1];
    step->still.prints = !(~step->still.bits[0] >> 32) && !(~step->still.bits[1] << 1);
}

static int find_still(st_step *step)
{
    const int sentence = step->kind == ST_STEP_SENTENCE;
    st_charsmap map;
    if ((step->kind != ST_STEP_MAP && !sentence) || !st_charsmap_open(&map, step->pattern, step->pattern_size))
        return 1;
    for (size_t at = 0; sentence && at < step->content_size; at += 2 + (step->content[at] | (size_t)step->content[at + 1] << 8))
        step->firsts[step->content[at + 2] >> 6] |= UINT64_C(1) << (step->content[at + 2] & 63);
    uint64_t *seconds = st_calloc(ST_BASIC_WORDS, sizeof *seconds);
    step->still.bits = st_calloc(ST_BASIC_WORDS, sizeof *seconds);
    const int has_room = seconds && step->still.bits;
    if (has_room) {
        st_charsmap_touched(&map, step->still.bits, seconds);
        choose_still(step, seconds);
    }
    st_free(seconds);
    return has_room;
}

/* Joins the steps that end with the last one, if they are such (joined.h); those without lower case are joined again where it follows.
 * Without memory they stay apart. */
static void join(st_normalizer *normalizer)
{
    const size_t count = normalizer->count;
    const size_t lower = normalizer->steps[count - 1].kind == ST_STEP_LOWER;
    if (count < 3 + lower)
        return;
    st_step *clean = &normalizer->steps[count - 3 - lower];
    const st_step *form = clean + 1, *class = clean + 2;
    if (clean->kind != ST_STEP_CLEAN || form->kind != ST_STEP_FORM || form->form != ST_NFD || class->kind != ST_STEP_CLASS)
        return;
    if (class->mask != ST_MASK_NONSPACING || class->content_size || class->runs || class->least > 1)
        return;
    st_joined_free(clean->joined);
    clean->joined = st_joined_new(clean->clean, (int)lower);
    clean->joins = 2 + lower;
}

st_status st_normalizer_add(st_normalizer *normalizer, const st_step *step)
{
    st_step copy = *step;
    copy.pattern = copy.content = NULL;
    copy.ranges = NULL;
    copy.fails = NULL;
    copy.still.bits = NULL;
    copy.joined = NULL;
    if (normalizer->count == ST_MOST_STEPS || !copy_array(&copy.pattern, step->pattern, step->pattern_size) ||
        !copy_array(&copy.content, step->content, step->content_size) ||
        !copy_array(&copy.ranges, step->ranges, step->range_count * 2 * sizeof *step->ranges) || !find_fails(&copy) || !find_still(&copy)) {
        free_step(&copy);
        return ST_NO_MEMORY;
    }
    normalizer->steps[normalizer->count++] = copy;
    join(normalizer);
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
