/* A compiled model: one file with all that turns text into ids and back (streamtok/model_files/compiled.py writes it). It may come from
 * anybody: all of it is looked at when it is opened, and what is not as it should be is refused.
 *
 *     head         128 bytes
 *     description, pattern   for Python alone
 *     parts        what streamtok/model_files/core_parts.py makes: name, what splits, names of added tokens, normalizer, what other ids
 *                  decode to, ids around a text, rules of a decoder
 *     image        image/image.h
 *
 * Thread rule: it never changes once it is open, but for what its vocabulary builds (vocab/vocab.h). */
#ifndef ST_COMPILED_COMPILED_H
#define ST_COMPILED_COMPILED_H

#include "decoders/rules.h"
#include "image/image.h"
#include "normal/normalizer.h"
#include "special/special_tokens.h"
#include "vocab/decode.h"

#define ST_COMPILED_VERSION 1
#define ST_COMPILED_TABLE_VERSION 2 /* of patterns: TABLE_VERSION of streamtok/patterns/compiled.py */
#define ST_COMPILED_ALIGNMENT 64

enum { ST_COMPILED_DESCRIPTION, ST_COMPILED_PATTERN, ST_COMPILED_PARTS, ST_COMPILED_IMAGE, ST_COMPILED_SECTIONS };

typedef struct st_compiled_header {
    uint8_t magic[8];
    uint32_t version, byte_order;
    uint64_t checksum; /* of all that stands behind it */
    uint64_t size;
    uint32_t image_version, table_version, description_version, padding;
    st_image_place sections[ST_COMPILED_SECTIONS];
} st_compiled_header;

#define ST_COMPILED_HEAD 128 /* bytes */

/* Flags of a name, beside those of special/special_tokens.h. */
enum { ST_ADDED_SPECIAL = 16, ST_ADDED_LATE = 32 };

typedef struct st_added {
    uint32_t id, flags;
    st_span name, sought; /* sought: what a late one looks like once it is normalized */
} st_added;

#define ST_COMPILED_FLOWS (2 + ST_MOST_SPLITS) /* in front of late names, behind them, in each piece, and so on (stream/front.h) */

typedef struct st_compiled {
    st_vocab *vocab;
    st_span name;
    st_pattern pattern;
    st_dfa *dfa;
    st_added *added;
    uint32_t lowest_added, highest_added; /* ids of added tokens lie between these */
    uint32_t *words; /* the characters of words, as ranges, where a name stands alone */
    st_normalizer *normalizer; /* of `normalizers`; NULL: none */
    st_normalizer normalizers[ST_COMPILED_FLOWS];
    st_dfa *tables[ST_COMPILED_FLOWS * ST_MOST_STEPS];
    st_names names; /* of ids that are not in the vocabulary */
    uint32_t *skipped; /* ids of special tokens, ascending */
    uint32_t *of_bytes; /* by byte, the ids of tokens of bytes where the others are of characters; ST_NONE = none. NULL: none */
    uint32_t *prefix, *suffix; /* the ids around a text */
    st_rules *rules; /* NULL: tokens are spelled as text */
    size_t added_count, word_count, table_count, normalizer_count, skipped_count, prefix_count, suffix_count;
} st_compiled;

typedef enum st_compiled_fault { ST_COMPILED_DAMAGED, ST_COMPILED_OTHER_FILE, ST_COMPILED_OTHER_VERSION, ST_COMPILED_OTHER_MACHINE } st_compiled_fault;

/* Opens file[0..n), which is aligned to 64 bytes, stays unchanged, and outlives it. ST_BAD_IMAGE: it is not one; *fault says why.
 * ST_NO_MEMORY. */
st_status st_compiled_open(const uint8_t *file, size_t n, st_find_model *models, st_compiled **compiled, st_compiled_fault *fault);
void st_compiled_free(st_compiled *compiled);

/* Reads a table of a pattern, *dfa NULL where none is there. ST_BAD_IMAGE, ST_NO_MEMORY. */
st_status st_compiled_read_table(st_reader *reader, st_dfa **dfa);

/* Reads the steps of a normalizer; compiled->normalizer is then set if there are some (compiled/steps.c). */
st_status st_compiled_read_steps(st_compiled *compiled, st_reader *reader);

/* What finds the names with chosen[i] != 0; *found NULL where none is chosen. For `st_compiled_names_free`. */
st_status st_compiled_names(const st_compiled *compiled, const uint8_t *chosen, st_special **found);
/* The same for names that are not to be in a text: an id is the number of the name. */
st_status st_compiled_refused(const st_compiled *compiled, const uint8_t *chosen, st_special **found);
void st_compiled_names_free(st_special *names);

#endif
