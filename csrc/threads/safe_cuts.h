/* safe_cuts.h - where a text may be cut so that its slices, each encoded as a text of its own, give the ids of the whole.
 *
 * Such a cut is a sync point (split/scan.h). For a text without a pattern it is an exact cut (cut/cuts.h) of a vocabulary without
 * unreachable tokens, because a slice could be such a token as a whole. It has ordinary, valid text on both sides:
 *
 *   - Where the text is normalized, the characters around it stay as they are, so what is said here of the text holds for the
 *     normalized text, too (st_normalizer_cut). There are no such cuts in texts without a pattern, nor where late names are sought.
 *     Where the steps make a mark of each blank, cuts lie in front of blanks instead (st_normalizer_blank_cut), if the pattern divides
 *     the text in front of the mark; late names have neither the blank nor the character in front of it then.
 *   - No name of a special token spans it, or ends within the two characters in front of it that a sync point depends on: behind
 *     an allowed special token a new text begins, and the two would belong to the text before.
 *   - A name that takes white space does not take any across the cut, and none that must stand alone begins there.
 *   - Bytes that are not UTF-8 are farther away than the longest name. So repairing or dropping them can neither make nor break a
 *     name at the cut, and all bytes of a fault lie in one slice.
 *
 * A LOOSE cut is a border between characters of which only the four points above hold. It is for models that
 * join (ST_MODEL_JOINS): the ids on both sides are joined behind it (threads/job_seam.c).
 *
 * A model with seams (st_model_seams) has cuts in front of blanks that become marks, where the text on both sides does not depend
 * on the other side but for what is carried over the cut. Behind each there is text that its normalized form surely is as long as.
 *
 * Nothing here fails, and only st_last_cut_of_copy allocates. Any number of threads may call. */
#ifndef ST_THREADS_SAFE_CUTS_H
#define ST_THREADS_SAFE_CUTS_H

#include "base/buffer.h"
#include "cut/cuts.h"
#include "normal/normalizer.h"
#include "special/special_tokens.h"
#include "split/pattern.h"

typedef struct st_cut_rules {
    const st_special *allowed, *disallowed; /* NULL = none */
    int trusted;                            /* the text is valid UTF-8 */
    st_pattern pattern;
    st_vocab *vocab;                        /* used without a pattern; NULL: there are no cuts */
    const st_normalizer *normalizer;        /* NULL = none */
    int loose;                              /* loose cuts are wanted; without a pattern */
    int carried;                            /* such of a model with seams (vocab/model.h), without a pattern, are wanted */
} st_cut_rules;

/* The last such place p, from < p <= until <= n, in the ST_CUT_REACH bytes of text[0..n) in front of `until`; 0 if there is none.
 * If text[0..n) is a part of a longer text, `from` and `until` must be st_cut_margin away from its ends. */
size_t st_last_cut(const uint8_t *text, size_t n, size_t from, size_t until, const st_cut_rules *rules);

/* The same for a text that others may change meanwhile: the part that is searched is copied first, to `buffer`, which is kept between
 * calls. 0 also without memory. */
size_t st_last_cut_of_copy(const uint8_t *text, size_t n, size_t from, size_t until, const st_cut_rules *rules, st_bytes *buffer);

/* The distance of a cut from the ends of a part of a longer text, in bytes. */
size_t st_cut_margin(const st_cut_rules *rules);

#define ST_CUT_REACH ((size_t)1 << 16)

/* Whether text[0..n) goes on so that a piece which begins there is longer than the model holds; n is ST_CARRIED_TEXT, or all there is. */
#define ST_CARRIED_TEXT ((size_t)2048)
int st_is_long_text(const st_cut_rules *rules, const uint8_t *text, size_t n);

#endif
