#include "image/image.h"

#include "base/alloc.h"
#include "checksum/sum64.h"

#define MAGIC UINT64_C(0x656c626174747370) /* "psttable" */
#define BYTE_ORDER_MARK 0x01020304u
#define ALIGNMENT 64

#define CHECKED_FROM (offsetof(st_image_header, checksum) + sizeof(uint64_t))

uint64_t st_image_checksum(const uint8_t *image, size_t n)
{
    return st_sum64(image + CHECKED_FROM, n - CHECKED_FROM);
}

static uint32_t slots_bits(uint32_t shift)
{
    return 64 - shift;
}

/* The size that each section must have, from the counts. */
static void measure(const st_image_header *h, uint64_t *sizes)
{
    const uint64_t n = h->count;
    sizes[ST_IMAGE_STARTS] = (n + 1) * sizeof(uint32_t);
    sizes[ST_IMAGE_LEFT] = sizes[ST_IMAGE_RIGHT] = n * sizeof(uint32_t);
    sizes[ST_IMAGE_IDS] = h->identity ? 0 : n * sizeof(uint32_t);
    sizes[ST_IMAGE_SORTED_IDS] = sizes[ST_IMAGE_BY_ID] = h->ascending ? 0 : n * sizeof(uint32_t);
    sizes[ST_IMAGE_DENSE] = (uint64_t)h->dense_side * h->dense_side * sizeof(uint32_t);
    sizes[ST_IMAGE_SLOTS] = ((uint64_t)ST_BUCKET << slots_bits(h->pair_shift)) * sizeof(uint64_t);
    sizes[ST_IMAGE_ENTRIES] = ((uint64_t)2 << slots_bits(h->piece_shift)) * sizeof(st_piece_entry);
    sizes[ST_IMAGE_LONGS] = (h->long_mask + 1) * sizeof(uint64_t);
    sizes[ST_IMAGE_CUTS] = sizeof(st_cut_tables);
    sizes[ST_IMAGE_MACHINE] = h->sections[ST_IMAGE_MACHINE].size;
    sizes[ST_IMAGE_BYTES] = h->sections[ST_IMAGE_BYTES].size; /* the sizes of these and that do not follow from counts */
    sizes[ST_IMAGE_OWN] = h->sections[ST_IMAGE_OWN].size;
    sizes[ST_IMAGE_MORE] = h->sections[ST_IMAGE_MORE].size;
}

