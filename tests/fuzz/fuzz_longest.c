/* Longest match, and the words of WordPiece, of random vocabularies: whole texts and words, texts fed in parts, many words at the same
 * time, and the cells for a device, each against tokens that are looked for one by one. */
#include "fuzz.h"
#include "cut/cuts.h"
#include "longest/cells.h"
#include "longest/matcher.h"

#include <stdio.h>
#include <stdlib.h>

#define TOKENS_MOST 700
#define TOKEN_BYTES 90
#define WORDS_MOST 40
#define TEXT_MOST (WORDS_MOST * 4096)

static struct {
    uint64_t vocabularies, texts, words, cells, failed_allocations;
} counts;

typedef struct tokens {
    uint8_t bytes[TOKENS_MOST][TOKEN_BYTES];
    uint32_t lengths[TOKENS_MOST], ids[TOKENS_MOST], splits[TOKENS_MOST];
    uint32_t first[2][256], next[2][TOKENS_MOST]; /* by the first byte, outside and inside words: 1 more than the next token */
    size_t count;
    st_wordpiece rule;
    int is_words;
} tokens;

static tokens now;

/* ---- tokens ---- */

static const char *const units[] = {"a", "b", "c", "\xC3\xA9", "\xE6\xBC\xA2", "\xC2", "\xFF", "\xF4", "\xF5"};

static size_t put_unit(rng *r, size_t kinds, uint8_t *to)
{
    const char *unit = units[rng_below(r, kinds)];
    memcpy(to, unit, strlen(unit));
    return strlen(unit);
}

static size_t characters(const uint8_t *bytes, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        count += (bytes[i] & 0xC0) != 0x80;
    return count;
}

static void add_token(const uint8_t *bytes, size_t n, int silent)
{
    for (size_t i = 0; i < now.count; i++)
        if (now.lengths[i] == n && !memcmp(now.bytes[i], bytes, n))
            return;
    if (!n || n > TOKEN_BYTES || now.count == TOKENS_MOST)
        return;
    memcpy(now.bytes[now.count], bytes, n);
    now.lengths[now.count] = (uint32_t)n;
    now.splits[now.count++] = silent || (now.is_words && characters(bytes, n) > now.rule.most) ? ST_SILENT : 1;
}

/* A token that goes on from another one, or begins anew. */
static void add_random(rng *r, size_t kinds, size_t most)
{
    uint8_t bytes[2 * TOKEN_BYTES];
    size_t n = 0;
    if (now.is_words && rng_one_in(r, 2)) {
        memcpy(bytes, now.rule.prefix, now.rule.prefix_size);
        n = now.rule.prefix_size;
    }
    if (now.count && rng_one_in(r, 2)) {
        const size_t from = rng_below(r, now.count), shared = rng_below(r, now.lengths[from] + 1);
        memcpy(bytes + n, now.bytes[from], shared);
        n += shared;
    }
    for (size_t more = 1 + rng_below(r, most); more && n < TOKEN_BYTES; more--)
        n += put_unit(r, kinds, bytes + n);
    add_token(bytes, n, rng_one_in(r, 20));
}

/* Lists the tokens that may begin a text, and those that may go on in a word. */
static void list_tokens(void)
{
    memset(now.first, 0, sizeof now.first);
    for (uint32_t i = 0; i < now.count; i++)
        for (int inside = 0; inside < 2; inside++) {
            const size_t prefix = inside ? now.rule.prefix_size : 0;
            if ((now.splits[i] == ST_SILENT && !inside) || now.lengths[i] <= prefix || memcmp(now.bytes[i], now.rule.prefix, prefix))
                continue;
            uint32_t *first = &now.first[inside][now.bytes[i][prefix]];
            now.next[inside][i] = *first;
            *first = i + 1;
        }
}

