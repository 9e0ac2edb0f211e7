#include "rows/packed.h"

#include "base/prefetch.h"
#include "rows/numbers.h"

/* ---- the plan: one behind the other ---- */

static size_t size_of(const st_documents *documents, size_t number)
{
    return (size_t)(documents->starts[number + 1] - documents->starts[number]) + (documents->has_end != 0);
}

size_t st_plan_room(const st_documents *documents, size_t length)
{
    size_t parts = 0; /* when each document begins in a row of its own; packed, it is cut once more at most, or its row has pads */
    for (size_t i = 0; i < documents->count; i++)
        parts += (size_of(documents, i) + length - 1) / length;
    return 2 * parts + 1;
}

size_t st_plan_joined(const st_documents *documents, size_t length, st_sequence *plan)
{
    size_t count = 0, place = 0, left = length;
    for (size_t i = 0; i < documents->count; i++) {
        const size_t size = size_of(documents, i);
        for (size_t first = 0; first < size;) {
            const size_t part = size - first < left ? size - first : left;
            plan[count++] = (st_sequence){(int64_t)place, documents->starts[i] + (int64_t)first, (uint32_t)i,
                                          documents->has_end && first + part == size};
            place += part;
            first += part;
            left = left == part ? length : left - part;
        }
    }
    plan[count] = (st_sequence){(int64_t)place, 0, ST_PADS, 0};
    return count;
}

/* ---- the rows ---- */

static void put_sequence(const st_packing *job, const st_numbers *put, const st_sequence *sequence)
{
    const size_t at = (size_t)sequence->place, size = (size_t)(sequence[1].place - sequence->place);
    if (sequence->document == ST_PADS) {
        put->one(job->out, at, job->pad, size);
        put->one(job->positions, at, 0, size);
        return;
    }
    const size_t ids = size - sequence->has_end;
    put->ids(job->out, at, job->ids + sequence->first, ids);
    if (sequence->has_end)
        put->one(job->out, at + ids, job->end, 1);
    put->from_zero(job->positions, at, size);
}

/* Sequences whose ids are on their way from memory while others are written: with best fit they lie anywhere. Of a longer one the
 * processor fetches the rest by itself. */
#define AHEAD 8
#define LINES_AHEAD 4

static void fetch(const st_packing *job, const st_sequence *sequence)
{
    const size_t size = (size_t)(sequence[1].place - sequence->place);
    for (size_t line = 0; line < LINES_AHEAD && line * 16 < size; line++)
        st_prefetch(job->ids + sequence->first + line * 16);
}

void st_pack_rows(const st_packing *job, size_t first, size_t last)
{
    const st_numbers *put = st_numbers_of(job->width);
    for (size_t i = first; i < last; i++) {
        if (i + AHEAD < job->count)
            fetch(job, &job->plan[i + AHEAD]);
        put_sequence(job, put, &job->plan[i]);
    }
    if (last == job->count) {
        const size_t at = (size_t)job->plan[last].place;
        put->one(job->out, at, job->pad, (size_t)job->room - at);
        put->one(job->positions, at, 0, (size_t)job->room - at);
    }
}
