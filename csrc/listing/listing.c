#include "listing/listing.h"

#include <string.h>

#include "base/interrupt.h"
#include "base/utf8.h"

/* Work of reading an entry, in the unit of st_go_on (base/interrupt.h). */
#define ENTRY_COSTS 64

/* Tokens, or merges, that are looked up together, so that the slots arrive from memory while others are hashed. */
#define TOGETHER 64

static st_status refuse(const uint8_t *text, const st_json *json, size_t entry, st_listing_fault *fault)
{
    *fault = (st_listing_fault){(size_t)(json->at - text), entry, json->fault};
    return ST_BAD_LIST;
}

/* ---- where the lists are ---- */

/* Moves behind the next key and its colon. 1: *key is the key without its quotes. */
static int next_key(st_json *json, st_listing_span *key, const uint8_t *text)
{
    const uint8_t *from = json->at + 1;
    if (*json->at != '"') {
        json->fault = "a key is missing";
        return 0;
    }
    st_json_skip(json);
    *key = (st_listing_span){(size_t)(from - text), (size_t)(json->at - 1 - text)};
    if (!json->fault && !st_json_take(json, ':'))
        json->fault = "a colon is missing";
    return !json->fault;
}

static int is_named(const uint8_t *text, st_listing_span key, const char *name)
{
    return key.end - key.start == strlen(name) && !memcmp(text + key.start, name, key.end - key.start);
}

/* Members that are looked for in an object, and those that are in the value of the first of them, if that is an object. */
typedef struct wanted {
    const char *const *names;
    st_listing_span *found;
    size_t count;
    const struct wanted *inside;
} wanted;

/* Moves behind an object, and notes the values of the members that are wanted. */
static void find_members(st_json *json, const uint8_t *text, const wanted *w, st_listing_fault *fault)
{
    size_t members = 0;
    memset(w->found, 0, w->count * sizeof *w->found);
    if (!st_json_take(json, '{'))
        json->fault = "an object is missing";
    while (!json->fault && (members || !st_json_take(json, '}'))) {
        st_listing_span key;
        size_t which = 0;
        if (!next_key(json, &key, text))
            break;
        const size_t start = (size_t)(json->at - text);
        while (which < w->count && !is_named(text, key, w->names[which]))
            which++;
        if (which == 0 && w->inside && *json->at == '{')
            find_members(json, text, w->inside, fault);
        else
            st_json_skip(json);
        if (!json->fault && which < w->count && w->found[which].end)
            json->fault = "a member is there twice";
        if (!json->fault && which < w->count)
            w->found[which] = (st_listing_span){start, (size_t)(json->at - text)};
        members++;
        if (json->fault || st_json_take(json, '}'))
            break;
        if (!st_json_take(json, ','))
            json->fault = "a comma is missing";
    }
    if (json->fault && !fault->reason)
        refuse(text, json, members, fault);
}

int st_listing_find(const uint8_t *text, st_listing_span *vocab, st_listing_span *merges, st_listing_fault *fault)
{
    static const char *const lists[] = {"vocab", "merges"}, *const model[] = {"model"};
    st_json json = {text, NULL};
    st_listing_span found[2] = {{0}}, of_model;
    const wanted inside = {lists, found, 2, NULL}, whole = {model, &of_model, 1, &inside};
    memset(fault, 0, sizeof *fault);
    find_members(&json, text, &whole, fault);
    *vocab = found[0];
    *merges = found[1];
    return !fault->reason;
}

/* ---- tokens ---- */

/* The byte that a letter stands for, or -1. GPT-2 writes printable bytes as themselves, and the n-th of the others as U+0100 + n. */
static int byte_of_letter(uint32_t c)
{
    if ((c >= 0x21 && c <= 0x7E) || (c >= 0xA1 && c <= 0xAC) || (c >= 0xAE && c <= 0xFF))
        return (int)c;
    if (c < 0x100 || c > 0x143)
        return -1;
    const int n = (int)c - 0x100; /* 0x00 to 0x20, then 0x7F to 0xA0, then 0xAD */
    return n <= 0x20 ? n : n <= 0x42 ? n - 0x21 + 0x7F : 0xAD;
}

