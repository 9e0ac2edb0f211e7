#include "threads/safe_cuts.h"

#include "base/utf8.h"
#include "split/scan.h"
#include "text/utf8_check.h"

/* Bytes in front of a sync point that it depends on: two characters of four bytes. Of a blank cut as many behind the blank. */
#define LOOK_BACK 9

/* In text that is not trusted a cut is first searched in this many bytes, because all bytes that are searched must be checked. */
#define FIRST_REACH ((size_t)4096)

/* With longer names searching around every place would cost more than the threads gain. */
#define LONGEST_NAME ((size_t)4096)

static size_t longest_name(const st_cut_rules *rules)
{
    size_t longest_name = rules->allowed ? rules->allowed->longest_name : 0;
    if (rules->disallowed && rules->disallowed->longest_name > longest_name)
        longest_name = rules->disallowed->longest_name;
    return longest_name;
}

size_t st_cut_margin(const st_cut_rules *rules)
{
    return longest_name(rules) + LOOK_BACK;
}

/* The start of the first name that spans text[at] or ends too near in front of it; `at` if there is none. */
static size_t name_before(const st_special *names, const uint8_t *text, size_t n, size_t at)
{
    st_special_match match;
    st_special_search search;
    size_t margin, from;
    if (!names)
        return at;
    margin = names->longest_name + LOOK_BACK;
    from = at > margin ? at - margin : 0;
    search = st_special_search_from(from);
    return st_special_find(names, &search, text, at, n, 1, &match) == ST_SPECIAL_FOUND ? match.start : at;
}

/* Whether the character in front of text[at] decides nothing about a name that begins at or behind it, nor white space behind it
 * about a name in front: names with flags ask for more than the place of their text (special/cutter.h). */
static int is_apart(const st_special *names, const uint8_t *text, size_t at)
{
    unsigned size;
    if (!names || !names->flags)
        return 1;
    return !st_is_white(st_utf8_decode(text + at - st_utf8_size_before(text, at), &size)) &&
           !(names->flags & ST_NAME_ALONE && names->first[text[at]]);
}

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The last place in text[0..n), valid UTF-8, where the two sides encode independently, apart from names; 0 = none. For loose cuts
 * any border between characters. */
static size_t last_place(const st_cut_rules *rules, const uint8_t *text, size_t n)
{
    const st_cuts *cuts;
    if (rules->loose)
        return n ? n - st_utf8_size_before(text, n) : 0;
    if (rules->pattern.family != ST_SPLIT_NONE)
        return st_last_sync_point(rules->pattern, text, n);
    cuts = !rules->vocab || rules->vocab->unreachable ? NULL : st_vocab_cuts(rules->vocab);
    return cuts ? st_cuts_last(cuts, text, n) : 0;
}

/* Whether names that are sought in normalized text neither span a blank nor end in front of it: they have none of these bytes. */
static int is_apart_from_late(const st_special *late, uint8_t in_front, uint8_t blank, uint8_t mark)
{
    for (size_t i = 0; late && i < late->total; i++)
        if (late->bytes[i] == in_front || late->bytes[i] == blank || late->bytes[i] == mark)
            return 0;
    return 1;
}

/* Whether a text can be cut at text[at] in front of a blank (normal/normalizer.h), and the pattern divides it at the mark, too. */
static int is_blank_cut(const uint8_t *text, size_t n, size_t at, const st_cut_rules *rules)
{
    uint8_t border[4 + ST_MOST_MARK];
    if (at < 4 || n - at < 2 || (text[at] != ' ' && text[at] != '\n'))
        return 0;
    const size_t front = st_utf8_size_before(text, at), size = st_normalizer_blank_cut(rules->normalizer, text, n, at, border + front);
    memcpy(border, text + at - front, front);
    if (rules->carried)
        return size == 3 && !memcmp(border + front, "\xE2\x96\x81", 3);
    return size && st_last_sync_point(rules->pattern, border, front + size) == front &&
           is_apart_from_late(rules->allowed ? rules->allowed->late : NULL, text[at - 1], text[at], border[front]);
}

/* The last place in text[start..limit), at or behind `from`, where only names can make the two sides depend on each other; 0 = none.
 * in_blanks: the steps make a mark of each blank, and places lie in front of these. */
static size_t last_free_place(const uint8_t *text, size_t n, size_t start, size_t limit, size_t from, const st_cut_rules *rules,
                              int in_blanks)
{
    if (limit <= start || limit <= from)
        return 0;
    if (!in_blanks) {
        const size_t found = last_place(rules, text + start, limit - start);
        return found && start + found >= from ? start + found : 0;
    }
    for (size_t at = limit; at > start && at > from; at--)
        if (is_blank_cut(text, n, at - 1, rules))
            return at - 1;
    return 0;
}

