/* walk.cu - longest match (longest/matcher.h) of a stretch of text, a lane for each part of it.
 *
 * Nobody knows where the tokens of a part begin before those in front of it are known. So each lane begins at the start of its part,
 * as if a token began there, and notes the starts of tokens that it comes to, up to the first one behind its part: its EXIT. Then
 * it asks the lane in front of it for the exit there: that is where its own tokens begin in truth. From there it walks once more, until
 * it comes to a start that it has noted: what follows is the same, whatever stands in front. Real text gets there within a token or
 * two. Where a lane gets to its end without that, its exit changes, and the lane behind it walks again.
 *
 * The first lane of a warp has the last part of the stretch in front, and gives no ids: its exit is where the stretch is taken to be
 * entered. mend.cu compares it with the exit of that stretch. */
#ifndef ST_CUDA_LONGEST_WALK_CU
#define ST_CUDA_LONGEST_WALK_CU

#include "cuda/job.h"

#ifndef ST_LANE_BYTES
#define ST_LANE_BYTES 128 /* a multiple of 64, up to 512 */
#endif
#define ST_LANE_WORDS (ST_LANE_BYTES / 32) /* bits, in numbers of 32 */
#define ST_WINDOW (32u * ST_LANE_BYTES)    /* bytes that a warp looks at */
#define ST_WALK_STRETCH (31 * ST_LANE_BYTES)
#define ST_WALK_BLOCKS (ST_WALK_STRETCH / 64)

typedef struct st_walk_memory {
    uint32_t text[ST_WINDOW / 4 + 32];   /* a word is left out behind each lane's part, so that lanes use different banks */
    uint32_t starts[32 * ST_LANE_WORDS]; /* word, lane: the starts that the first walk came to */
} st_walk_memory;

typedef struct st_bounded_memory {
    st_walk_memory plain;
    uint32_t fronts[32 * ST_LANE_WORDS];      /* word, lane: starts in front of those */
    uint32_t borders[32 * ST_LANE_WORDS + 2]; /* of pieces and passages */
} st_bounded_memory;

/* A warp's stretch. Places count from the start of its window, one part in front of the stretch. */
typedef struct st_matching {
    const st_job *job;
    st_walk_memory *memory;
    st_bounded_memory *bounded; /* the same; NULL: tokens end nowhere but at the end of the text */
    unsigned lane;
    uint64_t origin; /* byte of the text that place 0 is; wraps around in front of the text */
    uint32_t size;   /* the place where the text ends, or one far behind */
} st_matching;

/* What a lane found: ids in `fronts`, then those in `slots` from `skipped` to `found`. */
typedef struct st_lane_ids {
    uint32_t front, skipped, found;
} st_lane_ids;

/* ---- text ---- */

/* Four bytes of the text; ST_PAD where there is none. */
ST_INLINE uint32_t st_text_word(const st_matching *w, uint32_t word)
{
    const uint64_t at = w->origin + 4 * (uint64_t)word;
    uint32_t bytes = 0;
    if (at + 4 <= w->job->size)
        return *(const uint32_t *)(w->job->text + at);
    for (unsigned i = 0; i < 4; i++)
        bytes |= (at + i < w->job->size ? w->job->text[at + i] : (uint32_t)ST_PAD) << 8 * i;
    return bytes;
}

ST_INLINE uint32_t st_border_word(const st_matching *w, uint32_t word)
{
    const uint64_t at = (w->origin + 32 * (uint64_t)word) / 32;
    return at < 2 * w->job->blocks ? ((const uint32_t *)w->job->starts)[at] : 0xFFFFFFFFu;
}

/* The window's text and borders to shared memory. */
template <int Bounded> ST_INLINE void st_load_window(const st_matching *w)
{
    const unsigned from = w->origin > w->job->size ? ST_LANE_BYTES / 16 : 0; /* nothing is in front of the text */
    for (unsigned i = from + w->lane; i < ST_WINDOW / 16; i += 32) {
        const uint64_t at = w->origin + 16 * i;
        uint4 bytes;
        if (at + 16 <= w->job->size) {
            bytes = *(const uint4 *)(w->job->text + at);
        } else {
            bytes.x = st_text_word(w, 4 * i);
            bytes.y = st_text_word(w, 4 * i + 1);
            bytes.z = st_text_word(w, 4 * i + 2);
            bytes.w = st_text_word(w, 4 * i + 3);
        }
        uint32_t *to = w->memory->text + 4 * i + 4 * i / (ST_LANE_BYTES / 4);
        to[0] = bytes.x;
        to[1] = bytes.y;
        to[2] = bytes.z;
        to[3] = bytes.w;
    }
    if constexpr (Bounded) {
        for (unsigned i = w->lane; i < 32 * ST_LANE_WORDS + 2; i += 32)
            w->bounded->borders[i] = 2 * i < from ? 0 : st_border_word(w, i);
    }
    __syncwarp();
}