/* Appends the bytes of a token, and their number. */
static st_status append_bytes(st_listing *l, const uint8_t *text, size_t n)
{
    int byte = 0;
    ST_TRY(st_bytes_reserve(&l->bytes, n));
    ST_TRY(st_bytes_reserve(&l->letters, 1));
    ST_TRY(st_ids_reserve(&l->lengths, 1));
    uint8_t *from = l->bytes.data + l->bytes.size, *to = from;
    for (size_t at = 0; at < n && byte >= 0;) {
        unsigned size = 1;
        byte = text[at] > 0x20 && text[at] < 0x7F ? text[at] : byte_of_letter(st_utf8_decode(text + at, &size));
        at += size;
        *to++ = (uint8_t)byte;
    }
    if (byte < 0) {
        memcpy(from, text, n);
        to = from + n;
    }
    l->bytes.size += (size_t)(to - from);
    l->letters.data[l->letters.size++] = byte >= 0;
    l->lengths.data[l->lengths.size++] = (uint32_t)(to - from);
    return ST_OK;
}

/* Enters the tokens in a table that is at most half full. ST_DUPLICATE_TOKEN: the token with the number *twice is there twice. */
static st_status make_table(st_listing *l, size_t *twice)
{
    const size_t count = l->ids.size;
    uint64_t hashes[TOGETHER];
    ST_TRY(st_string_table_init(&l->table, 2 * count));
    for (size_t i = 0; i < count; i++) {
        const uint32_t *starts = l->starts.data;
        for (size_t k = i; i % TOGETHER == 0 && k < i + TOGETHER && k < count; k++) {
            hashes[k - i] = st_hash_bytes(l->text.data + starts[k], starts[k + 1] - starts[k]);
            st_string_expect(&l->table, hashes[k - i]);
        }
        const uint64_t hash = hashes[i % TOGETHER];
        const uint8_t *text = l->text.data;
        uint64_t *slot = st_string_slot(&l->table, text, starts, hash, text + starts[i], starts[i + 1] - starts[i]);
        *twice = i;
        if (*slot != UINT64_MAX && !l->scores.size)
            return ST_DUPLICATE_TOKEN;
        if (*slot != UINT64_MAX) {
            ST_TRY(st_ids_reserve(&l->repeated, 1));
            l->repeated.data[l->repeated.size++] = (uint32_t)*slot;
        }
        *slot = st_string_entry(hash, (uint32_t)i);
        ST_TRY(st_go_on(ENTRY_COSTS));
    }
    return ST_OK;
}

static st_status read_token(st_listing *l, st_json *json)
{
    const size_t before = l->text.size;
    ST_TRY(st_ids_reserve(&l->starts, 2));
    ST_TRY(st_ids_reserve(&l->ids, 1));
    ST_TRY(st_json_string(json, &l->text));
    if (json->fault)
        return ST_OK;
    if (l->text.size - before > UINT16_MAX || l->text.size > UINT32_MAX / 2) {
        json->fault = "a token has more than 65,535 bytes";
        return ST_OK;
    }
    l->starts.data[l->starts.size++] = (uint32_t)before;
    return append_bytes(l, l->text.data + before, l->text.size - before);
}

/* "token": id */
static st_status read_entry(st_listing *l, st_json *json)
{
    ST_TRY(read_token(l, json));
    if (!json->fault && !st_json_take(json, ':'))
        json->fault = "the id of a token is missing";
    if (!json->fault)
        l->ids.data[l->ids.size++] = st_json_number(json, ST_LISTING_LARGEST);
    return ST_OK;
}

/* ["token", score] */
static st_status read_pair(st_listing *l, st_json *json)
{
    double score = 0;
    if (!st_json_take(json, '['))
        json->fault = "a token with its score is missing";
    if (!json->fault)
        ST_TRY(read_token(l, json));
    if (!json->fault && !st_json_take(json, ','))
        json->fault = "the score of a token is missing";
    if (!json->fault)
        score = st_json_real(json);
    if (!json->fault && !st_json_take(json, ']'))
        json->fault = "a token and its score are not alone";
    if (json->fault)
        return ST_OK;
    l->ids.data[l->ids.size] = (uint32_t)l->ids.size;
    l->ids.size++;
    return st_bytes_append(&l->scores, &score, sizeof score);
}

