/* The list of frequent words as it is packed (streamtok/bundled/words.py): sorted words, each as the number of bytes that it begins with
 * like the one before it, and its rest; and a byte of levels a word, two bits for each list that may take it. */
#ifndef ST_VOCAB_PACKED_WORDS_H
#define ST_VOCAB_PACKED_WORDS_H

#include "base/buffer.h"

#define ST_WORD_LEVELS 3 /* the highest level; 0: the word is not in the list */

/* Arrays of the caller's. */
typedef struct st_word_list {
    const uint8_t *shared, *rest_lengths, *levels; /* `count` bytes each */
    const uint8_t *rests;                          /* `rest_size` bytes */
    size_t count, rest_size;
} st_word_list;

/* Appends the words whose two bits at `shift` say `least` or more, the highest level first, and their lengths, a byte each.
 * ST_BAD_WORDS, with nothing appended: the arrays contradict each other, or a word has no byte or more than ST_KEY_BYTES. */
st_status st_word_list_read(const st_word_list *list, unsigned shift, unsigned least, st_bytes *words, st_bytes *lengths);

#endif
