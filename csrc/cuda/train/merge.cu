/* merge.cu - a merge, in three steps, with a barrier of the team behind each:
 *
 *     note    finds each place of the pair and notes its neighbours, before anything is changed
 *     settle  joins the places, lowers the counts of pairs that lose places, enters new pairs
 *     list    lists the places of the new pairs
 *
 * All places are noted before any is joined. Of two places that touch (abab) the left one notes the right one as the new token, and
 * the right one notes nothing to its left. The first place of a run (aaaa) handles the whole run. It is determined before the first
 * join, because a join in front would make the rest of a run look like its beginning. */
#include "cuda/train/pairs.cu"

#define ST_NO_PLACE 0xFFFFFFFFu

typedef struct st_merge {
    uint32_t a, b, joined;
    uint64_t to_b, to_end; /* distance from a place to the second token, and to the token behind it */
    uint64_t list, n;      /* its places, and some where the pair no longer is */
    uint64_t odd;          /* which of the sides belong to this merge */
} st_merge;

ST_INLINE void st_begin_merge(const st_learning *job, st_merge *m)
{
    const st_pair *pair = &job->pairs[job->learned->chosen];
    m->a = (uint32_t)(pair->key >> 32);
    m->b = (uint32_t)pair->key;
    m->joined = (uint32_t)job->learned->tokens;
    m->to_b = job->lengths[m->a];
    m->to_end = m->to_b + job->lengths[m->b];
    m->list = pair->start;
    m->n = pair->n;
    m->odd = 2 * (job->learned->tokens & 1);
}

ST_FORCE_INLINE int st_is_here(const st_learning *job, const st_merge *m, uint64_t place)
{
    return job->row[place] == m->a && job->row[place + m->to_b] == m->b;
}

/* Whether this is a place of the pair and, in a run, the first one. */
ST_FORCE_INLINE int st_begins_here(const st_learning *job, const st_merge *m, uint64_t place)
{
    return st_is_here(job, m, place) && (m->a != m->b || st_token_before(job, place) != m->a);
}

/* ---- note ---- */

ST_INLINE void st_note(const st_learning *job, uint64_t side, uint32_t token, uint64_t sum, uint64_t n)
{
    st_side *noted = &job->sides[side * job->wanted + token];
    st_add64(&noted->sum, sum);
    if (st_take64(&noted->n, n) == 0)
        job->seen[side * job->wanted + st_take64(&job->learned->seen[side], 1)] = token;
}

ST_INLINE void st_note_place(const st_learning *job, const st_merge *m, uint64_t place)
{
    const uint64_t weight = st_weight_at(job, place), end = place + m->to_end;
    const uint32_t before = st_token_before(job, place), behind = job->row[end];
    const int touches_left = before == m->b && st_token_before(job, place - (m->to_end - m->to_b)) == m->a;
    if (before != ST_BORDER && !touches_left)
        st_note(job, m->odd, before, weight, 1);
    if (behind != ST_BORDER)
        st_note(job, m->odd + 1, st_is_here(job, m, end) ? m->joined : behind, weight, 1);
}

/* A run of n tokens has n / 2 joins. */
ST_INLINE void st_note_run(const st_learning *job, const st_merge *m, uint64_t place)
{
    const uint64_t weight = st_weight_at(job, place);
    const uint32_t before = st_token_before(job, place);
    uint64_t joins = 0;
    for (; st_is_here(job, m, place); place += m->to_end)
        joins++;
    if (before != ST_BORDER)
        st_note(job, m->odd, before, weight, 1);
    if (joins > 1)
        st_note(job, m->odd + 1, m->joined, weight * (joins - 1), joins - 1);
    if (job->row[place] != ST_BORDER)
        st_note(job, m->odd + 1, job->row[place], weight, 1);
}

