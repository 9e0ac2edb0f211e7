"""What splits a text, for the encoders: the table of a compiled pattern (csrc/split/dfa.h), and the row of blocks beside it."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memset

from .csrc.base cimport *
from .csrc.text cimport *
from .csrc.split cimport *
from .csrc.stream cimport ST_FEED_TRUSTED
from .interrupt cimport Scope, begin, finish
from .memory cimport Bytes
from .text cimport Text, borrow_apart

from .text import FAULTS
from ..errors import invalid_utf8_error

cdef dict _named_rows():
    cdef int family
    return {st_row_name(<st_split_family>family).decode(): family for family in range(<int>ST_SPLIT_FAMILIES)
            if st_row_name(<st_split_family>family) != NULL}

ROWS: dict[str, int] = _named_rows()  # the patterns that blocks of 64 bytes can split (csrc/split/rows.h), by name

cdef enum:
    TABLE_VERSION = 2


cdef st_status put_spans(st_bytes *out, const uint64_t *ends, size_t count, int64_t *open) noexcept nogil:
    """Appends the pieces that end at `ends`, counted from where the open piece begins; moves that to the last end."""
    cdef int64_t[2] span
    cdef int64_t origin = open[0]
    cdef st_status status = ST_OK
    cdef size_t i
    for i in range(count):
        span[0], span[1] = open[0], origin + <int64_t>(ends[i] & ~ST_DROPPED)
        open[0] = span[1]
        if not ends[i] & ST_DROPPED:
            status = st_bytes_append(out, <const uint8_t *>span, sizeof(span))
            if status:
                break
    return status


#: class _Table(Protocol):
#:     @property
#:     def classes(self) -> int: ...
#:     @property
#:     def class_index(self) -> bytes: ...
#:     @property
#:     def class_blocks(self) -> bytes: ...
#:     @property
#:     def states(self) -> int: ...
#:     @property
#:     def entries(self) -> bytes: ...
#:     @property
#:     def ops(self) -> bytes: ...
#:     @property
#:     def table_version(self) -> int: ...

# A Pattern, the name of one, or none.
#: _How: TypeAlias = "Pattern | str | None"


cdef class Pattern:
    """A pattern that the core splits by, immutable, for any number of threads.

    how: "r50k", "cl100k" or "o200k", whose tables the core has, or "none": a text is one piece; or a
    patterns.compiled.CompiledPattern, or anything with its attributes, which is copied.
    row: of a table, the name in ROWS of the row that splits every text as the table does (patterns.rows.row_of); None: no
    row does. Blocks then split, and the table only what they cannot decide.
    ValueError: that is no table, or the core has none of this name. KeyError: there is no such row."""

    def __cinit__(self, how: str | _Table, row: str | None = None):
        cdef int family
        if isinstance(how, str):
            self.family = how
            family = ST_SPLIT_NONE if how == "none" else ROWS[how]
            if how != "none":
                self._check(st_dfa_of_row(<st_split_family>family, &self.dfa))
        else:
            self.family = "table" if row is None else row
            family = ST_SPLIT_TABLE if row is None else ROWS[row]
            self._read(how)
        self.pattern = st_pattern_of(<st_split_family>family, self.dfa)

    cdef int _check(self, st_status status) except -1:
        if status == ST_NO_MEMORY:
            raise MemoryError
        if status:
            raise ValueError(st_strerror(status).decode())
        return 0

    cdef int _read(self, object how) except -1:
        cdef st_dfa_table table
        cdef bytes index = how.class_index, blocks = how.class_blocks, entries = how.entries, ops = how.ops
        cdef st_status status
        if how.table_version != TABLE_VERSION:
            raise ValueError(f"this table has version {how.table_version}; version {TABLE_VERSION} is supported")
        memset(&table, 0, sizeof(table))
        table.classes, table.states = how.classes, how.states
        if len(index) != ST_DFA_INDEX_BYTES or len(blocks) % ST_DFA_BLOCK or len(ops) % 2 or \
                <size_t>len(entries) != <size_t>4 * table.classes * table.states:
            raise ValueError("the table of a pattern is damaged: a part of it has the wrong length")
        table.index = <const uint8_t *>PyBytes_AS_STRING(index)
        table.blocks = <const uint8_t *>PyBytes_AS_STRING(blocks)
        table.block_count = <size_t>len(blocks) // ST_DFA_BLOCK
        table.entries = <const uint8_t *>PyBytes_AS_STRING(entries)
        table.ops = <const uint8_t *>PyBytes_AS_STRING(ops)
        table.op_count = <size_t>len(ops) // 2
        with nogil:
            status = st_dfa_new(&table, &self.dfa)
        return self._check(status)

    def __dealloc__(self):
        st_dfa_free(self.dfa)

    @property
    def drops(self) -> bool:
        """Whether text that the pattern does not match is in no piece."""
        return bool(st_pattern_drops(self.pattern))

    @property
    def identity(self) -> int:
        """A number that differs where tables differ. 0: there is none."""
        return st_pattern_identity(self.pattern)

    def spans(self, source: _Text) -> bytes:
        """Where the pieces of a whole text lie in its UTF-8: two int64 each, start and end, in this machine's order. Text that the
        pattern drops is in none of them. Bytes have to be valid UTF-8."""
        cdef uint64_t ends[512]
        cdef Bytes made = Bytes.__new__(Bytes)
        cdef st_bytes *out = &made.own
        cdef st_scan scan
        cdef st_text_error error
        cdef st_status status = ST_OK
        cdef Scope scope
        cdef Text text
        cdef size_t used, at = 0, valid
        cdef int64_t open = 0
        alive = borrow_apart(source, &text)
        st_scan_init(&scan)
        begin(&scope, NULL)
        with nogil:
            valid = text.n if text.flags & ST_FEED_TRUSTED else st_text_check(text.data, text.n, &error)
            while valid == text.n and at < text.n and status == ST_OK:
                status = put_spans(out, ends, st_scan_feed(self.pattern, &scan, text.data + at, text.n - at, &used, ends, 512), &open)
                at += used
                if status == ST_OK:
                    status = st_go_on(used)
            if status == ST_OK and valid == text.n:
                status = put_spans(out, ends, st_scan_finish(self.pattern, &scan, ends), &open)
        finish(&scope, status)
        if valid != text.n:
            raise invalid_utf8_error(bytes(alive), error.start, error.end, FAULTS[error.fault])
        return bytes(made)

    def image(self, uint64_t address=0) -> bytes:
        """The table as bytes for the kernels of the GPU, which must lie at that address, a multiple of 64. Empty: there is no
        table."""
        cdef size_t size
        if self.dfa == NULL:
            return b""
        size = st_dfa_image(self.dfa, address, NULL)
        cdef bytes image = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>size)
        st_dfa_image(self.dfa, address, <uint8_t *>PyBytes_AS_STRING(image))
        return image


cdef Pattern pattern_of(object how):
    """A Pattern as it is; a name as one; None as that of no pattern, for coders that get their pieces as spans."""
    if isinstance(how, Pattern):
        return how
    return Pattern("none" if how is None else how)


# ---- for tests and benchmarks ----

def last_sync_point(how: _How, bytes text not None) -> int:
    """Largest offset in the text where a piece starts, and the one before ends as at the end of a text, whatever stands before;
    0 if there is none."""
    cdef Pattern pattern = pattern_of(how)
    return st_last_sync_point(pattern.pattern, <const uint8_t *>PyBytes_AS_STRING(text), len(text))
