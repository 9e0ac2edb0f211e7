#include "base/search.h"
#include "decoders/rules.h"
#include "text/utf8_check.h"

static st_status read_table(st_reader *r, st_rule_table *table, int is_whole)
{
    const st_span ids = st_read_span(r), lengths = st_read_span(r), kinds = st_read_span(r), bytes = st_read_span(r);
    ST_TRY(st_reader_status(r));
    if (ids.n != lengths.n || ids.n % 4 || ids.n / 4 != kinds.n || bytes.n > UINT32_MAX)
        return ST_BAD_IMAGE;
    *table = (st_rule_table){NULL, st_malloc((kinds.n + 1) * 4), kinds.bytes, bytes.bytes, kinds.n};
    table->ids = is_whole ? NULL : st_malloc((kinds.n + 1) * 4);
    if (!table->starts || (!is_whole && !table->ids))
        return ST_NO_MEMORY;
    uint64_t at = 0;
    for (size_t i = 0; i < kinds.n; i++) {
        table->starts[i] = (uint32_t)at;
        at += st_number_at(lengths, i);
        if (at > bytes.n || kinds.bytes[i] > ST_PIECE_BYTE || (is_whole && st_number_at(ids, i) != i))
            return ST_BAD_IMAGE;
        if (!is_whole)
            table->ids[i] = st_number_at(ids, i);
    }
    table->starts[kinds.n] = (uint32_t)at;
    return at == bytes.n && (is_whole || st_ascends(table->ids, kinds.n)) ? ST_OK : ST_BAD_IMAGE;
}

/* Whether what a table has of text is valid, where it goes out as it is. */
static int is_text(const st_rule_table *table)
{
    st_text_error error;
    for (size_t i = 0; i < table->count; i++) {
        const size_t n = table->starts[i + 1] - table->starts[i];
        if (table->kinds[i] == ST_PIECE_TEXT && st_text_check(table->bytes + table->starts[i], n, &error) != n)
            return 0;
    }
    return 1;
}

static st_status read_late(st_reader *r, st_rules *rules)
{
    rules->late_count = st_read_count(r, 12);
    rules->late = st_calloc(rules->late_count + 1, sizeof *rules->late);
    for (size_t i = 0; rules->late && i < rules->late_count; i++) {
        rules->late[i].pattern = st_read_text(r);
        rules->late[i].content = st_read_text(r);
        rules->late[i].first = st_read_text(r);
    }
    return rules->late ? st_reader_status(r) : ST_NO_MEMORY;
}

static st_status read_tails(st_reader *r, st_rules *rules)
{
    rules->tail_count = st_read_count(r, 12);
    rules->tails = st_calloc(rules->tail_count + 1, sizeof *rules->tails);
    for (size_t i = 0; rules->tails && i < rules->tail_count; i++) {
        rules->tails[i].id = st_read_number(r);
        rules->tails[i].going_on = st_read_text(r);
        rules->tails[i].last = st_read_text(r);
        if (i && rules->tails[i].id <= rules->tails[i - 1].id)
            return ST_BAD_IMAGE;
    }
    return rules->tails ? st_reader_status(r) : ST_NO_MEMORY;
}

st_status st_rules_read(st_rules *rules, st_reader *r)
{
    rules->flags = st_read_number(r);
    rules->most = st_read_number(r);
    rules->cut = st_read_text(r);
    if (rules->flags > (ST_RULES_RUNS | ST_RULES_ONCE | ST_RULES_OPENS | ST_RULES_ENDED) || (rules->most && !rules->cut.n))
        return ST_BAD_IMAGE;
    ST_TRY(read_late(r, rules));
    ST_TRY(read_table(r, &rules->later, 1));
    ST_TRY(read_table(r, &rules->first, 0));
    ST_TRY(read_tails(r, rules));
    return rules->flags & ST_RULES_RUNS && !(is_text(&rules->later) && is_text(&rules->first)) ? ST_BAD_IMAGE : ST_OK;
}
