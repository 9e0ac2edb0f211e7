/* How a long call is ended before it is done: by what its caller asks from time to time (has Ctrl-C been pressed?), or by
 * another thread.
 *
 *     st_interrupt scope;
 *     st_interrupt_begin(&scope, ask, stop);     for this thread, until st_interrupt_end
 *     status = st_encoder_feed(...);             ST_INTERRUPTED, and all is as before the call
 *     st_interrupt_end(&scope);
 *
 * Functions whose work grows with their input say st_go_on(bytes) every few kilobytes of it. Once that has failed it fails
 * until the scope ends. So a function that returns no status just returns early, and whoever called it asks again before
 * the result is used. Without a scope nothing is ever interrupted.
 *
 * A call that is sure to be short needs no scope, and a function need not ask behind the last step of its work.
 *
 * Thread rule: a scope belongs to the thread that began it. Scopes nest: what is asked may make calls of its own. */
#ifndef ST_BASE_INTERRUPT_H
#define ST_BASE_INTERRUPT_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct st_interrupt {
    int (*ask)(struct st_interrupt *scope); /* not 0 ends the call. NULL: do not ask; it may set itself to that */
    int *stop;                              /* not NULL: another thread ends the call by st_count_add(stop, 1) */
    size_t left;                            /* work to do before the clock is read */
    uint64_t due;                           /* when to ask, in nanoseconds; 0: the clock was not read yet */
    int ended;
    int keeps;                              /* set it where the caller keeps what it has fed: see st_interrupt_last */
    struct st_interrupt *outer, **place;    /* where the running thread's scope stands: to find that takes a few nanoseconds */
} st_interrupt;

/* Every module has a copy of this code (see alloc.h), and in it the scope of the running thread. */
#if defined(_MSC_VER)
#define ST_THREAD_LOCAL __declspec(thread)
#elif defined(__ELF__) /* one load: otherwise a call finds it, in each st_go_on, and a short feed takes a tenth longer */
#define ST_THREAD_LOCAL __attribute__((tls_model("initial-exec"))) _Thread_local
#else
#define ST_THREAD_LOCAL _Thread_local
#endif
extern ST_THREAD_LOCAL st_interrupt *st_interrupt_scope;

/* So much work is done between two looks at the clock: a fifth of a millisecond where all is fast, a few where it is slow. */
#define ST_INTERRUPT_WORK ((size_t)1 << 16)

static inline void st_interrupt_begin(st_interrupt *scope, int (*ask)(st_interrupt *), int *stop)
{
    scope->ask = ask;
    scope->stop = stop;
    scope->left = ST_INTERRUPT_WORK;
    scope->due = 0;
    scope->ended = scope->keeps = 0;
    scope->place = &st_interrupt_scope;
    scope->outer = *scope->place;
    *scope->place = scope;
}

static inline void st_interrupt_end(st_interrupt *scope)
{
    *scope->place = scope->outer;
}

/* Reads the clock, and asks if it is time. */
st_status st_interrupt_look(st_interrupt *scope);

/* To be called before a result is put in place, and nothing can fail any more. A long call of a scope with `keeps` asks once
 * more: what ends it behind this place is raised when its ids are lost already, and what was fed is not. */
st_status st_interrupt_last(void);

/* ST_INTERRUPTED: the call is to end. work: about so many bytes were worked through since this was called last. */
static inline st_status st_go_on(size_t work)
{
    st_interrupt *scope = st_interrupt_scope;
    if (!scope)
        return ST_OK;
    if (work < scope->left) {
        scope->left -= work;
        return scope->ended ? ST_INTERRUPTED : ST_OK;
    }
    return st_interrupt_look(scope);
}

#endif
