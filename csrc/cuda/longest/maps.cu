/* maps.cu - finds where the matching of each stretch begins, for text that mend.cu gives up. A token from the stretch before reaches
 * at most job->longest_token - 1 bytes into this one. The map of a stretch says for each such entry where its last token ends. Maps are
 * composed, those of a group first. */
#ifndef ST_CUDA_LONGEST_MAPS_CU
#define ST_CUDA_LONGEST_MAPS_CU

#include "cuda/longest/walk.cu"

#define ST_GROUP 64 /* stretches */

/* Where the exit of a part's first walk is kept: in the word that is left out behind its text. */
ST_FORCE_INLINE uint32_t *st_exit_place(const st_matching *w, unsigned part)
{
    return w->memory->text + part * (ST_LANE_BYTES / 4 + 1) + ST_LANE_BYTES / 4;
}

/* The exit of a stretch that is entered at the place `at`. Where it comes to a start that a lane has noted, it goes on at the lane's
 * exit. */
template <int Bounded> ST_INLINE uint32_t st_exit_of(const st_matching *w, uint32_t at)
{
    const uint32_t last = min(ST_WINDOW, w->size);
    uint32_t tokens;
    while (at < last) {
        const unsigned part = at / ST_LANE_BYTES;
        if (st_was_noted(w, part, at))
            at = *st_exit_place(w, part);
        else
            at = st_walk_part<ST_TRIAL_WALK, Bounded>(w, part, at, min((part + 1) * ST_LANE_BYTES, w->size), (uint32_t *)0, &tokens);
    }
    return at < ST_WINDOW ? 0 : at - ST_WINDOW; /* at the end of the text nothing is entered behind it */
}

/* The map of a stretch; a warp a stretch. */
template <int Bounded> ST_FORCE_INLINE void st_map_bounded(st_matching *w, uint64_t stretch)
{
    uint32_t *map = w->job->maps + (stretch - w->job->first_stretch) * w->job->longest_token, tokens;
    st_begin_walk(w, stretch);
    __syncwarp(); /* the memory is free again */
    st_load_window<Bounded>(w);
    *st_exit_place(w, w->lane) = st_walk_first<Bounded>(w, (uint32_t *)0, &tokens);
    __syncwarp();
    for (uint32_t entry = w->lane; entry < w->job->longest_token; entry += 32)
        map[entry] = st_exit_of<Bounded>(w, ST_LANE_BYTES + entry);
}

ST_FORCE_INLINE void st_map_stretch(st_matching *w, uint64_t stretch)
{
    if (w->bounded)
        st_map_bounded<1>(w, stretch);
    else
        st_map_bounded<0>(w, stretch);
}

ST_FORCE_INLINE uint64_t st_groups(const st_job *job)
{
    return (job->stretches + ST_GROUP - 1) / ST_GROUP;
}

ST_FORCE_INLINE uint64_t st_group_end(const st_job *job, uint64_t group)
{
    return (group + 1) * ST_GROUP < job->stretches ? (group + 1) * ST_GROUP : job->stretches;
}

/* One number of the map of a group; a thread for each. */
ST_INLINE void st_map_group(const st_job *job, uint64_t number)
{
    const uint64_t group = number / job->longest_token, end = st_group_end(job, group);
    uint32_t entry = (uint32_t)(number % job->longest_token);
    for (uint64_t stretch = group * ST_GROUP; stretch < end; stretch++)
        entry = job->maps[stretch * job->longest_token + entry];
    job->group_maps[number] = entry;
}

/* Where the groups of the slice are entered, from where its first stretch is, and where the stretch behind it is; one thread. */
ST_INLINE void st_enter_groups(const st_job *job)
{
    uint32_t entry = job->stretch_entries[job->first_stretch];
    for (uint64_t group = 0; group < st_groups(job); group++) {
        job->group_entries[group] = entry;
        entry = job->group_maps[group * job->longest_token + entry];
    }
    job->stretch_entries[job->first_stretch + job->stretches] = entry;
}

/* Where the stretches of a group are entered; a thread a group. */
ST_INLINE void st_enter_stretches(const st_job *job, uint64_t group)
{
    uint32_t entry = job->group_entries[group];
    for (uint64_t stretch = group * ST_GROUP; stretch < st_group_end(job, group); stretch++) {
        job->stretch_entries[job->first_stretch + stretch] = entry;
        entry = job->maps[stretch * job->longest_token + entry];
    }
}

#endif
