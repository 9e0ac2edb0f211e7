/* step.h - what the steps of a normalizer share: their state while a text passes, and how they hand text on.
 *
 * A step takes valid UTF-8 in parts that are cut between characters, and hands on what no later part can change. What it has to
 * wait for lies in `held`. Text that a step does not change is handed on as it is, without a copy, unless it is short. */
#ifndef ST_NORMAL_STEP_H
#define ST_NORMAL_STEP_H

#include "base/buffer.h"
#include "base/utf8.h"
#include "normal/normalizer.h"

/* Unchanged text of at least this many bytes is not copied. */
#define ST_NORMAL_DIRECT 4096

/* What a step makes is handed on in blocks of about this many bytes, which a core's nearest caches hold. */
#define ST_NORMAL_BLOCK ((size_t)1 << 15)

/* A part of a text. source: the place in the given text where the character of each byte begins; NULL where nobody asks. Places
 * ascend, so what comes from the first character of the text is the first `begun` bytes: that is known without `source`, too. */
typedef struct st_part {
    const uint8_t *text;
    const size_t *source;
    size_t n, begun;
} st_part;

static inline st_part st_part_of(st_part part, size_t from, size_t until)
{
    const size_t begun = part.begun < until ? part.begun : until;
    const st_part p = {part.text + from, part.source ? part.source + from : NULL, until - from, begun > from ? begun - from : 0};
    return p;
}

/* Each takes a part; end: the text ends with it. */
typedef st_status st_step_function(st_flow *flow, size_t step, st_part part, int end);
st_step_function st_step_form, st_step_lower, st_step_replace, st_step_class, st_step_prepend, st_step_strip, st_step_clean, st_step_map,
    st_step_words, st_step_sentence, st_step_matches, st_step_letters;

/* Whether a step of a class, or one that cleans, leaves the character at `text` as it is. */
int st_step_class_keeps(const st_step *step, const uint8_t *text);
int st_step_clean_keeps(const st_step *step, const uint8_t *text);

/* For st_flow_restore: can a step that is at the start of a text be brought to hold this? */
int st_step_form_may_hold(st_form form, const uint8_t *text, size_t n);
int st_step_map_may_hold(const st_step_holds *holds);
int st_step_sentence_may_hold(const st_step *step, const st_step_holds *holds);
int st_step_matches_may_hold(const st_step *step, const st_step_holds *holds);
int st_step_may_hold(const st_step *step, const st_step_holds *holds);

/* Whether a step splits by a table, and has a scan of it. */
static inline int st_step_scans(const st_step *step)
{
    return step->kind == ST_STEP_MATCHES || step->kind == ST_STEP_PIECES;
}

/* Hands on a part that is as it should be. last: nothing else follows at once. */
st_status st_step_pass(st_flow *flow, size_t step, st_part part, int last);

/* Hands on bytes whose characters come from the place `source`. */
st_status st_step_put(st_flow *flow, size_t step, const uint8_t *text, size_t n, size_t source);

/* Something was appended to what the step has made; hands that on if it is much. */
st_status st_step_made(st_flow *flow, size_t step);

/* Hands on what the steps from `step` on have made, up to the one in front of `last`. *holds: whether one of them still holds text. */
st_status st_step_hand_on(st_flow *flow, size_t step, size_t last, int *holds);

/* Appends a part to what the step holds. */
st_status st_step_hold(st_flow *flow, size_t step, st_part part);
st_part st_step_held(const st_flow *flow, size_t step);
void st_step_drop_held(st_flow *flow, size_t step);

/* The source of a byte of a part; where nobody asks, 0 for one that comes from the first character of the text, and 1. */
static inline size_t st_source_at(st_part part, size_t at)
{
    return part.source ? part.source[at] : at >= part.begun;
}

#endif
