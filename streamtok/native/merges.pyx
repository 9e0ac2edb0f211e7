"""A vocabulary given by a list of merges, in the order of the core (csrc/vocab/merge_list.h)."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memcpy

from .csrc.base cimport *
from .csrc.vocab cimport *
from .interrupt cimport Scope, begin, check, end as end_scope

from ..errors import VocabularyError

FIRST_FRAGMENT: int = ST_FIRST_FRAGMENT
"""The ids from here on are those of beginnings of characters (csrc/vocab/fragment_ids.h)."""

SILENT: int = ST_SILENT
"""In place of a split: a token that no text becomes."""


cdef bytes array_of(size_t n):
    """Room for n uint32, as bytes that are still to be written."""
    return PyBytes_FromStringAndSize(NULL, <Py_ssize_t>(4 * n))


cdef uint32_t *numbers(bytes array) noexcept:
    return <uint32_t *>PyBytes_AS_STRING(array)


KINDS: dict[str, int] = {"made": ST_TOKEN_MADE, "start": ST_TOKEN_START, "silent": ST_TOKEN_SILENT}
"""What a token can be (csrc/vocab/merge_list.h)."""


def ordered(
    bytes blob not None, bytes lengths not None, bytes ids not None, bytes kinds not None, bytes left not None, bytes right not None,
    bytes made not None, bint whole,
) -> tuple[bytes, bytes, bytes, bytes]:
    """(bytes of all tokens joined, lengths, ids, splits) by index: uint32 as bytes.

    blob, lengths, ids, kinds: of the tokens, in any order, their places; left, right, made: the places of each merge's tokens.
    whole: tokens that no merge makes are found as whole pieces; otherwise they are silent."""
    cdef st_merge_list listed
    cdef st_status status
    cdef Scope scope
    cdef int in_order = 0
    cdef size_t n = len(kinds), i, at = 0
    order, splits = array_of(n), array_of(n)
    cdef uint32_t *places = numbers(order)
    cdef uint32_t *split_of = numbers(splits)
    listed.bytes = <const uint8_t *>PyBytes_AS_STRING(blob)
    listed.lengths, listed.ids = numbers(lengths), numbers(ids)
    listed.kinds = <const uint8_t *>PyBytes_AS_STRING(kinds)
    listed.left, listed.right, listed.made = numbers(left), numbers(right), numbers(made)
    listed.count, listed.merges = n, len(made) // 4
    begin(&scope, NULL)
    with nogil:
        status = st_merge_list_order(&listed, places, split_of, &in_order)
    end_scope(&scope)
    check(&scope)
    if status == ST_TOO_MANY_TOKENS:
        raise VocabularyError(f"{n} tokens and {listed.merges} merges, more than 2**21 together")
    if status:
        raise MemoryError
    starts = array_of(n)
    cdef uint32_t *start_of = numbers(starts)
    for i in range(n):
        start_of[i] = <uint32_t>at
        at += listed.lengths[i]
    joined, sizes, numbered = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>at), array_of(n), array_of(n)
    cdef uint8_t *to = <uint8_t *>PyBytes_AS_STRING(joined)
    cdef uint32_t *to_lengths = numbers(sizes)
    cdef uint32_t *to_ids = numbers(numbered)
    for i in range(n):
        to_lengths[i] = listed.lengths[places[i]]
        to_ids[i] = listed.ids[places[i]]
        if not whole and not split_of[i] and listed.kinds[places[i]] == ST_TOKEN_MADE:
            split_of[i] = ST_SILENT
        memcpy(to, listed.bytes + start_of[places[i]], to_lengths[i])
        to += to_lengths[i]
    return joined, sizes, numbered, splits
