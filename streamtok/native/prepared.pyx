"""Texts that are normalized on the host, for a device that splits and merges."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t
from libc.string cimport memset

from .csrc.base cimport *
from .csrc.normal cimport st_normalizer_keeps
from .csrc.special cimport *
from .csrc.stream cimport ST_FEED_TRUSTED, st_prepare
from .csrc.text cimport *
from .interrupt cimport Scope, begin, check, end as end_scope
from .normal cimport Normalizer
from .text cimport Text, borrow, give_back
from .matcher cimport Matcher


cdef bint is_utf8(const Text *text) noexcept nogil:
    cdef st_text_error error
    return text.flags & ST_FEED_TRUSTED or st_text_check(text.data, text.n, &error) == text.n


cdef bint holds(const Text *text, const st_special *names) noexcept nogil:
    """Whether one of the names stands in the text. names: NULL = none."""
    cdef st_special_search search
    cdef st_special_match match
    if names == NULL:
        return False
    search = st_special_search_behind(names, 0)
    return st_special_find(names, &search, text.data, text.n, text.n, True, &match) == ST_SPECIAL_FOUND


def prepared(source, Normalizer normalizer not None, Matcher allowed, Matcher disallowed, bint again=False):
    """What a device is to encode in place of a text.

    True: the text itself, which the normalizer leaves as it is, whatever names stand in it; not with `again`. (normalized, parts): UTF-8, and for each part of it
    that lies in front of an allowed name or the end two int64, in this machine's order: where it ends, and the id of the name, -1
    at the end. None: a text that is refused; encoding it raises the error."""
    cdef st_bytes[2] out
    cdef st_status status = ST_OK
    cdef Scope scope
    cdef Text text
    cdef bint refused, keeps = False
    cdef const st_special *names = allowed.special if allowed is not None else NULL
    cdef const st_special *others = disallowed.special if disallowed is not None else NULL
    memset(out, 0, sizeof(out))
    alive = borrow(source, &text)
    begin(&scope, NULL)
    with nogil:
        refused = not is_utf8(&text)
        if not refused and not again:
            keeps = st_normalizer_keeps(&normalizer.normalizer, text.data, text.n)
        if not refused and not keeps:
            refused = holds(&text, others)
        if not refused and not keeps:
            status = st_prepare(&normalizer.normalizer, names, text.data, text.n, &out[0], &out[1])
    end_scope(&scope)
    give_back(&text)
    try:
        check(&scope)
        if status:
            raise MemoryError
        if refused or keeps:
            return None if refused else True
        return (PyBytes_FromStringAndSize(<const char *>out[0].data, <Py_ssize_t>out[0].size),
                PyBytes_FromStringAndSize(<const char *>out[1].data, <Py_ssize_t>out[1].size))
    finally:
        st_bytes_free(&out[0])
        st_bytes_free(&out[1])
