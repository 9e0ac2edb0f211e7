#include "rows/numbers.h"

#define ST_NUMBER uint16_t
#define ST_NUMBER_NAME(name) name##_of_two
#include "rows/numbers_template.h"

#define ST_NUMBER uint32_t
#define ST_NUMBER_NAME(name) name##_of_four
#include "rows/numbers_template.h"

#define ST_NUMBER uint64_t
#define ST_NUMBER_NAME(name) name##_of_eight
#include "rows/numbers_template.h"

const st_numbers *st_numbers_of(unsigned width)
{
    static const st_numbers two = {ids_of_two, one_of_two, from_zero_of_two};
    static const st_numbers four = {ids_of_four, one_of_four, from_zero_of_four};
    static const st_numbers eight = {ids_of_eight, one_of_eight, from_zero_of_eight};
    return width == 2 ? &two : width == 4 ? &four : &eight;
}
