/* The plan of st_plan_best_fit (packed.h): "Fewer Truncations Improve Language Modeling" (Ding et al., 2024) packs documents so, with
 * a tree over the rooms that rows have left. Here the rests are sorted by counting, and rows with equal room are a list; bits say
 * which lists have rows, 64 to a word, and words above them which words have bits. So a rest takes a few steps, however many rows
 * there are. */
#include <string.h>

#include "base/alloc.h"
#include "base/bits.h"
#include "base/interrupt.h"
#include "rows/packed.h"

#define NO_ROW UINT32_MAX
#define REST_COSTS 64 /* what a rest takes, in the unit of st_go_on */
#define LEVELS 4 /* 64^4 is ST_BEST_FIT_LENGTH */

/* ---- which rooms there are ---- */

typedef struct rooms {
    uint64_t *levels[LEVELS]; /* bit i of a level: word i of the level below is not 0; of the lowest: rows have i + 1 left */
    uint32_t *last;           /* room: the row that came to have it last */
    uint32_t *before;         /* row: the one that had the same room before it, and still has */
} rooms;

static void set_room(rooms *all, size_t room, uint32_t row)
{
    all->before[row] = all->last[room];
    all->last[room] = row;
    for (size_t level = 0, at = room - 1; level < LEVELS; level++, at /= 64)
        all->levels[level][at / 64] |= (uint64_t)1 << at % 64;
}

/* Takes the last row of the list away. */
static uint32_t take_room(rooms *all, size_t room)
{
    const uint32_t row = all->last[room];
    all->last[room] = all->before[row];
    if (all->last[room] != NO_ROW)
        return row;
    for (size_t level = 0, at = room - 1; level < LEVELS; level++, at /= 64) {
        all->levels[level][at / 64] &= ~((uint64_t)1 << at % 64);
        if (all->levels[level][at / 64])
            break;
    }
    return row;
}

/* The least room that is `size` or more and has rows; 0: there is none. */
static size_t next_room(const rooms *all, size_t size)
{
    size_t at = size - 1;
    for (size_t level = 0; level < LEVELS; level++) {
        /* The last level has one word, and one of zeros behind it, as each has. */
        const uint64_t found = all->levels[level][at / 64] >> at % 64;
        if (found) {
            at += st_first_bit(found);
            while (level--)
                at = at * 64 + st_first_bit(all->levels[level][at]);
            return at + 1;
        }
        at = at / 64 + 1;
    }
    return 0;
}

/* ---- the plan ---- */

/* The end of a document, which is shorter than a row. */
typedef struct rest {
    int64_t first; /* as in st_sequence */
    uint32_t document, size;
} rest;

/* All that it takes, in one block. */
typedef struct work {
    rooms rooms;
    rest *rests;       /* the longest first */
    rest *listed;      /* row by row */
    uint32_t *rows;    /* number of a rest: its row */
    uint32_t *numbers; /* size, or row: how many rests, or where they begin */
    size_t rest_count, whole_rows, row_count;
    void *block;
} work;

static size_t size_of(const st_documents *documents, size_t number)
{
    return (size_t)(documents->starts[number + 1] - documents->starts[number]) + (documents->has_end != 0);
}

static st_status make_work(work *made, const st_documents *documents, size_t length)
{
    size_t words = 0, sizes[LEVELS], at = length;
    memset(made, 0, sizeof *made);
    for (size_t i = 0; i < documents->count; i++)
        made->rest_count += size_of(documents, i) % length != 0;
    for (size_t level = 0; level < LEVELS; level++) {
        at = (at + 63) / 64;
        words += sizes[level] = at + 1;
    }
    const size_t count = made->rest_count, lists = (length > count ? length : count) + 2;
    made->block = st_calloc(words * 8 + count * (2 * sizeof(rest) + 8) + (lists + length + 1) * 4, 1);
    if (!made->block)
        return ST_NO_MEMORY;
    uint64_t *word = made->block;
    for (size_t level = 0; level < LEVELS; word += sizes[level++])
        made->rooms.levels[level] = word;
    made->rests = (rest *)word;
    made->listed = made->rests + count;
    made->rows = (uint32_t *)(made->listed + count);
    made->rooms.before = made->rows + count;
    made->rooms.last = made->rooms.before + count;
    made->numbers = made->rooms.last + length + 1;
    memset(made->rooms.last, 0xFF, (length + 1) * 4); /* NO_ROW */
    return ST_OK;
}

