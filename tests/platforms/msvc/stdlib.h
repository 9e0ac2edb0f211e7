/* Stand-ins for the headers of Microsoft's C library: as much as the core asks for. With them clang reads the core as it would
 * for that compiler, on a machine that has neither (tools/cross.py). Nothing is linked with them. */
#ifndef STAND_IN_STDLIB_H
#define STAND_IN_STDLIB_H
#include <stddef.h>
void *malloc(size_t size);
void *calloc(size_t count, size_t size);
void *realloc(void *block, size_t size);
void free(void *block);
void qsort(void *items, size_t count, size_t size, int (*compare)(const void *, const void *));
char *getenv(const char *name);
#endif
