/* cut_account.h - whether cutting long pieces pays: an account of the cuts that were found against the time that looking for them
 * took. Where tokens are longer than most words, cutting takes longer than it saves. The ids do not depend on any of this.
 *
 * When the debt is at its limit, the next long pieces are left whole. Then one more stretch, or piece, is cut and entered, so
 * that a text that changes is cut again soon. Pieces of more than ST_CUT_ALWAYS bytes are no words, and are always cut. */
#ifndef ST_CUT_CUT_ACCOUNT_H
#define ST_CUT_CUT_ACCOUNT_H

#include <stddef.h>

/* In eighths of what one cut saves, measured: a stretch (cuts.h) pays with more than three cuts; where pieces are cut one by
 * one, eight of them pay with more than three. */
#define ST_CUT_STRETCH_COSTS 24
#define ST_CUT_PIECE_COSTS 3
#define ST_CUT_MOST_DEBT (8 * ST_CUT_STRETCH_COSTS)

/* Pieces to be left whole at the limit: those of about 32 stretches, short ones included; or so many long ones. */
#define ST_CUT_STRETCH_LEAVES_WHOLE 800
#define ST_CUT_PIECE_LEAVES_WHOLE 256

#define ST_CUT_ALWAYS 40

typedef struct st_cut_account {
    unsigned debt;       /* cost not yet made good by cuts, at most ST_CUT_MOST_DEBT */
    unsigned left_whole; /* pieces that are still to be left whole */
} st_cut_account;

/* Enters an attempt that cost so much and found so many cuts. At the limit the next `leave` pieces are to be left whole. */
static inline void st_cut_account_enter(st_cut_account *a, size_t cuts, size_t cost, unsigned leave)
{
    const size_t debt = a->debt + cost;
    a->debt = debt < 8 * cuts ? 0 : debt - 8 * cuts < ST_CUT_MOST_DEBT ? (unsigned)(debt - 8 * cuts) : ST_CUT_MOST_DEBT;
    a->left_whole = a->debt == ST_CUT_MOST_DEBT ? leave : 0;
}

/* Whether to leave the next `pieces` pieces whole, the longest of them `longest_piece` bytes long. If so, they are counted off. */
static inline int st_cut_account_leaves_whole(st_cut_account *a, size_t longest_piece, size_t pieces)
{
    if (!a->left_whole || longest_piece > ST_CUT_ALWAYS)
        return 0;
    a->left_whole -= pieces < a->left_whole ? (unsigned)pieces : a->left_whole;
    return 1;
}

#endif