/* Ids in any order, with gaps. */
static void draw_ids(rng *r)
{
    uint32_t id = 0;
    for (size_t i = 0; i < now.count; i++)
        now.ids[i] = id += (uint32_t)(1 + rng_below(r, 3));
    for (size_t i = now.count; i > 1; i--) {
        const size_t k = rng_below(r, i);
        const uint32_t kept = now.ids[k];
        now.ids[k] = now.ids[i - 1];
        now.ids[i - 1] = kept;
    }
}

static void make_tokens(rng *r, int wordpiece, size_t kinds)
{
    static const char *const prefixes[] = {"##", "", "a", "##\xC3\xA9", "####################"};
    const size_t sizes[] = {2, 3, 6, 20, 80};
    const size_t most = sizes[rng_below(r, 5)], tries = rng_size(r, TOKENS_MOST);
    now.count = 0;
    now.is_words = wordpiece;
    now.rule = (st_wordpiece){0};
    if (wordpiece) {
        const char *prefix = prefixes[rng_below(r, 5)];
        now.rule.prefix_size = (uint32_t)strlen(prefix);
        memcpy(now.rule.prefix, prefix, strlen(prefix));
        now.rule.most = (uint32_t)(rng_one_in(r, 3) ? 1 + rng_below(r, 12) : rng_one_in(r, 2) ? 100 : 1000000);
    }
    for (int byte = 0; byte < 256; byte++)
        if (!wordpiece)
            add_token(&(uint8_t){(uint8_t)byte}, 1, 0);
    for (size_t i = 0; i < tries; i++)
        add_random(r, kinds, most);
    if (!now.count)
        add_token((const uint8_t *)"a", 1, 0);
    now.rule.unknown = (uint32_t)rng_below(r, now.count);
    draw_ids(r);
    list_tokens();
}

static st_vocab *build(void)
{
    static uint8_t bytes[TOKENS_MOST * TOKEN_BYTES];
    size_t at = 0, bad;
    for (size_t i = 0; i < now.count; at += now.lengths[i++])
        memcpy(bytes + at, now.bytes[i], now.lengths[i]);
    const st_vocab_source source = {.bytes = bytes, .lengths = now.lengths, .ids = now.ids, .splits = now.splits,
                                    .count = now.count, .any_order = 1,
                                    .model = now.is_words ? &st_model_wordpiece : &st_model_longest,
                                    .own = now.is_words ? &now.rule : NULL, .own_size = now.is_words ? sizeof now.rule : 0};
    st_vocab *v;
    CHECK(st_vocab_new(&source, 64, &v, &bad) == ST_OK);
    return v;
}

/* The matcher, its allocations failing, each in turn. */
static const st_matcher *matcher_of(st_vocab *v, int failing)
{
    const int64_t live = st_alloc_read().live;
    const st_matcher *m = NULL;
    for (int64_t succeeding = 0; failing && !m; succeeding = next_failure(succeeding)) {
        st_alloc_fail_after(succeeding);
        m = now.is_words ? st_vocab_word_matcher(v) : st_vocab_matcher(v);
        st_alloc_fail_after(-1);
        CHECK(m || st_alloc_read().live == live);
        counts.failed_allocations += !m;
    }
    return now.is_words ? st_vocab_word_matcher(v) : st_vocab_matcher(v);
}

/* ---- the definition ---- */

static int begins(const uint8_t *text, size_t n, const uint8_t *with, size_t size)
{
    return size <= n && !memcmp(text, with, size);
}

/* The longest token at the place, which `inside` a word begins with the prefix, as it is written; its bytes of the text in *size. */
static uint32_t longest_at(const uint8_t *text, size_t n, int inside, size_t *size)
{
    const size_t prefix = inside ? now.rule.prefix_size : 0;
    uint32_t found = ST_NONE;
    *size = 0;
    for (uint32_t i = now.first[inside][*text]; i; i = now.next[inside][i - 1]) {
        const size_t length = now.lengths[i - 1] - prefix;
        if (length > *size && begins(text, n, now.bytes[i - 1] + prefix, length)) {
            *size = length;
            found = i - 1;
        }
    }
    return found;
}

