#include "api/token_sizes.h"

static int begins(const uint8_t *text, size_t n, st_span name)
{
    return name.n <= n && !memcmp(text, name.bytes, name.n);
}

static int is_byte(const st_compiled *c, uint32_t id, unsigned *byte)
{
    for (*byte = 0; c->of_bytes && *byte < 256; ++*byte)
        if (c->of_bytes[*byte] == id)
            return 1;
    return 0;
}

static int may_be_added(const st_compiled *c, uint32_t id)
{
    return c->lowest_added <= id && id <= c->highest_added;
}

size_t stk_token_size(const st_compiled *c, uint32_t id)
{
    size_t n = 0;
    for (size_t i = may_be_added(c, id) ? c->added_count : 0; i-- > 0;)
        if (c->added[i].id == id)
            return c->added[i].name.n;
    return st_decode_one(c->vocab, &c->names, id, &n) ? n : 0;
}

size_t stk_token_size_in(const st_compiled *c, uint32_t id, const uint8_t *text, size_t n)
{
    size_t count = 0, longest = 0;
    unsigned byte;
    for (size_t i = 0; i < c->added_count && may_be_added(c, id); i++)
        if (c->added[i].id == id) {
            count++;
            if (begins(text, n, c->added[i].name) && c->added[i].name.n > longest)
                longest = c->added[i].name.n;
        }
    if (count && is_byte(c, id, &byte)) {
        count++;
        longest = !longest && n && *text == byte ? 1 : longest;
    }
    return count > 1 ? longest : stk_token_size(c, id);
}
