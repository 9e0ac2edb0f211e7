/* The two long lists of a model file: the tokens with their ids, and the merges. They have hundreds of thousands of entries, so
 * they are read here and not by a JSON library, which makes an object of each.
 *
 * A token is text. Where each of its characters is one of the 256 letters that stand for a byte, as in GPT-2's files, it also is
 * bytes. Thread rule: immutable once read. */
#ifndef ST_LISTING_LISTING_H
#define ST_LISTING_LISTING_H

#include "base/string_table.h"
#include "listing/json.h"

#define ST_LISTING_MOST (1u << 21)       /* entries */
#define ST_LISTING_LARGEST 0x7FFFFFFFu   /* id */

typedef struct st_listing {
    st_bytes text;    /* tokens as the file has them, in UTF-8, one behind the other */
    st_ids starts;    /* a token and one more */
    st_ids ids;
    st_bytes bytes;   /* tokens in bytes, one behind the other; as `text` has them where they are not in letters */
    st_ids lengths;   /* of each token in bytes */
    st_bytes letters; /* whether a token is in letters: 0 or 1 */
    st_bytes scores;  /* of a list of pairs: a double a token, */
    st_ids repeated;  /* and the numbers of tokens that come again */
    st_string_table table; /* of the tokens' text */
} st_listing;

/* Why a list is refused: the place in the file, the number of the entry, and what is wrong. */
typedef struct st_listing_fault {
    size_t at, entry;
    const char *reason;
} st_listing_fault;

typedef struct st_listing_span {
    size_t start, end;
} st_listing_span;

/* The values of the members `vocab` and `merges` of the member `model` of the object that is the whole text; start == end where
 * there is none. A 0 stands behind the text, as json.h has it. 0: *fault says what is wrong; a member that is there twice is. */
int st_listing_find(const uint8_t *text, st_listing_span *vocab, st_listing_span *merges, st_listing_fault *fault);

/* Reads {"token": id, ...}, or [["token", score], ...], where the id is the place in the list and the last of equal tokens is found.
 * ST_BAD_LIST: *fault says what is wrong. The listing is empty then, as after a lack of memory. */
st_status st_listing_read(st_listing *listing, const uint8_t *text, st_listing_span span, st_listing_fault *fault);
void st_listing_free(st_listing *listing);

/* The number of a token, or UINT32_MAX. */
uint32_t st_listing_number(const st_listing *listing, const uint8_t *text, size_t n);

/* Reads ["left right", ...] or [["left", "right"], ...]: appends the numbers of left, right and what they make, in which the right one
 * stands without its first `prefix` bytes. */
st_status st_listing_merges(const st_listing *listing, const uint8_t *text, st_listing_span span, size_t prefix, st_ids *merges,
                            st_listing_fault *fault);

#endif
