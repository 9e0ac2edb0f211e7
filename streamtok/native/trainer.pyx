"""Counting pieces and learning merges, as Python objects (csrc/train/count.h, csrc/train/trainer.h), for streamtok/train."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport SIZE_MAX, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from .csrc.base cimport *
from .csrc.text cimport *
from .csrc.split cimport *
from .csrc.special cimport *
from .csrc.train cimport *
from .csrc.stream cimport ST_FEED_TRUSTED
from .interrupt cimport Scope, begin, check as check_scope, end as end_scope
from .matcher cimport Matcher
from .memory cimport Bytes, Items, Numbers, bytes_in, spans_of
from .pattern cimport Pattern, pattern_of
from .text cimport Text, borrow_apart

from .text import FAULTS
from ..errors import invalid_utf8_error, learner_busy_error

TIES: dict[str, int] = {"lexicographic": ST_TIES_LEXICOGRAPHIC, "huggingface": ST_TIES_HUGGINGFACE}


cdef int check(st_status status) except -1:
    if status == ST_NO_MEMORY:
        raise MemoryError
    if status:
        raise ValueError(st_strerror(status).decode())
    return 0


cdef class Inside:
    """One call at a time of an object: its flag is up as long as the call keeps this."""
    cdef object owner
    cdef int *flag

    def __dealloc__(self):
        if self.flag != NULL:
            st_flag_lower(self.flag)


cdef Inside enter(object owner, int *flag):
    """RuntimeError: another call is under way."""
    cdef Inside inside = Inside.__new__(Inside)
    if not st_flag_raise(flag):
        raise learner_busy_error(type(owner).__name__)
    inside.owner, inside.flag = owner, flag
    return inside


def unpacked(records not None: _Data, size_t start, size_t most) -> tuple[list[builtins.bytes], builtins.bytes, int]:
    """(pieces, their counts as uint64, where the next record begins) of up to `most` records from byte `start` on."""
    cdef Items view = bytes_in(records)
    cdef st_train_record record
    cdef list pieces = []
    cdef Bytes counts = Bytes.__new__(Bytes)
    while start < <size_t>view.n and most:
        check(st_train_record_read(<const uint8_t *>view.data, <size_t>view.n, &start, &record))
        pieces.append(PyBytes_FromStringAndSize(<const char *>record.piece, <Py_ssize_t>record.n))
        check(st_bytes_append(&counts.own, <const uint8_t *>&record.count, sizeof(record.count)))
        most -= 1
    return pieces, bytes(counts), start


def packed(tokens not None: _Data, ends not None: _Data, counts not None: _Data, int64_t least=2) -> builtins.bytes:
    """Records of rows of tokens: those of row i, numbers of uint32, end at ends[i] (int64), and it was seen counts[i] times
    (uint64). Rows of less than `least` tokens are left out, as those of one, in which nothing can be merged."""
    cdef Items numbers = bytes_in(tokens), rows = bytes_in(ends), times = bytes_in(counts)
    cdef const int64_t *end = <const int64_t *>rows.data
    cdef const uint64_t *count = <const uint64_t *>times.data
    cdef Bytes out = Bytes.__new__(Bytes)
    cdef int64_t at = 0
    cdef Py_ssize_t i
    if times.n != rows.n:
        check(ST_BAD_STATE)
    for i in range(rows.n // 8):
        if end[i] < at or end[i] > numbers.n // 4:
            check(ST_BAD_STATE)
        if end[i] - at >= max(least, 1) and count[i]:
            check(st_train_record_write(&out.own, <const uint8_t *>numbers.data + 4 * at, <size_t>(4 * (end[i] - at)), count[i]))
        at = end[i]
    return bytes(out)


cdef class Counter:
    """Distinct pieces and their counts. One thread at a time: a second one gets RuntimeError, but for `pieces` and `bytes`.
    pattern: what splits text, a Pattern or the name of one; None where spans are given.

    Signals are handled during long calls. After MemoryError, and after an exception of a signal handler, it cannot be used."""
    cdef st_train_counter counter
    cdef int busy
    cdef Pattern pattern
    cdef Matcher special

    def __cinit__(self, pattern: _How, Matcher special):
        st_train_counter_init(&self.counter)
        self.pattern = pattern_of(pattern)
        self.special = special

    def __dealloc__(self):
        st_train_counter_free(&self.counter)

    def count(self, source: _Text):
        """Counts the pieces of a str, or of a buffer of UTF-8, that splits independently of all other text."""
        self.count_all([source])

    def count_all(self, list sources not None: list[_SomeText]):
        """Counts the pieces of many texts, each a str or a buffer of UTF-8 that splits independently of all other text."""
        cdef size_t count = len(sources), i
        cdef Text *texts = <Text *>st_malloc(count * sizeof(Text))
        if texts == NULL:
            raise MemoryError
        try:
            owners = [borrow_apart(source, &texts[i]) for i, source in enumerate(sources)]
            self._count_texts(texts, count, owners)
        finally:
            st_free(texts)

    cdef int _count_texts(self, const Text *texts, size_t count, list owners) except -1:
        cdef const st_special *special = self.special.special if self.special is not None else NULL
        cdef st_text_error error
        cdef st_status status = ST_OK
        cdef size_t i = 0
        cdef Scope scope
        cdef st_pattern pattern = self.pattern.pattern
        inside = enter(self, &self.busy)
        begin(&scope, NULL)
        with nogil:
            while i < count and status == ST_OK:
                status = st_train_count_text(&self.counter, pattern, special, texts[i].data,
                                             texts[i].n, texts[i].flags & ST_FEED_TRUSTED, &error)
                i += 1
        end_scope(&scope)
        check_scope(&scope)
        if status == ST_INVALID_UTF8:
            raise invalid_utf8_error(bytes(owners[i - 1]), error.start, error.end, FAULTS[error.fault])
        return check(status)

    def count_spans(self, bytes text not None: builtins.bytes, spans not None: _Data):
        """Counts text[a:b] for each row (a, b) of an int64 buffer."""
        cdef const uint8_t *data = <const uint8_t *>PyBytes_AS_STRING(text)
        cdef st_status status
        cdef Scope scope
        cdef Numbers rows = spans_of(spans, len(text))
        inside = enter(self, &self.busy)
        begin(&scope, NULL)
        with nogil:
            status = st_train_count_spans(&self.counter, data, rows.data, <size_t>rows.n // 2)
        end_scope(&scope)
        check_scope(&scope)
        check(status)

    def add(self, data not None: _Data, starts not None: _Data, lengths not None: _Data, counts not None: _Data):
        """Adds pieces counted elsewhere: the bytes of each in `data` by where it starts (uint64) and its length (uint32),
        and its count (uint64). ValueError: that is not what the buffers hold."""
        cdef Items bytes_of = bytes_in(data), at = bytes_in(starts), sizes = bytes_in(lengths), times = bytes_in(counts)
        cdef Py_ssize_t count = sizes.n // 4
        cdef st_status status
        if at.n != 8 * count or times.n != 8 * count:
            check(ST_BAD_STATE)
        inside = enter(self, &self.busy)
        with nogil:
            status = st_train_table_add_all(&self.counter.table, <const uint8_t *>bytes_of.data, <size_t>bytes_of.n,
                                            <const uint64_t *>at.data, <const uint32_t *>sizes.data, <const uint64_t *>times.data,
                                            <size_t>count)
        check(status)

    def write(self, size_t parts=1) -> list[builtins.bytes]:
        """The pieces as records, in so many parts (a power of two); a piece is always in the same part."""
        cdef st_bytes *buffers
        cdef st_status status
        cdef size_t i
        if not 0 < parts or parts & (parts - 1):
            raise ValueError(f"parts={parts} is no power of two")
        inside = enter(self, &self.busy)
        buffers = <st_bytes *>st_calloc(parts, sizeof(st_bytes))
        status, result = ST_NO_MEMORY, []
        if buffers != NULL:
            with nogil:
                status = st_train_table_write(&self.counter.table, buffers, parts)
        try:
            check(status)
            for i in range(parts):
                result.append(PyBytes_FromStringAndSize(<const char *>buffers[i].data, <Py_ssize_t>buffers[i].size))
                st_bytes_free(&buffers[i])
            return result
        finally:
            for i in range(parts if buffers != NULL else 0):
                st_bytes_free(&buffers[i])
            st_free(buffers)

    def read(self, records not None: _Data):
        """Adds records that write() made. ValueError: they are damaged."""
        cdef st_status status
        cdef Items view = bytes_in(records)
        inside = enter(self, &self.busy)
        with nogil:
            status = st_train_table_read(&self.counter.table, <const uint8_t *>view.data, <size_t>view.n)
        check(status)

    def clear(self, bint trims=True):
        """Forgets all pieces; `pieces` and `bytes` stay. trims: what their memory was goes back to the system, where the C library
        would keep it for later."""
        inside = enter(self, &self.busy)
        with nogil:
            st_train_table_free(&self.counter.table)
            if trims:
                st_alloc_trim()

    def weigh(self, uint64_t factor):
        """Each piece that is counted from now on counts so many times."""
        inside = enter(self, &self.busy)
        if not factor:
            check(ST_BAD_STATE)
        self.counter.factor = factor

    @property
    def size(self) -> int:
        """Memory in bytes, with what the next growth takes for a moment."""
        inside = enter(self, &self.busy)
        return st_train_table_size(&self.counter.table)

    @property
    def distinct(self) -> int:
        inside = enter(self, &self.busy)
        return self.counter.table.short_count + self.counter.table.long_count

    @property
    def pieces(self) -> int:
        return st_number_read(&self.counter.pieces)

    @property
    def bytes(self) -> int:
        return st_number_read(&self.counter.bytes)


cdef class Trainer:
    """Learns merges from records: measure() all, lay_out(), place() the same, finish(); begin(), then run().

    alphabet: the 256 bytes in the order of their tokens. wanted: tokens in all. max_token_bytes, frequency: as
    csrc/train/trainer.h has them. One thread at a time: a second one gets RuntimeError. After MemoryError it cannot be used."""
    cdef st_trainer trainer
    cdef int busy
    cdef readonly bint laid_out
    cdef readonly size_t given

    def __cinit__(self, bytes alphabet not None, size_t wanted, str ties: str, uint32_t max_token_bytes, uint64_t frequency):
        cdef st_train_options options
        if sorted(alphabet) != list(range(256)) or wanted < 256:
            raise ValueError("the alphabet has each of the 256 bytes once, and as many tokens are wanted at least")
        options.alphabet = <const uint8_t *>PyBytes_AS_STRING(alphabet)
        options.wanted = wanted
        options.ties = TIES[ties]
        options.max_token_bytes = max_token_bytes
        options.frequency = frequency
        options.most_lists = SIZE_MAX
        check(st_trainer_init(&self.trainer, &options))
        self.given = 256

    def __dealloc__(self):
        st_trainer_free(&self.trainer)

    def give(self, pairs not None: _Data):
        """Merges to go on from, as left << 32 | right in uint64. Records hold numbers of tokens from now on, not bytes."""
        cdef Items view = bytes_in(pairs)
        cdef const uint64_t *keys = <const uint64_t *>view.data
        cdef Py_ssize_t i
        inside = enter(self, &self.busy)
        if self.laid_out or self.trainer.text.pieces or self.trainer.tokens.count > 256:
            raise ValueError("merges are given before records are measured, and once")
        for i in range(view.n // 8):
            self._check_pair(<uint32_t>(keys[i] >> 32), <uint32_t>keys[i])
            check(st_train_tokens_give(&self.trainer.tokens, keys[i]))
        self.given = self.trainer.tokens.count
        self.trainer.text.given = <uint32_t>self.given

    def limit_words(self, uint32_t words):
        """Sets how many words a token may have (csrc/train/tokens.h)."""
        inside = enter(self, &self.busy)
        self.trainer.tokens.max_words = words

    def limit_lists(self, size_t places):
        """Sets about how many places all lists together hold, from the next search on."""
        inside = enter(self, &self.busy)
        self.trainer.index.most_lists = places

    def measure(self, records not None: _Data):
        self._take(records, 0)

    def place(self, records not None: _Data):
        self._take(records, 1)

    cdef int _take(self, records, bint placing) except -1:
        cdef st_status status
        cdef Items view = bytes_in(records)
        cdef const uint8_t *data = <const uint8_t *>view.data
        cdef size_t n = <size_t>view.n
        inside = enter(self, &self.busy)
        if placing != self.laid_out:
            raise ValueError("records are measured before lay_out(), and placed behind it")
        with nogil:
            if placing:
                status = st_train_text_place(&self.trainer.text, data, n)
            else:
                status = st_train_text_measure(&self.trainer.text, data, n)
        return check(status)

    def lay_out(self):
        inside = enter(self, &self.busy)
        self.laid_out = True
        check(st_train_text_lay_out(&self.trainer.text))

    def finish(self):
        inside = enter(self, &self.busy)
        check(st_train_text_finish(&self.trainer.text))

    def begin(self, uint64_t least=0):
        """Pieces, and tokens if any were added, are there. least: of the state that they are from."""
        inside = enter(self, &self.busy)
        st_trainer_begin(&self.trainer, least)

    def run(self, size_t merges, uint64_t work) -> bool:
        """Makes up to `merges` merges, fewer once `work` places were read. Returns True when there is nothing left to do."""
        cdef st_status status
        inside = enter(self, &self.busy)
        with nogil:
            status = st_trainer_run(&self.trainer, merges, work)
        check(status)
        return bool(self.trainer.done)

    # ---- merges that others choose ----

    def begin_all(self):
        """As begin(), for best() and make(): all pairs are known, however rare."""
        inside = enter(self, &self.busy)
        with nogil:
            st_trainer_begin(&self.trainer, 1)
            st_trainer_measure(&self.trainer)

    def best(self) -> tuple[int, int, int]:
        """(left, right, count) of the pair that the next merge would join; a count of 0: none is left."""
        cdef st_train_key pair = 0
        cdef uint64_t count = 0
        cdef st_status status
        inside = enter(self, &self.busy)
        with nogil:
            status = st_trainer_best(&self.trainer, &pair, &count)
        check(status)
        return pair >> 32, pair & 0xFFFFFFFF, count

    def make(self, uint32_t left, uint32_t right):
        """Makes a merge of any two tokens, wherever they stand."""
        cdef st_status status
        inside = enter(self, &self.busy)
        self._check_pair(left, right)
        with nogil:
            status = st_trainer_merge(&self.trainer, <uint64_t>left << 32 | right)
        check(status)

    @property
    def size(self) -> int:
        """Tokens in the text, each as often as its piece was seen, behind begin_all()."""
        inside = enter(self, &self.busy)
        return self.trainer.size

    # ---- what it has learned ----

    @property
    def count(self) -> int:
        """Tokens, the 256 bytes included."""
        inside = enter(self, &self.busy)
        return self.trainer.tokens.count

    @property
    def last_count(self) -> int:
        """How often the pair of the last merge was seen."""
        inside = enter(self, &self.busy)
        return self.trainer.last_count

    @property
    def least(self) -> int:
        """For begin(), when the state goes on elsewhere."""
        inside = enter(self, &self.busy)
        return self.trainer.index.least

    @property
    def pieces(self) -> int:
        inside = enter(self, &self.busy)
        return self.trainer.text.pieces

    @property
    def places(self) -> int:
        """4 bytes each: what the text takes."""
        inside = enter(self, &self.busy)
        return self.trainer.text.places

    @property
    def searched(self) -> int:
        """Places looked at by searches of the whole text, for benchmarks."""
        inside = enter(self, &self.busy)
        return self.trainer.index.searched

    def token(self, size_t token) -> bytes:
        """The bytes of a token."""
        cdef st_train_tokens *tokens = &self.trainer.tokens
        inside = enter(self, &self.busy)
        if token >= tokens.count:
            raise IndexError(token)
        return PyBytes_FromStringAndSize(<const char *>tokens.bytes.data + tokens.starts[token], tokens.lengths[token])

    def merge(self, size_t token) -> tuple[int, int]:
        """(left, right): the two tokens that a learned one was merged of."""
        cdef st_train_key pair
        inside = enter(self, &self.busy)
        if not 256 <= token < self.trainer.tokens.count:
            raise IndexError(token)
        pair = self.trainer.tokens.pairs[token]
        return pair >> 32, pair & 0xFFFFFFFF

    # ---- the state, to go on elsewhere ----

    def ranges(self) -> bytes:
        """The pieces by count: three uint64 a range in this machine's order, the count and twice the place behind it."""
        cdef st_train_text *text = &self.trainer.text
        inside = enter(self, &self.busy)
        return PyBytes_FromStringAndSize(<const char *>text.ranges, <Py_ssize_t>(text.range_count * sizeof(st_train_range)))

    def take(self, pairs not None: _Data, uint64_t least, uint64_t last_count):
        """Merges that were learned elsewhere, as left << 32 | right in uint64, behind those that are known."""
        cdef Items view = bytes_in(pairs)
        cdef const uint64_t *keys = <const uint64_t *>view.data
        cdef Py_ssize_t i
        inside = enter(self, &self.busy)
        for i in range(view.n // 8):
            self._add_token(<uint32_t>(keys[i] >> 32), <uint32_t>keys[i])
        self.trainer.index.least, self.trainer.last_count = least, last_count

    def add_token(self, uint32_t left, uint32_t right):
        """The next token, as merge() gave it elsewhere. Before begin()."""
        inside = enter(self, &self.busy)
        self._add_token(left, right)

    cdef int _add_token(self, uint32_t left, uint32_t right) except -1:
        self._check_pair(left, right)
        return check(st_train_tokens_add(&self.trainer.tokens, <uint64_t>left << 32 | right))

    cdef int _check_pair(self, uint32_t left, uint32_t right) except -1:
        cdef st_train_tokens *tokens = &self.trainer.tokens
        if tokens.count >= tokens.capacity or left >= tokens.count or right >= tokens.count:
            raise ValueError(f"({left}, {right}) are no tokens that a merge could join here")
        return 0

    def save(self, size_t start, size_t n) -> bytes:
        """The tokens in the text at places start to start + n, as uint32 in this machine's order."""
        cdef size_t places
        inside = enter(self, &self.busy)
        places = self.trainer.text.places
        start = min(start, places)
        n = min(n, places - start)
        return PyBytes_FromStringAndSize(<const char *>(self.trainer.text.tokens + start), <Py_ssize_t>(4 * n))

    def load(self, size_t start, data not None: _Data):
        """Puts back what save() gave."""
        cdef Items view = bytes_in(data)
        cdef size_t n = <size_t>view.n // 4
        inside = enter(self, &self.busy)
        if start > self.trainer.text.places or n > self.trainer.text.places - start:
            raise ValueError("the saved text is longer than the pieces")
        memcpy(self.trainer.text.tokens + start, view.data, 4 * n)
