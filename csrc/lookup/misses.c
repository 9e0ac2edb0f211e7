#include "lookup/misses.h"

#include "base/prefetch.h"
#include "base/search.h"
#include "cut/cuts.h"

static const st_piece_entry *line_of(const st_piece_table *pieces, uint64_t hash)
{
    return &pieces->entries[2 * (hash >> pieces->shift)];
}

static st_cache_entry *cache_entry(st_workspace *w, uint64_t hash)
{
    return &w->cache[hash >> (64 - ST_CACHE_BITS)];
}

/* ---- the piece table ---- */

/* Prefetches the lines of the misses from number `from` on, and lists long and short ones separately. */
static void send_for_lines(const st_piece_table *table, st_spans *s, size_t from)
{
    const st_piece_table pieces = *table;
    const size_t missed = s->missed;
    size_t shorts = s->short_count, longs = s->long_count;
    for (size_t m = from; m < missed; m++) {
        const int is_long = st_is_long_key(s->keys[m]);
        const uint64_t hash = s->hashes[m] = st_hash_key(s->keys[m]);
        s->shorts[shorts] = s->longs[longs] = (uint16_t)m;
        shorts += !is_long;
        longs += is_long;
        st_prefetch(line_of(&pieces, hash));
    }
    s->short_count = shorts;
    s->long_count = longs;
}

/* The ids of an entry, and their number. For an entry not in use: any ids that can be read. */
static inline const uint32_t *ids_of(const st_piece_table *pieces, const st_piece_entry *entry, uint32_t *count)
{
    const uint32_t inside = st_piece_count(entry);
    *count = inside == ST_MORE_IDS ? entry->ids[1] : inside;
    return inside == ST_MORE_IDS ? pieces->more.data + entry->ids[0] : entry->ids;
}

/* More ids than an entry holds, but not more than the hot table does? */
static inline int is_many(uint32_t count)
{
    return count - (ST_INLINE_IDS + 1) < ST_HOT_IDS - ST_INLINE_IDS;
}

/* Looks for the short misses up to number `end` of their list, each in the line of the piece table where it belongs, without a
 * branch on what is there. Those that are not found are listed. */
static void look_at_lines(const st_piece_table *table, st_hot *hot, st_spans *s, size_t end)
{
    const st_piece_table pieces = *table;
    size_t absent = s->absent_count, others = s->other_count, many = s->many_count;
    for (size_t i = s->looked; i < end; i++) {
        const size_t m = s->shorts[i];
        const st_key key = s->keys[m];
        const st_piece_entry *line = line_of(&pieces, s->hashes[m]);
        const int first = st_piece_matches(line, key), second = st_piece_matches(line + 1, key), is_there = first | second;
        const st_piece_entry *entry = line + second;
        const int is_few = st_piece_count(entry) <= ST_INLINE_IDS, is_other = (is_there ^ 1) & st_line_overflowed(line);
        const size_t keep = 0 - (size_t)(is_there & is_few);
        s->ids[m] = ids_of(&pieces, entry, &s->counts[m]);
        st_prefetch(s->ids[m]); /* the ids of many lie in `more` */
        s->absent[absent] = s->others[others] = s->many[many] = (uint16_t)m;
        many += (size_t)(is_there & is_many(s->counts[m]));
        absent += !(is_there | is_other);
        others += is_other;
        st_hot_put(hot, (st_hot_place(key) & keep) | (ST_HOT_NOWHERE & ~keep), key, entry->ids,
                   st_piece_count(entry));
    }
    s->looked = end;
    s->absent_count = absent;
    s->other_count = others;
    s->many_count = many;
}

/* Enters the words with many ids up to number `end` of their list: their ids have arrived from memory meanwhile. */
static void put_many(st_hot *hot, st_spans *s, size_t end)
{
    for (size_t i = 0; i < end; i++)
        st_hot_put_any(hot, s->keys[s->many[i]], s->ids[s->many[i]], s->counts[s->many[i]]);
    memmove(s->many, s->many + end, (s->many_count - end) * sizeof *s->many);
    s->many_count -= end;
}

/* The number-th line behind the one where the hash belongs. */
static const st_piece_entry *line_behind(const st_piece_table *pieces, uint64_t hash, uint64_t number)
{
    return &pieces->entries[2 * (((hash >> pieces->shift) + number) & pieces->mask)];
}

/* Prefetches what the listed misses need next: a place in the cache, or the two lines behind one that has overflowed, which are
 * enough for nearly all. */
static void send_for_more(const st_piece_table *pieces, st_workspace *w, size_t absent, size_t other)
{
    const st_spans *s = &w->spans;
    for (size_t i = absent; i < s->absent_count; i++)
        st_prefetch(cache_entry(w, s->hashes[s->absent[i]]));
    for (size_t i = other; i < s->other_count; i++) {
        st_prefetch(line_behind(pieces, s->hashes[s->others[i]], 1));
        st_prefetch(line_behind(pieces, s->hashes[s->others[i]], 2));
    }
}

