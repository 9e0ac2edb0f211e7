/* See stdlib.h beside this. */
#ifndef STAND_IN_STRING_H
#define STAND_IN_STRING_H
#include <stddef.h>
void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int value, size_t n);
int memcmp(const void *a, const void *b, size_t n);
void *memchr(const void *in, int value, size_t n);
int strcmp(const char *a, const char *b);
#endif
