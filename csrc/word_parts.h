/* word_parts.h - the parts that the merging of a word (merge_words.h) begins with. */
#ifndef ST_WORD_PARTS_H
#define ST_WORD_PARTS_H

#include "hash.h"
#include "merge_words.h"
#include "utf8.h"

static inline int st_is_open(const st_cuts *cuts, const uint8_t *text, size_t at, size_t border)
{
    return st_cuts_partial(cuts, text, at, border, border + st_utf8_size(text[border]));
}

/* Does the word begin as characters, not as bytes? */
static inline int st_begins_as_characters(const st_vocab *v, const st_cuts *cuts, const st_word *word)
{
    return cuts && v->monotone && st_has_high_bytes(word->text, word->n);
}

/* Parts to begin with: bytes, but characters that are a token and that no token can break into begin whole. Their own
 * merges come before any merge with a neighbour, because a token always comes after its parts (monotone). */
static uint32_t st_split_characters(const st_vocab *v, const st_cuts *cuts, const st_word *word, uint32_t *tokens)
{
    const uint8_t *text = word->text;
    uint32_t count = 0;
    int open_before = 0; /* some token may reach over the border in front of this character */
    for (size_t at = 0, end; at < word->n; at = end) {
        unsigned size;
        const uint32_t code_point = st_utf8_decode(text + at, &size);
        end = at + size;
        const int open_behind = end < word->n && st_is_open(cuts, text, at, end);
        const uint32_t whole = (code_point < 0x10000) & !(open_before | open_behind) ? cuts->tables->characters[code_point] : ST_NONE;
        if (whole != ST_NONE)
            tokens[count++] = whole;
        else
            for (size_t i = at; i < end; i++)
                tokens[count++] = v->pairs.byte_token[text[i]];
        open_before = open_behind;
    }
    return count;
}

#endif
