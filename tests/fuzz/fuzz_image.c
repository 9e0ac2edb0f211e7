/* Tables as one block (image/image.h): as written they give the ids of the vocabulary that they are of; with a byte changed, cut
 * off, added or moved they are refused; with numbers of the header changed and the sum over all put right, they are
 * refused or opened, without a read outside of them; with numbers of any array changed, too, what is opened as a stranger's encodes,
 * streams and decodes texts without one. */
#include "fuzz.h"
#include "image/frequent_words.h"
#include "image/image.h"

#include <stdio.h>
#include <stdlib.h>

static struct {
    uint64_t images, damaged, forged, opened, foreign, used;
} counts;

static size_t made_for = SIZE_MAX;
static st_vocab *vocab;
static st_bytes image;

static void make_image(size_t number)
{
    if (number == made_for)
        return;
    rng r = {number, NULL, 0};
    source s = source_grown(&r);
    if (rng_one_in(&r, 2))
        source_damage(&s, &r);
    s.longest = rng_one_in(&r, 4);
    st_vocab_free(vocab);
    vocab = source_vocab(&s, 64);
    source_free(&s);
    image.size = 0;
    CHECK(st_image_write(vocab, 0, &image) == ST_OK);
    made_for = number;
    counts.images++;
}

/* A block of its exact size, at a multiple of 64 bytes: a read outside of it shows. */
static uint8_t *copy_of(size_t size)
{
    uint8_t *copy = aligned_alloc(64, (size + 63) / 64 * 64);
    CHECK(copy);
    memset(copy, 0, (size + 63) / 64 * 64);
    memcpy(copy, image.data, size < image.size ? size : image.size);
    return copy;
}

static void encode(st_vocab *v, const st_bytes *text, st_engine engine, st_ids *ids)
{
    st_encoder e;
    st_feed_error error;
    st_encoder_init(&e, v, pattern_of(ST_SPLIT_CL100K));
    e.engine = engine;
    e.text.errors = ST_ERRORS_REPLACE;
    CHECK(st_encoder_feed(&e, text->data, text->size, ST_FEED_FINAL, ids, &error) == ST_OK);
    st_encoder_free(&e);
}

static void check_true_image(rng *r)
{
    st_vocab *opened;
    st_bytes text = {0};
    st_ids ids = {0}, wanted = {0};
    uint8_t *copy = copy_of(image.size);
    CHECK(st_image_open(copy, image.size, st_model_named, &opened) == ST_OK);
    text_random(r, vocab, 1 + rng_size(r, 1000), &text);
    encode(vocab, &text, ST_ENGINE_REFERENCE, &wanted);
    encode(opened, &text, ST_ENGINE_FAST, &ids);
    CHECK(ids.size == wanted.size && same_bytes(ids.data, wanted.data, ids.size * sizeof *ids.data));
    CHECK(same_bytes(copy, image.data, image.size)); /* it may lie in memory that cannot be written */
    st_vocab_free(opened);
    free(copy);
    st_bytes_free(&text);
    st_ids_free(&ids);
    st_ids_free(&wanted);
}

static void check_refused(const uint8_t *bytes, size_t n)
{
    st_vocab *opened = (st_vocab *)1;
    const int64_t live = st_alloc_read().live;
    CHECK(st_image_open(bytes, n, st_model_named, &opened) == ST_BAD_IMAGE && !opened && st_alloc_read().live == live);
    counts.damaged++;
}

/* Half of the places lie in the header. */
static size_t any_place(rng *r, size_t size)
{
    return rng_below(r, rng_one_in(r, 2) && size > sizeof(st_image_header) ? sizeof(st_image_header) : size);
}

