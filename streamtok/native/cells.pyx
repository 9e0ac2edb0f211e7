"""The trie of a vocabulary of longest match, as the kernels read it."""

from cpython.bytes cimport PyBytes_FromStringAndSize

from .csrc.base cimport *
from .csrc.longest cimport *
from .vocab cimport Vocab


def longest_token(Vocab vocab not None) -> int:
    """Bytes of the longest token."""
    return vocab.vocab.max_length


def trie_cells(Vocab vocab not None) -> bytes | None:
    """The cells (csrc/longest/cell.h) as bytes; None where there would be too many of them."""
    cdef st_cell *cells
    cdef size_t count
    cdef st_status status
    with nogil:
        status = st_cells_build(vocab.vocab, &cells, &count)
    if status:
        raise MemoryError
    if cells == NULL:
        return None
    try:
        return PyBytes_FromStringAndSize(<const char *>cells, <Py_ssize_t>(count * sizeof(st_cell)))
    finally:
        st_free(cells)
