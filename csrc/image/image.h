/* A vocabulary with all its tables as one block of bytes, used where it lies: it is written once, then mapped from a file by
 * every process and shared between them. Opening it builds nothing.
 *
 *     header     magic, version, byte order, checksum of all that follows, counts, places
 *     sections   the arrays of st_vocab and st_cut_tables, each from a multiple of 64 bytes on
 *
 * An image is for machines of one byte order and for the code that wrote it: a change of a table's layout or of a hash must
 * raise ST_IMAGE_VERSION. A damaged or foreign image is refused. */
#ifndef ST_IMAGE_IMAGE_H
#define ST_IMAGE_IMAGE_H

#include "cut/cuts.h"

#define ST_IMAGE_VERSION 9

/* The arrays of st_vocab, its pairs and pieces, and st_cut_tables. */
enum st_image_section {
    ST_IMAGE_BYTES,
    ST_IMAGE_STARTS,
    ST_IMAGE_IDS, /* empty if each id is its index: these are made at opening, which takes no longer than reading them */
    ST_IMAGE_SORTED_IDS, /* this one and the next are empty where ids ascend */
    ST_IMAGE_BY_ID,
    ST_IMAGE_LEFT,
    ST_IMAGE_RIGHT,
    ST_IMAGE_DENSE,
    ST_IMAGE_SLOTS,
    ST_IMAGE_ENTRIES,
    ST_IMAGE_MORE,
    ST_IMAGE_LONGS,
    ST_IMAGE_OWN, /* what the model keeps */
    ST_IMAGE_CUTS,
    ST_IMAGE_MACHINE, /* what the model builds of them; left out where the image may come from anybody */
    ST_IMAGE_SECTIONS
};

typedef struct st_image_place {
    uint64_t start, size; /* bytes */
} st_image_place;

typedef struct st_image_header {
    uint64_t magic;
    uint32_t version, byte_order;
    uint64_t checksum; /* of everything behind this field */
    uint64_t size;     /* of the image */
    uint32_t count, max_length, unreachable, monotone, identity, ascending;
    uint32_t dense_side, pair_shift, piece_shift;
    uint32_t padding;
    char model[ST_MODEL_NAME]; /* its name, then zeros */
    uint32_t byte_token[256];
    uint64_t long_mask;
    st_image_place sections[ST_IMAGE_SECTIONS];
} st_image_header;

/* The checksum for the header of an image of n bytes, n >= sizeof(st_image_header). */
uint64_t st_image_checksum(const uint8_t *image, size_t n);

/* Appends the image of a vocabulary, its cuts included. whole_tokens: with unreachable tokens in the tables of pieces, too, as a GPU
 * looks them up, which cuts nothing in such a vocabulary; st_image_open takes images without them. */
st_status st_image_write(st_vocab *vocab, int whole_tokens, st_bytes *out);

/* Makes a vocabulary whose arrays lie in the image. The image must be aligned to 64 bytes, stay unchanged, and outlive the
 * vocabulary. models: the models that it may be of. ST_BAD_IMAGE: the bytes are not as st_image_write wrote them, are for another
 * machine, or of another model. */
st_status st_image_open(const uint8_t *image, size_t n, st_find_model *models, st_vocab **vocab);

/* The same without a look at the checksum: for an image that this process has just made. */
st_status st_image_open_made(const uint8_t *image, size_t n, st_find_model *models, st_vocab **vocab);

/* The same for an image that may come from anybody, whose sums are right whatever it holds: every array is looked at first, so that
 * nothing is read outside of them later, and no search goes on for ever (image/sound.c). */
st_status st_image_open_foreign(const uint8_t *image, size_t n, st_find_model *models, st_vocab **vocab);

/* Of a vocabulary whose arrays lie in an image: whether its tokens, ids and halves are those of a vocabulary, whose tokens have
 * `bytes` bytes. */
int st_image_tokens_are_sound(const st_vocab *vocab, size_t bytes);
/* ST_BAD_IMAGE: its tables do not hold these tokens, or hold something that could be read outside of an array. ST_NO_MEMORY. */
st_status st_image_check_tables(const st_vocab *vocab, const st_cut_tables *cuts);

#endif
