/* compact.h - an image without its zeros, for a package: a third of the bytes. Tables of hashes are half empty, and numbers of
 * 32 bits seldom need all four bytes.
 *
 *     head      st_compact_head
 *     groups    of 64 numbers of the image each: which are not 0 (a bit each, 8 bytes), which bytes of these are kept (4 bits
 *               each), and those bytes
 *     zeros     room to read a whole group at the last one
 *
 * The slots of the pairs are left out where entering the pairs in the order of their tokens gives them again. As an image, it is
 * for machines of one byte order. */
#ifndef ST_IMAGE_COMPACT_H
#define ST_IMAGE_COMPACT_H

#include "image/image.h"

typedef struct st_compact_head {
    uint64_t magic;
    uint64_t checksum;    /* of all that follows */
    uint64_t size;        /* of the image */
    uint64_t makes_slots; /* 1: the slots are made of the pairs */
} st_compact_head;

/* Appends the compact form of an image that st_image_write wrote. image: at a multiple of 8. ST_NO_MEMORY. */
st_status st_image_compact(const uint8_t *image, size_t n, st_bytes *out);

/* Are these bytes the compact form of an image? */
int st_image_is_compact(const uint8_t *data, size_t n);

/* Makes a vocabulary of the compact form, in memory of its own. ST_BAD_IMAGE: the bytes are damaged, for another machine, or of
 * another model. */
st_status st_image_open_compact(const uint8_t *data, size_t n, st_find_model *models, st_vocab **vocab);

#endif
