cimport cython
from libc.stdint cimport uint8_t, uint32_t

from .csrc.base cimport st_ids, st_status
from .csrc.split cimport st_pattern
from .csrc.stream cimport st_encoder, st_feed_error
from .ids cimport Expected
from .normal cimport Normalizer
from .pattern cimport Pattern
from .matcher cimport Matcher
from .vocab cimport Vocab


cdef struct Options:
    st_pattern pattern
    int engine
    int errors


@cython.final  # so that its methods are called directly
cdef class Coder:
    cdef readonly Vocab vocab
    cdef readonly Pattern pattern
    # None: texts are taken as they are.
    cdef readonly Normalizer normalizer  #: Normalizer | None
    cdef Options options
    cdef st_ids spare  # for the ids of a short text; the flag is up while a call has it
    cdef int is_lent
    cdef Expected expected

    cdef void _init(self, st_encoder *encoder, Matcher allowed, Matcher disallowed) noexcept
    cdef int _encode(self, object source, Matcher allowed, Matcher disallowed, st_ids *out) except -1
    cdef bint _borrow_ids(self, st_ids *ids) noexcept
    cdef void _return_ids(self, st_ids *ids, bint borrowed) noexcept
    cdef int _encode_slices(self, str source, Matcher allowed, Matcher disallowed, st_ids *out) except -1


# Raises what a failed feed asks for. stream_offset: None for a whole text, whose messages are tiktoken's own.
cdef object fail(st_status status, const st_feed_error *error, Matcher disallowed, object chunk, const uint8_t *partial,
                 uint32_t partial_size, object stream_offset)
