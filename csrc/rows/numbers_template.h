/* numbers_template.h - the functions of numbers.h for one type. numbers.c includes it after defining ST_NUMBER, the type, and
 * ST_NUMBER_NAME(name), the name of a function for it. */

static void ST_NUMBER_NAME(ids)(void *to, size_t at, const uint32_t *ids, size_t n)
{
    ST_NUMBER *numbers = (ST_NUMBER *)to + at;
    for (size_t i = 0; i < n; i++)
        numbers[i] = (ST_NUMBER)ids[i];
}

static void ST_NUMBER_NAME(one)(void *to, size_t at, uint64_t value, size_t n)
{
    ST_NUMBER *numbers = (ST_NUMBER *)to + at;
    for (size_t i = 0; i < n; i++)
        numbers[i] = (ST_NUMBER)value;
}

static void ST_NUMBER_NAME(from_zero)(void *to, size_t at, size_t n)
{
    ST_NUMBER *numbers = (ST_NUMBER *)to + at;
    for (size_t i = 0; i < n; i++)
        numbers[i] = (ST_NUMBER)i;
}

#undef ST_NUMBER
#undef ST_NUMBER_NAME
