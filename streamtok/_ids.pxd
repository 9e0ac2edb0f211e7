from ._csrc cimport st_ids


# So many ids are copied sooner than memory of their own is had and given back.
cdef enum:
    COPIED = 1024


cdef class IdBuffer:
    cdef st_ids ids
    cdef int leases


# A read-only uint32 array over the buffer's ids; no copy.
cdef object array_over(IdBuffer buffer)

# The same of ids in memory that is wanted again if they are few, and taken from where it is if they are many.
cdef object array_of(st_ids *ids)

# Room for about so many further ids: the first ones in memory that another array has left. Where memory is short, no more room.
cdef void reserve(st_ids *ids, size_t more) noexcept

# Frees memory of ids, or keeps it for the next ones.
cdef void recycle(st_ids *ids) noexcept

# Gives back room that growth left over.
cdef void trim(st_ids *ids) noexcept
