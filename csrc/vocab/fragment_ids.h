/* fragment_ids.h - tokens that stand for a part of a character, as the CPU and the GPU know them.
 *
 * Where text begins as characters, merging makes these of their bytes first. On the way to a character it makes FRAGMENTS, its first
 * two or three bytes, and where no token is the character a fragment is what is left. A fragment has an id from here on, which no
 * caller sees: the encoder gives the ids of its bytes instead (st_vocab_spell). A fragment of one byte is a byte that is no token:
 * mostly one that no UTF-8 has; a text with another one has no ids. Of other models it stands for what is no token, where no token
 * is named for that: a text with it has no ids, either. */
#ifndef ST_VOCAB_FRAGMENT_IDS_H
#define ST_VOCAB_FRAGMENT_IDS_H

#define ST_FIRST_FRAGMENT 0xF0000000u

#endif
