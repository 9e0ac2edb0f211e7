"""Threads that copy memory and convert characters, without the GIL and without Python objects.

A batch of work is handed to them, and asked whether it is done, or waited for; who waits helps. The threads are begun when the
first batch needs them, and end with the process. A forked process begins its own. Why crew.pyx has others is said there."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from libc.stdint cimport uint8_t
from libc.string cimport memcpy, memset

from .cores import cores
from .csrc.text cimport st_code_points_put, st_code_points_size

import os

cdef extern from "Python.h":
    ctypedef void *PyThread_type_lock
    PyThread_type_lock PyThread_allocate_lock() nogil
    int PyThread_acquire_lock(PyThread_type_lock lock, int waits) nogil
    void PyThread_release_lock(PyThread_type_lock lock) nogil
    void PyThread_free_lock(PyThread_type_lock lock) nogil
    unsigned long PyThread_start_new_thread(void (*function)(void *) noexcept nogil, void *argument)
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

cdef struct Pool:
    PyThread_type_lock lock  # of all that stands here, and of what Work says of itself
    Work *first
    Work *last
    int threads, asleep
    int sleepers[MOST_THREADS]
    PyThread_type_lock wakes[MOST_THREADS]  # each is held while its thread is asleep or at work

cdef Pool *pool = NULL
cdef long process = 0


cdef void wake_one() noexcept nogil:
    """With the lock."""
    if pool.asleep:
        pool.asleep -= 1
        PyThread_release_lock(pool.wakes[pool.sleepers[pool.asleep]])


cdef Group *next_group(Work *work) noexcept nogil:
    """The next group of some work, with the lock; NULL if all are begun. Work whose groups are all begun leaves the queue."""
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
    cdef size_t i
    for i in range(group.count):
        do_task(&group.tasks[i])
    PyThread_acquire_lock(pool.lock, 1)
    work.left -= 1
    if work.left == 0:
        PyThread_release_lock(work.waiter)
    PyThread_release_lock(pool.lock)


cdef void live(void *argument) noexcept nogil:
    cdef int number = <int><size_t>argument
    cdef Work *work
    cdef Group *group
    while True:
        PyThread_acquire_lock(pool.lock, 1)
        work = pool.first
        if work == NULL:
            pool.sleepers[pool.asleep] = number
            pool.asleep += 1
            PyThread_release_lock(pool.lock)
            PyThread_acquire_lock(pool.wakes[number], 1)
            continue
        group = next_group(work)
        if pool.first != NULL:  # each thread that wakes up wakes another one: the caller need not wake all
            wake_one()
        PyThread_release_lock(pool.lock)
        do_group(work, group)


cdef int begin_pool() except -1:
    """With the GIL."""
    global pool, process
    cdef Pool *made
    cdef int i, count
    if pool != NULL and process == os.getpid():
        return 0
    count = cores()
    made = <Pool *>PyMem_Malloc(sizeof(Pool))  # stays: threads look at it until the process ends
    if made == NULL:
        raise MemoryError
    memset(made, 0, sizeof(Pool))
    made.lock = PyThread_allocate_lock()
    if made.lock == NULL:
        PyMem_Free(made)
        raise MemoryError
    pool, process = made, os.getpid()
    for i in range(min(max(count - 1, 1), MOST_THREADS)):  # the caller has a core to itself
        made.wakes[i] = PyThread_allocate_lock()
        if made.wakes[i] == NULL:
            break
        PyThread_acquire_lock(made.wakes[i], 1)
        if PyThread_start_new_thread(live, <void *><size_t>i) == PYTHREAD_INVALID_THREAD_ID:
            break  # who waits does the work
        made.threads += 1
    return 0


# ---- batches ----

cdef class Batch:
    """Work that was begun. done(): whether all of it is done. wait(): returns when it is."""

    def __dealloc__(self):
        self._finish()
        if self.work.waiter != NULL:
            PyThread_free_lock(self.work.waiter)

    cdef int begin(self, Group *groups, size_t count, object owner) except -1:
        """Hands groups to the threads; they and all that their tasks name stay where they are as long as `owner` lives."""
        begin_pool()
        if self.work.waiter == NULL:
            self.work.waiter = PyThread_allocate_lock()
            if self.work.waiter == NULL:
                raise MemoryError
            PyThread_acquire_lock(self.work.waiter, 1)
        self.owner, self.process = owner, process
        self.work.groups, self.work.count, self.work.left = groups, count, count
        if not count:
            return 0
        with nogil:
            PyThread_acquire_lock(pool.lock, 1)
            self.work.is_queued = True
            if pool.last == NULL:
                pool.first = &self.work
            else:
                pool.last.behind = &self.work
            pool.last = &self.work
            wake_one()
            PyThread_release_lock(pool.lock)
        return 0

    def done(self):
        cdef bint result
        if self.is_elsewhere() or self.is_over:
            return True
        with nogil:
            PyThread_acquire_lock(pool.lock, 1)
            result = self.work.left == 0
            PyThread_release_lock(pool.lock)
        return result

    cdef bint is_elsewhere(self) except -1:
        """Whether there is no work, or it is another process's, of which this one is a copy."""
        return self.work.count == 0 or self.process != os.getpid()

    def wait(self):
        self._finish()

    cdef void _finish(self) noexcept:
        cdef Group *group
        cdef bint waits
        if self.is_elsewhere() or self.is_over:
            return
        with nogil:
            while True:
                PyThread_acquire_lock(pool.lock, 1)
                group = next_group(&self.work)
                if group == NULL:
                    break
                PyThread_release_lock(pool.lock)
                do_group(&self.work, group)
            waits = self.work.left != 0
            PyThread_release_lock(pool.lock)
            if waits or not self.is_over:
                PyThread_acquire_lock(self.work.waiter, 1)
                self.is_over = True