ST_FORCE_INLINE uint32_t st_window_word(const st_matching *w, uint32_t word)
{
    return word < ST_WINDOW / 4 ? w->memory->text[word + word / (ST_LANE_BYTES / 4)] : st_text_word(w, word);
}

ST_FORCE_INLINE uint32_t st_window_borders(const st_matching *w, uint32_t word)
{
    return word < 32 * ST_LANE_WORDS + 2 ? w->bounded->borders[word] : st_border_word(w, word);
}

/* Eight bytes from a place on. Those that no token that holds the byte in front of them, or the first one if is_start, may have are
 * 0xFF. */
template <int Bounded> ST_FORCE_INLINE uint64_t st_eight_bytes(const st_matching *w, uint32_t at, int is_start)
{
    const uint32_t word = at / 4, shift = 8 * (at & 3), middle = st_window_word(w, word + 1);
    uint64_t bytes = (uint64_t)__funnelshift_r(middle, st_window_word(w, word + 2), shift) << 32 |
                     __funnelshift_r(st_window_word(w, word), middle, shift);
    if constexpr (Bounded) {
        uint32_t borders = __funnelshift_r(st_window_borders(w, at / 32), st_window_borders(w, at / 32 + 1), at & 31) & 0xFF;
        borders &= is_start ? 0xFE : 0xFF;
        if (borders)
            bytes |= ~(uint64_t)0 << 8 * (__ffs((int)borders) - 1);
    }
    return bytes;
}

/* ---- a lane's way ---- */

typedef enum st_purpose {
    ST_FIRST_WALK, /* notes starts and ids */
    ST_NEXT_WALK,  /* up to a start that was noted; notes ids, and starts in `fronts` */
    ST_TRIAL_WALK  /* up to a start that was noted */
} st_purpose;

ST_FORCE_INLINE uint32_t *st_bits_of(uint32_t *bits, unsigned part, uint32_t at)
{
    return bits + at % ST_LANE_BYTES / 32 * 32 + part;
}

ST_FORCE_INLINE int st_was_noted(const st_matching *w, unsigned part, uint32_t at)
{
    return *st_bits_of(w->memory->starts, part, at) >> (at & 31) & 1;
}

/* A token begins at the place. */
template <int Purpose, int Bounded> ST_FORCE_INLINE void st_note(const st_matching *w, unsigned part, uint32_t at)
{
    if constexpr (Purpose == ST_FIRST_WALK)
        *st_bits_of(w->memory->starts, part, at) |= 1u << (at & 31);
    else if constexpr (Purpose == ST_NEXT_WALK && Bounded)
        *st_bits_of(w->bounded->fronts, part, at) |= 1u << (at & 31);
}

/* Ids on their way to memory, four at a time. */
typedef struct st_ids_out {
    uint32_t *to; /* a multiple of 16; NULL: ids are only counted */
    uint32_t count;
    uint4 last; /* w is the last one */
} st_ids_out;

ST_FORCE_INLINE void st_put_id(st_ids_out *out, uint32_t id)
{
    out->count++;
    out->last.x = out->last.y;
    out->last.y = out->last.z;
    out->last.z = out->last.w;
    out->last.w = id;
    if (out->to && !(out->count & 3))
        *(uint4 *)(out->to + out->count - 4) = out->last;
}

/* The last ones, fewer than four. */
ST_FORCE_INLINE void st_end_ids(const st_ids_out *out)
{
    const uint32_t left = out->count & 3;
    if (!out->to || !left)
        return;
    out->to[out->count - 1] = out->last.w;
    if (left > 1)
        out->to[out->count - 2] = out->last.z;
    if (left > 2)
        out->to[out->count - 3] = out->last.y;
}

/* Steps of a walk in eights beyond the first of each token, which is all that text of any meaning needs. */
ST_FORCE_INLINE uint32_t st_work_of(const st_job *job)
{
    return 8 * ST_LANE_BYTES + (uint32_t)job->longest_token / 4;
}

/* Walks from `at`, where a token begins, in the part of that number. Returns the place where it ends: a start that was noted, or the
 * first one at or behind `end`. *count receives the tokens that begin in front of it; their ids go to `to`, if that is not NULL. */