/* Indices of a text, or of a word; returns how many. */
static size_t define(const uint8_t *text, size_t n, uint32_t *to)
{
    size_t count = 0, size;
    if (now.is_words && characters(text, n) > now.rule.most) {
        *to = now.rule.unknown;
        return 1;
    }
    for (size_t at = 0; at < n; at += size) {
        to[count] = longest_at(text + at, n - at, now.is_words && at > 0, &size);
        if (to[count++] == ST_NONE) {
            CHECK(now.is_words);
            *to = now.rule.unknown;
            return 1;
        }
    }
    return count;
}

static int are_ids(const uint32_t *ids, const uint32_t *indices, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (ids[i] != now.ids[indices[i]])
            return 0;
    return 1;
}

/* ---- texts ---- */

static uint8_t text[TEXT_MOST];
static uint32_t wanted[TEXT_MOST];

/* Units, tokens without their ends, and runs; for WordPiece whole characters. Returns the size, up to `most`. */
static size_t make_text(rng *r, size_t kinds, size_t most)
{
    size_t n = 0;
    while (n < most) {
        const size_t token = rng_below(r, now.count), times = rng_one_in(r, 20) ? 1 + rng_below(r, 300) : 1;
        const int whole = rng_one_in(r, 3);
        for (size_t i = 0; i < times && n + TOKEN_BYTES < TEXT_MOST && n < most; i++) {
            size_t length = now.lengths[token] - (whole ? 0 : rng_below(r, now.lengths[token]));
            size_t from = 0;
            if (now.is_words && begins(now.bytes[token], now.lengths[token], now.rule.prefix, now.rule.prefix_size))
                from = length > now.rule.prefix_size ? now.rule.prefix_size : 0;
            if (rng_one_in(r, 3)) {
                n += put_unit(r, kinds, text + n);
                continue;
            }
            memcpy(text + n, now.bytes[token] + from, length - from);
            n += length - from;
        }
        if (n + TOKEN_BYTES >= TEXT_MOST)
            break;
    }
    n = n < most ? n : most;
    st_text_error error;
    for (size_t good; now.is_words && (good = st_text_check(text, n, &error)) < n;)
        text[good] = 'a';
    return n;
}

/* What is pending is a beginning of a longer token, and no more than the matcher says. */
static void check_pending(const st_matcher *m, uint32_t node, const uint8_t *end, size_t pending)
{
    int is_there = !pending;
    for (size_t i = 0; i < now.count && !is_there; i++)
        is_there = now.splits[i] != ST_SILENT && now.lengths[i] > pending && begins(now.bytes[i], now.lengths[i], end - pending, pending);
    CHECK(is_there && m->depths[node] == pending);
}

static void check_fed(rng *r, const st_matcher *m, const st_vocab *v, size_t n, size_t count)
{
    const size_t most = rng_one_in(r, 2) ? n + 1 : 1 + rng_size(r, n);
    st_ids out = {0};
    uint32_t node = 0;
    for (size_t at = 0, size, given = 0, seen = 0; at < n; at += size) {
        size = rng_size(r, most);
        size = size < n - at ? size : n - at;
        CHECK(st_matcher_feed(m, v, &node, guarded(text + at, size, rng_one_in(r, 2)), size, &out) == ST_OK);
        guarded_scribble();
        for (; given < out.size && given < count; given++)
            seen += now.lengths[wanted[given]];
        check_pending(m, node, text + at + size, at + size - seen);
    }
    CHECK(st_matcher_finish(m, v, node, &out) == ST_OK);
    CHECK(out.size == count && are_ids(out.data, wanted, count));
    st_ids_free(&out);
}

