/* Rows for models (csrc/rows): padded texts and packed documents, in memory of exactly their size, against what each place of a row
 * must hold. Allocations fail on the way. */
#include "fuzz.h"
#include "rows/packed.h"
#include "rows/padded.h"

#include <stdio.h>
#include <stdlib.h>

#define DOCUMENTS_MOST 60

static struct {
    uint64_t padded, packed, best_fit, sequences, pads, failed_allocations;
} counts;

static const unsigned widths[] = {2, 4, 8};

static uint64_t number_at(const void *numbers, unsigned width, size_t at)
{
    return width == 2 ? ((const uint16_t *)numbers)[at] : width == 4 ? ((const uint32_t *)numbers)[at] : ((const uint64_t *)numbers)[at];
}

/* Texts of 1, 2, 3, ...: an id says where it lies. */
static uint32_t *ids_of(const int64_t *starts, size_t count)
{
    uint32_t *ids = take((size_t)starts[count] * 4);
    for (size_t i = 0; i < (size_t)starts[count]; i++)
        ids[i] = (uint32_t)i + 1;
    return ids;
}

static void check_padded(rng *r, const uint32_t *ids, const int64_t *starts, size_t count, unsigned width)
{
    const uint32_t around[2] = {50001, 50002};
    const size_t front = rng_below(r, 3), behind = rng_below(r, 3), most = front + behind + rng_size(r, 40);
    const size_t length = most + rng_size(r, 9), all = length * count;
    st_padding job = {ids, starts, around, around, front, behind, length, most, rng_one_in(r, 2), rng_one_in(r, 2), 60000, width, NULL, NULL};
    job.out = take(all * width);
    job.mask = take(all * width);
    const size_t cut = rng_below(r, count + 1);
    st_pad_rows(&job, 0, cut);
    st_pad_rows(&job, cut, count);
    for (size_t row = 0; row < count; row++) {
        const size_t own = (size_t)(starts[row + 1] - starts[row]), kept = own < most - front - behind ? own : most - front - behind;
        const size_t pads = length - front - kept - behind, first = job.is_left ? pads : 0;
        const size_t from = (size_t)starts[row] + (job.keeps_end ? own - kept : 0);
        for (size_t i = 0; i < length; i++) {
            const size_t at = i - first;
            const int is_id = at < front + kept + behind;
            const uint64_t want = !is_id                 ? 60000
                                  : at < front           ? around[at]
                                  : at < front + kept    ? ids[from + at - front]
                                                         : around[at - front - kept];
            CHECK(number_at(job.out, width, row * length + i) == want);
            CHECK(number_at(job.mask, width, row * length + i) == (uint64_t)is_id);
        }
    }
    free(job.out);
    free(job.mask);
    counts.padded++;
}

/* Each sequence lies in one row and has ids that follow each other; all together are all documents, and each pad is between two
 * rows' documents or at the end. */
static void check_plan(const st_documents *documents, const st_sequence *plan, size_t count, size_t length, const uint32_t *ids, unsigned width, size_t cut)
{
    const size_t total = (size_t)plan[count].place, room = (total + length - 1) / length * length;
    st_packing job = {ids, plan, count, room, 60001, 60000, width, take(room * width), take(room * width)};
    size_t known = 0;
    st_pack_rows(&job, 0, cut);
    st_pack_rows(&job, cut, count);
    if (cut == count)
        st_pack_rows(&job, count, count);
    for (size_t i = 0; i < count; i++) {
        const size_t at = (size_t)plan[i].place, size = (size_t)(plan[i + 1].place - plan[i].place);
        CHECK(size > 0 && at / length == (at + size - 1) / length);
        const int is_pads = plan[i].document == ST_PADS;
        if (is_pads)
            CHECK((at + size) % length == 0);
        else
            CHECK(plan[i].document < documents->count && plan[i].first + (int64_t)size <= documents->starts[plan[i].document + 1] + (int64_t)plan[i].has_end);
        for (size_t k = 0; k < size; k++) {
            const uint64_t want = is_pads ? 60000 : plan[i].has_end && k + 1 == size ? 60001 : ids[(size_t)plan[i].first + k];
            CHECK(number_at(job.out, width, at + k) == want);
            CHECK(number_at(job.positions, width, at + k) == (is_pads ? 0 : k));
        }
        known += is_pads ? 0 : size;
        counts.pads += (uint64_t)is_pads;
    }
    for (size_t at = total; at < room; at++)
        CHECK(number_at(job.out, width, at) == 60000 && number_at(job.positions, width, at) == 0);
    CHECK(known == (size_t)documents->starts[documents->count] + (documents->has_end ? documents->count : 0));
    free(job.out);
    free(job.positions);
    counts.sequences += count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    rng r = rng_of(data, n);
    const size_t count = rng_below(&r, DOCUMENTS_MOST + 1);
    int64_t *starts = take((count + 1) * sizeof *starts);
    starts[0] = 0;
    for (size_t i = 0; i < count; i++)
        starts[i + 1] = starts[i] + (int64_t)rng_size(&r, 300);
    uint32_t *ids = ids_of(starts, count);
    const unsigned width = widths[rng_below(&r, 3)];
    check_padded(&r, ids, starts, count, width);

    const st_documents documents = {starts, count, rng_one_in(&r, 2)};
    const size_t length = 1 + (rng_one_in(&r, 30) ? rng_size(&r, 300000) : rng_size(&r, 700)), room = st_plan_room(&documents, length);
    st_sequence *plan = take(room * sizeof *plan);
    size_t made = st_plan_joined(&documents, length, plan);
    CHECK(made < room);
    check_plan(&documents, plan, made, length, ids, width, rng_below(&r, made + 1));
    counts.packed++;
    st_alloc_fail_after(0);
    CHECK(st_plan_best_fit(&documents, length, plan, &made) == ST_NO_MEMORY);
    st_alloc_fail_after(-1);
    counts.failed_allocations++;
    CHECK(st_plan_best_fit(&documents, length, plan, &made) == ST_OK && made < room);
    check_plan(&documents, plan, made, length, ids, width, rng_below(&r, made + 1));
    counts.best_fit++;
    free(plan);
    free(ids);
    free(starts);
    return 0;
}

void harness_close(void)
{
    printf("fuzz_rows: %llu padded, %llu packed, %llu by best fit, %llu sequences, %llu of pads, %llu failed allocations: no difference\n",
           (unsigned long long)counts.padded,
           (unsigned long long)counts.packed, (unsigned long long)counts.best_fit, (unsigned long long)counts.sequences,
           (unsigned long long)counts.pads, (unsigned long long)counts.failed_allocations);
}