static st_status read_entries(st_listing *l, st_json *json)
{
    const int pairs = st_json_take(json, '[');
    const uint8_t end = pairs ? ']' : '}';
    if (!pairs && !st_json_take(json, '{'))
        json->fault = "the list of tokens is neither an object nor an array";
    while (!json->fault && (l->ids.size || !st_json_take(json, end))) {
        ST_TRY(st_go_on(ENTRY_COSTS));
        ST_TRY(pairs ? read_pair(l, json) : read_entry(l, json));
        if (json->fault || st_json_take(json, end))
            break;
        if (l->ids.size == ST_LISTING_MOST)
            json->fault = "there are more than 2,097,152 tokens";
        else if (!st_json_take(json, ','))
            json->fault = "a comma is missing";
    }
    if (!json->fault) {
        ST_TRY(st_ids_reserve(&l->starts, 1));
        l->starts.data[l->starts.size++] = (uint32_t)l->text.size;
    }
    return ST_OK;
}

static st_status read_listing(st_listing *l, const uint8_t *text, st_listing_span span, st_listing_fault *fault)
{
    st_json json = {text + span.start, NULL};
    size_t twice = 0;
    ST_TRY(read_entries(l, &json));
    if (!json.fault && (size_t)(json.at - text) < span.end)
        json.fault = "something stands behind the list of tokens";
    if (json.fault)
        return refuse(text, &json, l->ids.size, fault);
    const st_status status = make_table(l, &twice);
    if (status == ST_DUPLICATE_TOKEN) {
        json.fault = "a token is there twice";
        return refuse(text, &json, twice, fault);
    }
    return status;
}

st_status st_listing_read(st_listing *l, const uint8_t *text, st_listing_span span, st_listing_fault *fault)
{
    memset(l, 0, sizeof *l);
    const st_status status = read_listing(l, text, span, fault);
    if (status)
        st_listing_free(l);
    return status;
}

void st_listing_free(st_listing *l)
{
    st_bytes_free(&l->text);
    st_ids_free(&l->starts);
    st_ids_free(&l->ids);
    st_bytes_free(&l->bytes);
    st_ids_free(&l->lengths);
    st_bytes_free(&l->letters);
    st_bytes_free(&l->scores);
    st_ids_free(&l->repeated);
    st_string_table_free(&l->table);
    memset(l, 0, sizeof *l);
}

static uint32_t number_of(const st_listing *l, uint64_t hash, const uint8_t *text, size_t n)
{
    return l->table.slots ? st_string_find(&l->table, l->text.data, l->starts.data, hash, text, n) : ST_NONE;
}

uint32_t st_listing_number(const st_listing *l, const uint8_t *text, size_t n)
{
    return number_of(l, st_hash_bytes(text, n), text, n);
}

/* ---- merges ---- */

/* Merges that were read and are still to be looked up. */
typedef struct block {
    size_t count;
    const uint8_t *from[TOGETHER]; /* where each begins in the file */
    size_t ends[2 * TOGETHER];     /* in `buffer`, of the left and of the right part of each */
    size_t prefix;                 /* bytes of the right part that are not in what is made */
    st_bytes buffer, joined;
} block;

/* Reads one merge: appends its two tokens to the buffer; *half is where the first one ends. */
static st_status read_merge(st_json *json, st_bytes *buffer, size_t *half)
{
    const uint8_t *blank;
    const size_t before = buffer->size;
    if (st_json_take(json, '[')) {
        ST_TRY(st_json_string(json, buffer));
        *half = buffer->size;
        if (!json->fault && !st_json_take(json, ','))
            json->fault = "a merge is not made of two tokens";
        if (!json->fault)
            ST_TRY(st_json_string(json, buffer));
        if (!json->fault && !st_json_take(json, ']'))
            json->fault = "a merge is not made of two tokens";
        return ST_OK;
    }
    ST_TRY(st_json_string(json, buffer));
    if (json->fault)
        return ST_OK;
    uint8_t *start = buffer->data + before;
    const size_t n = buffer->size - before;
    blank = n ? memchr(start, ' ', n) : NULL;
    *half = blank ? (size_t)(blank - buffer->data) : before;
    if (!blank || memchr(blank + 1, ' ', buffer->size - *half - 1)) {
        json->fault = "a merge is not two tokens with a blank between them";
        return ST_OK;
    }
    memmove(buffer->data + *half, buffer->data + *half + 1, --buffer->size - *half);
    return ST_OK;
}

/* The number of what two parts make where the right one loses its prefix. */
static st_status made_without_prefix(const st_listing *l, block *b, st_listing_span left, st_listing_span right, uint32_t *made)
{
    *made = UINT32_MAX;
    if (right.end - right.start < b->prefix)
        return ST_OK;
    b->joined.size = 0;
    ST_TRY(st_bytes_append(&b->joined, b->buffer.data + left.start, left.end - left.start));
    ST_TRY(st_bytes_append(&b->joined, b->buffer.data + right.start + b->prefix, right.end - right.start - b->prefix));
    *made = st_listing_number(l, b->joined.data, b->joined.size);
    return ST_OK;
}