template <int Purpose, int Bounded>
ST_FORCE_INLINE uint32_t st_walk_part(const st_matching *w, unsigned part, uint32_t at, uint32_t end, uint32_t *to, uint32_t *count)
{
    const st_cell *cells = w->job->cells;
    uint32_t stop = at, place = 0, here = 0, left = 0, id = 0, work = st_work_of(w->job);
    st_ids_out out = {to, 0, {0, 0, 0, 0}};
    uint64_t bytes = 0;
    int ended = 1;
    for (;;) {
        if (ended) {
            at = stop;
            if (at >= end || (Purpose != ST_FIRST_WALK && st_was_noted(w, part, at)))
                break;
            bytes = st_eight_bytes<Bounded>(w, at, 1);
            if (Bounded && (bytes & 0xFF) >= ST_PAD) { /* the next block; one that holds an id gives it */
                stop = (at | 63) + 1;
                if ((bytes & 0xFF) == ST_ID) {
                    st_note<Purpose, Bounded>(w, part, at);
                    st_put_id(&out, st_window_word(w, at / 4) >> 8 | st_window_word(w, at / 4 + 1) << 24);
                }
                continue;
            }
            here = ((uint32_t)bytes & 0xFF) << 8 | ((uint32_t)bytes >> 8 & 0xFF);
            bytes >>= 8;
            left = 7;
            place = at + 1;
        }
        const st_cell cell = cells[here];
        const uint32_t base = st_cell_base(cell);
        ended = st_cell_byte(cell) != ((uint32_t)bytes & 0xFF);
        if (!ended) {
            if (st_cell_id(cell) != ST_CELL_NO_TOKEN) {
                id = st_cell_id(cell) & ~ST_CELL_ONE_BYTE;
                stop = place + 1 - (st_cell_id(cell) >> 31);
            }
            ended = !base;
            place++;
            bytes >>= 8;
            if (--left == 0) {
                bytes = st_eight_bytes<Bounded>(w, place, 0);
                left = 8;
                if (!work--) {
                    atomicOr(&w->job->counts->flags, ST_FLAG_WORK);
                    end = 0;
                    ended = 1;
                }
            }
            here = base + ((uint32_t)bytes & 0xFF);
        }
        if (ended) {
            st_note<Purpose, Bounded>(w, part, at);
            st_put_id(&out, id);
        }
    }
    st_end_ids(&out);
    *count = out.count;
    return at;
}

/* ---- a stretch ---- */

/* Where the first walk of a lane begins: at a space, in front of which few tokens of any text go on, or else at the first character. */
ST_INLINE uint32_t st_guess_start(const st_matching *w, uint32_t at)
{
    const uint64_t bytes = st_eight_bytes<0>(w, at, 1), other = bytes ^ 0x2020202020202020u;
    const uint64_t spaces = (other - 0x0101010101010101u) & ~other & 0x8080808080808080u;
    if (spaces)
        return at + st_first_bit(spaces) / 8;
    uint32_t first = (uint32_t)bytes;
    for (unsigned i = 0; i < 3 && (first & 0xC0) == 0x80; i++, first >>= 8)
        at++;
    return at;
}

ST_FORCE_INLINE void st_begin_walk(st_matching *w, uint64_t stretch)
{
    w->origin = stretch * ST_WALK_STRETCH - ST_LANE_BYTES;
    const uint64_t size = w->job->size - w->origin;
    w->size = size < 0x40000000u ? (uint32_t)size : 0x40000000u;
}

/* The noted starts of a lane that lie in front of the place. */
ST_INLINE uint32_t st_starts_before(const uint32_t *bits, unsigned lane, uint32_t at)
{
    uint32_t sum = 0;
#pragma unroll
    for (unsigned i = 0; i < ST_LANE_WORDS; i++) {
        const uint32_t word = bits[32 * i + lane];
        sum += 32 * i + 32 <= at ? __popc(word) : 32 * i < at ? __popc(word & ((1u << (at & 31)) - 1)) : 0;
    }
    return sum;
}

/* Each lane's first walk; returns its exit. */
template <int Bounded> ST_FORCE_INLINE uint32_t st_walk_first(const st_matching *w, uint32_t *to, uint32_t *count)
{
    const uint32_t begin = w->lane * ST_LANE_BYTES, end = min(begin + ST_LANE_BYTES, w->size);
    for (unsigned i = 0; i < ST_LANE_WORDS; i++)
        w->memory->starts[32 * i + w->lane] = 0;
    *count = 0;
    if (begin >= end || w->origin + begin >= w->job->size) /* the second: in front of the text */
        return begin + (w->origin + begin >= w->job->size && w->lane == 0 ? ST_LANE_BYTES : 0);
    return st_walk_part<ST_FIRST_WALK, Bounded>(w, w->lane, st_guess_start(w, begin), end, w->lane ? to : (uint32_t *)0, count);
}

