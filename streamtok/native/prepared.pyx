"""Texts that are normalized on the host, for a device that splits and merges."""

from libc.stdint cimport int64_t, uint8_t

from .csrc.base cimport *
from .csrc.normal cimport (
    st_flow, st_flow_feed, st_flow_free, st_flow_init, st_normalizer, st_normalizer_keeps, st_normalizer_leaves
)
from .csrc.special cimport *
from .csrc.stream cimport ST_FEED_TRUSTED, st_prepare
from .csrc.text cimport *
from .interrupt cimport Scope, begin, finish
from .matcher cimport Matcher
from .memory cimport Bytes, Items, Numbers, items_of, numbers_of
from .normal cimport Normalizer
from .text cimport Text, borrow, borrow_apart


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
    finish(&scope, status)
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


cdef enum:
    WINDOW = 5  # numbers that tell of a window
    OPENS = 1  # the text begins where the window does
    CLOSES = 2  # it ends where the window does


cdef bint find_run(const st_normalizer *normalizer, const uint8_t *text, const int64_t *window, int64_t *run) noexcept nogil:
    """The last place at or in front of window[1], and the first one at or behind window[2], where the text falls into parts that are
    normalized by themselves. False: the window is too short for that."""
    cdef int64_t first = window[1], last = window[2]
    while first > window[0] and (is_tail(text[first]) or not st_normalizer_leaves(normalizer, text + first)):
        first -= 1
    if first == window[0] and not window[4] & OPENS:
        return False
    while last < window[3] and (is_tail(text[last]) or last + 4 > window[3] or not st_normalizer_leaves(normalizer, text + last)):
        last += 1
    run[0], run[1] = first, last
    return last < window[3] or window[4] & CLOSES


cdef bint is_tail(uint8_t byte) noexcept nogil:
    return byte & 0xC0 == 0x80


cdef st_status append(void *context, const uint8_t *text, const size_t *source, size_t n) noexcept nogil:
    return st_bytes_append(<st_bytes *>context, text, n)


def mended(text not None: _Data, windows not None: _Data, Normalizer normalizer not None) -> tuple[bytes, bytes] | None:
    """Stretches of texts as the normalizer makes them: (UTF-8, one behind the other; for each three int64, in this machine's order: where
    it begins and ends in `text`, and how many bytes it became). None: one is longer than its window.

    text: UTF-8 without ends of texts in the middle of a character. windows: int64, five for each: begin, first, last and end, ascending, so
    that text[first:last] is to be normalized with as much around it as belongs to it, and no more than text[begin:end] is known; and
    1 if the text begins there, 2 if it ends there, or both. IndexError for a window that is not in `text`."""
    cdef Items data = items_of(text, 1)
    cdef Numbers numbers = numbers_of(windows)
    cdef const uint8_t *given = <const uint8_t *>data.data
    cdef const int64_t *window
    cdef int64_t[3] run
    cdef Bytes made = Bytes.__new__(Bytes), runs = Bytes.__new__(Bytes)
    cdef st_flow flow  # one for all: to make one takes longer than a short run
    cdef size_t before
    cdef st_status status = ST_OK
    cdef bint found = True
    cdef Py_ssize_t i, count = numbers.n // WINDOW
    for i in range(count):
        window = numbers.data + WINDOW * i
        if not 0 <= window[0] <= window[1] <= window[2] <= window[3] <= data.n:
            raise IndexError(window[0])
    with nogil:
        st_flow_init(&flow, &normalizer.normalizer)
        flow.sink, flow.context = append, &made.own
        for i in range(count):
            before = made.own.size
            found = find_run(&normalizer.normalizer, given, numbers.data + WINDOW * i, run)
            if not found:
                break
            status = st_flow_feed(&flow, given + run[0], <size_t>(run[1] - run[0]), True)
            if status == ST_OK:
                run[2] = <int64_t>(made.own.size - before)
                status = st_bytes_append(&runs.own, run, sizeof(run))
            if status:
                break
        st_flow_free(&flow)
    if status:
        raise MemoryError
    return (bytes(made), bytes(runs)) if found else None


def has_names(bytes text not None, Matcher allowed, Matcher disallowed) -> bool:
    """Whether any name stands in UTF-8."""
    cdef Text given
    alive = borrow(text, &given)
    return (allowed is not None and holds(&given, allowed.special)) or (disallowed is not None and holds(&given, disallowed.special))