static void check_damage(rng *r)
{
    size_t size = image.size;
    const size_t kind = rng_below(r, 4);
    if (kind == 0)
        size = rng_one_in(r, 2) ? rng_below(r, 2 * sizeof(st_image_header)) : rng_below(r, image.size);
    else if (kind == 1)
        size += 1 + rng_below(r, 200);
    uint8_t *copy = copy_of(size);
    if (kind == 2)
        for (size_t n = 1 + rng_below(r, 4); n; n--)
            copy[any_place(r, size)] ^= (uint8_t)(1 + rng_below(r, 255));
    if (kind == 3) { /* not at a multiple of 64 bytes */
        uint8_t *moved = copy_of(size + 64);
        const size_t by = 1 + rng_below(r, 63);
        memmove(moved + by, moved, size);
        check_refused(moved + by, size);
        free(moved);
    } else if (kind != 2 || !same_bytes(copy, image.data, size)) {
        check_refused(copy, size);
    }
    free(copy);
}

/* ---- forged headers ---- */

static uint64_t telling_number(rng *r, uint64_t old)
{
    static const uint64_t numbers[] = {0, 1, 31, 32, 63, 64, 255, 256, UINT32_MAX, INT64_MAX, UINT64_MAX};
    switch (rng_below(r, 3)) {
    case 0: return numbers[rng_below(r, sizeof numbers / sizeof *numbers)];
    case 1: return old + rng_below(r, 5) - 2;
    default: return old ^ UINT64_C(1) << rng_below(r, 64);
    }
}

static void change_header(rng *r, st_image_header *h)
{
    uint32_t *const numbers[] = {&h->count,      &h->max_length, &h->unreachable, &h->monotone, &h->identity,
                                 &h->dense_side, &h->pair_shift, &h->piece_shift, &h->byte_token[rng_below(r, 256)]};
    if (rng_one_in(r, 3)) {
        st_image_place *place = &h->sections[rng_below(r, ST_IMAGE_SECTIONS)];
        uint64_t *number = rng_one_in(r, 2) ? &place->start : &place->size;
        *number = telling_number(r, *number);
    } else if (rng_one_in(r, 8)) {
        h->long_mask = telling_number(r, h->long_mask);
    } else {
        uint32_t *number = numbers[rng_below(r, sizeof numbers / sizeof *numbers)];
        *number = (uint32_t)telling_number(r, *number);
    }
}

static void check_forged(rng *r)
{
    st_vocab *opened;
    st_image_header h;
    uint8_t *copy = copy_of(image.size);
    memcpy(&h, copy, sizeof h);
    for (size_t n = 1 + rng_below(r, 2); n; n--)
        change_header(r, &h);
    memcpy(copy, &h, sizeof h);
    h.checksum = st_image_checksum(copy, image.size);
    memcpy(copy, &h, sizeof h);
    const st_status status = st_image_open(copy, image.size, st_model_named, &opened);
    CHECK(status == ST_OK || status == ST_BAD_IMAGE);
    counts.forged++;
    counts.opened += status == ST_OK;
    st_vocab_free(opened);
    free(copy);
}

/* ---- forged arrays ---- */

static void change_arrays(rng *r, uint8_t *copy, const st_image_header *h)
{
    const st_image_place place = h->sections[rng_below(r, ST_IMAGE_SECTIONS)];
    if (place.size < 8)
        return;
    uint8_t *at = copy + place.start + rng_below(r, (size_t)place.size / 4) * 4;
    uint32_t number;
    memcpy(&number, at, 4);
    switch (rng_below(r, 4)) {
    case 0: number = (uint32_t)telling_number(r, number); break;
    case 1: number = (uint32_t)rng_below(r, 2 * h->count + 2); break;
    case 2: memcpy(&number, copy + place.start + rng_below(r, (size_t)place.size / 4) * 4, 4); break;
    default: number ^= 1u << rng_below(r, 32); break;
    }
    memcpy(at, &number, 4);
}

