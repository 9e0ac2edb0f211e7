/* The numbers of normal_tables.h. */
#include "normal/normal_tables.h"

#define ST_NUMBERS(type, name, count) const type name[count]
#include "normal/normal_data.h"
