# Threads that copy memory and convert characters, without the GIL and without Python objects: those of the processor's cores that
# this process may use, begun once.
from libc.stdint cimport uint8_t


cdef enum task_kind:
    TASK_COPY     # `n` bytes
    TASK_CLEAR    # `n` bytes become 0
    TASK_KNOWN    # nothing is to be done
    TASK_MEASURE  # `n` characters of `width` bytes: `size` is how many bytes of UTF-8 they have
    TASK_CONVERT  # the same, written


cdef struct Task:
    const uint8_t *source
    uint8_t *to
    size_t n, size
    unsigned width
    task_kind kind


cdef struct Group:
    Task *tasks
    size_t count


# The threads of a process (workers.pyx).
cdef struct Pool


# Groups of tasks that are done side by side; the tasks of a group one after the other, by one thread.
cdef struct Work:
    Pool *pool       # whose threads do it
    Group *groups
    size_t count, begun, left
    Work *behind     # in the queue
    void *waiter     # a lock that no thread who waits can take before all is done
    bint is_queued


# What threads do for one caller. It is done before it is gone.
cdef class Batch:
    cdef Work work
    cdef object owner  # keeps the memory
    cdef bint is_elsewhere(self) noexcept
    cdef int begin(self, Group *groups, size_t count, object owner) except -1

# Whether so little is to be done that waking a thread takes longer.
cdef bint is_little(size_t bytes) noexcept nogil

# Copies memory that stays where it is until the batch is done.
cdef Batch begin_copy(void *target, const void *source, size_t n)

cdef void do_task(Task *task) noexcept nogil
