/* Status codes of the core. A function that can fail returns one, or NULL where memory is all that can be short. Nothing in csrc
 * prints or aborts. The Cython modules (streamtok/native) turn codes into Python exceptions. */
#ifndef ST_BASE_STATUS_H
#define ST_BASE_STATUS_H

typedef enum st_status {
    ST_OK = 0,
    ST_NO_MEMORY,          /* an allocation failed; the object named in the header of the function is as it was */
    ST_INVALID_UTF8,       /* errors="strict" and the bytes are not UTF-8; the offset says where */
    ST_DISALLOWED_SPECIAL, /* the text of a disallowed special token; offset and index say where and which */
    ST_UNKNOWN_TOKEN,      /* an id that the vocabulary does not hold; the index says which */
    ST_BAD_STATE,          /* a serialised state that no encoder or decoder could have written */
    ST_TOO_MANY_TOKENS,    /* more tokens than the packed pair table can name */
    ST_MISSING_BYTE,       /* one of the 256 single bytes is not a token */
    ST_DUPLICATE_TOKEN,    /* the same bytes twice */
    ST_EMPTY_TOKEN,        /* a token without bytes */
    ST_TOKEN_TOO_LONG,     /* a token over ST_MAX_TOKEN_BYTES, or all of them over ST_MAX_TOTAL_BYTES */
    ST_UNSORTED_RANKS,     /* ranks are not strictly ascending */
    ST_BAD_SPLIT,          /* a stored split of a token into two does not name two tokens */
    ST_BAD_IMAGE,          /* not an image of a vocabulary, or a damaged one, or one for other code or machines */
    ST_TOO_MUCH_TEXT,      /* the distinct pieces to train on have more bytes than 32 bits can number */
    ST_BAD_TABLE,          /* not the table of a compiled pattern (split/dfa.h) */
    ST_BAD_WORDS,          /* a list of words whose arrays contradict each other (vocab/packed_words.h) */
    ST_BAD_LIST,           /* a list of a model file that is malformed; the fault says where (listing/listing.h) */
    ST_INTERRUPTED         /* the caller, or another thread, ended the call (interrupt.h) */
} st_status;

/* Returns from the calling function with the status of `call` if that failed. */
#define ST_TRY(call)              \
    do {                          \
        st_status st_try = (call); \
        if (st_try)               \
            return st_try;        \
    } while (0)

/* One English phrase for a code, for messages; static storage. */
const char *st_strerror(st_status status);

#endif
