/* Ids to text by the decoder that a model's file has, where tokens are not spelled as text: blanks written as another character, bytes
 * as <0x41>, marks between words. What each token becomes is in tables, which streamtok/model_files/decoder_rules.py makes of the file's
 * rules; here is what depends on the tokens beside it.
 *
 *   - In front of a text stand tokens of a table of their own, one or, with ST_RULES_OPENS, as long as there is no text.
 *   - With ST_RULES_ONCE, of equal ids in a row one counts. With ST_RULES_ENDED a token has a tail: what it becomes in front of another
 *     id, and at the end of the text.
 *   - With ST_RULES_RUNS, tokens of bytes side by side are characters if all of them are UTF-8, and else U+FFFD each. In their text
 *     `late` patterns are replaced, in turn. Without it, bytes that are no UTF-8 become U+FFFD as in any text.
 *   - From the beginning of the whole text go up to `most` times the character `cut`.
 *
 * Thread rule: rules never change, any number of threads may read them; a place belongs to one thread at a time. */
#ifndef ST_DECODERS_RULES_H
#define ST_DECODERS_RULES_H

#include "base/reader.h"
#include "text/chunk.h"

enum { ST_RULES_RUNS = 1, ST_RULES_ONCE = 2, ST_RULES_OPENS = 4, ST_RULES_ENDED = 8 };

/* What a token becomes: nothing is known of it, text, or a byte. */
enum { ST_PIECE_NONE, ST_PIECE_TEXT, ST_PIECE_BYTE };

/* Tokens 0, 1, ... , or those of `ids`, ascending: bytes[starts[i]..starts[i + 1]) and kinds[i]. */
typedef struct st_rule_table {
    uint32_t *ids; /* NULL: each is its index */
    uint32_t *starts;
    const uint8_t *kinds, *bytes;
    size_t count;
} st_rule_table;

typedef struct st_rule_late {
    st_span pattern, content, first; /* first: the content where the run begins the text */
} st_rule_late;

typedef struct st_rule_tail {
    uint32_t id;
    st_span going_on, last;
} st_rule_tail;

/* All arrays but `starts`, `ids`, `late` and `tails` lie in what was read. */
typedef struct st_rules {
    uint32_t flags, most;
    st_span cut;
    st_rule_table later, first; /* first: those that differ there */
    st_rule_late *late;
    st_rule_tail *tails; /* by id, ascending */
    size_t late_count, tail_count;
} st_rules;

/* Reads rules, which are zeros before; their bytes stay where they are. ST_BAD_IMAGE, ST_NO_MEMORY: free them all the same. */
st_status st_rules_read(st_rules *rules, st_reader *r);
void st_rules_free(st_rules *rules);

/* Where a text of ids stands. */
typedef struct st_rule_place {
    uint32_t last;
    int begun;     /* an id came, `last`; 0: what comes is as the first one */
    int broken;    /* bytes that came last are no characters */
    int front;     /* the run begins the text */
    uint32_t left; /* characters that may still go from the beginning */
    st_bytes run;  /* from `start` on: bytes that may be characters. What lies before is of before the call */
    size_t start;
    uint8_t cut[4]; /* the beginning of a character, at the end of the run or of the text */
    uint32_t cut_size;
} st_rule_place;

void st_rule_place_reset(st_rule_place *place, const st_rules *rules);
void st_rule_place_free(st_rule_place *place);
st_status st_rule_place_copy(st_rule_place *target, const st_rule_place *source);

/* Appends the text, valid UTF-8, that the ids complete. ST_UNKNOWN_TOKEN: *bad is the number of the first unknown one. After an error
 * place and `out` are as they were. */
st_status st_rules_feed(const st_rules *rules, st_rule_place *place, const uint32_t *ids, size_t count, st_bytes *out, size_t *bad);

/* The same for the end of the text; the place is then in front of the next one. */
st_status st_rules_end(const st_rules *rules, st_rule_place *place, st_bytes *out);

/* Appends the bytes of ids, those of tokens of bytes as they are, with what goes from the beginning unless it is to stay. last: the text
 * ends with them. Errors as above. */
enum { ST_RULES_LAST = 1, ST_RULES_FRONT_STAYS = 2 };
st_status st_rules_bytes(const st_rules *rules, st_rule_place *place, const uint32_t *ids, size_t count, int how, st_bytes *out,
                         size_t *bad);

#endif
