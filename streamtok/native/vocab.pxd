from cpython.ref cimport PyObject
from libc.stdint cimport uint32_t

from .csrc.base cimport st_ids
from .csrc.vocab cimport st_names, st_vocab
from .memory cimport Items


cdef class Vocab:
    cdef st_vocab *vocab
    cdef st_names names  # points into the three objects below
    cdef bytes name_bytes, name_starts, name_ids
    cdef readonly dict special_tokens  #: dict[str, int]
    cdef PyObject **ints  # see list_of
    cdef size_t int_count
    cdef Items image  # what `vocab` lies in, if it was not built here
    # Of the file that the image is mapped from.
    cdef public str path  #: str | None

    cdef _build(self, bytes blob, lengths, ranks, splits, uint32_t dense_side, tuple words, bint any_order, str model,
                bytes own)
    cdef PyObject **shared_ints(self) noexcept
    cdef object int_of(self, uint32_t token)
    cdef _open(self, image, bint deep)
    cdef _set_names(self, dict special_tokens, dict others)