/* Lays the sections out one behind the other; returns where the last one ends. */
static uint64_t lay_out(st_image_place *places, const uint64_t *sizes)
{
    uint64_t end = sizeof(st_image_header);
    for (int i = 0; i < ST_IMAGE_SECTIONS; i++) {
        end = (end + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        places[i] = (st_image_place){end, sizes[i]};
        end += sizes[i];
    }
    return end;
}

/* ---- writing ---- */

static void describe(const st_vocab *v, st_image_header *h, const void **data)
{
    *h = (st_image_header){.magic = MAGIC, .version = ST_IMAGE_VERSION, .byte_order = BYTE_ORDER_MARK};
    h->count = v->count;
    h->max_length = v->max_length;
    h->unreachable = v->unreachable;
    h->monotone = (uint32_t)v->monotone;
    h->identity = (uint32_t)v->identity;
    h->ascending = v->sorted_ids == NULL;
    h->dense_side = v->pairs.dense_side;
    h->pair_shift = v->pairs.shift;
    h->piece_shift = v->pieces.shift;
    h->long_mask = v->longs.mask;
    memcpy(h->model, v->model->name, strlen(v->model->name));
    memcpy(h->byte_token, v->pairs.byte_token, sizeof h->byte_token);
    h->sections[ST_IMAGE_BYTES].size = v->starts[v->count];
    h->sections[ST_IMAGE_MORE].size = v->pieces.more.size * sizeof(uint32_t);
    h->sections[ST_IMAGE_OWN].size = v->own_size;
    const void *all[ST_IMAGE_SECTIONS] = {v->bytes,         v->starts,        v->ids,  v->sorted_ids,       v->by_id,
                                          v->left,          v->right,         v->pairs.dense, v->pairs.slots,
                                          v->pieces.entries, v->pieces.more.data, v->longs.slots, v->own,
                                          NULL,             NULL};
    memcpy(data, all, sizeof all);
}

/* Enters unreachable tokens into the tables of an image that was written without them. */
static st_status enter_whole_tokens(const st_vocab *v, const st_image_header *h, uint8_t *image)
{
    st_piece_table pieces = v->pieces;
    st_string_table longs = {(uint64_t *)(void *)(image + h->sections[ST_IMAGE_LONGS].start), h->long_mask};
    pieces.entries = (st_piece_entry *)(void *)(image + h->sections[ST_IMAGE_ENTRIES].start);
    for (uint32_t i = 0; i < v->count; i++) {
        const uint8_t *bytes = st_token_bytes(v, i);
        const size_t n = st_token_length(v, i);
        if (!st_token_is_whole_only(v, i))
            continue;
        if (n > ST_KEY_BYTES)
            st_string_add(&longs, st_hash_bytes(bytes, n), i);
        else
            ST_TRY(st_piece_table_add(&pieces, st_key_of(bytes, n), &v->ids[i], 1)); /* one id, so `more` does not grow */
    }
    return ST_OK;
}

static st_status write_image(st_vocab *v, int whole_tokens, const st_bytes *machine, st_bytes *out)
{
    st_image_header h;
    uint64_t sizes[ST_IMAGE_SECTIONS];
    const void *data[ST_IMAGE_SECTIONS];
    const size_t start = out->size;
    const st_cuts *cuts = st_vocab_cuts(v);
    if (!cuts)
        return ST_NO_MEMORY;
    describe(v, &h, data);
    data[ST_IMAGE_CUTS] = cuts->tables;
    data[ST_IMAGE_MACHINE] = machine->data;
    h.sections[ST_IMAGE_MACHINE].size = machine->size;
    measure(&h, sizes);
    h.size = lay_out(h.sections, sizes);
    ST_TRY(st_bytes_reserve(out, (size_t)h.size));
    uint8_t *image = out->data + start;
    memset(image, 0, (size_t)h.size);
    for (int i = 0; i < ST_IMAGE_SECTIONS; i++)
        if (sizes[i])
            memcpy(image + h.sections[i].start, data[i], (size_t)sizes[i]);
    if (whole_tokens)
        ST_TRY(enter_whole_tokens(v, &h, image));
    memcpy(image, &h, sizeof h);
    h.checksum = st_image_checksum(image, (size_t)h.size);
    memcpy(image, &h, sizeof h);
    out->size += (size_t)h.size;
    return ST_OK;
}

st_status st_image_write(st_vocab *v, int whole_tokens, st_bytes *out)
{
    st_bytes machine = {NULL, 0, 0};
    st_status status = v->model->save_machine ? v->model->save_machine(v, &machine) : ST_OK;
    if (!status)
        status = write_image(v, whole_tokens, &machine, out);
    st_bytes_free(&machine);
    return status;
}

/* ---- opening ---- */

/* What is looked at. */
enum look { LOOK_MADE, LOOK_OWN, LOOK_FOREIGN };

static int is_sound(const st_image_header *h, const uint8_t *image, size_t n, enum look look)
{
    uint64_t sizes[ST_IMAGE_SECTIONS];
    st_image_place places[ST_IMAGE_SECTIONS];
    if (h->magic != MAGIC || h->version != ST_IMAGE_VERSION || h->byte_order != BYTE_ORDER_MARK || h->size != n)
        return 0;
    if (look != LOOK_MADE && h->checksum != st_image_checksum(image, n))
        return 0;
    if (h->count > ST_MAX_TOKENS || h->dense_side > ST_MAX_TOKENS || h->pair_shift < 32 || h->pair_shift > 63 ||
        h->piece_shift < 32 || h->piece_shift > 63 || h->long_mask > UINT32_MAX || h->model[ST_MODEL_NAME - 1])
        return 0;
    measure(h, sizes);
    if (sizes[ST_IMAGE_BYTES] > n || sizes[ST_IMAGE_MORE] > n || sizes[ST_IMAGE_OWN] > n)
        return 0;
    if (sizes[ST_IMAGE_MACHINE] > n)
        return 0;
    return lay_out(places, sizes) == n && !memcmp(places, h->sections, sizeof places);
}

/* Whether a sample of tokens, and their pairs, is found in the tables. This catches an image made with an older hash if
 * ST_IMAGE_VERSION was not raised. */
static int answers(const st_vocab *v)
{
    const uint32_t step = v->count / 997 + 1;
    for (uint32_t i = 0; i < v->count; i += step) {
        if (!st_token_is_silent(v, i) && v->ids[i] < ST_FIRST_FRAGMENT && st_vocab_find(v, st_token_bytes(v, i), st_token_length(v, i)) != i)
            return 0;
        if (st_vocab_has(v, ST_MODEL_MERGES) && v->left[i] != ST_NONE && st_pairs_find(&v->pairs, v->left[i], v->right[i]) != i)
            return 0;
    }
    return !v->model->accepts || v->model->accepts(v);
}

static void point_into(st_vocab *v, const st_image_header *h, const uint8_t *image)
{
    void *data[ST_IMAGE_SECTIONS];
    for (int i = 0; i < ST_IMAGE_SECTIONS; i++)
        data[i] = (void *)(uintptr_t)(image + h->sections[i].start); /* never written to, because v->image is set */
    v->count = h->count;
    v->max_length = h->max_length;
    v->unreachable = h->unreachable;
    v->monotone = (int)h->monotone;
    v->identity = (int)h->identity;
    v->longs.mask = h->long_mask;
    v->own = data[ST_IMAGE_OWN];
    v->own_size = (size_t)h->sections[ST_IMAGE_OWN].size;
    v->bytes = data[ST_IMAGE_BYTES];
    v->starts = data[ST_IMAGE_STARTS];
    v->ids = data[ST_IMAGE_IDS];
    v->sorted_ids = h->ascending ? NULL : data[ST_IMAGE_SORTED_IDS];
    v->by_id = h->ascending ? NULL : data[ST_IMAGE_BY_ID];
    v->left = data[ST_IMAGE_LEFT];
    v->right = data[ST_IMAGE_RIGHT];
    v->longs.slots = data[ST_IMAGE_LONGS];
    v->pairs.dense_side = h->dense_side;
    v->pairs.shift = h->pair_shift;
    v->pairs.mask = ((uint64_t)1 << slots_bits(h->pair_shift)) - 1;
    v->pairs.dense = data[ST_IMAGE_DENSE];
    v->pairs.slots = data[ST_IMAGE_SLOTS];
    memcpy(v->pairs.byte_token, h->byte_token, sizeof h->byte_token);
    v->pieces.shift = h->piece_shift;
    v->pieces.mask = ((uint64_t)1 << slots_bits(h->piece_shift)) - 1;
    v->pieces.entries = data[ST_IMAGE_ENTRIES];
    v->pieces.more = (st_ids){data[ST_IMAGE_MORE], (size_t)(h->sections[ST_IMAGE_MORE].size / sizeof(uint32_t)), 0};
    v->image = image;
}

/* The ids of a vocabulary where each is its index. */
static st_status make_ids(st_vocab *v)
{
    v->ids = st_malloc((v->count + ST_INLINE_IDS) * sizeof *v->ids);
    if (!v->ids)
        return ST_NO_MEMORY;
    for (uint32_t i = 0; i < v->count + ST_INLINE_IDS; i++)
        v->ids[i] = i;
    return ST_OK;
}

static st_status complete(st_vocab *v, const st_image_header *h, const uint8_t *image, enum look look)
{
    const st_cut_tables *cuts = (const st_cut_tables *)(const void *)(image + h->sections[ST_IMAGE_CUTS].start);
    size_t bad;
    ST_TRY(v->identity ? make_ids(v) : ST_OK);
    const int is_foreign = look == LOOK_FOREIGN;
    if (is_foreign && !st_image_tokens_are_sound(v, (size_t)h->sections[ST_IMAGE_BYTES].size))
        return ST_BAD_IMAGE;
    if (is_foreign)
        ST_TRY(st_image_check_tables(v, cuts));
    const st_status status = st_vocab_complete(v, &bad);
    if (status)
        return is_foreign && status != ST_NO_MEMORY ? ST_BAD_IMAGE : status;
    if (!answers(v))
        return ST_BAD_IMAGE;
    const st_image_place *machine = &h->sections[ST_IMAGE_MACHINE];
    if (!is_foreign && machine->size && v->model->open_machine)
        ST_TRY(v->model->open_machine(v, image + machine->start, (size_t)machine->size));
    return st_vocab_set_cuts(v, cuts);
}

static st_status open_image(const uint8_t *image, size_t n, st_find_model *models, enum look look, st_vocab **vocab)
{
    st_image_header h;
    *vocab = NULL;
    if (n < sizeof h || (uintptr_t)image % ALIGNMENT)
        return ST_BAD_IMAGE;
    memcpy(&h, image, sizeof h);
    if (!is_sound(&h, image, n, look))
        return ST_BAD_IMAGE;
    const st_model *model = models(h.model);
    if (!model)
        return ST_BAD_IMAGE;
    st_vocab *v = st_calloc(1, sizeof *v);
    if (!v)
        return ST_NO_MEMORY;
    v->model = model;
    point_into(v, &h, image);
    const st_status status = complete(v, &h, image, look);
    if (status) {
        st_vocab_free(v);
        return status;
    }
    *vocab = v;
    return ST_OK;
}

st_status st_image_open(const uint8_t *image, size_t n, st_find_model *models, st_vocab **vocab)
{
    return open_image(image, n, models, LOOK_OWN, vocab);
}

st_status st_image_open_made(const uint8_t *image, size_t n, st_find_model *models, st_vocab **vocab)
{
    return open_image(image, n, models, LOOK_MADE, vocab);
}

st_status st_image_open_foreign(const uint8_t *image, size_t n, st_find_model *models, st_vocab **vocab)
{
    return open_image(image, n, models, LOOK_FOREIGN, vocab);
}
