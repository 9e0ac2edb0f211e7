/* Which tokens a piece with their bytes becomes. Tokens are taken in the order of their bytes, so that each goes on where it differs from
 * the one before: the places of what both begin with are known, and the walks down the tree from there. */
#include <math.h>

#include "base/alloc.h"
#include "base/interrupt.h"
#include "base/utf8.h"
#include "unigram/pieces.h"

/* Work of a byte, in the unit of st_go_on (base/interrupt.h). */
#define BYTE_COSTS 16

#define PLACES (ST_WORD_BYTES + 1)

/* Number d of each array is of the place behind d bytes. */
typedef struct trial {
    const st_pieces *pieces;
    const st_unigram *rule;
    const uint8_t *text;
    double best[PLACES];
    uint8_t from[PLACES];          /* where the last token of the best path begins */
    uint8_t unknown[PLACES];       /* the path has unknown characters */
    uint8_t last[PLACES];          /* where the last character begins */
    uint8_t going[PLACES][PLACES]; /* the starts from which walks lead here, */
    uint8_t count[PLACES];         /* so many, */
    uint32_t base[PLACES][PLACES]; /* and the bases where each stands */
} trial;

static double rounded(const trial *t, double sum)
{
    return t->rule->flags & ST_UNIGRAM_SINGLE ? (double)(float)sum : sum;
}

static void offer(trial *t, size_t d, size_t start, double score, int unknown)
{
    const double sum = rounded(t, t->best[start] + score);
    if (!(sum > t->best[d]))
        return;
    t->best[d] = sum;
    t->from[d] = (uint8_t)start;
    t->unknown[d] = (uint8_t)(unknown | t->unknown[start]);
}

/* Makes the place behind byte number d - 1. */
static void take_byte(trial *t, size_t d)
{
    const uint8_t byte = t->text[d - 1];
    const int begins = !st_utf8_is_continuation(byte);
    const size_t start = begins ? d - 1 : t->last[d - 1], more = t->count[d - 1] + (size_t)begins;
    int is_known = 0;
    t->last[d] = (uint8_t)start;
    t->count[d] = 0;
    t->best[d] = -INFINITY;
    t->going[d - 1][t->count[d - 1]] = (uint8_t)start; /* the walk from the root */
    t->base[d - 1][t->count[d - 1]] = t->pieces->root;
    for (size_t i = 0; i < more; i++) {
        const st_piece_cell *cell = st_pieces_step(t->pieces, t->base[d - 1][i], byte);
        const size_t from = t->going[d - 1][i];
        if (!cell)
            continue;
        t->going[d][t->count[d]] = (uint8_t)from;
        t->base[d][t->count[d]++] = cell->link >> 8;
        if (cell->token != ST_NONE)
            offer(t, d, from, cell->score, cell->token == t->rule->unknown);
        is_known |= cell->token != ST_NONE && from == start;
    }
    if (!is_known && d - start == st_utf8_size(t->text[start]))
        offer(t, d, start, t->rule->unknown_score, 1);
}

/* Whether the piece becomes the token, -1: only the model can tell. known: its first bytes that are those of the one before. */
static int is_kept(trial *t, const uint8_t *text, size_t n, size_t known)
{
    t->text = text;
    for (size_t d = known + 1; d <= n; d++)
        take_byte(t, d);
    return t->unknown[n] ? -1 : !t->from[n];
}

static size_t common(const uint8_t *a, const uint8_t *b, size_t n)
{
    size_t at = 0;
    while (at < n && a[at] == b[at])
        at++;
    return at;
}

static st_status try_all(trial *t, const st_vocab *v, int8_t *kept)
{
    const uint8_t *before = NULL;
    size_t size = 0;
    for (uint32_t i = 0; i < t->pieces->texts; i++) {
        const uint32_t token = t->pieces->order[i];
        const uint8_t *text = st_token_bytes(v, token);
        const size_t n = st_token_length(v, token);
        if (n > ST_WORD_BYTES)
            continue;
        kept[token] = (int8_t)is_kept(t, text, n, before ? common(before, text, n < size ? n : size) : 0);
        ST_TRY(st_go_on(n * BYTE_COSTS));
        before = text;
        size = n;
    }
    return ST_OK;
}

st_status st_pieces_try_tokens(const st_pieces *pieces, const st_vocab *v, int8_t *kept)
{
    memset(kept, -1, v->count);
    if (pieces->largest * ST_WORD_BYTES >= ST_UNIGRAM_RESET) /* a sum may be too large */
        return ST_OK;
    trial *t = st_calloc(1, sizeof *t);
    if (!t)
        return ST_NO_MEMORY;
    t->pieces = pieces;
    t->rule = st_unigram_of(v);
    const st_status status = try_all(t, v, kept);
    st_free(t);
    return status;
}
