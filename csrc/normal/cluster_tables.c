/* The numbers of cluster_tables.h. */
#include "normal/cluster_tables.h"

#define ST_NUMBERS(type, name, count) const type name[count]
#include "normal/cluster_data.h"