/* Appends the numbers of the tokens of a block. The first merge that names, or makes, what is no token is a fault. */
static st_status look_up(const st_listing *l, st_json *json, block *b, st_ids *merges)
{
    uint64_t hashes[3 * TOGETHER];
    const uint8_t *at = b->buffer.data;
    for (size_t i = 0; i < b->count; i++) {
        const uint8_t *half = b->buffer.data + b->ends[2 * i], *end = b->buffer.data + b->ends[2 * i + 1];
        hashes[3 * i] = st_hash_bytes(at, (size_t)(half - at));
        hashes[3 * i + 1] = st_hash_bytes(half, (size_t)(end - half));
        hashes[3 * i + 2] = st_hash_bytes(at, (size_t)(end - at));
        for (size_t k = 0; k < 3; k++)
            st_string_expect(&l->table, hashes[3 * i + k]);
        at = end;
    }
    ST_TRY(st_ids_reserve(merges, 3 * b->count));
    at = b->buffer.data;
    for (size_t i = 0; i < b->count; i++) {
        const uint8_t *half = b->buffer.data + b->ends[2 * i], *end = b->buffer.data + b->ends[2 * i + 1];
        const uint32_t left = number_of(l, hashes[3 * i], at, (size_t)(half - at));
        const uint32_t right = number_of(l, hashes[3 * i + 1], half, (size_t)(end - half));
        uint32_t made = number_of(l, hashes[3 * i + 2], at, (size_t)(end - at));
        const size_t from = (size_t)(at - b->buffer.data);
        const st_listing_span first = {from, b->ends[2 * i]}, second = {b->ends[2 * i], b->ends[2 * i + 1]};
        if (b->prefix)
            ST_TRY(made_without_prefix(l, b, first, second, &made));
        if (left == UINT32_MAX || right == UINT32_MAX || made == UINT32_MAX) {
            json->at = b->from[i];
            json->fault = "a merge names, or makes, what is no token";
            break;
        }
        merges->data[merges->size++] = left;
        merges->data[merges->size++] = right;
        merges->data[merges->size++] = made;
        at = end;
    }
    b->count = b->buffer.size = 0;
    return ST_OK;
}

static st_status read_merges(const st_listing *l, st_json *json, block *b, st_ids *merges)
{
    const char *fault = NULL;
    if (!st_json_take(json, '['))
        json->fault = "the list of merges is no array";
    int more = !json->fault && !st_json_take(json, ']');
    while (more) {
        const uint8_t *from = json->at;
        ST_TRY(st_go_on(ENTRY_COSTS));
        ST_TRY(read_merge(json, &b->buffer, &b->ends[2 * b->count]));
        b->from[b->count] = from;
        b->ends[2 * b->count + 1] = b->buffer.size;
        more = !json->fault && !st_json_take(json, ']');
        if (!json->fault)
            b->count++;
        if (more && !st_json_take(json, ','))
            json->fault = "a comma is missing";
        more &= !json->fault;
        if (b->count < TOGETHER && more)
            continue;
        const uint8_t *at = json->at;
        fault = json->fault;
        json->fault = NULL;
        ST_TRY(look_up(l, json, b, merges)); /* a fault of an earlier merge comes first */
        more &= !json->fault;
        json->at = json->fault ? json->at : at;
        json->fault = json->fault ? json->fault : fault;
    }
    return ST_OK;
}

st_status st_listing_merges(const st_listing *l, const uint8_t *text, st_listing_span span, size_t prefix, st_ids *merges,
                            st_listing_fault *fault)
{
    st_json json = {text + span.start, NULL};
    block *b = st_calloc(1, sizeof *b);
    if (!b)
        return ST_NO_MEMORY;
    b->prefix = prefix;
    st_status status = st_bytes_reserve(&b->buffer, 1); /* so that it is never NULL */
    if (!status)
        status = st_bytes_reserve(&b->joined, 1);
    if (!status)
        status = read_merges(l, &json, b, merges);
    st_bytes_free(&b->buffer);
    st_bytes_free(&b->joined);
    st_free(b);
    if (status)
        return status;
    if (!json.fault && (size_t)(json.at - text) < span.end)
        json.fault = "something stands behind the list of merges";
    return json.fault ? refuse(text, &json, merges->size / 3, fault) : ST_OK;
}
