#include "stream/gather.h"

#include "base/interrupt.h"

void st_gather_free(st_gather *g)
{
    st_bytes_free(&g->text);
}

void st_gather_reset(st_gather *g)
{
    g->text.size = g->ended = g->count = 0;
}

st_status st_gather_add(st_gather *g, const uint8_t *text, size_t n)
{
    return st_bytes_append(&g->text, text, n);
}

st_status st_gather_flush(st_gather *g, const st_encode_context *c)
{
    if (!g->count)
        return ST_OK;
    ST_TRY(st_go_on(g->ended));
    ST_TRY(st_encode_pieces(c->vocab, c->workspace, ST_ENGINE_FAST, g->text.data, g->text.size, NULL, c->workspace->ends, g->count, 1,
                            c->out));
    st_bytes_drop(&g->text, g->ended);
    g->ended = g->count = 0;
    return ST_OK;
}

st_status st_gather_end(st_gather *g, const st_encode_context *c)
{
    if (g->text.size == g->ended)
        return ST_OK;
    g->ended = g->text.size;
    c->workspace->ends[g->count++] = g->ended;
    return g->count == ST_BATCH || g->ended >= ST_GATHER_MOST ? st_gather_flush(g, c) : ST_OK;
}

st_status st_gather_name(st_gather *g, const st_encode_context *c, uint32_t id)
{
    const uint32_t token = st_vocab_index(c->vocab, id);
    if (token != ST_NONE && st_token_reachable(c->vocab, token) && st_vocab_has(c->vocab, ST_MODEL_KEEPS_TOKENS)) {
        ST_TRY(st_gather_add(g, st_token_bytes(c->vocab, token), st_token_length(c->vocab, token)));
        return st_gather_end(g, c);
    }
    ST_TRY(st_gather_flush(g, c));
    ST_TRY(st_ids_reserve(c->out, 1));
    c->out->data[c->out->size++] = id;
    return ST_OK;
}
