/* mend.cu - stretches that are entered elsewhere than walk.cu took them to be, as inside a long run of one character, are walked
 * anew, each chain of them by a warp, from its HEAD on: the first one, in front of which all is right. */
#ifndef ST_CUDA_LONGEST_MEND_CU
#define ST_CUDA_LONGEST_MEND_CU

#include "cuda/longest/walk.cu"

#define ST_CHAIN 4 /* stretches that one warp walks anew; what then is wrong is left to maps.cu */

ST_FORCE_INLINE int st_is_wrong(const st_job *job, uint64_t stretch)
{
    return stretch && job->stretch_entries[stretch] != job->stretch_exits[stretch - 1];
}

/* Lists the stretch if it is a head; a thread a stretch. */
ST_INLINE void st_check_stretch(const st_job *job, uint64_t stretch)
{
    const int is_head = st_is_wrong(job, stretch) && (stretch == job->first_stretch || !st_is_wrong(job, stretch - 1));
    job->is_head[stretch] = (uint8_t)is_head;
    if (is_head) {
        const uint32_t number = atomicAdd(&job->counts->heads[job->check], 1u);
        if (job->check < 2)
            job->heads[number] = (uint32_t)stretch;
    }
}

/* Walks the chain that begins with a head, up to the next head or to where all is right. */
ST_INLINE void st_mend_chain(st_matching *w, uint64_t head)
{
    const st_job *job = w->job;
    const uint64_t end = job->first_stretch + job->stretches;
    uint32_t entry = job->stretch_exits[head - 1];
    for (uint64_t stretch = head; stretch < head + ST_CHAIN; stretch++) {
        st_walk_stretch(w, stretch, entry);
        __syncwarp();
        entry = job->stretch_exits[stretch];
        if (stretch + 1 == end || job->is_head[stretch + 1] || job->stretch_entries[stretch + 1] == entry)
            break;
    }
}

#endif