cdef class Stretches:
    """Memory that is written, and the tasks for it: one for each large page."""
    cdef Py_buffer target, source
    cdef bint has_target, has_source
    cdef Task *tasks
    cdef Group *groups
    cdef size_t count

    def __dealloc__(self):
        if self.has_target:
            PyBuffer_Release(&self.target)
        if self.has_source:
            PyBuffer_Release(&self.source)
        PyMem_Free(self.tasks)
        PyMem_Free(self.groups)

    cdef int hold(self, object target, object source) except -1:
        if source is not None:
            PyObject_GetBuffer(source, &self.source, PyBUF_SIMPLE)
            self.has_source = True
        PyObject_GetBuffer(target, &self.target, PyBUF_WRITABLE)
        self.has_target = True
        if source is not None and self.target.len != self.source.len:
            raise ValueError(f"the target has {self.target.len} bytes, and the source {self.source.len}: give as many")
        return 0

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


cdef Batch begun(Stretches made, void *target, const void *source, size_t n):
    cdef Batch batch = Batch.__new__(Batch)
    made.cut(<uint8_t *>target, <const uint8_t *>source, n)
    batch.begin(made.groups, made.count, made)
    return batch


cdef Batch begin_copy(void *target, const void *source, size_t n):
    return begun(Stretches.__new__(Stretches), target, source, n)


def copy(target not None, source not None):
    """Copies one buffer of bytes to another one of its size: at once, and then the result is None; or a Batch does it. ValueError if
    the sizes differ."""
    cdef Stretches made = Stretches.__new__(Stretches)
    made.hold(target, source)
    if is_little(<size_t>made.source.len):
        memcpy(made.target.buf, made.source.buf, <size_t>made.source.len)
        return None
    return begun(made, made.target.buf, made.source.buf, <size_t>made.target.len)


def clear(target not None):
    """Fills a buffer of bytes with zeros: a Batch does it."""
    cdef Stretches made = Stretches.__new__(Stretches)
    made.hold(target, None)
    return begun(made, made.target.buf, NULL, <size_t>made.target.len)


def thread_count():
    """How many threads there are."""
    begin_pool()
    return pool.threads
