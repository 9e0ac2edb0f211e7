#include "image/compact.h"

#include "base/alloc.h"
#include "base/bits.h"
#include "base/load.h"
#include "base/prefetch.h"
#include "checksum/sum64.h"
#include "image/image.h"

#define MAGIC UINT64_C(0x746361706d6f6373) /* "scompact" */
#define GROUP 64                           /* numbers: a bit of a mask each */
#define GROUP_BYTES (GROUP * sizeof(uint32_t))
#define GROUP_MOST (sizeof(uint64_t) + GROUP / 2 + GROUP_BYTES)

#define CHECKED_FROM (offsetof(st_compact_head, checksum) + sizeof(uint64_t))

/* ---- codes ---- */

/* The bytes of a number from the first that is not 0 to the last: how many less 1, and how many are in front, two bits each. */
static unsigned code_of(uint32_t number)
{
    unsigned first = 0, last = 3;
    while (!(number >> 8 * first & 0xFF))
        first++;
    while (!(number >> 8 * last & 0xFF))
        last--;
    return (last - first) | first << 2;
}

/* Of each code: the bytes that are kept, and what moves them to their place. */
#define LOW(bytes) (UINT32_MAX >> (32 - 8 * (bytes)))
static const struct {
    uint32_t mask, factor, size, padding;
} codes_of[16] = {
    {LOW(1), 1, 1, 0},       {LOW(2), 1, 2, 0},       {LOW(3), 1, 3, 0},       {LOW(4), 1, 4, 0},
    {LOW(1), 1u << 8, 1, 0},  {LOW(2), 1u << 8, 2, 0},  {LOW(3), 1u << 8, 3, 0},  {0, 0, 4, 0},
    {LOW(1), 1u << 16, 1, 0}, {LOW(2), 1u << 16, 2, 0}, {0, 0, 3, 0},            {0, 0, 4, 0},
    {LOW(1), 1u << 24, 1, 0}, {0, 0, 2, 0},            {0, 0, 3, 0},            {0, 0, 4, 0},
};

/* Writes the number whose bytes begin at `at`, of which four can be read; returns where the next one begins. */
ST_FORCE_INLINE const uint8_t *put_number(const uint8_t *at, unsigned code, uint32_t *number)
{
    *number = (st_load32(at) & codes_of[code].mask) * codes_of[code].factor;
    return at + codes_of[code].size;
}

static unsigned bits_in(uint64_t mask)
{
    mask -= mask >> 1 & 0x5555555555555555;
    mask = (mask & 0x3333333333333333) + (mask >> 2 & 0x3333333333333333);
    return (unsigned)(((mask + (mask >> 4)) & 0x0F0F0F0F0F0F0F0F) * 0x0101010101010101 >> 56);
}

/* ---- the slots of the pairs ---- */

/* Makes the slots of the image's pairs in `slots`. The image holds everything else. */
static void make_slots(const st_image_header *h, uint8_t *image, uint64_t *slots)
{
    st_pairs pairs = {.dense_side = h->dense_side, .shift = h->pair_shift, .slots = slots};
    const size_t count = (size_t)h->sections[ST_IMAGE_SLOTS].size / sizeof *slots;
    const uint32_t *left = (const uint32_t *)(void *)(image + h->sections[ST_IMAGE_LEFT].start);
    const uint32_t *right = (const uint32_t *)(void *)(image + h->sections[ST_IMAGE_RIGHT].start);
    pairs.mask = count / ST_BUCKET - 1;
    pairs.dense = (uint32_t *)(void *)(image + h->sections[ST_IMAGE_DENSE].start); /* the numbers that are there already */
    for (size_t i = 0; i < count; i++)
        slots[i] = ST_EMPTY_SLOT;
    for (uint32_t i = 0, ahead = 0; i < h->count; i++) {
        for (; ahead < h->count && ahead <= i + 16; ahead++)
            st_prefetch(st_pairs_place(&pairs, left[ahead], right[ahead]));
        if (left[i] != ST_NONE)
            st_pairs_insert(&pairs, left[i], right[i], i);
    }
}

