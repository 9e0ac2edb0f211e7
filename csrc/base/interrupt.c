#if !defined(_WIN32)
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#endif

#include "base/interrupt.h"

#include <time.h>

#include "base/atomic.h"

#if defined(_WIN32)
#include <windows.h>
#endif

/* Nanoseconds. Asking takes the GIL, and a thread may wait 5 ms for it while others hold it. Three times this interval still
 * seems immediate to a person. */
#define ASK_EVERY UINT64_C(30000000)

ST_THREAD_LOCAL st_interrupt *st_interrupt_scope;

static uint64_t now(void)
{
#if defined(_WIN32)
    return (uint64_t)GetTickCount64() * 1000000 + 1;
#else
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec + 1;
#endif
}

static st_status ask(st_interrupt *scope)
{
    if (scope->ask && !scope->ended && scope->ask(scope))
        scope->ended = 1;
    scope->due = now() + ASK_EVERY;
    return scope->ended ? ST_INTERRUPTED : ST_OK;
}

st_status st_interrupt_look(st_interrupt *scope)
{
    scope->left = ST_INTERRUPT_WORK;
    if (scope->stop && st_count_read(scope->stop))
        scope->ended = 1;
    if (scope->ended)
        return ST_INTERRUPTED;
    if (!scope->ask)
        return ST_OK;
    const uint64_t time = now();
    if (!scope->due)
        scope->due = time + ASK_EVERY;
    return time < scope->due ? ST_OK : ask(scope);
}

st_status st_interrupt_last(void)
{
    st_interrupt *scope = st_interrupt_scope;
    return scope && scope->keeps && scope->due ? ask(scope) : st_go_on(0);
}
