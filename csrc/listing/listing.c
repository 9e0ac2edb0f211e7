#include "listing/listing.h"

#include <string.h>

#include "base/hash.h"
#include "base/interrupt.h"
#include "base/utf8.h"

/* Work of reading an entry, in the unit of st_go_on (base/interrupt.h). */
#define ENTRY_COSTS 64

static st_status refuse(const uint8_t *text, const st_json *json, size_t entry, st_listing_fault *fault)
{
    *fault = (st_listing_fault){(size_t)(json->at - text), entry, json->fault};
    return ST_BAD_LIST;
}

/* ---- where the lists are ---- */

/* Moves behind the next key and its colon. 1: *key is the key without its quotes. */
static int next_key(st_json *json, st_span *key, const uint8_t *text)
{
    const uint8_t *from = json->at + 1;
    if (*json->at != '"') {
        json->fault = "a key is missing";
        return 0;
    }
    st_json_skip(json);
    *key = (st_span){(size_t)(from - text), (size_t)(json->at - 1 - text)};
    if (!json->fault && !st_json_take(json, ':'))
        json->fault = "a colon is missing";
    return !json->fault;
}

static int is_named(const uint8_t *text, st_span key, const char *name)
{
    return key.end - key.start == strlen(name) && !memcmp(text + key.start, name, key.end - key.start);
}

/* Goes through the members of an object, and notes the values of those with one of `count` names. */
static int find_members(const uint8_t *text, size_t from, const char *const *names, st_span *found, size_t count,
                        st_listing_fault *fault)
{
    st_json json = {text + from, NULL};
    size_t members = 0;
    memset(found, 0, count * sizeof *found);
    if (!st_json_take(&json, '{'))
        json.fault = "an object is missing";
    while (!json.fault && (members || !st_json_take(&json, '}'))) {
        st_span key;
        if (!next_key(&json, &key, text))
            break;
        const size_t start = (size_t)(json.at - text);
        st_json_skip(&json);
        for (size_t i = 0; i < count && !json.fault; i++) {
            if (!is_named(text, key, names[i]))
                continue;
            if (found[i].end)
                json.fault = "a member is there twice";
            found[i] = (st_span){start, (size_t)(json.at - text)};
        }
        members++;
        if (st_json_take(&json, '}'))
            break;
        if (!json.fault && !st_json_take(&json, ','))
            json.fault = "a comma is missing";
    }
    if (json.fault)
        refuse(text, &json, members, fault);
    return !json.fault;
}

int st_listing_find(const uint8_t *text, size_t n, st_span object, st_span *vocab, st_span *merges, st_listing_fault *fault)
{
    static const char *const names[] = {"vocab", "merges"};
    st_span found[2];
    if (object.start >= n || !find_members(text, object.start, names, found, 2, fault))
        return 0;
    *vocab = found[0];
    *merges = found[1];
    return 1;
}

int st_listing_model(const uint8_t *text, size_t n, st_span *model, st_listing_fault *fault)
{
    static const char *const names[] = {"model"};
    (void)n;
    return find_members(text, 0, names, model, 1, fault);
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
    const size_t before = l->bytes.size;
    int byte = 0;
    ST_TRY(st_bytes_reserve(&l->bytes, n));
    ST_TRY(st_bytes_reserve(&l->letters, 1));
    ST_TRY(st_ids_reserve(&l->lengths, 1));
    for (size_t at = 0; at < n && byte >= 0;) {
        unsigned size;
        byte = byte_of_letter(st_utf8_decode(text + at, &size));
        at += size;
        l->bytes.data[l->bytes.size++] = (uint8_t)byte;
    }
    if (byte < 0) {
        l->bytes.size = before;
        ST_TRY(st_bytes_append(&l->bytes, text, n));
    }
    l->letters.data[l->letters.size++] = byte >= 0;
    l->lengths.data[l->lengths.size++] = (uint32_t)(l->bytes.size - before);
    return ST_OK;
}

/* The slot of a token, or the free one where it would go. */
static uint32_t *slot_of(const st_listing *l, const uint8_t *text, size_t n)
{
    for (uint32_t at = (uint32_t)(st_hash_bytes(text, n) >> 32) & l->mask;; at = (at + 1) & l->mask) {
        uint32_t *slot = &l->slots[at];
        if (!*slot)
            return slot;
        const uint32_t start = l->starts.data[*slot - 1], end = l->starts.data[*slot];
        if (end - start == n && !memcmp(l->text.data + start, text, n))
            return slot;
    }
}

/* Enters the tokens in a table that is at most half full. 0: the token with the number *twice is there twice. */
static st_status make_table(st_listing *l, size_t *twice)
{
    l->mask = 15;
    while (l->mask < 2 * l->ids.size)
        l->mask = 2 * l->mask + 1;
    l->slots = st_calloc((size_t)l->mask + 1, sizeof *l->slots);
    if (!l->slots)
        return ST_NO_MEMORY;
    for (uint32_t i = 0; i < l->ids.size; i++) {
        const uint32_t start = l->starts.data[i];
        uint32_t *slot = slot_of(l, l->text.data + start, l->starts.data[i + 1] - start);
        *twice = i;
        if (*slot)
            return ST_DUPLICATE_TOKEN;
        *slot = i + 1;
        ST_TRY(st_go_on(ENTRY_COSTS));
    }
    return ST_OK;
}