/* Whether make_slots() may be called: each number lies in its array. */
static int has_pairs(const st_image_header *h, uint64_t size)
{
    const uint64_t n = h->count, slots = h->sections[ST_IMAGE_SLOTS].size / sizeof(uint64_t);
    const uint64_t sides[] = {n * sizeof(uint32_t), n * sizeof(uint32_t), (uint64_t)h->dense_side * h->dense_side * sizeof(uint32_t),
                              slots * sizeof(uint64_t)};
    for (int i = 0; i < 4; i++) {
        const st_image_place *place = &h->sections[ST_IMAGE_LEFT + i];
        if (place->size != sides[i] || place->size > size || place->start > size - place->size || place->start % 64)
            return 0;
    }
    return n < ST_MAX_TOKENS && h->dense_side < ST_MAX_TOKENS && h->pair_shift > 32 && h->pair_shift < 64 &&
           slots == (uint64_t)ST_BUCKET << (64 - h->pair_shift) && n < slots;
}

/* Whether make_slots() gives what the image holds. ST_NO_MEMORY. */
static st_status makes_slots(const uint8_t *image, size_t n, uint64_t *yes)
{
    const st_image_header *h = (const st_image_header *)(const void *)image;
    const st_image_place place = h->sections[ST_IMAGE_SLOTS];
    *yes = 0;
    if (!place.size || !has_pairs(h, n))
        return ST_OK;
    uint8_t *copy = st_malloc(n);
    uint64_t *slots = st_malloc((size_t)place.size);
    if (copy && slots) {
        memcpy(copy, image, n);
        make_slots(h, copy, slots);
        *yes = !memcmp(slots, image + place.start, (size_t)place.size) && !memcmp(copy, image, n);
    }
    const st_status status = copy && slots ? ST_OK : ST_NO_MEMORY;
    st_free(copy);
    st_free(slots);
    return status;
}

/* ---- groups ---- */

/* Appends a group; `out` has room for it. */
static void compact_group(const uint32_t *numbers, st_bytes *out)
{
    uint8_t *codes = out->data + out->size + sizeof(uint64_t), bytes[GROUP_BYTES];
    uint64_t used = 0;
    unsigned count = 0, size = 0;
    for (unsigned i = 0; i < GROUP; i++) {
        if (!numbers[i])
            continue;
        const unsigned code = code_of(numbers[i]);
        used |= (uint64_t)1 << i;
        codes[count / 2] = (uint8_t)(count & 1 ? codes[count / 2] | code << 4 : code);
        count++;
        for (unsigned k = code >> 2; k <= (code >> 2) + (code & 3); k++)
            bytes[size++] = (uint8_t)(numbers[i] >> 8 * k);
    }
    st_store64(out->data + out->size, used);
    out->size += sizeof used + (count + 1) / 2;
    memcpy(out->data + out->size, bytes, size);
    out->size += size;
}

/* Returns where the next group begins. Two numbers at a time: their codes share a byte. */
static const uint8_t *expand_group(const uint8_t *at, uint32_t *numbers)
{
    const uint8_t *codes = at + sizeof(uint64_t);
    uint64_t used = st_load64(at);
    const unsigned count = bits_in(used);
    at = codes + (count + 1) / 2;
    for (unsigned i = 0; i < count / 2; i++) {
        const unsigned both = codes[i];
        at = put_number(at, both & 15, &numbers[st_first_bit(used)]);
        used &= used - 1;
        at = put_number(at, both >> 4, &numbers[st_first_bit(used)]);
        used &= used - 1;
    }
    return used ? put_number(at, codes[count / 2] & 15, &numbers[st_first_bit(used)]) : at;
}

/* ---- images ---- */

