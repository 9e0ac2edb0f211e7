#include "text/str_to_utf8.h"

#include "base/dispatch.h"

ST_STAGE(st_code_points_function, convert_in_use, NULL, st_code_points_neon, st_code_points_avx2, st_code_points_avx512)

int st_code_points_has_tier(void)
{
    return convert_in_use() != NULL;
}

size_t st_code_points(const void *characters, size_t n, unsigned width, uint8_t *to)
{
    st_code_points_function *const convert = convert_in_use();
    return convert ? convert(characters, n, width, to) : ST_NOT_CONVERTED;
}
