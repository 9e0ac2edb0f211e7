"""Ids in the shapes that models take (csrc/rows): texts in rows with pads, and documents packed into rows.

Texts, or documents, are a row of uint32 ids and int64 row starts, one more than there are texts. Arguments are checked by callers
(streamtok/_rows); what would lead out of the memory of an array is checked here, too."""

from cpython.buffer cimport PyBuffer_FillInfo
from libc.stdint cimport int64_t, uint32_t, uint64_t

from .csrc.base cimport *
from .csrc.rows cimport *
from .interrupt cimport Scope, begin, finish
from .memory cimport Items, Numbers, items_of, numbers_of

BEST_FIT_LENGTH: int = ST_BEST_FIT_LENGTH


cdef class Ragged:
    """Ids, which are held, and row starts, which are copied and checked: ValueError where they do not ascend from 0 to the number of ids.
    ids None: they lie on a device, and are not read here."""
    cdef Items ids
    cdef Numbers starts
    cdef readonly Py_ssize_t count

    def __cinit__(self, ids: _Data | None, starts: _Data):
        cdef Py_ssize_t i
        cdef const int64_t *at
        self.ids, self.starts = None if ids is None else items_of(ids, sizeof(uint32_t)), numbers_of(starts)
        self.count, at = self.starts.n - 1, self.starts.data
        cdef bint is_good = self.count >= 0 and at[0] == 0 and (self.ids is None or at[self.count] == self.ids.n)
        for i in range(self.count):
            is_good = is_good and at[i] <= at[i + 1]
        if not is_good:
            raise ValueError("row starts must ascend from 0 to the number of ids")


def pad(
    Ragged texts not None, prefix: _Data, suffix: _Data, size_t length, size_t most, bint keeps_end, bint is_left, uint64_t value,
    unsigned width, out: _Data, mask: _Data, size_t first, size_t last,
):
    """Writes the rows first .. last - 1 of out and mask, flat writable buffers of numbers of `width` bytes. prefix, suffix: buffers of
    uint32; most, keeps_end, is_left: as in csrc/rows/padded.h; value: the pad."""
    cdef Items front = items_of(prefix, sizeof(uint32_t)), back = items_of(suffix, sizeof(uint32_t))
    cdef Items to = items_of(out, width, True), marks = items_of(mask, width, True)
    cdef st_padding job
    if texts.ids is None:
        raise ValueError
    job.ids, job.starts = <const uint32_t *>texts.ids.data, texts.starts.data
    job.prefix, job.prefix_size = <const uint32_t *>front.data, <size_t>front.n
    job.suffix, job.suffix_size = <const uint32_t *>back.data, <size_t>back.n
    job.most = most
    job.length, job.keeps_end, job.is_left, job.pad, job.width = length, keeps_end, is_left, value, width
    job.out, job.mask = to.data, marks.data
    if not job.prefix_size + job.suffix_size <= most <= length or not first <= last <= <size_t>texts.count or width not in (2, 4, 8):
        raise IndexError((first, last))
    if to.n != marks.n or <size_t>to.n != length * <size_t>texts.count:
        raise IndexError(length)
    with nogil:
        st_pad_rows(&job, first, last)


cdef class Plan:
    """Which part of which document lies where. count: of its sequences; total: of the ids in its rows, pads between them included."""
    cdef Ragged documents
    cdef st_documents core
    cdef st_sequence *sequences
    cdef readonly size_t count, length

    def __cinit__(self, Ragged documents not None, bint has_end, size_t length, bint is_best_fit):
        cdef st_status status = ST_OK
        cdef Scope scope
        if not length or is_best_fit and length > ST_BEST_FIT_LENGTH:
            raise ValueError(length)
        self.documents, self.length = documents, length
        self.core.starts, self.core.count = documents.starts.data, <size_t>documents.count
        self.core.has_end = has_end
        self.sequences = <st_sequence *>st_malloc(st_plan_room(&self.core, length) * sizeof(st_sequence))
        if self.sequences == NULL:
            raise MemoryError
        begin(&scope, NULL)
        with nogil:
            if is_best_fit:
                status = st_plan_best_fit(&self.core, length, self.sequences, &self.count)
            else:
                self.count = st_plan_joined(&self.core, length, self.sequences)
        finish(&scope, status)

    def __dealloc__(self):
        st_free(self.sequences)

    def __getbuffer__(self, Py_buffer *view, int flags):
        """The sequences as they lie in memory, and the one behind the last: st_sequence of csrc/rows/sequence.h."""
        PyBuffer_FillInfo(view, self, self.sequences, <Py_ssize_t>((self.count + 1) * sizeof(st_sequence)), 1, flags)

    @property
    def total(self) -> int:
        return self.sequences[self.count].place

    def places(self, places: _Data, numbers: _Data):
        """Fills a writable buffer of int32 with where sequences begin and the last one ends, one of int64 with the numbers of their
        documents, -1 for pads."""
        cdef Items to = items_of(places, 4, True), documents = items_of(numbers, sizeof(int64_t), True)
        cdef size_t i
        if <size_t>to.n != self.count + 1 or <size_t>documents.n != self.count:
            raise IndexError(self.count)
        for i in range(self.count):
            (<int *>to.data)[i] = <int>self.sequences[i].place
            (<int64_t *>documents.data)[i] = -1 if self.sequences[i].document == ST_PADS else <int64_t>self.sequences[i].document
        (<int *>to.data)[self.count] = <int>self.sequences[self.count].place

    def write(self, uint64_t eot, uint64_t value, unsigned width, out: _Data, positions: _Data, size_t first, size_t last):
        """Writes the sequences first .. last - 1, and behind the last one of all the pads, to flat writable buffers of numbers of
        `width` bytes."""
        cdef Items to = items_of(out, width, True), at = items_of(positions, width, True)
        cdef st_packing job
        if self.documents.ids is None:
            raise ValueError
        job.ids, job.plan = <const uint32_t *>self.documents.ids.data, self.sequences
        job.count, job.room, job.end, job.pad, job.width = self.count, <uint64_t>to.n, eot, value, width
        job.out, job.positions = to.data, at.data
        if not first <= last <= self.count or to.n != at.n or to.n < self.total or width not in (2, 4, 8):
            raise IndexError((first, last))
        with nogil:
            st_pack_rows(&job, first, last)
