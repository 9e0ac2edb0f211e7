"""Texts that are normalized on the host, for a device that splits and merges."""

from libc.stdint cimport int64_t, uint8_t

from .csrc.base cimport *
from .csrc.normal cimport st_normalizer_keeps
from .csrc.special cimport *
from .csrc.stream cimport ST_FEED_TRUSTED, st_prepare
from .csrc.text cimport *
from .interrupt cimport Scope, begin, check, end as end_scope
from .matcher cimport Matcher
from .memory cimport Bytes, Items, Numbers, items_of, numbers_of
from .normal cimport Normalizer
from .text cimport Text, borrow, borrow_apart


cdef bint is_utf8(const Text *text) noexcept nogil:
    cdef st_text_error error
    return text.flags & ST_FEED_TRUSTED or st_text_check(text.data, text.n, &error) == text.n


cdef bint is_kept(Normalizer normalizer, const uint8_t *data, size_t n, bint trusted) noexcept:
    cdef Text text
    cdef bint kept
    text.data, text.n, text.flags = data, n, ST_FEED_TRUSTED if trusted else 0
    with nogil:
        kept = is_utf8(&text) and st_normalizer_keeps(&normalizer.normalizer, data, n)
    return kept


cdef bint holds(const Text *text, const st_special *names) noexcept nogil:
    """Whether one of the names stands in the text. names: NULL = none."""
    cdef st_special_search search
    cdef st_special_match match
    if names == NULL:
        return False
    search = st_special_search_behind(names, 0)
    return st_special_find(names, &search, text.data, text.n, text.n, True, &match) == ST_SPECIAL_FOUND


def prepared(source: _Text, Normalizer normalizer not None, Matcher allowed, Matcher disallowed) -> tuple[bytes, bytes] | None:
    """What a device is to encode in place of a text.

    (normalized, parts): UTF-8, and for each part of it that lies in front of an allowed name or the end two int64, in this machine's
    order: where it ends, and the id of the name, -1 at the end. None: a text that is refused; encoding it raises the error."""
    cdef Bytes made = Bytes.__new__(Bytes), parts = Bytes.__new__(Bytes)
    cdef st_status status = ST_OK
    cdef Scope scope
    cdef Text text
    cdef bint refused
    cdef const st_special *names = allowed.special if allowed is not None else NULL
    cdef const st_special *others = disallowed.special if disallowed is not None else NULL
    alive = borrow_apart(source, &text)
    begin(&scope, NULL)
    with nogil:
        refused = not is_utf8(&text) or holds(&text, others)
        if not refused:
            status = st_prepare(&normalizer.normalizer, names, text.data, text.n, &made.own, &parts.own)
    end_scope(&scope)
    check(&scope)
    if status:
        raise MemoryError
    return None if refused else (bytes(made), bytes(parts))


def changed(
    buffer not None: _Data, starts not None: _Data, sizes not None: _Data, Normalizer normalizer not None, bint trusted, Py_ssize_t first,
    Py_ssize_t last,
) -> list[int] | None:
    """Which of the texts first .. last - 1, buffer[start : start + size] each, the normalizer changes, as a list of numbers; None: one
    is not UTF-8. starts, sizes: buffers of int64. trusted: all is UTF-8. IndexError for a text that is not in the buffer."""
    cdef Items data = items_of(buffer, 1)
    cdef Numbers froms = numbers_of(starts), counts = numbers_of(sizes)
    cdef Text text
    cdef Py_ssize_t i
    cdef bint is_kept
    found = []
    if not 0 <= first <= last <= min(froms.n, counts.n):
        raise IndexError((first, last))
    text.flags = ST_FEED_TRUSTED if trusted else 0
    for i in range(first, last):
        if counts.data[i] < 0 or not 0 <= froms.data[i] <= data.n - counts.data[i]:
            raise IndexError(froms.data[i])
        text.data, text.n = <const uint8_t *>data.data + froms.data[i], <size_t>counts.data[i]
        with nogil:
            is_kept = is_utf8(&text)
        if not is_kept:
            return None
        with nogil:
            is_kept = st_normalizer_keeps(&normalizer.normalizer, text.data, text.n)
        if not is_kept:
            found.append(i)
    return found


def has_names(bytes text not None, Matcher allowed, Matcher disallowed) -> bool:
    """Whether any name stands in UTF-8."""
    cdef Text given
    alive = borrow(text, &given)
    return (allowed is not None and holds(&given, allowed.special)) or (disallowed is not None and holds(&given, disallowed.special))
