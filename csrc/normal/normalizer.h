/* normalizer.h - a list of steps through which a text goes before it is split into pieces, as Hugging Face's tokenizers has them.
 *
 *     text -> step -> step -> ... -> sink
 *
 * A text may come in parts. What the sink got is then, all together, what tokenizers makes of the whole text, and each byte
 * comes as soon as no later part can change it, or a few characters later. A normal form holds back the last character and the marks
 * behind it, a run of marks as long as it lasts; Strip white space; Replace what begins its pattern. Time is in proportion to the
 * text, memory to the longest such run.
 *
 * Thread rule: a normalizer is immutable once its steps are added, any number of readers; a flow belongs to one thread at a time. */
#ifndef ST_NORMAL_NORMALIZER_H
#define ST_NORMAL_NORMALIZER_H

#include "base/buffer.h"
#include "normal/chars.h"
#include "normal/charsmap.h"
#include "normal/joined.h"
#include "split/dfa.h"

#define ST_MOST_STEPS 16

/* Steps that split into pieces, one behind the other. */
#define ST_MOST_SPLITS 4

typedef enum st_step_kind {
    ST_STEP_FORM,    /* a normal form */
    ST_STEP_LOWER,   /* characters to lower case, each by itself */
    ST_STEP_REPLACE, /* each occurrence of `pattern` becomes `content` */
    ST_STEP_CLASS,   /* each character of a class becomes `content`; or each run of them */
    ST_STEP_PREPEND, /* `content` in front of a text that is not empty; unless it begins so; of the first part only */
    ST_STEP_STRIP,   /* no white space at the left end, the right one */
    ST_STEP_CLEAN,   /* BERT's: controls, ideographs, lower case of ASCII, which is done anew behind a normal form */
    ST_STEP_MAP,     /* a compiled map of characters, `pattern`, cluster by cluster (charsmap.h) */
    ST_STEP_WORDS,   /* white space goes, and each word behind it begins with `content` */
    ST_STEP_SENTENCE, /* SentencePiece's: the map `pattern`, symbols that stay, blanks to marks (sentence_step.c) */
    ST_STEP_MATCHES,  /* what the table `dfa` drops becomes `content`; the rest stays */
    ST_STEP_PIECES,   /* the pieces of the table `dfa`, ST_PIECE_END behind each; the last step of its normalizer. With a `pattern` it is the sizes
                       * of groups, in two bytes each, the lower one first: a piece of characters of the class is divided into these */
    ST_STEP_LETTERS   /* each byte becomes GPT-2's letter for it */
} st_step_kind;

typedef struct st_step {
    st_step_kind kind;
    st_form form;
    int left, right;          /* STRIP. SENTENCE: a mark in front, behind; `runs`: blanks that are more go; `unless`: blanks are U+2581.
                               * PIECES: groups are counted from the right, and have one size; else the largest that fits comes first */
    int unless, first;        /* PREPEND; `content` is one character where `unless` is set; first: only in front of what comes from
                               * the first character of the first part */
    int runs, least, mask;    /* PIECES: each run of the class is in groups, in any piece.
                               * SENTENCE: `least` is more than is held. CLASS: a run at once, if it has so many characters, 0 means 1; not 0: the class is that of this mask (chars.h), without ranges */
    st_clean clean;           /* CLEAN */
    st_joined *joined;        /* CLEAN: owned; it is done together with the next `joins` steps (joined.h); NULL: it is not */
    size_t joins;
    st_still still;           /* MAP, SENTENCE */
    uint64_t firsts[4];       /* SENTENCE: a bit for each byte that a symbol begins with; the symbols are `content`, with two bytes of size
                               * in front of each, the lower one first */
    uint8_t *pattern;         /* REPLACE, MAP, PIECES */
    size_t pattern_size;
    size_t *fails;            /* size of a beginning of the pattern: the longest shorter one that ends it */
    uint8_t *content;
    size_t content_size;
    const st_dfa *dfa;        /* MATCHES, PIECES: not owned */
    uint32_t *ranges;         /* CLASS, PIECES: first and last code point, ascending, apart */
    size_t range_count;
} st_step;

/* Behind each piece; no text has it. */
#define ST_PIECE_END 0xFF

typedef struct st_normalizer {
    st_step steps[ST_MOST_STEPS];
    size_t count;
    /* What is done to the text between late names (stream/front.h); or, if the last step here is ST_STEP_PIECES, to each piece by itself.
     * Not owned; NULL: nothing. */
    const struct st_normalizer *behind;
} st_normalizer;

/* Whether it divides the text into pieces. */
static inline int st_normalizer_splits(const st_normalizer *normalizer)
{
    return normalizer->count && normalizer->steps[normalizer->count - 1].kind == ST_STEP_PIECES;
}

void st_normalizer_init(st_normalizer *normalizer);
void st_normalizer_free(st_normalizer *normalizer);

/* Adds a step; what it points to is copied. ST_NO_MEMORY also for one step too many. */
st_status st_normalizer_add(st_normalizer *normalizer, const st_step *step);

/* Whether no step changes text[0..n), which is valid UTF-8. No may also mean that only the steps themselves can tell. */
int st_normalizer_keeps(const st_normalizer *normalizer, const uint8_t *text, size_t n);

/* Whether no step changes the character at `text`, alone or for what stands in front of it: then the text behind and what is in front are
 * normalized each by itself. For normalizers of forms. */
