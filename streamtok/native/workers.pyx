"""Threads that copy memory and convert characters, without the GIL and without Python objects.

The caller hands a batch of work to them. It can ask whether the batch is done, or wait for it; a thread that waits does a part of
the work. The first batch starts the threads, and they end with the process. A forked process starts its own. call_pool.pyx has a pool
for one call, and says why."""

from cpython.mem cimport PyMem_Calloc, PyMem_Free, PyMem_Malloc
from libc.stdint cimport uint8_t
from libc.string cimport memcpy, memset

from .cores import cores
from .csrc.base cimport st_acquire, st_replace
from .csrc.text cimport st_code_points_put, st_code_points_size
from .memory cimport Items, bytes_in

cdef extern from *:
    """
    #if defined(_WIN32)
    #define ST_PROCESS 1L
    #else
    #include <unistd.h>
    #define ST_PROCESS ((long)getpid())
    #endif
    """
    long ST_PROCESS  # this process, where processes fork

cdef extern from "Python.h":
    ctypedef void *PyThread_type_lock
    PyThread_type_lock PyThread_allocate_lock() nogil
    int PyThread_acquire_lock(PyThread_type_lock lock, int waits) nogil
    void PyThread_release_lock(PyThread_type_lock lock) nogil
    void PyThread_free_lock(PyThread_type_lock lock) nogil
    unsigned long PyThread_start_new_thread(void (*function)(void *) noexcept nogil, void *argument) nogil
    unsigned long PYTHREAD_INVALID_THREAD_ID

cdef enum:
    # More threads than these do not copy faster on any machine that was measured.
    MOST_THREADS = 16
    # Bytes that a thread copies at a time: up to where a large page of the target ends. Two threads that meet in a fresh one both
    # fill it with zeros.
    AT_ONCE = 1 << 21
    # The same where little is copied, so that more threads have some.
    A_LITTLE_AT_ONCE = 1 << 16
    FEW = 1 << 23
    # Bytes that are copied sooner than other threads are awake and at work: with threads a megabyte took 41 to 74 us, without 36 to 44.
    LITTLE = 1 << 21


cdef bint is_little(size_t bytes) noexcept nogil:
    return bytes < LITTLE


cdef void do_task(Task *task) noexcept nogil:
    if task.kind == TASK_COPY:
        memcpy(task.to, task.source, task.n)
    elif task.kind == TASK_MEASURE:
        task.size = st_code_points_size(task.source, task.n, task.width)
    elif task.kind == TASK_CLEAR:
        memset(task.to, 0, task.n)
    elif task.kind == TASK_CONVERT:
        st_code_points_put(task.source, task.n, task.width, task.to)


# ---- the threads ----

cdef struct Sleeper:
    Pool *pool
    PyThread_type_lock wake  # held while the thread is asleep or at work

cdef struct Pool:
    PyThread_type_lock lock  # of all that stands here, and of what Work says of itself
    Work *first
    Work *last
    long process  # whose threads they are: a fork copies none
    int threads, asleep
    Sleeper *sleeping[MOST_THREADS]
    Sleeper each[MOST_THREADS]

cdef void *the_pool = NULL  # a Pool; read and written by csrc/base/atomic.h


cdef void wake_one(Pool *pool) noexcept nogil:
    """With the lock."""
    if pool.asleep:
        pool.asleep -= 1
        PyThread_release_lock(pool.sleeping[pool.asleep].wake)


cdef Group *next_group(Work *work) noexcept nogil:
    """The next group of some work, with the lock; NULL if all are begun. Work whose groups are all begun leaves the queue."""
    cdef Pool *pool = work.pool
    cdef Group *found = NULL
    cdef Work *before = NULL
    cdef Work *each = pool.first
    if work.begun < work.count:
        found = &work.groups[work.begun]
        work.begun += 1
    if work.begun == work.count and work.is_queued:
        while each != work:
            before, each = each, each.behind
        if before == NULL:
            pool.first = work.behind
        else:
            before.behind = work.behind
        if pool.last == work:
            pool.last = before
        work.is_queued = False
    return found


