#include "lookup/displaced.h"

#include "base/alloc.h"

/* Two bits a line: of a table as full as it may be, a tenth are set. Not fewer than a word of 64. */
static uint64_t bits_for(uint64_t lines)
{
    return lines < 32 ? 64 : 2 * lines;
}

static void release(st_attached *attached)
{
    st_free(((st_displaced *)attached)->bits); /* its first member */
    st_free(attached);
}

/* Notes the entries of a line that belong into another one. */
static void note_line(st_displaced *displaced, const st_piece_table *pieces, uint64_t line)
{
    for (const st_piece_entry *entry = &pieces->entries[2 * line], *end = entry + 2; entry < end && st_piece_count(entry); entry++) {
        const st_key key = {entry->key.low, entry->key.high & UINT64_MAX >> 4};
        const uint64_t hash = st_hash_key(key), bit = hash & displaced->mask;
        if (hash >> pieces->shift != line)
            displaced->bits[bit / 64] |= (uint64_t)1 << bit % 64;
    }
}

const st_displaced *st_vocab_displaced(st_vocab *vocab)
{
    const st_piece_table *pieces = &vocab->pieces;
    st_displaced *made = st_acquire((void **)&vocab->displaced);
    if (made)
        return made;
    made = st_calloc(1, sizeof *made);
    if (!made)
        return NULL;
    made->attached.release = release;
    made->mask = bits_for(pieces->mask + 1) - 1;
    made->bits = st_calloc((made->mask + 1) / 64, sizeof *made->bits);
    if (!made->bits) {
        st_free(made);
        return NULL;
    }
    for (uint64_t line = 0; line <= pieces->mask; line++)
        if (st_line_overflowed(&pieces->entries[2 * ((line - 1) & pieces->mask)])) /* nothing else is displaced */
            note_line(made, pieces, line);
    return st_attach(&vocab->displaced, &made->attached);
}

const st_displaced *st_vocab_displaced_known(const st_vocab *vocab)
{
    static uint64_t every[1] = {UINT64_MAX};
    static const st_displaced all = {{NULL}, 63, every};
    const st_displaced *built = st_acquire((void **)&vocab->displaced);
    return built ? built : &all;
}

/* Building the set takes 4 ns a line, and with it a word that is merged is looked up some 5 ns faster (Zen 5). So it is built late
 * enough that it costs a few hundredths of what was merged before. Of threads that merge at the same time, the one that comes to this
 * number builds it. */
void st_displaced_prepare(st_vocab *vocab, size_t words)
{
    if (st_acquire((void **)&vocab->displaced))
        return;
    const uint64_t lines = vocab->pieces.mask + 1, merged = st_number_add(&vocab->merged_before, words);
    if (merged >= lines && merged - words < lines)
        st_vocab_displaced(vocab);
}
