/* How texts are encoded: which names are found or refused; and whole texts. */
#include "api/objects.h"

/* ---- names ---- */

static int number_of(const st_compiled *c, stk_text name, size_t *number)
{
    for (size_t i = 0; i < c->added_count; i++)
        if (c->added[i].name.n == name.size && !memcmp(c->added[i].name.bytes, name.data, name.size)) {
            *number = i;
            return 1;
        }
    return 0;
}

static stk_status mark_names(const st_compiled *c, const stk_text *names, size_t count, uint8_t *marks)
{
    for (size_t i = 0; i < count; i++) {
        size_t number;
        if (!names[i].data || !number_of(c, names[i], &number))
            return STK_UNKNOWN_NAME;
        marks[number] = 1;
    }
    return STK_OK;
}

/* refused: memory for a mark of each name. */
static stk_status choose(stk_coder *coder, const stk_options *o, uint8_t *refused)
{
    const st_compiled *c = coder->model->compiled;
    stk_status status = mark_names(c, o->allowed, o->allowed_count, coder->is_allowed);
    if (!status)
        status = mark_names(c, o->refused, o->refused_count, refused);
    for (size_t i = 0; i < c->added_count && !status; i++) {
        const int is_special = (c->added[i].flags & ST_ADDED_SPECIAL) != 0;
        if (refused[i] && (coder->is_allowed[i] || o->special == STK_ALLOW_SPECIAL))
            status = STK_BAD_ARGUMENT;
        coder->is_plain[i] = !is_special;
        coder->is_allowed[i] |= !is_special || o->special == STK_ALLOW_SPECIAL;
        refused[i] |= is_special && !coder->is_allowed[i] && o->special == STK_REFUSE_SPECIAL;
    }
    return status;
}

static stk_status set_names(stk_coder *coder, const stk_options *options)
{
    const st_compiled *c = coder->model->compiled;
    coder->is_allowed = st_calloc(3, c->added_count + 1);
    if (!coder->is_allowed)
        return STK_NO_MEMORY;
    coder->is_plain = coder->is_allowed + c->added_count + 1;
    uint8_t *refused = coder->is_plain + c->added_count + 1;
    const stk_status chosen = choose(coder, options, refused);
    if (chosen)
        return chosen;
    st_status status = st_compiled_names(c, coder->is_allowed, &coder->allowed);
    if (!status)
        status = st_compiled_refused(c, refused, &coder->refused);
    if (!status && memcmp(coder->is_plain, coder->is_allowed, c->added_count))
        status = st_compiled_names(c, coder->is_plain, &coder->plain);
    else
        coder->plain = coder->allowed;
    return stk_status_of(status);
}

static int are_good(const stk_options *o)
{
    return o->size >= sizeof *o && o->special <= STK_ALLOW_SPECIAL && o->errors <= STK_IGNORE && o->flags <= STK_ADD_TEMPLATE &&
           (!o->allowed_count || o->allowed) && (!o->refused_count || o->refused);
}

stk_status stk_coder_new(stk_model *model, const stk_options *options, stk_coder **coder)
{
    static const stk_options usual = {.size = sizeof usual};
    static const st_errors errors[] = {[STK_STRICT] = ST_ERRORS_STRICT, [STK_REPLACE] = ST_ERRORS_REPLACE, [STK_IGNORE] = ST_ERRORS_IGNORE};
    options = options ? options : &usual;
    if (!coder)
        return STK_BAD_ARGUMENT;
    *coder = NULL;
    if (!model || !are_good(options))
        return STK_BAD_ARGUMENT;
    stk_coder *made = st_calloc(1, sizeof *made);
    if (!made)
        return STK_NO_MEMORY;
    made->model = stk_model_keep(model);
    made->users = 1;
    made->errors = errors[options->errors];
    made->flags = options->flags;
    const stk_status status = set_names(made, options);
    if (status) {
        stk_coder_free(made);
        return status;
    }
    *coder = made;
    return STK_OK;
}

stk_coder *stk_coder_keep(stk_coder *coder)
{
    st_count_add(&coder->users, 1);
    return coder;
}

void stk_coder_free(stk_coder *coder)
{
    if (!coder || st_count_add(&coder->users, -1))
        return;
    if (coder->plain != coder->allowed)
        st_compiled_names_free(coder->plain);
    st_compiled_names_free(coder->allowed);
    st_compiled_names_free(coder->refused);
    st_free(coder->is_allowed);
    st_ids_free(&coder->spare);
    stk_model_free(coder->model);
    st_free(coder);
}

/* ---- what calls share ---- */

/* Ids whose memory is kept for the next call: those of a text of some hundred kilobytes. */
#define KEPT_IDS ((size_t)1 << 16)