void st_send_for_misses(const st_vocab *v, st_workspace *w, size_t from)
{
    st_spans *s = &w->spans;
    const size_t absent = s->absent_count, other = s->other_count, sent = s->short_count, many = s->many_count;
    send_for_lines(&v->pieces, s, from);
    look_at_lines(&v->pieces, &w->hot, s, sent);
    put_many(&w->hot, s, many);
    send_for_more(&v->pieces, w, absent, other);
}

/* Looks for a short span in the further lines of the piece table. */
static int look_further(const st_vocab *v, st_workspace *w, size_t m)
{
    st_spans *s = &w->spans;
    const st_key key = s->keys[m];
    const st_piece_entry *entry = st_piece_find(&v->pieces, key, s->hashes[m] >> v->pieces.shift);
    if (!entry)
        return 0;
    s->ids[m] = ids_of(&v->pieces, entry, &s->counts[m]);
    if (st_piece_count(entry) <= ST_INLINE_IDS)
        st_hot_put(&w->hot, st_hot_place(key), key, entry->ids, s->counts[m]);
    s->many[s->many_count] = (uint16_t)m;
    s->many_count += is_many(s->counts[m]);
    return 1;
}

/* ---- tokens ---- */

/* Looks for a token that is too long for the cache. */
static int is_long_token(const st_vocab *v, st_spans *s, size_t m, const uint8_t *text, size_t n)
{
    const uint32_t token = n > ST_CACHED_BYTES ? st_vocab_find_reachable(v, text, n) : ST_NONE;
    if (token == ST_NONE)
        return 0;
    s->ids[m] = &v->ids[token];
    s->counts[m] = 1;
    return 1;
}

/* Whether the span text[start..end) of the batch is a whole piece. */
static int is_piece(st_whole_pieces pieces, size_t start, size_t end)
{
    size_t low = 0, high = pieces.count;
    ST_BISECT(low, high, at, pieces.ends[at] < end) /* to the first piece that does not end before `end` */
    return low < pieces.count && pieces.ends[low] == end &&
           start == (pieces.starts ? pieces.starts[low] : low ? pieces.ends[low - 1] : 0);
}

/* Answers a span that has the bytes of an unreachable token: by its id if the span is a whole piece, else not at all: neither it nor
 * what merging gives for it may come into a table, as each stands for both. */
static int is_like_whole_token(const st_vocab *v, st_spans *s, size_t m, const uint8_t *text, st_whole_pieces pieces)
{
    const size_t n = st_miss_length(s, m), start = s->first + s->starts[m];
    if (!v->whole.slots || !st_vocab_has(v, ST_MODEL_KEEPS_TOKENS))
        return 0;
    const uint32_t token = st_string_find(&v->whole, v->bytes, v->starts, s->hashes[m], text + s->starts[m], n);
    if (token == ST_NONE)
        return 0;
    s->ids[m] = &v->ids[token];
    s->counts[m] = is_piece(pieces, start, start + n);
    return 1;
}

/* The second look at the remaining short spans, and the first at long spans. */
static void look_again(const st_vocab *v, st_workspace *w, const uint8_t *text, st_whole_pieces pieces)
{
    st_spans *s = &w->spans;
    for (size_t i = 0; i < s->long_count; i++) {
        const size_t m = s->longs[i], n = st_miss_length(s, m);
        s->ids[m] = s->space; /* something that can be read */
        s->counts[m] = 0;
        if (is_long_token(v, s, m, text + s->starts[m], n))
            continue;
        if (n > ST_WIDE_BYTES && (!v->whole.slots || n > v->max_length))
            continue;
        s->hashes[m] = st_hash_bytes(text + s->starts[m], n);
        if (is_like_whole_token(v, s, m, text, pieces) || n > ST_WIDE_BYTES)
            continue;
        if (n <= ST_CACHED_BYTES)
            st_prefetch(cache_entry(w, s->hashes[m]));
        else
            st_prefetch(st_wide_entry_of(&w->wide, s->hashes[m]));
        s->absent[s->absent_count++] = (uint16_t)m;
    }
    for (size_t i = 0; i < s->other_count; i++) {
        const size_t m = s->others[i];
        s->absent[s->absent_count] = (uint16_t)m;
        s->absent_count += !look_further(v, w, m);
        st_prefetch(cache_entry(w, s->hashes[m]));
    }
}

/* ---- the cache, and merging ---- */

/* A merge result that one of the caches holds; NULL: neither does. */
typedef struct known {
    const uint32_t *ids;
    size_t count;
} known;

