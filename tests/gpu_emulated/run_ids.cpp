/* The kernels that take ids: see cuda.h. */
#include "cuda.h"

#include "cuda/ids/ids.cu"
#include "lanes.h"

KERNEL(tell, st_sums)
KERNEL(add_up, st_sums)
KERNEL(count_bytes, st_decode)
KERNEL(write_bytes, st_decode)
KERNEL(row_bytes, st_decode)
KERNEL(hold, st_hold)
KERNEL(give, st_hold)
KERNEL(longest_row, st_pad)
KERNEL(pad, st_pad)
KERNEL(pack_rows, st_pack)
KERNEL(sequences, st_pack)
KERNEL(pack_plan, st_planned)
KERNEL(template, st_template)

extern "C" size_t sizes(int which)
{
    const size_t all[] = {sizeof(st_id_report), sizeof(st_sums), sizeof(st_decode), sizeof(st_hold), sizeof(st_pad), sizeof(st_pack),
                          sizeof(st_planned), sizeof(st_template), sizeof(st_decode_memory), ST_SUM_WARPS * sizeof(uint64_t)};
    return all[which];
}
