/* What the C tests share. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "streamtok.h"

#define CHECK(condition) \
    ((condition) ? (void)0 : (fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition), exit(1)))

static inline stk_text text_of(const char *text)
{
    const stk_text made = {text, strlen(text)};
    return made;
}

#define ROOM 4096

/* Ids of one text by whole calls, to compare with. */
typedef struct ids {
    uint32_t at[ROOM];
    size_t n;
} ids;

static inline ids encoded(stk_coder *coder, const char *text)
{
    ids made;
    CHECK(stk_encode(coder, text, strlen(text), made.at, ROOM, &made.n, NULL) == STK_OK);
    return made;
}

static inline int same(const ids *a, const uint32_t *b, size_t n)
{
    return a->n == n && !memcmp(a->at, b, n * sizeof *b);
}

#endif
