/* The first stage of a feed: bytes cut anywhere become valid UTF-8 in whole characters. It holds a character that the end of a
 * chunk cuts, refuses or repairs invalid bytes, and maps every byte to its offset in the stream. */
#ifndef ST_TEXT_CHUNK_H
#define ST_TEXT_CHUNK_H

#include "text/utf8_check.h"

typedef struct st_text_stage {
    st_errors errors;
    uint8_t partial[4];    /* a character cut by the end of the last chunk */
    uint32_t partial_size; /* at most 3 bytes of it */
    uint64_t offset;       /* bytes fed since the text began, those of `partial` included; any thread may st_number_read() it */
    st_bytes original;     /* scratch: a chunk that needs repair, behind what was held */
    st_bytes repaired;
} st_text_stage;

/* The text of a chunk: the character that the last chunk cut, then the rest. */
typedef struct st_segments {
    uint8_t joined[4];
    size_t joined_size;
    const uint8_t *text;
    size_t n;
    uint8_t partial[4]; /* cut by the end of this chunk */
    uint32_t partial_size;
    int is_repaired; /* `text` is stage->repaired, made from stage->original */
} st_segments;

void st_text_stage_free(st_text_stage *stage);

/* Takes a chunk without changing what the stage holds. trusted: the chunk is valid UTF-8 in whole characters. final: the text ends
 * with it. ST_INVALID_UTF8: *error counts from the first held byte. */
st_status st_text_stage_take(st_text_stage *stage, const uint8_t *text, size_t n, int trusted, int final,
                             st_segments *segments, st_text_error *error);

/* To be called when the chunk of n bytes is done: holds the character that it cut. */
void st_text_stage_commit(st_text_stage *stage, const st_segments *segments, size_t n);

/* Offset in the stream of the byte that segments->text[at] came from. */
uint64_t st_text_stage_origin(const st_text_stage *stage, const st_segments *segments, size_t at);

#endif