/* Whatever ids come, no call reads outside of memory, hangs, or fails but for want of a byte's token. */
static void use(rng *r, st_vocab *v)
{
    st_bytes text = {0}, back = {0};
    st_ids ids = {0};
    st_encoder e;
    st_feed_error error;
    size_t bad;
    text_random(r, vocab, 1 + rng_size(r, 2000), &text);
    for (int pattern = 0; pattern < 2; pattern++) {
        st_encoder_init(&e, v, pattern_of(pattern ? ST_SPLIT_NONE : ST_SPLIT_CL100K));
        e.text.errors = ST_ERRORS_REPLACE;
        const size_t cut = rng_below(r, text.size + 1);
        st_status status = st_encoder_feed(&e, text.data, cut, 0, &ids, &error);
        status = status ? status : st_encoder_feed(&e, text.data + cut, text.size - cut, ST_FEED_FINAL, &ids, &error);
        CHECK(status == ST_OK || status == ST_MISSING_BYTE);
        st_encoder_free(&e);
    }
    CHECK(st_decode(v, &(st_names){0}, ids.data, ids.size, &back, &bad) == ST_OK);
    st_bytes_free(&text);
    st_bytes_free(&back);
    st_ids_free(&ids);
    counts.used++;
}

static void check_foreign(rng *r)
{
    st_vocab *opened;
    st_image_header h;
    uint8_t *copy = copy_of(image.size);
    memcpy(&h, copy, sizeof h);
    for (size_t n = rng_below(r, 4); n; n--)
        change_arrays(r, copy, &h);
    if (rng_one_in(r, 8))
        change_header(r, &h);
    memcpy(copy, &h, sizeof h);
    h.checksum = st_image_checksum(copy, image.size);
    memcpy(copy, &h, sizeof h);
    const st_status status = st_image_open_foreign(copy, image.size, st_model_named, &opened);
    CHECK(status == ST_OK || status == ST_BAD_IMAGE);
    CHECK(status == ST_OK || !same_bytes(copy, image.data, image.size)); /* a true one is opened */
    counts.foreign++;
    if (status == ST_OK)
        use(r, opened);
    st_vocab_free(opened);
    free(copy);
}

/* One number of the header out of its range, and the sum over all put right. */
static void check_bounds(rng *r)
{
    st_image_header h;
    uint8_t *copy = copy_of(image.size);
    memcpy(&h, copy, sizeof h);
    switch (rng_below(r, 9)) {
    case 0: h.magic ^= UINT64_C(1) << rng_below(r, 64); break;
    case 1: h.version ^= 1u << rng_below(r, 32); break;
    case 2: h.byte_order ^= 1u << rng_below(r, 32); break;
    case 3: h.size += 1 + rng_below(r, 1000); break;
    case 4: h.count = ST_MAX_TOKENS + 1 + (uint32_t)rng_size(r, 1 << 20); break;
    case 5: h.dense_side = ST_MAX_TOKENS + 1 + (uint32_t)rng_size(r, 1 << 20); break;
    case 6: *(rng_one_in(r, 2) ? &h.pair_shift : &h.piece_shift) = rng_one_in(r, 2) ? (uint32_t)rng_below(r, 32) : 64 + (uint32_t)rng_size(r, 64); break;
    case 7: h.model[rng_one_in(r, 2) ? ST_MODEL_NAME - 1 : rng_below(r, 4)] ^= 1 + (char)rng_below(r, 100); break; /* no model's name */
    default: strcpy(h.model, "wordpiece"); /* a model that needs a rule of its own */
    }
    memcpy(copy, &h, sizeof h);
    h.checksum = st_image_checksum(copy, image.size);
    memcpy(copy, &h, sizeof h);
    check_refused(copy, image.size);
    free(copy);
}

