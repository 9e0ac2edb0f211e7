"""Threads for one call (call_pool.pxd). They are no threads of Python's: they run without the GIL from their first step, so none of them
waits for the one before it to let go of the lock. With sixteen that took some milliseconds. They end with the call: none is left
behind for a fork to lose, and none waits between calls.

Those of workers.pyx are others, because neither kind can do the work of both. They live on: a copy of a megabyte takes about as long as
starting a thread. They are few, and a task of theirs ends in less than a millisecond, so that a device that waits for one is served
soon. Here each call gets as many threads as it asks for, each may run for minutes, and Ctrl-C ends it."""

from .csrc.base cimport *
from .interrupt cimport Scope, ask, begin, check, end as end_scope

cdef extern from "Python.h":
    ctypedef void *PyThread_type_lock
    ctypedef enum PyLockStatus:
        PY_LOCK_ACQUIRED
    unsigned long PyThread_start_new_thread(void (*function)(void *) noexcept nogil, void *argument) nogil
    PyThread_type_lock PyThread_allocate_lock() nogil
    PyLockStatus PyThread_acquire_lock_timed(PyThread_type_lock lock, long long microseconds, int interruptible) nogil
    void PyThread_release_lock(PyThread_type_lock lock) nogil
    void PyThread_free_lock(PyThread_type_lock lock) nogil
    unsigned long PYTHREAD_INVALID_THREAD_ID

# Microseconds between two checks for signals while this thread waits for the others.
cdef enum:
    LOOK_AFTER = 30_000

# Locks that are kept for later calls. One that was released is still in use on the thread that did so for a moment, so none is
# freed while there is a place for it: more calls at the same time than places are rare, and that moment is short.
cdef enum:
    LOCKS = 64

cdef PyThread_type_lock[LOCKS] locks

cdef struct CallPool:
    void (*work)(void *) noexcept nogil
    void *context
    int *stop
    int working  # threads that have not ended, with the calling one; and one more, for those yet to be started
    PyThread_type_lock over


cdef PyThread_type_lock take_lock() noexcept nogil:
    """A lock that is held, or NULL."""
    cdef void *found
    for i in range(LOCKS):
        found = st_take(&locks[i])
        if found != NULL:
            return found
    found = PyThread_allocate_lock()
    if found != NULL:
        PyThread_acquire_lock_timed(found, -1, 0)
    return found


cdef void give_lock(PyThread_type_lock lock) noexcept nogil:
    for i in range(LOCKS):
        if st_publish(&locks[i], lock) == NULL:
            return
    PyThread_free_lock(lock)


cdef void help(void *given) noexcept nogil:
    cdef CallPool *pool = <CallPool *>given
    cdef PyThread_type_lock over = pool.over
    cdef st_interrupt scope
    st_interrupt_begin(&scope, NULL, pool.stop)
    pool.work(pool.context)
    st_interrupt_end(&scope)
    if st_count_add(&pool.working, -1) == 0:  # from here on `pool` may be gone
        PyThread_release_lock(over)


cdef void wait(CallPool *pool, Scope *scope) noexcept nogil:
    cdef bint asks = True
    while PyThread_acquire_lock_timed(pool.over, LOOK_AFTER, 0) != PY_LOCK_ACQUIRED:
        if scope.core.ended or not asks:
            continue
        if scope.core.ask != NULL and scope.core.ask(&scope.core):
            scope.core.ended = True
            st_count_add(pool.stop, 1)
        asks = scope.core.ask != NULL


cdef int together(void (*work)(void *) noexcept nogil, void *context, int *stop, size_t helpers) except -1:
    cdef Scope scope
    cdef CallPool pool
    cdef size_t i
    pool.work, pool.context, pool.stop, pool.working = work, context, stop, 1
    begin(&scope, stop)
    with nogil:
        pool.over = take_lock() if helpers else NULL
        if pool.over != NULL:
            for i in range(helpers):
                st_count_add(&pool.working, 1)
                if PyThread_start_new_thread(help, &pool) == PYTHREAD_INVALID_THREAD_ID:
                    st_count_add(&pool.working, -1)
                    break
        work(context)
        if scope.core.ended:
            st_count_add(stop, 1)
        if st_count_add(&pool.working, -1) > 0:
            wait(&pool, &scope)
        if pool.over != NULL:
            give_lock(pool.over)
    end_scope(&scope)
    return check(&scope) if scope.error != NULL else 0
