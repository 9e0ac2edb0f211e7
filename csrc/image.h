/* A vocabulary with all its tables as one block of bytes, ready to be used where it lies: written once, mapped from a file
 * by every process and shared between them. Nothing is built when it is opened.
 *
 *     header     struct header in image.c: magic, version, byte order, checksum of all that follows, counts, places
 *     sections   the arrays of st_vocab and st_cut_tables, each from a multiple of 64 bytes on
 *
 * An image is for machines of one byte order, and for the code that wrote it: whoever changes a table's layout or a hash
 * raises ST_IMAGE_VERSION. A damaged or foreign image is refused. */
#ifndef ST_IMAGE_H
#define ST_IMAGE_H

#include "cuts.h"

#define ST_IMAGE_VERSION 1

/* Appends the image of a vocabulary, its cuts included. */
st_status st_image_write(st_vocab *vocab, st_bytes *out);

/* A vocabulary over the image, which lies at a multiple of 64 bytes, stays unchanged, and outlives it. ST_BAD_IMAGE: these
 * are not the bytes that st_image_write wrote, or not for this machine. */
st_status st_image_open(const uint8_t *image, size_t n, st_vocab **vocab);

#endif