static void check_text(rng *r, const st_matcher *m, const st_vocab *v, size_t n)
{
    const size_t count = define(text, n, wanted);
    st_ids out = {0};
    CHECK(st_longest_reference(v, now.is_words ? &now.rule : NULL, text, n, &out) == ST_OK);
    CHECK(out.size == count && are_ids(out.data, wanted, count));
    out.size = 0;
    if (now.is_words) {
        CHECK(st_matcher_word(m, v, guarded(text, n, 0), n, &out) == ST_OK);
        CHECK(out.size == count && are_ids(out.data, wanted, count));
    } else {
        check_fed(r, m, v, n, count);
    }
    st_ids_free(&out);
    counts.texts++;
}

/* ---- words ---- */

static void check_words(rng *r, const st_matcher *m, size_t kinds)
{
    st_word words[WORDS_MOST];
    static uint8_t bytes[WORDS_MOST][TOKEN_BYTES * 2];
    const size_t count = rng_below(r, WORDS_MOST + 1);
    for (size_t i = 0; i < count; i++) {
        const size_t n = make_text(r, kinds, 1 + rng_size(r, 2 * TOKEN_BYTES - 1));
        memcpy(bytes[i], text, n);
        words[i] = (st_word){bytes[i], take(n * sizeof(uint32_t)), (uint32_t)n, 0};
    }
    st_matcher_words(m, words, count);
    for (size_t i = 0; i < count; i++) {
        const size_t size = define(bytes[i], words[i].n, wanted);
        CHECK(words[i].count == size && same_bytes(words[i].tokens, wanted, size * sizeof *wanted));
        free(words[i].tokens);
    }
    counts.words += count;
}

/* What follows in a word depends on what is in front of it: no border is a cut. */
static void check_no_cuts(rng *r, st_vocab *v, size_t kinds)
{
    const st_cuts *cuts = st_vocab_cuts(v);
    const size_t n = make_text(r, kinds, 1 + rng_size(r, 500));
    CHECK(cuts && st_cuts_last(cuts, text, n) == 0 && st_cuts_next(cuts, text, 0, n) == n);
}

/* ---- cells ---- */

static int is_in_utf8(const uint8_t *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (bytes[i] == 0xC0 || bytes[i] == 0xC1 || bytes[i] > 0xF4)
            return 0;
    return 1;
}

/* Is it a beginning of a token, and the id of the token that it is. */
static int is_node(const uint8_t *bytes, size_t n, uint32_t *id)
{
    int found = 0;
    *id = ST_CELL_NO_TOKEN;
    for (size_t i = 0; i < now.count; i++)
        if (now.splits[i] != ST_SILENT && begins(now.bytes[i], now.lengths[i], bytes, n)) {
            found = 1;
            if (now.lengths[i] == n)
                *id = now.ids[i];
        }
    return found && is_in_utf8(bytes, n);
}

/* The cells on the way along bytes[0..n), all of which UTF-8 has; then each of them goes on with a byte that may lead nowhere. */
static void check_walk(rng *r, const st_cell *cells, size_t count, const uint8_t *bytes, size_t n)
{
    uint8_t other[TOKEN_BYTES + 1];
    uint32_t id, first;
    const st_cell pair = cells[(size_t)bytes[0] << 8 | bytes[1]];
    CHECK(is_node(bytes, 1, &first) && st_cell_byte(pair) == bytes[1]);
    is_node(bytes, 2, &id);
    CHECK(st_cell_id(pair) == (id == ST_CELL_NO_TOKEN ? first | ST_CELL_ONE_BYTE : id));
    uint32_t base = st_cell_base(pair);
    for (size_t i = 2; i <= n; i++) {
        memcpy(other, bytes, i);
        other[i] = rng_one_in(r, 2) ? (uint8_t)rng_below(r, 256) : (uint8_t)units[rng_below(r, 9)][0];
        const size_t at = base + (size_t)other[i];
        const int is_there = is_node(other, i + 1, &id);
        const st_cell next = base && at < count ? cells[at] : ST_CELL_FREE;
        CHECK((is_in_utf8(other + i, 1) && st_cell_byte(next) == other[i]) == is_there);
        CHECK(!is_there || st_cell_id(next) == id);
        if (i == n)
            break;
        CHECK(base && base + bytes[i] < count && is_node(bytes, i + 1, &id));
        CHECK(st_cell_byte(cells[base + bytes[i]]) == bytes[i] && st_cell_id(cells[base + bytes[i]]) == id);
        base = st_cell_base(cells[base + bytes[i]]);
    }
}