static inline known find_wide(st_workspace *w, uint64_t hash, const uint8_t *text, size_t n)
{
    const st_wide_entry *entry = st_wide_find(&w->wide, hash, text, n);
    return entry ? (known){entry->ids, entry->count} : (known){NULL, 0};
}

static inline known find_known(st_workspace *w, uint64_t hash, const uint8_t *text, size_t n)
{
    if (n > ST_CACHED_BYTES) /* seldom, like the rest of this function */
        return find_wide(w, hash, text, n);
    const st_cache_entry *entry = cache_entry(w, hash);
    if (entry->length != n || entry->tag != (uint16_t)hash || !st_same_bytes(entry->bytes, text, n))
        return (known){NULL, 0};
    return entry->count == ST_CACHED_WIDE ? find_wide(w, hash, text, n) : (known){entry->ids, entry->count};
}

/* Looks the spans up in the caches, which hold merge results only, so they serve pieces and atoms alike. The ids are copied out,
 * because a later merge of the same batch may overwrite the entry. Spans that are not found become words to merge; returns how
 * many. Spans too long for that are left to be encoded one by one. */
static size_t ask_cache(const st_vocab *v, st_workspace *w, const uint8_t *text, st_whole_pieces pieces)
{
    st_spans *s = &w->spans;
    size_t words = 0, used = 0;
    for (size_t i = 0; i < s->absent_count; i++) {
        const size_t m = s->absent[i], n = st_miss_length(s, m), room = n > ST_CACHED_IDS ? n : ST_CACHED_IDS;
        const uint8_t *bytes = text + s->starts[m];
        s->counts[m] = 0;
        if (n <= ST_KEY_BYTES && is_like_whole_token(v, s, m, text, pieces))
            continue;
        if (room > ST_SPAN_IDS - used)
            continue;
        const known k = find_known(w, s->hashes[m], bytes, n);
        uint32_t *ids = &s->space[used];
        if (!k.ids && n > ST_WORD_BYTES)
            continue;
        s->ids[m] = ids;
        used += room;
        if (k.ids) {
            memcpy(ids, k.ids, ST_CACHED_IDS * sizeof *ids);
            for (size_t more = ST_CACHED_IDS; more < k.count; more++) /* seldom */
                ids[more] = k.ids[more];
            s->counts[m] = (uint32_t)k.count;
            if (n <= ST_KEY_BYTES && k.count <= ST_HOT_IDS) /* seen twice now, which most words never are */
                st_hot_put_any(&w->hot, s->keys[m], ids, k.count);
            continue;
        }
        w->words[words] = (st_word){bytes, ids, (uint32_t)n, 0};
        s->absent[words++] = (uint16_t)m;
    }
    return words;
}

/* Whether the wide cache should keep the ids of a word that has too many for an entry. Text repeats blanks and rulers; half of
 * the other such words never come again. */
static inline int is_wide(const st_word *word)
{
    return word->n > ST_CACHED_BYTES ||
           (word->count > ST_CACHED_IDS && word->text[word->n - 1] == word->text[word->n - 2]);
}

static void remember(st_workspace *w, const st_word *word, uint64_t hash)
{
    const int wide = is_wide(word);
    if (wide)
        st_wide_put(&w->wide, hash, word->text, word->n, word->tokens, word->count);
    if (word->n > ST_CACHED_BYTES || (word->count > ST_CACHED_IDS && !wide))
        return;
    st_cache_entry *entry = cache_entry(w, hash);
    entry->length = (uint8_t)word->n;
    entry->count = wide ? ST_CACHED_WIDE : (uint8_t)word->count;
    entry->tag = (uint16_t)hash;
    memcpy(entry->bytes, word->text, word->n);
    memcpy(entry->ids, word->tokens, sizeof entry->ids); /* the word's array has room for so many, so they can be read */
}

static void merge_words(st_vocab *v, st_workspace *w, size_t words)
{
    st_spans *s = &w->spans;
    if (v->model->words(v, w->scratch, w->words, words))
        return; /* what is not answered is encoded alone, which fails in the same way and says so */
    for (size_t i = 0; i < words; i++) {
        const st_word *word = &w->words[i];
        const size_t m = s->absent[i];
        for (size_t k = 0; k < word->count && !v->identity; k++)
            word->tokens[k] = v->ids[word->tokens[k]];
        s->counts[m] = word->count;
        remember(w, word, s->hashes[m]);
    }
}

void st_answer_misses(st_vocab *v, st_workspace *w, const uint8_t *text, st_whole_pieces pieces)
{
    st_spans *s = &w->spans;
    const size_t absent = s->absent_count, other = s->other_count;
    look_at_lines(&v->pieces, &w->hot, s, s->short_count);
    send_for_more(&v->pieces, w, absent, other);
    look_again(v, w, text, pieces);
    if (s->absent_count)
        merge_words(v, w, ask_cache(v, w, text, pieces));
    put_many(&w->hot, s, s->many_count);
}