int st_normalizer_leaves(const st_normalizer *normalizer, const uint8_t *text);

/* Whether a text can be cut somewhere, so that its parts, each normalized as a text of its own, give the normalized text. */
int st_normalizer_has_cuts(const st_normalizer *normalizer);

/* Whether text[at] is such a place, with two characters in front of it and two behind that stay as they are. text[0..n) is valid
 * UTF-8 at least for eight bytes on both sides. */
int st_normalizer_cut(const st_normalizer *normalizer, const uint8_t *text, size_t n, size_t at);

/* Whether the steps make a mark of a blank between two words, which begins what is behind it in any case: each of these words by itself
 * then begins with a mark. Then a text can be cut in front of blanks. */
int st_normalizer_marks_blanks(const st_normalizer *normalizer);

/* Whether text[at] is such a place, a blank or the end of a line with two characters in front and two behind that stay as they are: the
 * bytes of the mark that it becomes, which are written to `mark`; 0: it is none. text[0..n) as above, with nine
 * bytes behind. */
#define ST_MOST_MARK 8
size_t st_normalizer_blank_cut(const st_normalizer *normalizer, const uint8_t *text, size_t n, size_t at, uint8_t *mark);

/* Bytes of the characters in text[0..n), whole ones, that stay in the normalized text as they are; 0 for steps other than SentencePiece's. */
size_t st_normalizer_still(const st_normalizer *normalizer, const uint8_t *text, size_t n);

/* ---- a text on its way ---- */

typedef struct st_traced {
    st_bytes text, source;
    size_t begun; /* of what is kept, text.data[..begun) comes from the first character of the given text */
} st_traced;

typedef struct st_step_state {
    st_traced held;    /* from byte `start` on: what the step waits with; before it, what it had at the start of the feed */
    size_t start;
    size_t kept;       /* the size of `held` at the start of the feed */
    size_t matched;    /* REPLACE: bytes of the pattern that the text ends with. CLASS: inside a run. MATCHES, PIECES: bytes of the open
                        * piece that were handed on */
    size_t looked;     /* PIECES with groups: so many of those that are held are of the class */
    int begun;         /* PREPEND, STRIP: the text has begun */
    st_scan scan;      /* MATCHES, PIECES */
    st_traced out;     /* empty between two calls */
    st_bytes glyphs, spare;
} st_step_state;

/* Takes what comes out. source: as in step.h, NULL unless traced. */
typedef st_status st_normal_sink(void *context, const uint8_t *text, const size_t *source, size_t n);

typedef struct st_flow {
    const st_normalizer *normalizer; /* not owned; NULL: no steps */
    st_step_state *states;
    st_normal_sink *sink;
    void *context;
    size_t at;                       /* bytes of the text so far */
    size_t plain;                    /* how much of what the first step takes next is surely in its form already */
    size_t begun;                    /* of what the sink takes: so many bytes come from the first character of the given text */
    int traced;
    int later;                       /* the text is a part of one, and not its first: the caller's to set */
} st_flow;

void st_flow_init(st_flow *flow, const st_normalizer *normalizer);
void st_flow_free(st_flow *flow);

/* end: the text ends; the flow is then at the start of the next one. After an error, st_flow_roll_back or st_flow_reset. */
st_status st_flow_feed(st_flow *flow, const uint8_t *text, size_t n, int end);

/* The same for a piece, or a part of one: its first `begun` bytes come from the first character of the given text. */
st_status st_flow_feed_piece(st_flow *flow, const uint8_t *text, size_t n, size_t begun, int end);

/* Of n bytes at text[at..), in a text of which the first `begun` come from the first character, those that do. */
static inline size_t st_begun_from(size_t begun, size_t at, size_t n)
{
    return begun <= at ? 0 : begun - at < n ? begun - at : n;
}

/* Bytes that the steps hold. */
size_t st_flow_held(const st_flow *flow);

/* Forgets the text. */
void st_flow_reset(st_flow *flow);

/* What the flow held when this is called can be had back, until st_flow_commit. */
typedef struct st_step_mark {
    size_t start, size, matched, looked, first;
    int begun;
    st_scan scan;
} st_step_mark;

typedef struct st_flow_marks {
    size_t count; /* 0: nothing was held */
    size_t at;
    st_step_mark steps[ST_MOST_STEPS];
} st_flow_marks;

void st_flow_mark(const st_flow *flow, st_flow_marks *marks);
void st_flow_roll_back(st_flow *flow, const st_flow_marks *marks);
void st_flow_commit(st_flow *flow);

/* What a step waits with, to be saved and restored: fields of its state. */
typedef struct st_step_holds {
    size_t matched;
    int begun;
    const uint8_t *text;
    size_t n, first; /* first: how much of it comes from the first character of the text */
    const st_scan *scan; /* NULL: the step has none */
} st_step_holds;

size_t st_flow_steps(const st_flow *flow);
st_step_holds st_flow_holds(const st_flow *flow, size_t step);

/* Into a flow at the start of a text; holds->text is valid UTF-8. ST_BAD_STATE: the step can never hold that. */
st_status st_flow_restore(st_flow *flow, size_t step, const st_step_holds *holds);

/* target (initialised, same normalizer) takes the state of source. ST_NO_MEMORY: target is reset. */
st_status st_flow_copy(st_flow *target, const st_flow *source);

#endif