/* No two nodes have the same base. */
static void check_bases(const st_cell *cells, size_t count)
{
    uint8_t *is_base = calloc(count, 1);
    CHECK(is_base);
    for (size_t at = 0; at < count; at++) {
        const uint32_t base = cells[at] == ST_CELL_FREE ? 0 : st_cell_base(cells[at]);
        CHECK(!base || (base >= ST_CELL_PAIRS && base + 256 <= count && !is_base[base]));
        is_base[base] = 1;
    }
    free(is_base);
}

static void check_cells(rng *r, const st_vocab *v, int failing)
{
    st_cell *cells = NULL;
    size_t count;
    const int64_t live = st_alloc_read().live;
    st_status status = failing ? ST_NO_MEMORY : st_cells_build(v, &cells, &count);
    for (int64_t succeeding = 0; status; succeeding = next_failure(succeeding)) {
        CHECK(status == ST_NO_MEMORY && !cells && st_alloc_read().live == live);
        st_alloc_fail_after(succeeding);
        status = st_cells_build(v, &cells, &count);
        st_alloc_fail_after(-1);
        counts.failed_allocations += status == ST_NO_MEMORY;
    }
    CHECK(cells && count >= ST_CELL_PAIRS + 256);
    check_bases(cells, count);
    for (size_t i = 0; i < now.count; i++)
        if (now.splits[i] != ST_SILENT && now.lengths[i] > 1 && is_in_utf8(now.bytes[i], now.lengths[i]))
            check_walk(r, cells, count, now.bytes[i], now.lengths[i]);
    for (int i = 0; i < 50; i++) {
        const uint8_t two[2] = {(uint8_t)rng_below(r, 192), (uint8_t)rng_below(r, 192)};
        check_walk(r, cells, count, two, 2);
    }
    st_free(cells);
    counts.cells++;
}

/* ---- the harness ---- */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    rng r = rng_of(data, n);
    const int wordpiece = rng_one_in(&r, 2);
    const size_t kinds = wordpiece ? 1 + rng_below(&r, 5) : 1 + rng_below(&r, 9);
    make_tokens(&r, wordpiece, kinds);
    st_vocab *v = build();
    const st_matcher *m = matcher_of(v, now.count < 300 && rng_one_in(&r, 10));
    for (size_t i = rng_below(&r, 8); i; i--)
        check_text(&r, m, v, make_text(&r, kinds, (size_t)wordpiece + rng_size(&r, 1000))); /* no word is empty */
    check_words(&r, m, kinds);
    if (rng_one_in(&r, 8)) /* many blocks at the same time, or a long word */
        check_text(&r, m, v, make_text(&r, kinds, rng_one_in(&r, 4) ? 60000 + rng_below(&r, 80000) : 16000 + rng_below(&r, 4000)));
    if (wordpiece)
        check_no_cuts(&r, v, kinds);
    else if (rng_one_in(&r, 4))
        check_cells(&r, v, rng_one_in(&r, 20));
    st_vocab_free(v);
    counts.vocabularies++;
    CHECK(st_alloc_read().live == 0);
    return 0;
}

void harness_close(void)
{
    printf("fuzz_longest: %llu vocabularies, %llu texts, %llu words, %llu tables of cells, %llu failed allocations: no difference\n",
           (unsigned long long)counts.vocabularies, (unsigned long long)counts.texts, (unsigned long long)counts.words,
           (unsigned long long)counts.cells, (unsigned long long)counts.failed_allocations);
}