cdef void do_group(Work *work, Group *group) noexcept nogil:
    """Without the lock when called, and without it when it returns."""
    cdef Pool *pool = work.pool
    cdef size_t i
    for i in range(group.count):
        do_task(&group.tasks[i])
    PyThread_acquire_lock(pool.lock, 1)
    work.left -= 1
    if work.left == 0:
        PyThread_release_lock(work.waiter)
    PyThread_release_lock(pool.lock)  # from here on `work` may be gone


cdef void live(void *argument) noexcept nogil:
    cdef Sleeper *own = <Sleeper *>argument
    cdef Pool *pool = own.pool
    cdef Work *work
    cdef Group *group
    while True:
        PyThread_acquire_lock(pool.lock, 1)
        work = pool.first
        if work == NULL:
            pool.sleeping[pool.asleep] = own
            pool.asleep += 1
            PyThread_release_lock(pool.lock)
            PyThread_acquire_lock(own.wake, 1)
            continue
        group = next_group(work)
        if pool.first != NULL:  # each thread that wakes up wakes another one: the caller need not wake all
            wake_one(pool)
        PyThread_release_lock(pool.lock)
        do_group(work, group)


cdef Pool *pool_of_process() except NULL:
    """The threads of this process. Of several first callers the one that publishes its pool begins them, with the pool's lock. Where a
    fork comes between, the child makes a pool of its own, with a lock of its own."""
    cdef void *before = st_acquire(&the_pool)
    cdef Pool *pool = <Pool *>before
    if pool != NULL and pool.process == ST_PROCESS:
        return pool
    cdef int count = cores()
    pool = <Pool *>PyMem_Calloc(1, sizeof(Pool))  # stays: threads look at it until the process ends
    if pool == NULL:
        raise MemoryError
    pool.lock, pool.process = PyThread_allocate_lock(), ST_PROCESS
    if pool.lock == NULL:
        PyMem_Free(pool)
        raise MemoryError
    PyThread_acquire_lock(pool.lock, 1)
    if st_replace(&the_pool, before, pool):
        with nogil:  # so that the stacks have the system's size, not that of threading.stack_size()
            begin_threads(pool, min(max(count - 1, 1), MOST_THREADS))  # the caller has a core to itself
            PyThread_release_lock(pool.lock)
        return pool
    PyThread_release_lock(pool.lock)
    PyThread_free_lock(pool.lock)
    PyMem_Free(pool)
    return <Pool *>st_acquire(&the_pool)


cdef void begin_threads(Pool *pool, int count) noexcept nogil:
    """With the lock."""
    cdef Sleeper *each
    cdef int i
    for i in range(count):
        each = &pool.each[i]
        each.pool, each.wake = pool, PyThread_allocate_lock()
        if each.wake == NULL:
            break
        PyThread_acquire_lock(each.wake, 1)
        if PyThread_start_new_thread(live, each) == PYTHREAD_INVALID_THREAD_ID:
            break  # who waits does the work
        pool.threads += 1


# ---- batches ----

cdef void finish(Work *work) noexcept nogil:
    """Returns when all is done, and no other thread is at this work any more. Any number of threads may wait."""
    cdef Pool *pool = work.pool
    cdef Group *group
    PyThread_acquire_lock(pool.lock, 1)
    while True:
        group = next_group(work)
        if group == NULL:
            break
        PyThread_release_lock(pool.lock)
        do_group(work, group)
        PyThread_acquire_lock(pool.lock, 1)
    while work.left:  # what other threads have begun
        PyThread_release_lock(pool.lock)
        PyThread_acquire_lock(work.waiter, 1)
        PyThread_release_lock(work.waiter)  # for the next one who waits
        PyThread_acquire_lock(pool.lock, 1)  # the thread that let us in has it until it is out of `work`
    PyThread_release_lock(pool.lock)


