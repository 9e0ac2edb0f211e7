/* block_starts.h - where pieces start, by bit algebra over 64 bytes at a time; one source for the CPU and the GPU.
 *
 * The rules are those of the patterns in closed form, as far as a block, the next one and a few bits of the one before can decide.
 * Other places are HARD: the caller runs the table of the pattern (dfa.h) there, from the last start on. Such places are
 *
 *     where a mark may be in a word and among others: one that follows no letter
 *     with the case rule   an attached contraction with a letter or mark beyond ASCII right behind it
 *     with the case rule   an upper-case run behind caseless letters that goes on through all of the next block
 *     with lines           white space behind a line break that goes on through all of the next block
 *     with Han apart       a character of Han that is no letter
 *
 * No pattern looks back, so text may begin at any start, with a fresh st_edge. `family`, and so its traits (rows.h), are constant at
 * every call. */
#ifndef ST_SPLIT_BLOCK_STARTS_H
#define ST_SPLIT_BLOCK_STARTS_H

#include "split/block.h"
#include "split/char_kind.h"
#include "split/rows.h"

/* What a block needs to know of those before it. A field named like a mask is the mask's bit for the last byte before the block, 0
 * or 1. The last three fields say what a contraction that spans the border decides about the first bytes of the block. All 0: the
 * text begins here, with a start. */
typedef struct st_edge {
    uint64_t word, number, white, other, blank, newline;
    uint64_t lower, caseless;     /* case rule */
    uint64_t caseless_of_lower;   /* o200k: in a caseless run that began behind a lower-case letter */
    uint64_t absorbed;            /* in the CR, LF (or "/") that belong to the punctuation before them */
    uint64_t first;               /* in the first character of a run of others that no blank leads */
    uint64_t control, han, kana;
    uint64_t ascii_word;          /* in the letters of an ASCII word */
    uint64_t digits;              /* characters since the last start, if the block ended in numbers */
    uint64_t clear, set, ended;   /* masks: no starts; starts; ends of attached contractions */
} st_edge;

/* Masks that several rules use. */
typedef struct st_facts {
    uint64_t word;     /* letters, and the marks that belong to them; not Han where that is apart */
    uint64_t parts;    /* first characters of the runs of kana, and of what is between them, where those are apart */
    uint64_t absorbed; /* see st_edge */
    uint64_t other;    /* others that are not absorbed */
    uint64_t first;    /* see st_edge, here all bytes of the character */
    uint64_t starts, hard;
} st_facts;

/* ---- numbers ---- */

/* The same as st_number_starts where some of the numbers take more than one byte: counts characters. */
ST_INLINE uint64_t st_count_numbers(const st_block *b, st_edge *edge)
{
    const uint64_t inside = st_behind(b->number, edge->number);
    uint64_t leads = b->number & ~b->tail, starts = 0, count = edge->digits;
    for (; leads; leads &= leads - 1) {
        const uint64_t bit = leads & (0 - leads);
        if (!(inside & bit) || count == 3) {
            starts |= bit;
            count = 0;
        }
        count++;
    }
    edge->digits = st_carry_of(b->number) ? count : 0;
    return starts;
}

/* A piece starts with each run of numbers, and with every third number behind that start. */
ST_FORCE_INLINE uint64_t st_number_starts(const st_block *b, st_edge *edge)
{
    if (b->number & b->high)
        return st_count_numbers(b, edge);
    const uint64_t run = b->number, inside = run & run << 1 & run << 2 & run << 3;
    uint64_t starts = run & ~st_behind(run, edge->number), third = starts;
    if (edge->digits) { /* a run may go on from the block before: its next start, if it is that long */
        const uint64_t upto = ((uint64_t)2 << (3 - edge->digits)) - 1;
        third |= (run & upto) == upto ? (upto + 1) >> 1 : 0;
        starts = third;
    }
    while ((third = third << 3 & inside))
        starts |= third;
    edge->digits = st_carry_of(run) ? 64 - st_last_bit(starts) : 0;
    return starts;
}

/* ---- white space ---- */

