/* rows.h - the patterns that the fast splitter knows, each a row of traits. A trait says how a pattern treats one thing: numbers,
 * words, white space. A further pattern is a further row, unless it combines what blocks do not know together:
 *
 *     the case rule          with contractions of their own, or with kana apart
 *     visible others         with words of letters alone; with a blank as the prefix
 *     a prefix of no others  with numbers that are not apart
 *     ASCII words            with any prefix that others can be
 *     ST_SPACE_END           with anything apart
 *
 * tests/split/test_rows.py compares each row with tokenizers.
 *
 * The kinds of characters: letters are \p{L}, marks \p{M}, numbers \p{N}, white space \s. All else is others: \p{P} and \p{S}, and
 * the controls, which are formats, private and unassigned characters as well. */
#ifndef ST_SPLIT_ROWS_H
#define ST_SPLIT_ROWS_H

#include "base/portable.h"

typedef enum st_word_rule {
    ST_WORD_LETTERS, /* a run of letters */
    ST_WORD_MARKS,   /* a run of letters and marks */
    ST_WORD_CASE     /* the same, upper-case letters first, then lower-case ones; caseless ones and marks fit either part */
} st_word_rule;

/* One character in front of a word that belongs to its piece. */
typedef enum st_prefix_rule {
    ST_PREFIX_BLANK, /* U+0020; in front of numbers too */
    ST_PREFIX_ANY,   /* all but CR, LF, letters and numbers */
    ST_PREFIX_NO_OTHER /* all but CR, LF, letters, punctuation and symbols */
} st_prefix_rule;

/* 's 't 'm 'd 'll 've 're */
typedef enum st_contraction_rule {
    ST_CONTRACTION_NONE,
    ST_CONTRACTION_LOWER,   /* a piece of its own, in lower case */
    ST_CONTRACTION_FRONT,   /* the same in any case */
    ST_CONTRACTION_ATTACHED /* belongs to the word before it, in any case */
} st_contraction_rule;

/* What a run of others is made of; a blank may lead it. */
typedef enum st_other_rule {
    ST_OTHER_AND_MARKS, /* others and marks */
    ST_OTHER_ALL,       /* others */
    ST_OTHER_VISIBLE    /* punctuation and symbols; a run of controls is a piece where no word begins with its last one */
} st_other_rule;

/* What a run of others takes behind it. */
typedef enum st_tail_rule { ST_TAIL_NONE, ST_TAIL_BREAKS /* CR and LF */, ST_TAIL_SLASH /* CR, LF and "/" */ } st_tail_rule;

typedef enum st_space_rule {
    ST_SPACE_PLAIN, /* a run is a piece, but for its last character, which goes with what follows */
    ST_SPACE_LINE,  /* all up to the last CR or LF of a run is a piece of its own */
    ST_SPACE_END    /* the same, but a run at the end of the text is one piece */
} st_space_rule;

/* What is cut out of the text first. What is left between is split as texts of their own. */
typedef enum st_apart_rule {
    ST_APART_NONE,
    ST_APART_DIGITS, /* each number, of a later Unicode too (ST_FINE_LATE) */
    ST_APART_KANA    /* groups of numbers; runs of U+4E00-9FA5 and U+3040-30FF */
} st_apart_rule;

typedef struct st_traits {
    unsigned digits; /* longest group of numbers, counted from the left end of the run: 1 or 3; 0: any */
    st_word_rule word;
    st_prefix_rule prefix;
    st_contraction_rule contraction;
    st_other_rule other;
    st_tail_rule tail;
    st_space_rule space;
    st_apart_rule apart;
    unsigned han;        /* 1: a run of the script Han is a piece, and no word holds Han */
    unsigned ascii_word; /* 1: one ASCII mark or symbol that starts a piece, and the ASCII letters behind it, are a piece */
} st_traits;

/* A row: its name here and in Python, then its traits in the order above. Named by the first model that used each. */
#define ST_EACH_ROW(ROW)                                                                                                         \
    ROW(R50K, "r50k", 0, LETTERS, BLANK, LOWER, AND_MARKS, NONE, PLAIN, NONE, 0, 0)                                              \
    ROW(CL100K, "cl100k", 3, LETTERS, ANY, FRONT, AND_MARKS, BREAKS, END, NONE, 0, 0)                                            \
    ROW(O200K, "o200k", 3, CASE, ANY, ATTACHED, AND_MARKS, SLASH, LINE, NONE, 0, 0)                                              \
    ROW(STARCODER, "starcoder", 1, LETTERS, BLANK, LOWER, AND_MARKS, NONE, PLAIN, DIGITS, 0, 0)                                  \
    ROW(LLAMA3, "llama3", 3, LETTERS, ANY, FRONT, AND_MARKS, BREAKS, LINE, NONE, 0, 0)                                           \
    ROW(QWEN2, "qwen2", 1, LETTERS, ANY, FRONT, AND_MARKS, BREAKS, LINE, NONE, 0, 0)                                             \
    ROW(QWEN3_5, "qwen3_5", 1, MARKS, ANY, FRONT, ALL, BREAKS, LINE, NONE, 0, 0)                                                 \
    ROW(SEED_CODER, "seed_coder", 1, LETTERS, ANY, FRONT, AND_MARKS, NONE, LINE, NONE, 0, 0)                                     \
    ROW(TEKKEN, "tekken", 1, CASE, ANY, NONE, AND_MARKS, SLASH, LINE, NONE, 0, 0)                                                \
    ROW(KIMI_K2, "kimi_k2", 3, CASE, ANY, ATTACHED, AND_MARKS, BREAKS, LINE, NONE, 1, 0)                                         \
    ROW(DEEPSEEK_V3, "deepseek_v3", 3, MARKS, NO_OTHER, NONE, VISIBLE, BREAKS, LINE, KANA, 0, 1)

#define ST_ROW_NUMBER(name, ...) ST_SPLIT_##name,

/* The rows; TABLE: a compiled pattern alone. NONE: a text is one piece. */
typedef enum st_split_family { ST_EACH_ROW(ST_ROW_NUMBER) ST_SPLIT_TABLE, ST_SPLIT_NONE, ST_SPLIT_FAMILIES } st_split_family;

#define ST_ROW_TRAITS(name, text, digits, word, prefix, contraction, other, tail, space, apart, han, ascii_word)                 \
    case ST_SPLIT_##name: {                                                                                                      \
        const st_traits row = {digits, ST_WORD_##word, ST_PREFIX_##prefix, ST_CONTRACTION_##contraction, ST_OTHER_##other,       \
                               ST_TAIL_##tail, ST_SPACE_##space, ST_APART_##apart, han, ascii_word};                             \
        return row;                                                                                                              \
    }

/* Where `family` is a constant, so are the traits, and the code of other traits is not compiled. */
ST_FORCE_INLINE st_traits st_traits_of(st_split_family family)
{
    const st_traits none = {0};
    switch (family) {
        ST_EACH_ROW(ST_ROW_TRAITS)
    default:
        return none;
    }
}

/* Whether a row tells marks from others. */
ST_FORCE_INLINE int st_has_marks(const st_traits *t)
{
    return t->word != ST_WORD_LETTERS;
}

/* Whether a row takes the numbers of a later Unicode for numbers. */
ST_FORCE_INLINE int st_late_numbers(const st_traits *t)
{
    return t->apart == ST_APART_DIGITS;
}

#endif