ST_INLINE void st_note_all(const st_learning *job, const st_team *team, const st_merge *m)
{
    for (uint64_t i = team->rank; i < m->n; i += team->size) {
        const uint64_t place = job->lists[m->list + i];
        if (!st_begins_here(job, m, place))
            job->lists[m->list + i] = ST_NO_PLACE;
        else if (m->a == m->b)
            st_note_run(job, m, place);
        else
            st_note_place(job, m, place);
    }
}

/* ---- settle ---- */

ST_FORCE_INLINE void st_join(const st_learning *job, const st_merge *m, uint64_t place)
{
    const uint64_t b = place + m->to_b, end = place + m->to_end;
    if (b - 1 > place)
        job->row[b - 1] = ST_INSIDE;
    if (end - 1 > b)
        job->row[b] = ST_INSIDE;
    job->row[place] = m->joined;
    job->row[end - 1] = m->joined | ST_LAST;
}

ST_INLINE void st_join_all(const st_learning *job, const st_team *team, const st_merge *m)
{
    for (uint64_t i = team->rank; i < m->n; i += team->size) {
        uint64_t place = job->lists[m->list + i];
        if (place == ST_NO_PLACE)
            continue;
        do {
            st_join(job, m, place);
            place += m->to_end;
        } while (m->a == m->b && st_is_here(job, m, place));
    }
}

ST_INLINE void st_take_away(const st_learning *job, uint64_t key, uint64_t sum)
{
    st_pair *pair = st_find_pair(job, key);
    if (pair)
        st_add64(&pair->count, 0 - sum);
}

/* Enters a new pair, if it is frequent enough to be known. If there is no room for it, the row is searched before the next merge,
 * which finds it. */
ST_INLINE void st_bring_in(const st_learning *job, uint64_t key, st_side *side)
{
    const uint32_t left = (uint32_t)(key >> 32), right = (uint32_t)key;
    const uint32_t joined = (uint32_t)job->learned->tokens;
    side->place = ST_NO_LIST;
    if (side->sum < job->learned->least)
        return;
    const uint64_t joined_length = job->lengths[joined];
    const uint64_t left_length = left == joined ? joined_length : job->lengths[left];
    const uint64_t right_length = right == joined ? joined_length : job->lengths[right];
    if (!st_may_merge(job, left_length, right_length))
        return;
    st_pair *pair = st_add_pair(job, key);
    const uint64_t start = pair ? st_take64(&job->learned->list_top, side->n) : 0;
    if (!pair || start + side->n > job->list_room) {
        job->learned->stale = 1;
        return;
    }
    pair->start = side->place = start;
    pair->n = side->n;
    pair->count = side->sum;
    job->learned->made = 1;
    if (side->sum >= job->learned->front_least)
        job->front[st_take64(&job->learned->front_count, 1)] = (uint32_t)(pair - job->pairs);
}

/* Settles neighbour number i; those to the left come first. */
ST_INLINE void st_settle_neighbour(const st_learning *job, const st_merge *m, uint64_t i, uint64_t lefts)
{
    const uint64_t which = m->odd + (i >= lefts), number = i >= lefts ? i - lefts : i;
    const uint32_t token = job->seen[which * job->wanted + number];
    st_side *side = &job->sides[which * job->wanted + token];
    if (which == m->odd) {
        st_take_away(job, st_pair_key(token, m->a), side->sum);
        st_bring_in(job, st_pair_key(token, m->joined), side);
        return;
    }
    const uint32_t before = token == m->joined ? m->a : token; /* the neighbour before this merge */
    if (m->a != m->b || before != m->a) /* all places of the pair itself are gone */
        st_take_away(job, st_pair_key(m->b, before), side->sum);
    st_bring_in(job, st_pair_key(m->joined, token), side);
}