/* First bytes of the characters of `these` behind which no character of `mask` stands; `next_mask` is that of the next block. */
ST_FORCE_INLINE uint64_t st_not_in_front_of(const st_block *b, const st_block *next, uint64_t these, uint64_t mask,
                                            uint64_t next_mask)
{
    const uint64_t leads = these & ~b->tail, mask_1 = st_ahead(mask, next_mask, 1);
    if (!(these & b->high))
        return leads & ~mask_1;
    const uint64_t tail_1 = st_ahead(b->tail, next->tail, 1), tail_2 = st_ahead(b->tail, next->tail, 2);
    const uint64_t tail_3 = st_ahead(b->tail, next->tail, 3), mask_2 = st_ahead(mask, next_mask, 2);
    const uint64_t mask_3 = st_ahead(mask, next_mask, 3), mask_4 = st_ahead(mask, next_mask, 4);
    return leads & ((~tail_1 & ~mask_1) | (tail_1 & ~tail_2 & ~mask_2) | (tail_1 & tail_2 & ~tail_3 & ~mask_3) |
                    (tail_1 & tail_2 & tail_3 & ~mask_4));
}

/* White space, and what ends a text for the white space in front of it. */
ST_FORCE_INLINE uint64_t st_white_or_part(const st_traits *t, const st_block *b)
{
    return b->white | (t->apart != ST_APART_NONE ? b->number : 0) | (t->apart == ST_APART_KANA ? b->kana : 0);
}

/* First bytes of the white space characters that go with what follows: another kind, but not the end of a part. */
ST_FORCE_INLINE uint64_t st_last_whites(const st_traits *t, const st_block *b, const st_block *next)
{
    return st_not_in_front_of(b, next, b->white, st_white_or_part(t, b), st_white_or_part(t, next));
}

/* Looks for the ends of the runs of `run` that begin at the bits of `first`. Returns the first bits of those behind which no
 * character of `stop` stands. A run that fills the rest of the block is followed into the next one; if it fills that too, it is
 * hard. */
ST_INLINE uint64_t st_runs_that_end(uint64_t run, uint64_t next_run, uint64_t stop, uint64_t next_stop, uint64_t first,
                                    uint64_t *hard)
{
    const uint64_t next_end = ~next_run & (next_run + 1);
    uint64_t starts = 0;
    for (; first; first &= first - 1) {
        const uint64_t bit = first & (0 - first), end = (run + bit) & ~run & ~(bit - 1);
        if (end ? !(end & stop) : next_end && !(next_end & next_stop))
            starts |= bit;
        else if (!end && !next_end)
            *hard |= bit;
    }
    return starts;
}

/* White space characters right behind the last line break of their run of white space. They are starts, because the white space up
 * to the last line break is one piece. The sum sets a bit behind each run that begins at a bit of `first`. If no run reaches the
 * end of the block, and no line break is behind one, all bits of `first` are starts. */
ST_FORCE_INLINE uint64_t st_after_breaks(const st_block *b, const st_block *next, const st_edge *edge, uint64_t *hard)
{
    const uint64_t run = b->white & ~b->newline, first = run & st_behind(b->newline, edge->newline), sum = run + first;
    if (sum >= run && !(sum & ~run & b->newline))
        return first;
    return st_runs_that_end(run, next->white & ~next->newline, b->newline, next->newline, first, hard);
}

ST_FORCE_INLINE uint64_t st_white_starts(const st_traits *t, const st_block *b, const st_block *next, st_facts *facts,
                                         st_edge *edge)
{
    const uint64_t white = b->white & ~facts->absorbed, last = st_last_whites(t, b, next);
    uint64_t starts = white & ~st_behind(white, edge->white);
    if (t->space == ST_SPACE_PLAIN) {
        edge->white = st_carry_of(white);
        return starts | (last & ~facts->absorbed);
    }
    starts |= st_after_breaks(b, next, edge, &facts->hard);
    edge->white = st_carry_of(white);
    return starts | (last & ~b->newline);
}

/* ---- other characters, and the line breaks behind them ---- */

ST_FORCE_INLINE uint64_t st_absorbed(const st_traits *t, const st_block *b, const st_edge *edge)
{
    if (t->tail == ST_TAIL_NONE)
        return 0;
    const uint64_t tail = t->tail == ST_TAIL_SLASH ? b->newline | b->slash : b->newline;
    uint64_t behind_other = st_behind(b->other, edge->other);
    if (t->apart == ST_APART_KANA)
        behind_other &= ~st_behind(b->kana, edge->kana);
    return st_flood(tail, (b->newline & behind_other) | (tail & edge->absorbed));
}

