/* Frequent words in the piece table: pieces that are no token but that real text repeats, with the ids that merging gives.
 * They save look-ups in the cache and merges. The ids never depend on them. */
#ifndef ST_IMAGE_FREQUENT_WORDS_H
#define ST_IMAGE_FREQUENT_WORDS_H

#include "vocab/vocab.h"

/* Enters the words bytes[0..lengths[0]), bytes[lengths[0]..lengths[0] + lengths[1]), ... , the most frequent first. Words that
 * are tokens, are longer than ST_KEY_BYTES, or are not valid UTF-8 are skipped. To be called before any other use of the
 * vocabulary, which must have been built with room for them. ST_NO_MEMORY: free the vocabulary. */
st_status st_vocab_add_words(st_vocab *vocab, const uint8_t *bytes, const uint8_t *lengths, size_t count);

#endif