ST_INLINE void st_settle(const st_learning *job, const st_team *team, const st_merge *m)
{
    const st_learned *learned = job->learned;
    const uint64_t lefts = learned->seen[m->odd], all = lefts + learned->seen[m->odd + 1];
    for (uint64_t i = team->rank; i < all; i += team->size)
        st_settle_neighbour(job, m, i, lefts);
    for (uint64_t side = 2 - m->odd; side < 4 - m->odd; side++) /* the sides of the merge before */
        for (uint64_t i = team->rank; i < learned->seen[side]; i += team->size) {
            st_side *noted = &job->sides[side * job->wanted + job->seen[side * job->wanted + i]];
            noted->sum = noted->n = 0;
        }
}

/* ---- list ---- */

ST_FORCE_INLINE void st_list_place(const st_learning *job, uint64_t which, uint32_t token, uint64_t place)
{
    st_side *side = &job->sides[which * job->wanted + token];
    if (*(const volatile uint64_t *)&side->place != ST_NO_LIST)
        job->lists[st_take64(&side->place, 1)] = (uint32_t)place;
}

ST_INLINE void st_list_all(const st_learning *job, const st_team *team, const st_merge *m)
{
    for (uint64_t i = team->rank; i < m->n; i += team->size) {
        uint64_t place = job->lists[m->list + i];
        if (place == ST_NO_PLACE)
            continue;
        do {
            const uint32_t before = st_token_before(job, place), behind = job->row[place + m->to_end];
            if (before != ST_BORDER && before != m->joined)
                st_list_place(job, m->odd, before, place - job->lengths[before]);
            if (behind != ST_BORDER)
                st_list_place(job, m->odd + 1, behind, place);
            place += m->to_end;
        } while (m->a == m->b && job->row[place] == m->joined);
    }
}

/* ---- the whole merge ---- */

/* Enters the token that the pair makes; by the first block. Its length is written before it is read. */
ST_INLINE void st_enter_token(const st_learning *job, const st_merge *m)
{
    const uint64_t start = job->learned->byte_top;
    for (uint64_t i = threadIdx.x; i < m->to_end && job->by_bytes; i += blockDim.x)
        job->bytes[start + i] = job->bytes[i < m->to_b ? job->starts[m->a] + i : job->starts[m->b] + i - m->to_b];
    if (threadIdx.x == 0) {
        job->lengths[m->joined] = (uint32_t)m->to_end;
        job->prefixes[m->joined] = job->prefixes[m->a] | (m->to_b < 8 ? job->prefixes[m->b] >> 8 * m->to_b : 0);
        job->starts[m->joined] = start;
        job->merged[m->joined] = st_pair_key(m->a, m->b);
        job->learned->made = 0;
    }
}

/* Ends the merge; by one thread, when all other work is done. */
ST_INLINE void st_end_merge(const st_learning *job, const st_merge *m, uint64_t count)
{
    st_learned *learned = job->learned;
    learned->seen[2 - m->odd] = learned->seen[3 - m->odd] = 0;
    learned->byte_top += job->by_bytes ? m->to_end : 0;
    learned->last_count = count;
    learned->merges++;
    learned->work += m->n;
    learned->tokens++;
}

ST_INLINE void st_merge_pair(const st_learning *job, const st_team *team)
{
    st_merge m;
    st_begin_merge(job, &m);
    if (blockIdx.x == 0)
        st_enter_token(job, &m);
    st_note_all(job, team, &m);
    st_meet_team(job, team);
    st_tick(job, ST_AT_NOTES + team->all);
    st_join_all(job, team, &m);
    st_settle(job, team, &m);
    st_meet_team(job, team);
    st_tick(job, ST_AT_SETTLING + team->all);
    if (job->learned->made && !job->learned->stale)
        st_list_all(job, team, &m);
    if (team->rank == 0) {
        st_pair *pair = &job->pairs[job->learned->chosen];
        const uint64_t count = pair->count;
        pair->count = pair->n = 0;
        st_end_merge(job, &m, count);
    }
    st_meet_team(job, team);
    st_tick(job, ST_AT_LISTS + team->all);
}