static st_status read_entry(st_listing *l, st_json *json)
{
    const size_t before = l->text.size;
    ST_TRY(st_ids_reserve(&l->starts, 2));
    ST_TRY(st_ids_reserve(&l->ids, 1));
    ST_TRY(st_json_string(json, &l->text));
    if (json->fault)
        return ST_OK;
    if (l->text.size - before > UINT16_MAX || l->text.size > UINT32_MAX / 2)
        json->fault = "a token has more than 65,535 bytes";
    else if (!st_json_take(json, ':'))
        json->fault = "the id of a token is missing";
    if (json->fault)
        return ST_OK;
    l->starts.data[l->starts.size++] = (uint32_t)before;
    l->ids.data[l->ids.size++] = st_json_number(json, ST_LISTING_LARGEST);
    return append_bytes(l, l->text.data + before, l->text.size - before);
}

static st_status read_entries(st_listing *l, st_json *json)
{
    if (!st_json_take(json, '{'))
        json->fault = "the list of tokens is no object";
    while (!json->fault && (l->ids.size || !st_json_take(json, '}'))) {
        ST_TRY(st_go_on(ENTRY_COSTS));
        ST_TRY(read_entry(l, json));
        if (json->fault || st_json_take(json, '}'))
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

static st_status read_listing(st_listing *l, const uint8_t *text, st_span span, st_listing_fault *fault)
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

st_status st_listing_read(st_listing *l, const uint8_t *text, st_span span, st_listing_fault *fault)
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
    st_free(l->slots);
    memset(l, 0, sizeof *l);
}

uint32_t st_listing_number(const st_listing *l, const uint8_t *text, size_t n)
{
    return l->slots ? *slot_of(l, text, n) - 1 : UINT32_MAX; /* 0 - 1 where there is none */
}

/* ---- merges ---- */

/* Reads one merge: its two tokens, one behind the other in `room`; *half is the length of the first. */
static st_status read_merge(st_json *json, st_bytes *room, size_t *half)
{
    const uint8_t *blank;
    room->size = 0;
    if (st_json_take(json, '[')) {
        ST_TRY(st_json_string(json, room));
        *half = room->size;
        if (!json->fault && !st_json_take(json, ','))
            json->fault = "a merge is not made of two tokens";
        if (!json->fault)
            ST_TRY(st_json_string(json, room));
        if (!json->fault && !st_json_take(json, ']'))
            json->fault = "a merge is not made of two tokens";
        return ST_OK;
    }
    ST_TRY(st_json_string(json, room));
    if (json->fault)
        return ST_OK;
    blank = room->size ? memchr(room->data, ' ', room->size) : NULL;
    *half = blank ? (size_t)(blank - room->data) : 0;
    if (!blank || memchr(blank + 1, ' ', room->size - *half - 1)) {
        json->fault = "a merge is not two tokens with a blank between them";
        return ST_OK;
    }
    memmove(room->data + *half, room->data + *half + 1, --room->size - *half);
    return ST_OK;
}

static st_status add_merge(const st_listing *l, st_json *json, const st_bytes *room, size_t half, st_ids *merges)
{
    const uint32_t left = st_listing_number(l, room->data, half);
    const uint32_t right = st_listing_number(l, room->data + half, room->size - half);
    const uint32_t made = st_listing_number(l, room->data, room->size);
    if (left == UINT32_MAX || right == UINT32_MAX || made == UINT32_MAX) {
        json->fault = "a merge names, or makes, what is no token";
        return ST_OK;
    }
    ST_TRY(st_ids_reserve(merges, 3));
    merges->data[merges->size++] = left;
    merges->data[merges->size++] = right;
    merges->data[merges->size++] = made;
    return ST_OK;
}

static st_status read_merges(const st_listing *l, st_json *json, st_bytes *room, st_ids *merges)
{
    size_t half = 0;
    if (!st_json_take(json, '['))
        json->fault = "the list of merges is no array";
    while (!json->fault && (merges->size || !st_json_take(json, ']'))) {
        const uint8_t *from = json->at;
        ST_TRY(st_go_on(ENTRY_COSTS));
        ST_TRY(st_bytes_reserve(room, 1)); /* so that it is never NULL */
        ST_TRY(read_merge(json, room, &half));
        if (json->fault)
            break;
        ST_TRY(add_merge(l, json, room, half, merges));
        if (json->fault) {
            json->at = from;
            break;
        }
        if (st_json_take(json, ']'))
            break;
        if (!st_json_take(json, ','))
            json->fault = "a comma is missing";
    }
    return ST_OK;
}

st_status st_listing_merges(const st_listing *l, const uint8_t *text, st_span span, st_ids *merges, st_listing_fault *fault)
{
    st_json json = {text + span.start, NULL};
    st_bytes room = {0};
    const st_status status = read_merges(l, &json, &room, merges);
    st_bytes_free(&room);
    if (status)
        return status;
    if (!json.fault && (size_t)(json.at - text) < span.end)
        json.fault = "something stands behind the list of merges";
    return json.fault ? refuse(text, &json, merges->size / 3, fault) : ST_OK;
}