cdef class Batch:
    """Work that was begun. done(): whether all of it is done. wait(): returns when it is. Any threads may ask and wait."""

    def __del__(self):  # before the collector of garbage takes the owner away
        self.wait()

    def __dealloc__(self):
        if self.work.waiter != NULL:
            PyThread_free_lock(self.work.waiter)

    cdef int begin(self, Group *groups, size_t count, object owner) except -1:
        """Hands groups to the threads, once; they and all that their tasks name stay where they are as long as `owner` lives."""
        cdef Work *work = &self.work
        cdef Pool *pool = pool_of_process()
        if not count:
            return 0
        work.waiter = PyThread_allocate_lock()
        if work.waiter == NULL:
            raise MemoryError
        PyThread_acquire_lock(work.waiter, 1)
        self.owner = owner
        work.pool, work.groups, work.count, work.left = pool, groups, count, count
        with nogil:
            PyThread_acquire_lock(pool.lock, 1)
            work.is_queued = True
            if pool.last == NULL:
                pool.first = work
            else:
                pool.last.behind = work
            pool.last = work
            wake_one(pool)
            PyThread_release_lock(pool.lock)
        return 0

    def done(self) -> bool:
        cdef Pool *pool = self.work.pool
        cdef bint result
        if self.is_elsewhere():
            return True
        with nogil:
            PyThread_acquire_lock(pool.lock, 1)
            result = self.work.left == 0
            PyThread_release_lock(pool.lock)
            if not result and not pool.threads:  # none could be started: who asks does the work
                finish(&self.work)
                result = True
        return result

    cdef bint is_elsewhere(self) noexcept:
        """Whether there is no work, or it is another process's, of which this one is a copy."""
        return self.work.pool == NULL or self.work.pool.process != ST_PROCESS

    def wait(self):
        if not self.is_elsewhere():
            with nogil:
                finish(&self.work)


cdef class Stretches:
    """The tasks for memory that is written: one for each large page."""
    cdef object held  # what keeps the memory
    cdef Task *tasks
    cdef Group *groups
    cdef size_t count

    def __dealloc__(self):
        PyMem_Free(self.tasks)
        PyMem_Free(self.groups)

    cdef int cut(self, uint8_t *target, const uint8_t *source, size_t n) except -1:
        """source: NULL where the target becomes zeros."""
        cdef size_t at = 0, step = A_LITTLE_AT_ONCE if n < FEW else AT_ONCE, some = step - (<size_t>target & (step - 1))
        cdef Task *task
        self.tasks = <Task *>PyMem_Malloc((n // step + 2) * sizeof(Task))
        self.groups = <Group *>PyMem_Malloc((n // step + 2) * sizeof(Group))
        if self.tasks == NULL or self.groups == NULL:
            raise MemoryError
        while at < n:
            task = &self.tasks[self.count]
            task.kind, task.to, task.n = TASK_CLEAR, target + at, min(n - at, some)
            if source != NULL:
                task.kind, task.source = TASK_COPY, source + at
            self.groups[self.count] = Group(task, 1)
            self.count += 1
            at, some = at + task.n, step
        return 0


cdef Batch begun(object held, void *target, const void *source, size_t n):
    cdef Batch batch = Batch.__new__(Batch)
    cdef Stretches made = Stretches.__new__(Stretches)
    made.held = held
    made.cut(<uint8_t *>target, <const uint8_t *>source, n)
    batch.begin(made.groups, made.count, made)
    return batch


cdef Batch begin_copy(void *target, const void *source, size_t n):
    return begun(None, target, source, n)


def copy(target not None: _Data, source not None: _Data) -> Batch | None:
    """Copies one buffer of bytes to another one of its size: at once, and then the result is None; or a Batch does it. ValueError if
    the sizes differ."""
    cdef Items read = bytes_in(source), written = bytes_in(target, True)
    if written.n != read.n:
        raise ValueError(f"the target has {written.n} bytes, and the source {read.n}: give as many")
    if is_little(<size_t>read.n):
        memcpy(written.data, read.data, <size_t>read.n)
        return None
    return begun((read, written), written.data, read.data, <size_t>read.n)


def clear(target not None: _Data) -> Batch:
    """Fills a buffer of bytes with zeros: a Batch does it."""
    cdef Items written = bytes_in(target, True)
    return begun(written, written.data, NULL, <size_t>written.n)


def thread_count() -> int:
    """How many threads there are."""
    cdef Pool *pool = pool_of_process()
    cdef int count
    with nogil:
        PyThread_acquire_lock(pool.lock, 1)
        count = pool.threads
        PyThread_release_lock(pool.lock)
    return count
