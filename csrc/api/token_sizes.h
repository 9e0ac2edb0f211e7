/* token_sizes.h - how many bytes of a text an id stands for. */
#ifndef ST_API_TOKEN_SIZES_H
#define ST_API_TOKEN_SIZES_H

#include "compiled/compiled.h"

/* Bytes of the token, of an added token those of its name. */
size_t stk_token_size(const st_compiled *compiled, uint32_t id);

/* The same where the text says which of several names of the id it was: text[0..n) is what follows. 0: it is none of them. */
size_t stk_token_size_in(const st_compiled *compiled, uint32_t id, const uint8_t *text, size_t n);

#endif
