#include "rows/padded.h"

#include "rows/numbers.h"

static void pad_row(const st_padding *job, const st_numbers *put, size_t row)
{
    const size_t all = (size_t)(job->starts[row + 1] - job->starts[row]), around = job->prefix_size + job->suffix_size;
    const size_t size = all < job->most - around ? all : job->most - around;
    const size_t pads = job->length - around - size, start = row * job->length;
    const uint32_t *ids = job->ids + job->starts[row] + (job->keeps_end ? all - size : 0);
    size_t at = start + (job->is_left ? pads : 0);
    put->one(job->mask, at, 1, size + around);
    put->ids(job->out, at, job->prefix, job->prefix_size);
    put->ids(job->out, at += job->prefix_size, ids, size);
    put->ids(job->out, at += size, job->suffix, job->suffix_size);
    at = job->is_left ? start : at + job->suffix_size;
    put->one(job->out, at, job->pad, pads);
    put->one(job->mask, at, 0, pads);
}

void st_pad_rows(const st_padding *job, size_t first, size_t last)
{
    const st_numbers *put = st_numbers_of(job->width);
    for (size_t row = first; row < last; row++)
        pad_row(job, put, row);
}
