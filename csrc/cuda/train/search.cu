/* search.cu - searches the whole row for pairs seen `least` times or more: counts them and lists their places.
 *
 * As in train/index.c, an array of counts by hash excludes most rare pairs before any is entered. All threads take part. Each pass
 * goes over all places; there is work only at places where a token begins. */
#include "cuda/train/pairs.cu"

/* The key of the pair whose left token begins at the place; ST_NO_PAIR: there is none, or it must not be merged. */
ST_FORCE_INLINE uint64_t st_pair_at(const st_learning *job, uint64_t place)
{
    const uint32_t left = job->row[place];
    if (left & ST_LAST) /* a border, or not the first place of a token */
        return ST_NO_PAIR;
    const uint32_t length = job->lengths[left], right = job->row[place + length];
    if (right == ST_BORDER || !st_may_merge(job, length, job->lengths[right]))
        return ST_NO_PAIR;
    return st_pair_key(left, right);
}

ST_FORCE_INLINE uint64_t *st_sketch_of(const st_learning *job, uint64_t key)
{
    return &job->sketch[st_hash_number(key) >> (64 - job->sketch_bits)];
}

ST_INLINE void st_clear_pairs(const st_learning *job, const st_team *team)
{
    for (uint64_t i = team->rank; i <= job->pair_mask; i += team->size) {
        st_pair *pair = &job->pairs[i];
        pair->key = ST_NO_PAIR;
        pair->count = pair->n = 0;
        pair->start = ST_NO_LIST;
    }
    for (uint64_t i = team->rank; i < (uint64_t)1 << job->sketch_bits; i += team->size)
        job->sketch[i] = 0;
    if (team->rank == 0)
        job->learned->pair_count = job->learned->list_top = 0;
}

ST_INLINE void st_fill_sketch(const st_learning *job, const st_team *team)
{
    for (uint64_t place = 1 + team->rank; place < job->places; place += team->size) {
        const uint64_t key = st_pair_at(job, place);
        if (key != ST_NO_PAIR)
            st_add64(st_sketch_of(job, key), st_weight_at(job, place));
    }
}

/* Counts the pairs that may be frequent by the sketch. 0: the table is full. */
ST_INLINE void st_count_pairs(const st_learning *job, const st_team *team)
{
    for (uint64_t place = 1 + team->rank; place < job->places; place += team->size) {
        const uint64_t key = st_pair_at(job, place);
        if (key == ST_NO_PAIR || *st_sketch_of(job, key) < job->learned->least)
            continue;
        st_pair *pair = st_add_pair(job, key);
        if (!pair) {
            job->learned->stop = ST_STOP_PAIRS;
            return;
        }
        st_add64(&pair->count, st_weight_at(job, place));
        st_add64(&pair->n, 1);
    }
}

/* Gives each pair that is frequent enough its range of the lists. All ranges together have at most as many places as the row. */
ST_INLINE void st_lay_out_lists(const st_learning *job, const st_team *team)
{
    const unsigned lane = threadIdx.x & 31;
    for (uint64_t i = team->rank; i <= job->pair_mask; i += team->size) {
        st_pair *pair = &job->pairs[i];
        const int listed = pair->key != ST_NO_PAIR && pair->count >= job->learned->least;
        const uint64_t start = st_take_for_warp(&job->learned->list_top, listed ? pair->n : 0, lane);
        pair->start = listed ? start : ST_NO_LIST;
        pair->n = 0;
    }
}

ST_INLINE void st_fill_all_lists(const st_learning *job, const st_team *team)
{
    for (uint64_t place = 1 + team->rank; place < job->places; place += team->size) {
        const uint64_t key = st_pair_at(job, place);
        if (key == ST_NO_PAIR || *st_sketch_of(job, key) < job->learned->least)
            continue;
        st_pair *pair = st_find_pair(job, key);
        if (pair->start != ST_NO_LIST)
            job->lists[pair->start + st_take64(&pair->n, 1)] = (uint32_t)place;
    }
}

/* If the table is too small, the launch ends (`stop`); the host enlarges the table, and the row is searched again. */
ST_INLINE void st_search(const st_learning *job, const st_team *team)
{
    st_clear_pairs(job, team);
    st_meet_team(job, team);
    st_fill_sketch(job, team);
    st_meet_team(job, team);
    st_count_pairs(job, team);
    st_meet_team(job, team);
    if (job->learned->stop == ST_STOP_PAIRS)
        return;
    st_lay_out_lists(job, team);
    st_meet_team(job, team);
    st_fill_all_lists(job, team);
    st_meet_team(job, team);
    if (team->rank == 0) {
        job->learned->stale = 0;
        job->learned->searches++;
    }
}