/* Behind other bytes, in memory that held others: the same image. */
static void check_written_behind(rng *r)
{
    st_bytes again = {0};
    const size_t start = 64 * rng_below(r, 3), size = start + image.size;
    CHECK(st_bytes_reserve(&again, size) == ST_OK);
    memset(again.data, 0xA5, size);
    again.size = start;
    CHECK(st_image_write(vocab, 0, &again) == ST_OK);
    CHECK(again.size == size && same_bytes(again.data + start, image.data, image.size));
    for (size_t i = 0; i < start; i++)
        CHECK(again.data[i] == 0xA5);
    st_bytes_free(&again);
}

/* ---- tables that do not answer, and those for a GPU ---- */

/* The first entries of the pieces are gone, and the sum over all is right. */
static void check_emptied(void)
{
    st_image_header h;
    uint8_t *copy = copy_of(image.size);
    memcpy(&h, copy, sizeof h);
    memset(copy + h.sections[ST_IMAGE_ENTRIES].start, 0, (size_t)h.sections[ST_IMAGE_ENTRIES].size);
    h.checksum = st_image_checksum(copy, image.size);
    memcpy(copy, &h, sizeof h);
    check_refused(copy, image.size);
    free(copy);
}

/* With whole tokens: the tables have each token that stands for text, and have nothing else more. */
static void check_whole_tokens(void)
{
    st_bytes whole = {0};
    st_image_header h;
    CHECK(st_image_write(vocab, 1, &whole) == ST_OK && whole.size == image.size);
    uint8_t *copy = copy_of(whole.size);
    memcpy(copy, whole.data, whole.size);
    memcpy(&h, copy, sizeof h);
    st_piece_table pieces = vocab->pieces;
    st_string_table longs = {(uint64_t *)(void *)(copy + h.sections[ST_IMAGE_LONGS].start), h.long_mask};
    pieces.entries = (st_piece_entry *)(void *)(copy + h.sections[ST_IMAGE_ENTRIES].start);
    size_t entries = 0, room = (size_t)h.sections[ST_IMAGE_ENTRIES].size / sizeof(st_piece_entry), added = 0;
    for (uint32_t i = 0; i < vocab->count; i++) {
        const uint8_t *bytes = st_token_bytes(vocab, i);
        const size_t n = st_token_length(vocab, i);
        if (st_token_is_silent(vocab, i))
            continue;
        if (n > ST_KEY_BYTES) {
            CHECK(st_string_find(&longs, vocab->bytes, vocab->starts, st_hash_bytes(bytes, n), bytes, n) == i);
            continue;
        }
        const st_key key = st_key_of(bytes, n);
        const st_piece_entry *entry = st_piece_find(&pieces, key, st_piece_line(&pieces, key));
        CHECK(entry && st_piece_count(entry) == 1 && entry->ids[0] == vocab->ids[i]);
        added += st_token_is_whole_only(vocab, i);
    }
    for (size_t i = 0; i < room; i++)
        entries += (pieces.entries[i].key.high >> 60 & 7) != 0;
    for (size_t i = 0; i < room; i++)
        entries -= (vocab->pieces.entries[i].key.high >> 60 & 7) != 0;
    CHECK(entries == added);
    free(copy);
    st_bytes_free(&whole);
}

/* ---- the harness ---- */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    rng r = rng_of(data, n);
    make_image(rng_below(&r, 256));
    check_true_image(&r);
    check_damage(&r);
    check_forged(&r);
    for (int i = 0; i < 4; i++)
        check_foreign(&r);
    check_bounds(&r);
    check_written_behind(&r);
    check_emptied();
    check_whole_tokens();
    return 0;
}

void harness_close(void)
{
    st_vocab_free(vocab);
    st_bytes_free(&image);
    printf("fuzz_image: %llu images, %llu damaged ones refused, %llu forged headers (%llu of them opened), "
           "%llu forged arrays (%llu used): no crash\n",
           (unsigned long long)counts.images, (unsigned long long)counts.damaged, (unsigned long long)counts.forged,
           (unsigned long long)counts.opened, (unsigned long long)counts.foreign, (unsigned long long)counts.used);
}
