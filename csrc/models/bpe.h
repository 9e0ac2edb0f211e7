/* bpe.h - byte pair encoding of whole pieces, for the models that change a piece before they merge it (models/symbols.c). */
#ifndef ST_MODELS_BPE_H
#define ST_MODELS_BPE_H

#include "endless/long_piece.h"
#include "merge/words.h"
#include "pairs/merge_reference.h"
#include "pairs/merge_short.h"

/* Memory of one thread, zero at first; released by st_bpe_release. */
typedef struct st_bpe_scratch {
    st_long_scratch pushing; /* where st_long_piece_push looks for it */
    st_open piece;           /* one whose end is known */
    st_reference_scratch reference;
    uint32_t tokens[ST_SHORT_MERGE];
    uint8_t words_room[ST_WORDS_ROOM];
} st_bpe_scratch;

void st_bpe_release(void *scratch);

/* Functions of a model (vocab/model.h). The bytes may be any. */
st_status st_bpe_whole(st_vocab *vocab, void *scratch, const uint8_t *text, size_t n, st_ids *out);
st_status st_bpe_reference(const st_vocab *vocab, void *scratch, const uint8_t *text, size_t n, st_ids *out);

/* Tokens of short words. is_text: they are valid UTF-8; else they may hold any bytes. */
void st_bpe_words(st_vocab *vocab, st_bpe_scratch *scratch, st_word *words, size_t count, int is_text);

#endif