stk_buffer stk_buffer_take(stk_coder *coder)
{
    stk_buffer buffer = {{0}, st_flag_raise(&coder->is_lent)};
    if (buffer.borrowed) {
        buffer.ids = coder->spare;
        buffer.ids.size = 0;
    }
    return buffer;
}

void stk_buffer_give(stk_coder *coder, stk_buffer *buffer)
{
    if (!buffer->borrowed || buffer->ids.capacity > KEPT_IDS)
        st_ids_free(&buffer->ids);
    if (buffer->borrowed) {
        coder->spare = buffer->ids;
        st_flag_lower(&coder->is_lent);
    }
}

void stk_encoder_begin(const stk_coder *coder, st_encoder *encoder)
{
    const st_compiled *c = coder->model->compiled;
    st_encoder_init(encoder, c->vocab, c->pattern);
    encoder->text.errors = coder->errors;
    encoder->watch.names = coder->refused;
    st_encoder_allow(encoder, coder->allowed, c->normalizer);
}

static st_status add_ids(const uint32_t *from, size_t count, st_ids *ids)
{
    ST_TRY(st_ids_reserve(ids, count));
    if (count)
        memcpy(ids->data + ids->size, from, count * sizeof *from);
    ids->size += count;
    return ST_OK;
}

st_status stk_add_prefix(const stk_coder *coder, st_ids *ids)
{
    const st_compiled *c = coder->model->compiled;
    return coder->flags & STK_ADD_TEMPLATE ? add_ids(c->prefix, c->prefix_count, ids) : ST_OK;
}

st_status stk_add_suffix(const stk_coder *coder, st_ids *ids)
{
    const st_compiled *c = coder->model->compiled;
    return coder->flags & STK_ADD_TEMPLATE ? add_ids(c->suffix, c->suffix_count, ids) : ST_OK;
}

stk_status stk_put_ids(const st_ids *from, uint32_t *ids, size_t capacity, size_t *count)
{
    const size_t n = from->size < capacity ? from->size : capacity;
    if (n)
        memcpy(ids, from->data, n * sizeof *ids);
    *count = from->size;
    return from->size > capacity ? STK_MORE : STK_OK;
}

void stk_fault_clear(stk_fault *fault)
{
    if (fault && fault->size >= sizeof *fault)
        fault->offset = fault->index = fault->row = 0;
}

stk_status stk_fault_of(st_status status, const st_feed_error *error, stk_fault *fault)
{
    if (fault && fault->size >= sizeof *fault && (status == ST_INVALID_UTF8 || status == ST_DISALLOWED_SPECIAL)) {
        fault->offset = error->offset;
        fault->index = status == ST_DISALLOWED_SPECIAL ? error->id : 0;
    }
    return stk_status_of(status);
}

/* ---- whole texts ---- */

stk_status stk_encode(stk_coder *coder, const char *text, size_t size, uint32_t *ids, size_t capacity, size_t *count, stk_fault *fault)
{
    st_encoder encoder;
    st_feed_error error;
    if (!coder || !count || (size && !text) || (capacity && !ids))
        return STK_BAD_ARGUMENT;
    *count = 0;
    stk_fault_clear(fault);
    stk_buffer buffer = stk_buffer_take(coder);
    stk_encoder_begin(coder, &encoder);
    st_status status = stk_add_prefix(coder, &buffer.ids);
    if (!status)
        status = st_encoder_whole(&encoder, stk_text_of(text, size), size, 0, &buffer.ids, &error);
    st_encoder_free(&encoder);
    if (!status)
        status = stk_add_suffix(coder, &buffer.ids);
    const stk_status result = status ? stk_fault_of(status, &error, fault) : stk_put_ids(&buffer.ids, ids, capacity, count);
    stk_buffer_give(coder, &buffer);
    return result;
}

stk_status stk_count(stk_coder *coder, const char *text, size_t size, size_t *count, stk_fault *fault)
{
    st_encoder encoder;
    st_feed_error error;
    if (!coder || !count || (size && !text))
        return STK_BAD_ARGUMENT;
    *count = 0;
    stk_fault_clear(fault);
    size_t total = 0;
    stk_buffer buffer = stk_buffer_take(coder);
    stk_encoder_begin(coder, &encoder);
    const st_status status = st_encoder_count(&encoder, stk_text_of(text, size), size, 0, &buffer.ids, &total, &error);
    st_encoder_free(&encoder);
    stk_buffer_give(coder, &buffer);
    const st_compiled *c = coder->model->compiled;
    if (!status)
        *count = total + (coder->flags & STK_ADD_TEMPLATE ? c->prefix_count + c->suffix_count : 0);
    return stk_fault_of(status, &error, fault);
}
