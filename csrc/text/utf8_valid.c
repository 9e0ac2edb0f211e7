#include "text/utf8_valid.h"

#include "base/dispatch.h"

size_t st_text_valid_portable(const uint8_t *text, size_t n)
{
    (void)text, (void)n;
    return 0;
}

ST_STAGE(st_text_valid_function, valid_in_use, st_text_valid_portable, st_text_valid_neon, st_text_valid_avx2,
         st_text_valid_avx512)

size_t st_text_valid(const uint8_t *text, size_t n)
{
    return valid_in_use()(text, n);
}
