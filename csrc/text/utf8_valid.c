#include "text/utf8_valid.h"

#include "base/tier.h"

size_t st_text_valid(const uint8_t *text, size_t n)
{
    return st_tier()->text_valid ? st_tier()->text_valid(text, n) : 0;
}
