# Several threads at one piece of work of the core, which they share out among themselves.


# work(context) on this thread and on `helpers` others, or on fewer if they cannot be started. Returns when all have ended. `stop` is
# what the scope of each of them has (interrupt.pxd): the work is ended where a signal handler raises, and that is raised here.
cdef int together(void (*work)(void *) noexcept nogil, void *context, int *stop, size_t helpers) except -1
