/* The packed list of frequent words (streamtok/bundled/words.py). The words are sorted. Each is stored as the number of bytes that
 * it shares with the beginning of the word before it, and the rest of its bytes. A further byte a word has two bits, a level, for
 * each vocabulary. */
#ifndef ST_VOCAB_PACKED_WORDS_H
#define ST_VOCAB_PACKED_WORDS_H

#include "base/buffer.h"

#define ST_WORD_LEVELS 3 /* the highest level; 0: the word is not in the list */

/* The arrays belong to the caller. */
typedef struct st_word_list {
    const uint8_t *shared, *rest_lengths, *levels; /* `count` bytes each */
    const uint8_t *rests;                          /* `rest_size` bytes */
    size_t count, rest_size;
} st_word_list;

/* Appends the words whose level, the two bits at `shift`, is `least` or more, the highest level first, and their lengths, a byte
 * each. ST_BAD_WORDS, with nothing appended: the arrays contradict each other, or a word is empty or longer than ST_KEY_BYTES. */
st_status st_word_list_read(const st_word_list *list, unsigned shift, unsigned least, st_bytes *words, st_bytes *lengths);

#endif