/* The last cut in text[start..limit), which is valid and ends between characters, at or behind `from`; 0 = none. */
static size_t cut_in_valid(const uint8_t *text, size_t n, size_t start, size_t limit, size_t from,
                           const st_cut_rules *rules)
{
    const int in_blanks = rules->normalizer && st_normalizer_marks_blanks(rules->normalizer);
    size_t at;
    if ((rules->normalizer && rules->pattern.family == ST_SPLIT_NONE && !rules->carried) || (!in_blanks && rules->allowed && rules->allowed->late))
        return 0;
    while ((at = last_free_place(text, n, start, limit, from, rules, in_blanks)) != 0) {
        /* A place between here and a name is too near to the name, too. */
        limit = smaller(name_before(rules->allowed, text, n, at), name_before(rules->disallowed, text, n, at));
        if (limit == at && is_apart(rules->allowed, text, at) &&
            (in_blanks || !rules->normalizer || st_normalizer_cut(rules->normalizer, text, n, at)))
            return at;
    }
    return 0;
}

/* The end of the last whole character in text[..at). In front of a fault, where nothing is searched, any place near: a run of bytes that
 * continue nothing may be as long as the text. */
static size_t border_before(const uint8_t *text, size_t n, size_t at)
{
    for (int back = 0; back < 3 && at > 0 && at < n && st_utf8_is_continuation(text[at]); back++)
        at--;
    return at;
}

/* The same for text[start..end) of any bytes: searches its valid stretches, away from the invalid bytes beside them. */
static size_t cut_in_raw(const uint8_t *text, size_t n, size_t start, size_t end, size_t from, size_t until,
                         const st_cut_rules *rules)
{
    size_t margin = st_cut_margin(rules), best = 0, at = start;
    for (;;) {
        st_text_error fault;
        size_t valid = st_text_check(text + at, end - at, &fault), stop = at + valid, found;
        size_t limit = smaller(until, stop == n ? n : stop > margin ? stop - margin : 0);
        limit = border_before(text, stop, limit);
        found = cut_in_valid(text, n, at, limit, at ? (from > at + margin ? from : at + margin) : from, rules);
        best = found ? found : best;
        if (stop == end)
            return best;
        at += fault.end;
    }
}

/* Where the search begins: near, but far enough in front of the first place for everything a cut depends on. */
static size_t look_from(size_t from, size_t until, size_t reach, size_t before)
{
    size_t start = until > reach ? until - reach : 0;
    from = from > before ? from - before : 0;
    return start > from ? start : from;
}

size_t st_last_cut(const uint8_t *text, size_t n, size_t from, size_t until, const st_cut_rules *rules)
{
    size_t margin = st_cut_margin(rules), start, end, found;
    if (longest_name(rules) > LONGEST_NAME || from >= until)
        return 0;
    from++;
    until = until < n ? until + 1 : n; /* from here on: from <= place < until */
    if (rules->trusted) {
        start = border_before(text, n, look_from(from, until, ST_CUT_REACH, LOOK_BACK));
        return cut_in_valid(text, n, start, border_before(text, n, until), from, rules);
    }
    end = smaller(n, until + margin);
    start = look_from(from, until, FIRST_REACH, margin + 4);
    found = cut_in_raw(text, n, start, end, from, until, rules);
    return found ? found : cut_in_raw(text, n, look_from(from, until, ST_CUT_REACH, margin + 4), end, from, until, rules);
}

size_t st_last_cut_of_copy(const uint8_t *text, size_t n, size_t from, size_t until, const st_cut_rules *rules, st_bytes *buffer)
{
    const size_t margin = st_cut_margin(rules) + LOOK_BACK; /* more than a cut must be away from the ends of a part */
    if (longest_name(rules) > LONGEST_NAME || from >= until)
        return 0;
    const size_t start = look_from(from, until, ST_CUT_REACH, margin), end = n - until > margin ? until + margin : n;
    if (start && from < start + margin)
        from = start + margin;
    buffer->size = 0;
    if (from >= until || st_bytes_append(buffer, text + start, end - start))
        return 0;
    const size_t found = st_last_cut(buffer->data, buffer->size, from - start, until - start, rules);
    return found ? start + found : 0;
}

int st_is_long_text(const st_cut_rules *rules, const uint8_t *text, size_t n)
{
    st_text_error fault;
    n = rules->trusted ? n : st_text_check(text, n, &fault);
    return st_normalizer_still(rules->normalizer, text, n) > 2 * rules->vocab->model->holds;
}
