/* How a long call is ended early: by a function of its caller, which is called from time to time (was Ctrl-C pressed?), or by
 * another thread.
 *
 *     st_interrupt scope;
 *     st_interrupt_begin(&scope, ask, stop);     for this thread, until st_interrupt_end
 *     status = st_encoder_feed(...);             ST_INTERRUPTED, and all is as before the call
 *     st_interrupt_end(&scope);
 *
 * Functions whose work grows with their input call st_go_on(bytes) every few kilobytes. Once it has failed, it fails until the
 * scope ends. So a function that returns no status just returns early, and its caller calls st_go_on(0) before it uses the
 * result. Without a scope nothing is ever interrupted.
 *
 * A call that is sure to be short needs no scope. A function need not call st_go_on after the last step of its work.
 *
 * Thread rule: a scope belongs to the thread that began it. Scopes nest: `ask` may make calls with scopes of their own. */
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

/* The scope of the running thread. */
#if defined(_MSC_VER)
#define ST_THREAD_LOCAL __declspec(thread)
#elif defined(__ELF__) /* one load: otherwise a call finds it, in each st_go_on, and a short feed takes a tenth longer */
#define ST_THREAD_LOCAL __attribute__((tls_model("initial-exec"))) _Thread_local
#else
#define ST_THREAD_LOCAL _Thread_local
#endif
extern ST_THREAD_LOCAL st_interrupt *st_interrupt_scope;

/* Work between two readings of the clock: 0.2 ms where the work is fast, a few milliseconds where it is slow. */
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

/* To be called when a result is complete and nothing can fail any more, before the result is put in place. In a scope with
 * `keeps` a long call asks once more: an exception raised after this point would lose the ids, but not undo the feed. */
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