/* Whole rows go into the plan, in order; the rests are sorted. */
static void cut_documents(work *made, const st_documents *documents, size_t length, st_sequence *plan)
{
    size_t count = 0, known = 0;
    uint32_t *ends = made->numbers; /* of rests of each size, in order */
    for (size_t i = 0; i < documents->count; i++) {
        const size_t size = size_of(documents, i), left = size % length;
        for (size_t first = 0; first + length <= size; first += length, count++)
            plan[count] = (st_sequence){(int64_t)(count * length), documents->starts[i] + (int64_t)first, (uint32_t)i,
                                        documents->has_end && first + length == size};
        if (left)
            made->listed[known++] = (rest){documents->starts[i] + (int64_t)(size - left), (uint32_t)i, (uint32_t)left};
        ends[left]++;
    }
    for (size_t size = length - 1, all = 0; size > 0; size--) {
        const uint32_t some = ends[size];
        ends[size] = (uint32_t)all;
        all += some;
    }
    for (size_t i = 0; i < known; i++)
        made->rests[ends[made->listed[i].size]++] = made->listed[i];
    made->whole_rows = count;
}

/* Gives each rest its row. */
static st_status place_rests(work *made, size_t length)
{
    size_t rows = 0;
    for (size_t i = 0; i < made->rest_count; i++) {
        const size_t size = made->rests[i].size, found = next_room(&made->rooms, size);
        const uint32_t row = found ? take_room(&made->rooms, found) : (uint32_t)rows++;
        const size_t left = (found ? found : length) - size;
        made->rows[i] = row;
        if (left)
            set_room(&made->rooms, left, row);
        ST_TRY(st_go_on(REST_COSTS));
    }
    made->row_count = rows;
    return ST_OK;
}

/* The rests row by row, in each row as they were placed. */
static void list_rests(work *made)
{
    uint32_t *begins = made->numbers; /* row: rests of the rows in front of it */
    memset(begins, 0, (made->row_count + 1) * 4);
    for (size_t i = 0; i < made->rest_count; i++)
        begins[made->rows[i]]++;
    for (size_t row = 0, all = 0; row <= made->row_count; row++) {
        const uint32_t own = begins[row];
        begins[row] = (uint32_t)all;
        all += own;
    }
    for (size_t i = 0; i < made->rest_count; i++)
        made->listed[begins[made->rows[i]]++] = made->rests[i];
}

/* Puts the rests behind the whole rows, and the pads of each row behind its own. Returns how many sequences there are. */
static size_t plan_rests(const work *made, int has_end, size_t length, st_sequence *plan)
{
    size_t count = made->whole_rows, at = count * length, end = 0; /* of a row: the number of the rest behind its last */
    for (size_t row = 0; row < made->row_count; row++) {
        for (size_t i = end; i < made->numbers[row]; i++) {
            const rest *own = &made->listed[i];
            plan[count++] = (st_sequence){(int64_t)at, own->first, own->document, has_end != 0};
            at += own->size;
        }
        end = made->numbers[row];
        if (at % length && row + 1 < made->row_count) {
            plan[count++] = (st_sequence){(int64_t)at, 0, ST_PADS, 0};
            at += length - at % length;
        }
    }
    plan[count] = (st_sequence){(int64_t)at, 0, ST_PADS, 0};
    return count;
}

st_status st_plan_best_fit(const st_documents *documents, size_t length, st_sequence *plan, size_t *count)
{
    work made;
    ST_TRY(make_work(&made, documents, length));
    cut_documents(&made, documents, length, plan);
    const st_status status = place_rests(&made, length);
    if (!status) {
        list_rests(&made);
        *count = plan_rests(&made, documents->has_end, length, plan);
    }
    st_free(made.block);
    return status;
}
