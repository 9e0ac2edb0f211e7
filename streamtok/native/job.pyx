"""Texts encoded by several threads at once (csrc/threads/job.h), and where a text may be cut for that; see _batch.py."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_Check
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memset

from .encode cimport Coder
from .csrc.base cimport *
from .csrc.special cimport *
from .csrc.text cimport *
from .csrc.lookup cimport *
from .csrc.stream cimport *
from .csrc.threads cimport *
from .call_pool cimport together
from .interrupt cimport Scope, begin, end, finish
from .ids cimport Expected, IdBuffer, array_over, expect, ids_at_most, ids_expected, reserve, trim
from .lists cimport Lists
from .memory cimport Bytes, Items, bytes_in
from .normal cimport Normalizer
from .pattern cimport Pattern, pattern_of
from .texts cimport Texts
from .text cimport is_still
from .matcher cimport Matcher
from .vocab cimport Vocab

from ..errors import at_row, changed_text_error

cdef void work_on_job(void *job) noexcept nogil:
    st_job_work(<st_job *>job)


cdef class Job:
    """Whole texts, shared out among threads: work(), then a method that has the result.

    texts: a list, or Texts. share_count: how many threads can be of use; 0 where the work is not worth sharing (all methods but this are then
    out of place)."""
    cdef st_job job
    cdef Coder coder
    cdef Matcher allowed, disallowed
    cdef object texts
    cdef Texts given
    cdef size_t units[2]  # bytes of UTF-8, characters of str

    def __cinit__(
        self, Coder coder not None, texts not None: list[_SomeText] | Texts, Matcher allowed, Matcher disallowed, size_t threads,
        size_t least, bint counts_only=False,
    ):
        self.coder, self.allowed, self.disallowed = coder, allowed, disallowed
        self.texts = texts
        st_job_init(&self.job, coder.vocab.vocab, coder.options.pattern,
                    <st_engine>coder.options.engine, <st_errors>coder.options.errors)
        self.job.allowed = allowed.special if allowed is not None else NULL
        self.job.disallowed = disallowed.special if disallowed is not None else NULL
        if coder.normalizer is not None:
            self.job.normalizer = &coder.normalizer.normalizer
        self.job.counts_only = counts_only
        cdef Texts given = texts if isinstance(texts, Texts) else Texts(texts)
        cdef st_status status = ST_OK
        cdef Scope scope
        cdef Py_ssize_t i
        self.given = given
        for i in range(given.count):
            self.units[given.entries[i].width != 0] += given.entries[i].n
        if self.units[0] + self.units[1] < 2 * least:
            return
        if not counts_only:
            self._reserve(&coder.expected)
        begin(&scope, NULL)
        with nogil:
            status = st_job_plan(&self.job, given.entries, <size_t>given.count, threads, least)
        finish(&scope, status)

    def __dealloc__(self):
        st_job_free(&self.job)

    cdef void _reserve(self, const Expected *expected) noexcept:
        cdef size_t ids = ids_expected(expected, self.units[0], False) + ids_expected(expected, self.units[1], True)
        reserve(&self.job.out, ids, ids_at_most(self.units[0], False) + ids_at_most(self.units[1], True))

    @property
    def share_count(self) -> int:
        return self.job.share_count

    @property
    def moved(self) -> int:
        """How often the result had to be moved, because its memory became too small."""
        return self.job.moved

    def work(self, size_t helpers=0):
        """Does all of it, on this thread and on `helpers` others, or on fewer if they cannot be started. It raises only what a
        signal handler raises: then all of them have left their shares."""
        together(work_on_job, &self.job, &self.job.abandoned, helpers)

    def has_surrogates(self) -> bool:
        """After the work: whether it failed because of surrogates in a str. One thread then encodes the text, and replaces them."""
        st_job_finish(&self.job)
        return self.job.status == ST_INVALID_UTF8 and PyUnicode_Check(self.texts[self.job.failed_text])

    cdef int _finish(self) except -1:
        cdef IdBuffer buffer
        st_job_finish(&self.job)
        if self.job.status == ST_OK:
            if not self.units[0] or not self.units[1]:
                expect(&self.coder.expected, self.units[0] + self.units[1], not self.units[0], self.job.total)
            return 0
        if self.job.status != ST_NO_MEMORY:  # encoded again as a whole, for the error with the offsets of the whole text
            buffer = IdBuffer.__new__(IdBuffer)
            try:
                self.coder._encode(self.texts[self.job.failed_text], self.allowed, self.disallowed, &buffer.ids)
            except Exception as error:
                raise at_row(error, self.job.failed_text)
            raise at_row(changed_text_error(self.job.status != ST_INVALID_UTF8), self.job.failed_text)
        raise MemoryError

    def count(self) -> int:
        """Ids of all texts."""
        self._finish()
        return self.job.total

    def array(self, counts: _Data | None = None) -> _Ids:
        """The ids of all texts as a read-only uint32 array. counts: a writable int64 buffer of zeros, one a text, which
        gets the number of ids of each."""
        cdef IdBuffer buffer = IdBuffer.__new__(IdBuffer)
        self._finish()
        if counts is not None:
            st_job_add_counts(&self.job, <int64_t *>bytes_in(counts, True).data)
        buffer.ids = self.job.out
        memset(&self.job.out, 0, sizeof(st_ids))
        trim(&buffer.ids)
        return array_over(buffer)

    def lists(self) -> Lists:
        """The ids of all texts, to be made lists of."""
        cdef size_t count = len(self.texts), i
        cdef int64_t *counts
        cdef size_t *starts
        self._finish()
        cdef Lists lists = Lists.__new__(Lists)
        cdef IdBuffer buffer = IdBuffer.__new__(IdBuffer)
        lists.vocab, lists.making.lists, lists.owner = self.coder.vocab, count, buffer
        starts = lists.making.starts = <size_t *>st_malloc((count + 1) * sizeof(size_t))
        counts = <int64_t *>st_calloc(count, sizeof(int64_t))
        if starts == NULL or counts == NULL:
            st_free(counts)
            raise MemoryError
        st_job_add_counts(&self.job, counts)
        starts[0] = 0
        for i in range(count):
            starts[i + 1] = starts[i] + <size_t>counts[i]
        st_free(counts)
        trim(&self.job.out)
        buffer.ids = lists.ids = self.job.out
        memset(&self.job.out, 0, sizeof(st_ids))
        return lists


def cuts(
    data not None: _Data, size_t size, Matcher allowed, Matcher disallowed, by: Coder | Pattern | str | None, bint loose=False,
) -> list[int]:
    """Ascending offsets, about `size` bytes apart, where a stretch of a longer text may be cut: the left and the
    right side encode independently. data: a buffer of bytes, which may begin and end anywhere. by: the Coder that encodes,
    or the Pattern, or the name of one, that splits; None: nothing of the core, which gives no cuts. loose: loose cuts
    (csrc/threads/safe_cuts.h) instead, for a Coder that has them."""
    cdef st_cut_rules rules
    cdef Items view = bytes_in(data)
    cdef const uint8_t *text = <const uint8_t *>view.data
    cdef size_t n = <size_t>view.n, at, margin, found, ahead
    cdef bint shared = not is_still(data)
    cdef Bytes buffer = Bytes.__new__(Bytes)
    rules.allowed = allowed.special if allowed is not None else NULL
    rules.disallowed = disallowed.special if disallowed is not None else NULL
    rules.trusted = 0
    cdef Pattern pattern = (<Coder>by).pattern if isinstance(by, Coder) else pattern_of(by)
    rules.pattern = pattern.pattern
    rules.vocab = (<Coder>by).vocab.vocab if isinstance(by, Coder) else NULL
    rules.normalizer, rules.loose, rules.carried = NULL, loose, 0
    if isinstance(by, Coder) and (<Coder>by).normalizer is not None:
        rules.normalizer = &(<Coder>by).normalizer.normalizer
    at = margin = st_cut_margin(&rules)
    result = []
    while n > margin and n - margin > at:
        ahead = at + size if n - margin - at > size else n - margin
        if shared:
            found = st_last_cut_of_copy(text, n, at, ahead, &rules, &buffer.own)
        else:
            found = st_last_cut(text, n, at, ahead, &rules)
        if found:
            result.append(found)
        at = found if found and ahead < n - margin else ahead
    return result


def has_loose_cuts(Coder coder not None) -> bool:
    """Whether a text may be cut at any border between characters, if certain() says which ids to keep."""
    return bool(st_has_loose_cuts(coder.vocab.vocab, coder.options.pattern, <st_engine>coder.options.engine,
                                  &coder.normalizer.normalizer if coder.normalizer is not None else NULL))


def certain_part(Coder coder not None, ids not None: _Ids, text not None: _Data) -> tuple[int, int] | None:
    """ids: a buffer of uint32, the ids of `text`, bytes that end at a loose cut. (how many of them, from the first on, stay
    whatever follows, and how many bytes of the text they have). None where that is not known: there the text was repaired, or
    tokens cut its characters everywhere."""
    cdef Items numbers = bytes_in(ids), view = bytes_in(text)
    cdef size_t count = <size_t>numbers.n // sizeof(uint32_t), n = <size_t>view.n
    known = st_certain_part(coder.vocab.vocab, <const uint32_t *>numbers.data, &count, <const uint8_t *>view.data, &n)
    return (count, n) if known else None


# ---- where tokens lie ----

cdef class Tracer:
    """What a trace asks for while it runs. It keeps what Python raises then."""
    cdef dict names
    cdef object lengths, coder, error
    cdef bytes name  # that was asked for last


cdef st_span name_of(void *context, uint32_t token) noexcept with gil:
    cdef Tracer tracer = <Tracer>context
    tracer.name = tracer.names.get(token) or bytes(int(tracer.lengths[token]))
    return st_span(<const uint8_t *>PyBytes_AS_STRING(tracer.name), <size_t>len(tracer.name))


cdef st_status pieces_of(void *context, const uint8_t *text, size_t n, st_bytes *spans) noexcept with gil:
    cdef Tracer tracer = <Tracer>context
    cdef Items found
    try:
        found = bytes_in(tracer.coder.piece_spans(PyBytes_FromStringAndSize(<const char *>text, <Py_ssize_t>n)))
    except BaseException as error:
        tracer.error = error
        return ST_NO_MEMORY
    return st_bytes_append(spans, found.data, <size_t>found.n)


def trace(
    Vocab vocab not None, Normalizer normalizer, coder, bytes data not None, Matcher allowed, dict names not None: dict[int, bytes],
    lengths: Any,
) -> tuple[bytes, bytes]:
    """(the text of the pieces and names, for each byte of it its place in `data`, as a size_t); for a model that does not keep bytes
    nothing, and where each token begins. data: valid UTF-8. coder: a Coder, or a PatternCoder. names: those of ids that have
    several; of the others `lengths` has the bytes, and they are zeros."""
    cdef st_tracing t
    cdef Scope scope
    cdef st_status status
    cdef Tracer tracer = Tracer()
    cdef const uint8_t *text = <const uint8_t *>PyBytes_AS_STRING(data)
    cdef size_t n = <size_t>len(data)
    tracer.names, tracer.lengths, tracer.coder = names, lengths, coder
    memset(&t, 0, sizeof(t))
    t.vocab, t.context, t.name_of = vocab.vocab, <void *>tracer, name_of
    t.names = allowed.special if allowed is not None else NULL
    t.normalizer = &normalizer.normalizer if normalizer is not None else NULL
    if isinstance(coder, Coder):
        t.pattern = (<Coder>coder).options.pattern
    else:
        t.pieces = pieces_of
    begin(&scope, NULL)
    with nogil:
        status = st_trace(&t, text, n)
    try:
        if tracer.error is not None:
            end(&scope)
            raise tracer.error
        finish(&scope, status)
        return (PyBytes_FromStringAndSize(<const char *>t.made.data, <Py_ssize_t>t.made.size),
                PyBytes_FromStringAndSize(<const char *>t.places.data, <Py_ssize_t>t.places.size))
    finally:
        st_tracing_free(&t)
