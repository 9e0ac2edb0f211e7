#include "text/str_to_utf8.h"

#include "base/tier.h"

int st_code_points_has_tier(void)
{
    return st_tier()->code_points != NULL;
}

size_t st_code_points(const void *characters, size_t n, unsigned width, uint8_t *to)
{
    return st_code_points_has_tier() ? st_tier()->code_points(characters, n, width, to) : ST_NOT_CONVERTED;
}