/* Finds the first character of each run of others that no blank leads. Its first byte is a start. facts->first
 * gets all of its bytes, or where only ASCII matters, the only one. */
ST_FORCE_INLINE void st_find_first(const st_traits *t, const st_block *b, st_facts *facts, const st_edge *edge)
{
    facts->other = b->other & ~facts->absorbed;
    facts->first = facts->other & ~st_behind(facts->other, edge->other) & ~st_behind(b->blank, edge->blank);
    if (t->apart == ST_APART_KANA)
        facts->first |= facts->other & facts->parts;
    facts->starts |= facts->first;
    if (t->ascii_word)
        facts->first &= ~b->high;
    if (t->ascii_word || !b->tail)
        return;
    uint64_t spread = facts->first | (edge->first ? st_leading_tail(b) & b->other : 0);
    for (int i = 0; i < 3; i++)
        spread |= spread << 1 & b->tail;
    facts->first = spread;
}

/* ---- words ---- */

ST_FORCE_INLINE uint64_t st_word_starts(const st_traits *t, const st_block *b, const st_facts *facts, const st_edge *edge)
{
    const uint64_t starts = facts->word & ~st_behind(facts->word, edge->word);
    if (t->prefix == ST_PREFIX_BLANK)
        return starts & ~st_behind(b->blank, edge->blank);
    const int others = t->prefix == ST_PREFIX_ANY, controls = t->other == ST_OTHER_VISIBLE;
    uint64_t lead = b->white & ~b->newline, before = edge->white & ~edge->newline; /* a word behind it belongs to its piece */
    lead |= (others ? facts->first : 0) | (controls ? b->control : 0);
    before |= (others ? edge->first : 0) | (controls ? edge->control : 0);
    return starts & ~st_behind(lead, before);
}

/* Makes one piece of an ASCII mark that starts a piece and the ASCII letters behind it. Other letters and marks behind those begin a
 * piece of their own. */
ST_FORCE_INLINE void st_apply_ascii_words(const st_block *b, st_facts *facts, st_edge *edge)
{
    const uint64_t latin = b->letter & ~b->high, begin = latin & st_behind(facts->first, edge->first);
    const uint64_t inside = st_flood(latin, begin | (latin & edge->ascii_word));
    facts->starts &= ~begin;
    facts->starts |= facts->word & ~inside & st_behind(inside, edge->ascii_word);
    edge->ascii_word = st_carry_of(inside);
}

/* A run of controls is a piece, but the last one leads a word that follows. */
ST_FORCE_INLINE uint64_t st_control_starts(const st_block *b, const st_block *next, const st_facts *facts, const st_edge *edge)
{
    if (!b->control)
        return 0;
    const uint64_t next_parts = next->kana ^ st_behind(next->kana, st_carry_of(b->kana));
    const uint64_t last = st_not_in_front_of(b, next, b->control, ~facts->word | facts->parts,
                                             ~(next->letter | next->mark) | next_parts);
    return (b->control & ~st_behind(b->control, edge->control)) | last;
}

/* Upper case behind lower case starts a piece, also if caseless characters stand between the two. An upper-case run behind caseless
 * characters that follow no lower case starts a piece only if the word ends with that run. */
ST_FORCE_INLINE uint64_t st_case_starts(const st_traits *t, const st_block *b, const st_block *next, st_facts *facts,
                                        st_edge *edge)
{
    const uint64_t next_word = (next->letter & ~(t->han ? next->han : 0)) | next->mark;
    const uint64_t caseless = facts->word & ~b->upper & ~b->lower, behind_lower = st_behind(b->lower, edge->lower);
    uint64_t starts = b->upper & behind_lower;
    if (caseless | edge->caseless) {
        const uint64_t of_lower = st_flood(caseless, caseless & (behind_lower | edge->caseless_of_lower));
        const uint64_t doubtful =
            b->upper & st_behind(caseless & ~of_lower, edge->caseless & ~edge->caseless_of_lower);
        starts |= b->upper & st_behind(of_lower, edge->caseless_of_lower);
        if (doubtful)
            starts |= st_runs_that_end(b->upper, next->upper, facts->word, next_word, doubtful, &facts->hard);
        edge->caseless_of_lower = st_carry_of(of_lower);
        edge->caseless = st_carry_of(caseless);
    }
    edge->lower = st_carry_of(b->lower);
    return starts;
}