/* Where the lane's part is entered in truth, it walks from there. *exit: that of the first walk; receives the true one. *from
 * receives the place in the part from which on the first walk was right. */
template <int Bounded>
ST_FORCE_INLINE void st_walk_again(const st_matching *w, uint32_t entry, uint32_t first_exit, uint32_t *to, uint32_t *exit, uint32_t *from,
                                   st_lane_ids *ids)
{
    const uint32_t begin = w->lane * ST_LANE_BYTES, end = min(begin + ST_LANE_BYTES, w->size);
    for (unsigned i = 0; Bounded && i < ST_LANE_WORDS; i++)
        w->bounded->fronts[32 * i + w->lane] = 0;
    ids->front = 0;
    const uint32_t met =
        entry < end ? st_walk_part<ST_NEXT_WALK, Bounded>(w, w->lane, entry, end, to, &ids->front) : entry;
    *exit = met < end ? first_exit : met;
    *from = met < end ? met - begin : ST_LANE_BYTES;
    ids->skipped = met < end ? st_starts_before(w->memory->starts, w->lane, *from) : ids->found;
}

/* For each passage that begins in the lane's part, the tokens of the stretch in front of it. before: those in front of the part. */
ST_INLINE void st_mark_rows(const st_matching *w, uint32_t before, uint32_t from)
{
    const st_job *job = w->job;
    const uint64_t block = (w->origin + w->lane * ST_LANE_BYTES) / 64;
    for (unsigned i = 0; i < ST_LANE_BYTES / 64 && block + i < job->blocks; i++) {
        if (!st_passage_begins(job, block + i))
            continue;
        uint32_t tokens = st_starts_before(w->bounded->fronts, w->lane, 64 * i);
        if (64 * i > from)
            tokens += st_starts_before(w->memory->starts, w->lane, 64 * i) - st_starts_before(w->memory->starts, w->lane, from);
        job->row_slots[block + i - job->first_stretch * ST_WALK_BLOCKS] = before + tokens;
    }
}

/* Walks a stretch. entry: where it is entered, from its start, or ST_NONE: as the part in front of it says. */
template <int Bounded> ST_FORCE_INLINE void st_walk_bounded(st_matching *w, uint64_t stretch, uint32_t entry)
{
    const st_job *job = w->job;
    const uint64_t part = (stretch - job->first_stretch) * 31 + w->lane - 1; /* not for the first lane */
    uint32_t *slots = job->slots + part * ST_LANE_BYTES, *fronts = job->fronts + part * ST_LANE_BYTES;
    st_lane_ids ids = {0, 0, 0};
    st_begin_walk(w, stretch);
    __syncwarp(); /* the memory is free again */
    st_load_window<Bounded>(w);
    const uint32_t first_exit = st_walk_first<Bounded>(w, slots, &ids.found);
    uint32_t exit = w->lane == 0 && entry != ST_NONE ? ST_LANE_BYTES + entry : first_exit, from = 0, entered = ST_NONE;
    for (;;) {
        const uint32_t left = __shfl_up_sync(0xFFFFFFFFu, exit, 1);
        const int is_new = w->lane && left != entered;
        if (!__any_sync(0xFFFFFFFFu, is_new))
            break;
        if (is_new)
            st_walk_again<Bounded>(w, entered = left, first_exit, fronts, &exit, &from, &ids);
    }
    uint32_t total;
    const uint32_t count = w->lane ? ids.front + ids.found - ids.skipped : 0, before = st_prefix(count, w->lane, &total);
    const uint64_t number = stretch - job->first_stretch;
    if (w->lane) {
        job->spans[part] = ids.front | ids.skipped << 10 | ids.found << 20;
        if (Bounded && job->marks)
            st_mark_rows(w, before, from);
    }
    if (w->lane == 0) {
        job->stretch_entries[stretch] = exit - ST_LANE_BYTES;
        job->tokens[number] = total;
    }
    if (w->lane == 31)
        job->stretch_exits[stretch] = exit - ST_WINDOW;
}

ST_FORCE_INLINE void st_walk_stretch(st_matching *w, uint64_t stretch, uint32_t entry)
{
    if (w->bounded)
        st_walk_bounded<1>(w, stretch, entry);
    else
        st_walk_bounded<0>(w, stretch, entry);
}

#endif