st_status st_image_compact(const uint8_t *image, size_t n, st_bytes *out)
{
    st_compact_head head = {.magic = MAGIC, .size = n};
    const size_t start = out->size, most = sizeof head + (n / GROUP_BYTES + 2) * GROUP_MOST;
    uint32_t group[GROUP];
    ST_TRY(makes_slots(image, n, &head.makes_slots));
    ST_TRY(st_bytes_reserve(out, most));
    out->size += sizeof head;
    const st_image_place *slots = &((const st_image_header *)(const void *)image)->sections[ST_IMAGE_SLOTS];
    for (size_t at = 0; at < n; at += GROUP_BYTES) {
        const size_t here = n - at < GROUP_BYTES ? n - at : GROUP_BYTES;
        memset(group, 0, sizeof group);
        memcpy(group, image + at, here);
        for (size_t i = 0; i < here && head.makes_slots; i += sizeof *group)
            if (at + i >= slots->start && at + i < slots->start + slots->size)
                group[i / sizeof *group] = 0;
        compact_group(group, out);
    }
    memset(out->data + out->size, 0, GROUP_MOST);
    out->size += GROUP_MOST;
    memcpy(out->data + start, &head, sizeof head);
    head.checksum = st_sum64(out->data + start + CHECKED_FROM, out->size - start - CHECKED_FROM);
    memcpy(out->data + start, &head, sizeof head);
    return ST_OK;
}

int st_image_is_compact(const uint8_t *data, size_t n)
{
    const uint64_t magic = MAGIC;
    return n >= sizeof magic && !memcmp(data, &magic, sizeof magic);
}

/* The last group of an image, which may be cut short. */
static const uint8_t *expand_rest(const uint8_t *at, uint8_t *image, size_t n)
{
    uint32_t group[GROUP] = {0};
    at = expand_group(at, group);
    memcpy(image, group, n);
    return at;
}

/* Writes the image, whose bytes are all 0. */
static st_status expand(const st_compact_head *head, const uint8_t *data, size_t n, uint8_t *image)
{
    const uint8_t *at = data + sizeof *head, *last = data + n - GROUP_MOST;
    for (uint64_t done = 0; done < head->size; done += GROUP_BYTES) {
        if (at > last)
            return ST_BAD_IMAGE;
        at = head->size - done < GROUP_BYTES ? expand_rest(at, image + done, (size_t)(head->size - done))
                                             : expand_group(at, (uint32_t *)(void *)(image + done));
    }
    const st_image_header *h = (const st_image_header *)(const void *)image;
    if (at != last || (head->makes_slots && !has_pairs(h, head->size)))
        return ST_BAD_IMAGE;
    if (head->makes_slots)
        make_slots(h, image, (uint64_t *)(void *)(image + h->sections[ST_IMAGE_SLOTS].start));
    return ST_OK;
}

/* Whether the head is that of these bytes. A group has eight bytes at least. */
static int is_head(const st_compact_head *head, const uint8_t *data, size_t n)
{
    return head->size >= sizeof(st_image_header) && head->size / GROUP_BYTES <= n / sizeof(uint64_t) &&
           head->checksum == st_sum64(data + CHECKED_FROM, n - CHECKED_FROM);
}

st_status st_image_open_compact(const uint8_t *data, size_t n, st_find_model *models, st_vocab **vocab)
{
    st_compact_head head;
    void *block;
    *vocab = NULL;
    if (n < sizeof head + GROUP_MOST || !st_image_is_compact(data, n))
        return ST_BAD_IMAGE;
    memcpy(&head, data, sizeof head);
    if (!is_head(&head, data, n))
        return ST_BAD_IMAGE;
    uint8_t *image = st_alloc_zeros((size_t)head.size, &block);
    if (!image)
        return ST_NO_MEMORY;
    st_status status = expand(&head, data, n, image);
    if (!status)
        status = st_image_open_made(image, (size_t)head.size, models, vocab);
    if (status)
        st_free(block);
    else
        (*vocab)->own_image = block;
    return status;
}