/* ---- contractions ---- */

/* The size in bytes of the contraction at `text`, which is an apostrophe; 0 if there is none. Reads three bytes. */
ST_INLINE unsigned st_contraction(st_split_family family, const uint8_t *text)
{
    const int any_case = st_traits_of(family).contraction != ST_CONTRACTION_LOWER;
    const unsigned fold = any_case ? 0x20 : 0, first = text[1] | fold, second = text[2] | fold;
    if (first == 's' || first == 't' || first == 'm' || first == 'd')
        return 2;
    if (any_case && text[1] == 0xC5 && text[2] == 0xBF) /* U+017F, which is an s in any case */
        return 3;
    return (first == 'l' && second == 'l') || ((first == 'v' || first == 'r') && second == 'e') ? 3 : 0;
}

/* The letters of a contraction are no starts, and what follows it is a start. The apostrophe of an attached contraction is no start
 * either. Right behind an attached contraction no other one can be attached. `candidates` are apostrophes. */
ST_FORCE_INLINE void st_apply_contractions(st_split_family family, const st_block *b, uint64_t candidates,
                                           const uint8_t *text, st_facts *facts, st_edge *edge)
{
    const int attached = st_traits_of(family).contraction == ST_CONTRACTION_ATTACHED;
    uint64_t starts = (facts->starts & ~edge->clear) | edge->set, ended = edge->ended;
    edge->clear = edge->set = edge->ended = 0;
    for (; candidates; candidates &= candidates - 1) {
        const unsigned at = st_first_bit(candidates), size = st_contraction(family, text + at);
        if (!size || (attached && ended >> at & 1))
            continue;
        const uint64_t gone = attached ? ((uint64_t)1 << size) - 1 : ((uint64_t)1 << size) - 2;
        const unsigned end = at + size;
        starts &= ~(gone << at);
        if (attached && text[end] >= 0x80 && (end >= 64 || (b->letter | b->mark) >> end & 1))
            facts->hard |= (uint64_t)1 << at;
        if (end < 64) {
            starts |= (uint64_t)1 << end;
            ended |= (uint64_t)1 << end;
            continue;
        }
        edge->clear = at ? gone >> (64 - at) : 0;
        edge->set = edge->ended = (uint64_t)1 << (end - 64);
    }
    facts->starts = starts;
}

/* ---- places to begin ---- */

/* First bytes in the block at which a piece starts, whatever text is in front of the block. Between these characters nothing carries a
 * piece on:
 *
 *     white space that is no line break, behind anything else        a letter behind a number
 *     a line break behind a letter or number                         a number behind anything but numbers and white space
 *     an other but the apostrophe, behind a letter or number
 *     a letter behind two ASCII others, the first not "/": one could lead the word, and "/" could belong to a tail
 *
 * All rows have them, but where Han is apart a run of it may go on with numbers and others of Han. `seen` are the bytes whose kinds are known. */
ST_FORCE_INLINE uint64_t st_sync_starts(const st_traits *t, const st_block *b, uint64_t seen)
{
    const uint64_t odd = t->han ? b->odd : 0, control = t->other == ST_OTHER_VISIBLE ? b->control : 0;
    const uint64_t letter = st_behind(b->letter & seen, 0), number = st_behind(b->number & seen, 0);
    const uint64_t other = st_behind((b->other | b->mark | control) & seen, 0), leads = seen & ~b->tail;
    const uint64_t second = st_behind(b->other & ~b->high & seen, 0) & st_behind(b->other & ~b->high & ~b->slash & seen, 0) << 1;
    const uint64_t starts = (b->white & ~b->newline & (letter | number | other)) | (b->newline & (letter | number)) |
                            (b->number & ~odd & (letter | other | (t->digits == 1 ? number : 0))) |
                            (b->letter & ((number & ~st_behind(odd, 0)) | second)) |
                            (b->other & ~odd & ~b->apostrophe & (letter | number));
    return starts & leads;
}

/* ---- a block ---- */

