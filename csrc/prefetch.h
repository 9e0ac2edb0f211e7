/* A hint that this cache line will be read soon; nothing where the compiler has no way to say it. */
#ifndef ST_PREFETCH_H
#define ST_PREFETCH_H

#if defined(__GNUC__) || defined(__clang__)
#define st_prefetch(address) __builtin_prefetch(address)
#else
#define st_prefetch(address) ((void)(address))
#endif

#endif