ST_FORCE_INLINE uint64_t st_digit_starts(const st_traits *t, const st_block *b, st_edge *edge)
{
    const uint64_t run = b->number & ~st_behind(b->number, edge->number);
    const int blank_leads = t->prefix == ST_PREFIX_BLANK && t->apart == ST_APART_NONE;
    uint64_t starts = run;
    if (t->digits == 1)
        starts = b->number & ~b->tail;
    else if (t->digits)
        starts = b->number | edge->number ? st_number_starts(b, edge) : 0;
    return blank_leads ? starts & ~(run & st_behind(b->blank, edge->blank)) : starts;
}

/* The letters and marks that words are made of. Where marks are others too, one behind no letter is hard. */
ST_FORCE_INLINE uint64_t st_find_words(const st_traits *t, const st_block *b, const st_edge *edge, uint64_t *hard)
{
    const uint64_t letters = b->letter & ~(t->han ? b->han : 0);
    if (t->word == ST_WORD_LETTERS)
        return letters;
    if (t->other != ST_OTHER_AND_MARKS)
        return letters | b->mark;
    if (!b->mark)
        return letters;
    const uint64_t attached = st_flood(b->mark, b->mark & st_behind(letters, edge->word));
    *hard |= b->mark & ~attached;
    return letters | attached;
}

ST_FORCE_INLINE void st_apply_contraction_rule(st_split_family family, const st_block *b, const st_block *next,
                                               const uint8_t *text, st_facts *facts, st_edge *edge)
{
    const st_contraction_rule rule = st_traits_of(family).contraction;
    if (rule == ST_CONTRACTION_NONE)
        return;
    const uint64_t ticks = rule == ST_CONTRACTION_ATTACHED ? st_behind(facts->word, edge->word) : facts->first;
    const uint64_t candidates = b->apostrophe & ticks & st_ahead(b->letter, next->letter, 1);
    if (candidates | edge->set)
        st_apply_contractions(family, b, candidates, text, facts, edge);
}

/* Remembers of the block's last byte what the rules above have not. */
ST_FORCE_INLINE void st_move_edge(const st_traits *t, const st_block *b, const st_facts *facts, st_edge *edge)
{
    edge->word = st_carry_of(facts->word);
    edge->number = st_carry_of(b->number);
    edge->other = st_carry_of(facts->other);
    edge->blank = st_carry_of(b->blank);
    edge->newline = st_carry_of(b->newline);
    edge->absorbed = st_carry_of(facts->absorbed);
    edge->first = st_carry_of(facts->first);
    if (t->other == ST_OTHER_VISIBLE)
        edge->control = st_carry_of(b->control);
    if (t->han)
        edge->han = st_carry_of(b->han);
    if (t->apart == ST_APART_KANA)
        edge->kana = st_carry_of(b->kana);
}

/* Returns the starts in the block `b` at `text`; `next` is the block behind it. *hard: the hard places; only the starts in front of
 * the first of them are certain. The three bytes behind the block must be readable. */
ST_FORCE_INLINE uint64_t st_block_starts(st_split_family family, const st_block *b, const st_block *next,
                                         const uint8_t *text, st_edge *edge, uint64_t *hard)
{
    const st_traits t = st_traits_of(family);
    st_facts facts = {0};
    facts.absorbed = st_absorbed(&t, b, edge);
    facts.word = st_find_words(&t, b, edge, &facts.hard);
    if (t.apart == ST_APART_KANA)
        facts.starts = facts.parts = (b->kana ^ st_behind(b->kana, edge->kana)) & ~b->tail;
    st_find_first(&t, b, &facts, edge);
    facts.starts |= st_word_starts(&t, b, &facts, edge);
    if (t.word == ST_WORD_CASE)
        facts.starts |= st_case_starts(&t, b, next, &facts, edge);
    if (t.han) {
        facts.starts |= b->han & ~st_behind(b->han, edge->han);
        facts.hard |= b->odd;
    }
    facts.starts |= st_digit_starts(&t, b, edge);
    facts.starts |= st_white_starts(&t, b, next, &facts, edge);
    if (t.other == ST_OTHER_VISIBLE)
        facts.starts |= st_control_starts(b, next, &facts, edge);
    st_apply_contraction_rule(family, b, next, text, &facts, edge);
    if (t.ascii_word)
        st_apply_ascii_words(b, &facts, edge);
    st_move_edge(&t, b, &facts, edge);
    *hard = facts.hard;
    return facts.starts;
}

#endif
