"""The encoders as Python objects: whole texts (Coder) and streams (CoreStream). Defaults and the documentation of
arguments are in core.py, whole/ and _stream.py."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_Check, PyUnicode_GET_LENGTH
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from .csrc.base cimport *
from .csrc.text cimport *
from .csrc.normal cimport *
from .csrc.split cimport *
from .csrc.lookup cimport *
from .csrc.stream cimport *
from .csrc.threads cimport st_has_carried_cuts
from .csrc.vocab cimport st_vocab_spell
from .interrupt cimport SHORT, Scope, begin, begin_short, check, end as end_scope
from .ids cimport COPIED, IdBuffer, array_of, array_over, expect, ids_at_most, ids_expected, init_expected, list_of, recycle, reserve, trim
from .memory cimport Bytes, Numbers, spans_of
from .text cimport (
    SHORT_ROOM, PyUnicode_IS_ASCII, Text, borrow, borrow_apart, borrow_short, ends_high, next_slice,
)
from .normal cimport Normalizer
from .pattern cimport Pattern, pattern_of
from .matcher cimport Matcher
from .vocab cimport Vocab

from .text import FAULTS, join_surrogate
from ..errors import at_row, disallowed_special_error, invalid_utf8_error, not_a_str_error, stream_busy_error

cdef enum:
    # A call on fewer bytes takes less time than to release the GIL and take it again.
    RELEASE_GIL_FROM = 2048
    # From this many bytes of text on, room for the ids is allocated at once by an estimate, and trimmed at the end: a buffer that
    # grows is moved several times.
    RESERVE_FROM = 1 << 16
    # What a text costs beside its length, as a number of bytes: csrc/base/interrupt.h counts bytes.
    TEXT_COSTS = 256
    # A str that is not ASCII is turned into UTF-8 this many characters at a time: 128 KB at most, which a core's cache holds.
    STR_SLICE = 32768
    # Characters, or bytes, of a text that several threads may encode faster than one: a part of _batch.py.
    LONG = 1 << 18

ENGINES: dict[str, int] = {"fast": ST_ENGINE_FAST, "reference": ST_ENGINE_REFERENCE}
ERRORS: dict[str, int] = {"strict": ST_ERRORS_STRICT, "replace": ST_ERRORS_REPLACE, "ignore": ST_ERRORS_IGNORE}


cdef bint is_long(object source):
    if PyUnicode_Check(source):
        return PyUnicode_GET_LENGTH(source) >= LONG
    try:
        return len(source) >= LONG
    except Exception:  # no text, or a buffer that does not say; borrowing it raises the error
        return False


# ---- errors ----

cdef object fail(st_status status, const st_feed_error *error, Matcher disallowed, object chunk, const uint8_t *partial,
                 uint32_t partial_size, object stream_offset):
    if status == ST_DISALLOWED_SPECIAL:
        offset = None if stream_offset is None else error.offset
        raise disallowed_special_error(disallowed.names[error.id], offset)
    if status == ST_INVALID_UTF8:
        data = PyBytes_FromStringAndSize(<const char *>partial, partial_size)
        data += chunk.encode() if isinstance(chunk, str) else bytes(chunk)
        offset = None if stream_offset is None else error.offset
        raise invalid_utf8_error(data, error.text.start, error.text.end, FAULTS[error.text.fault], offset)
    if status == ST_BAD_STATE:
        raise ValueError("this stream was restored from a state that no stream can have had; reset() it")
    if status == ST_MISSING_BYTE:
        raise ValueError(
            "the text holds what is no token of this vocabulary, as some control characters are, or, where it has no "
            "unknown token, other characters: take it out"
        )
    raise MemoryError(st_strerror(status).decode())


# ---- one-shot ----

cdef class Coder:
    """One way to encode whole texts with a Vocab: what splits them, the engine, the errors mode, the normalizer. Safe to share.

    pattern: a Pattern, or the name of one; None for encode_spans() alone."""

    def __cinit__(self, Vocab vocab not None, pattern: _How, str engine="fast", str errors="strict", Normalizer normalizer=None):
        self.vocab = vocab
        self.normalizer = normalizer
        self.pattern = pattern_of(pattern)
        self.options.pattern = self.pattern.pattern
        self.options.engine = ENGINES[engine]
        self.options.errors = ERRORS[errors]
        init_expected(&self.expected)

    def __dealloc__(self):
        st_ids_free(&self.spare)

    cdef void _init(self, st_encoder *encoder, Matcher allowed, Matcher disallowed) noexcept:
        st_encoder_init(encoder, self.vocab.vocab, self.options.pattern)
        encoder.engine = <st_engine>self.options.engine
        encoder.text.errors = <st_errors>self.options.errors
        encoder.watch.names = disallowed.special if disallowed is not None else NULL
        st_encoder_allow(encoder, allowed.special if allowed is not None else NULL,
                         &self.normalizer.normalizer if self.normalizer is not None else NULL)

    cdef int _encode(self, object source, Matcher allowed, Matcher disallowed, st_ids *out) except -1:
        """Appends the ids of one whole text."""
        if PyUnicode_Check(source) and not PyUnicode_IS_ASCII(source) and len(source) > 2 * STR_SLICE:
            return self._encode_slices(source, allowed, disallowed, out)
        cdef st_encoder encoder
        cdef st_feed_error error
        cdef st_status status
        cdef Scope scope
        cdef Text text
        cdef uint8_t[SHORT_ROOM] stack
        cdef size_t before = out.size
        alive = borrow_short(source, &text, stack)
        self._init(&encoder, allowed, disallowed)
        if text.n >= RESERVE_FROM:
            # Without memory for it the encoder raises later.
            reserve(out, ids_expected(&self.expected, text.n, False), ids_at_most(text.n, False))
        if text.n < SHORT:
            begin_short(&scope)
            status = st_encoder_whole(&encoder, text.data, text.n, text.flags, out, &error)
        else:
            begin(&scope, NULL)
            if text.n < RELEASE_GIL_FROM:
                status = st_encoder_whole(&encoder, text.data, text.n, text.flags, out, &error)
            else:
                with nogil:
                    status = st_encoder_whole(&encoder, text.data, text.n, text.flags, out, &error)
            end_scope(&scope)
        st_encoder_free(&encoder)
        if status:
            check(&scope)
            fail(status, &error, disallowed, source, NULL, 0, None)
        expect(&self.expected, text.n, False, out.size - before)
        return 0

    cdef int _encode_slices(self, str source, Matcher allowed, Matcher disallowed, st_ids *out) except -1:
        """append() for a long str that is not ASCII: slice by slice, in memory that stays in the cache, and without a second
        copy of the text, which Python would keep in the str."""
        cdef st_encoder encoder
        cdef st_feed_error error
        cdef st_status status = ST_OK
        cdef Scope scope
        cdef Py_ssize_t n = len(source), at = 0
        cdef size_t before = out.size, size
        cdef int last = 0
        cdef uint8_t *slice = <uint8_t *>st_malloc(ST_CODE_POINTS_ROOM(STR_SLICE + 1))
        if slice == NULL:
            raise MemoryError
        self._init(&encoder, allowed, disallowed)
        reserve(out, ids_expected(&self.expected, n, True), ids_at_most(n, True))
        begin(&scope, NULL)
        try:
            while not last and status == ST_OK:
                size = next_slice(source, &at, STR_SLICE, slice)
                last = ST_FEED_FINAL if at == n else 0
                with nogil:
                    status = st_encoder_feed(&encoder, slice, size, ST_FEED_TRUSTED | last, out, &error)
        finally:
            end_scope(&scope)
            st_encoder_free(&encoder)
            st_free(slice)
        if status:
            check(&scope)
            fail(status, &error, disallowed, source, NULL, 0, None)
        expect(&self.expected, n, True, out.size - before)
        return 0

    @property
    def has_cuts(self) -> bool:
        """Whether a text can be cut at places where the two sides encode independently."""
        cdef bint has_pattern = self.options.pattern.family != ST_SPLIT_NONE
        if self.normalizer is not None:
            return has_pattern and st_normalizer_has_cuts(&self.normalizer.normalizer)
        return has_pattern or self.vocab.vocab.unreachable == 0

    @property
    def is_divisible(self) -> bool:
        """Whether several threads can share one text: it has cuts, or the model carries something over each cut."""
        return self.has_cuts or bool(st_has_carried_cuts(
            self.vocab.vocab, self.options.pattern, <st_engine>self.options.engine,
            &self.normalizer.normalizer if self.normalizer is not None else NULL))

    cdef bint _borrow_ids(self, st_ids *ids) noexcept:
        """Memory for ids that an earlier call has left. One thread at a time gets it; the others get an empty buffer."""
        cdef bint borrowed = st_flag_raise(&self.is_lent)
        if borrowed:
            ids[0] = self.spare
            ids.size = 0
        else:
            memset(ids, 0, sizeof(st_ids))
        return borrowed

    cdef void _return_ids(self, st_ids *ids, bint borrowed) noexcept:
        if not borrowed or ids.capacity > 4 * COPIED:
            recycle(ids)
        if borrowed:
            self.spare = ids[0]
            st_flag_lower(&self.is_lent)

    def encode(self, source: str, Matcher allowed, Matcher disallowed) -> list[int]:
        """A list of ids of a str."""
        if not PyUnicode_Check(source):
            raise not_a_str_error(source)
        cdef st_ids out
        cdef bint borrowed = self._borrow_ids(&out)
        try:
            self._encode(source, allowed, disallowed, &out)
            return list_of(self.vocab, &out, 0, out.size)
        finally:
            self._return_ids(&out, borrowed)

    def encode_array(self, source: _Text, Matcher allowed, Matcher disallowed, longer: Callable[..., _Ids] | None = None) -> _Ids:
        """A read-only uint32 array of ids, which owns them. longer(self, source, ...) encodes a long text instead, if given."""
        cdef st_ids out
        if longer is not None and is_long(source):
            return longer(self, source, allowed, disallowed)
        cdef bint borrowed = self._borrow_ids(&out)
        try:
            self._encode(source, allowed, disallowed, &out)
            return array_of(&out)
        finally:
            self._return_ids(&out, borrowed)

    def encode_many(self, list sources not None: list[_SomeText], Matcher allowed, Matcher disallowed) -> tuple[_Ids, list[int]]:
        """(ids of all texts as one array, row starts as a list of len(sources) + 1 ints)."""
        cdef IdBuffer buffer = IdBuffer.__new__(IdBuffer)
        cdef Scope scope
        starts = [0]
        begin(&scope, NULL)
        try:
            for source in sources:
                self._encode(source, allowed, disallowed, &buffer.ids)
                starts.append(buffer.ids.size)
                if st_go_on(TEXT_COSTS):
                    break
        except Exception as error:
            raise at_row(error, len(starts) - 1)
        finally:
            end_scope(&scope)
        check(&scope)
        trim(&buffer.ids)
        return array_over(buffer), starts

    def count(self, source: _Text, Matcher allowed, Matcher disallowed, longer: Callable[..., int] | None = None) -> int:
        """Number of ids of a whole text. The text is encoded in slices and their ids dropped, so memory does not grow with it."""
        cdef IdBuffer dropped = IdBuffer.__new__(IdBuffer)
        cdef st_encoder encoder
        cdef st_feed_error error
        cdef st_status status = ST_OK
        cdef size_t total = 0
        cdef Scope scope
        cdef Text text
        if longer is not None and is_long(source):
            return longer(self, source, allowed, disallowed)
        alive = borrow_apart(source, &text) if PyUnicode_Check(source) else borrow(source, &text)
        self._init(&encoder, allowed, disallowed)
        begin(&scope, NULL)
        with nogil:
            status = st_encoder_count(&encoder, text.data, text.n, text.flags, &dropped.ids, &total, &error)
        end_scope(&scope)
        st_encoder_free(&encoder)
        if status:
            check(&scope)
            fail(status, &error, disallowed, source, NULL, 0, None)
        return total

    def encode_piece(self, bytes piece not None) -> list[int]:
        """A list of ids of bytes taken as one piece. ValueError: one of them is no token."""
        cdef IdBuffer out = IdBuffer.__new__(IdBuffer)
        cdef st_encoder encoder
        cdef int64_t[2] span
        cdef st_status status
        cdef Scope scope
        span[0], span[1] = 0, len(piece)
        self._init(&encoder, None, None)
        begin(&scope, NULL)
        status = st_encoder_spans(&encoder, <const uint8_t *>PyBytes_AS_STRING(piece), span, 1, &out.ids)
        end_scope(&scope)
        st_encoder_free(&encoder)
        check(&scope)
        if not status and self.vocab.vocab.fragments:
            status = st_vocab_spell(self.vocab.vocab, &out.ids, 0)
        if status:
            fail(status, NULL, None, piece, NULL, 0, None)
        return list_of(self.vocab, &out.ids, 0, out.ids.size)

    def encode_spans(self, bytes text not None, spans not None: _Data) -> _Ids:
        """Ids of text[a:b] for each row (a, b) of an int64 buffer, each encoded as one piece; a read-only uint32 array."""
        cdef IdBuffer buffer = IdBuffer.__new__(IdBuffer)
        cdef const uint8_t *data = <const uint8_t *>PyBytes_AS_STRING(text)
        cdef st_encoder encoder
        cdef st_status status
        cdef Scope scope
        cdef Numbers rows = spans_of(spans, len(text))
        self._init(&encoder, None, None)
        begin(&scope, NULL)
        with nogil:
            status = st_encoder_spans(&encoder, data, rows.data, <size_t>rows.n // 2, &buffer.ids)
        end_scope(&scope)
        st_encoder_free(&encoder)
        if status:
            check(&scope)
            fail(status, NULL, None, text, NULL, 0, None)
        return array_over(buffer)

    def piece_spans(self, source: _Text) -> bytes:
        """Pattern.spans() of what splits."""
        return self.pattern.spans(source)

    def split(self, source: _Text) -> list[int]:
        """Ends of the pieces of a whole text, as byte offsets in its UTF-8."""
        return memoryview(self.piece_spans(source)).cast("q")[1::2].tolist()

    def stream(self, Matcher allowed, Matcher disallowed, bint copies) -> CoreStream:
        """A stream of the same vocabulary and options."""
        return CoreStream(self, allowed, disallowed, copies)


# ---- streams ----

cdef class CoreStream:
    """What a StreamEncoder (_stream.py) calls: feed, flush, pending, reset, copy, save, load.

    It has a `busy` flag, not a lock: a second thread inside one stream is a mistake in the program, and gets an error."""
    cdef readonly Coder coder
    cdef readonly Matcher allowed, disallowed  #: Matcher | None
    cdef readonly bint copies
    cdef st_encoder encoder
    cdef IdBuffer buffer
    cdef int busy
    cdef str high  # a high surrogate at the end of the last str: the next may begin with its low one

    def __cinit__(self, Coder coder not None, Matcher allowed, Matcher disallowed, bint copies=False):
        self.coder, self.allowed, self.disallowed, self.copies = coder, allowed, disallowed, copies
        coder._init(&self.encoder, allowed, disallowed)
        self.buffer = IdBuffer.__new__(IdBuffer)

    def __dealloc__(self):
        st_encoder_free(&self.encoder)

    cdef int _enter(self) except -1:
        if not st_flag_raise(&self.busy):
            raise stream_busy_error()
        return 0

    def feed(self, chunk: _Text) -> _Ids:
        return self._run(chunk, 0)

    def flush(self) -> _Ids:
        return self._run("", ST_FEED_FINAL)

    cdef object _run(self, object chunk, int flags):
        cdef str high
        self._enter()
        try:
            high = self.high
            if high is not None or (PyUnicode_Check(chunk) and ends_high(chunk)):
                chunk, high = join_surrogate(high, chunk, bool(flags & ST_FEED_FINAL))
                result = self._feed(chunk, flags)
                self.high = high
                return result
            return self._feed(chunk, flags)
        finally:
            st_flag_lower(&self.busy)

    cdef object _feed(self, object chunk, int flags):
        cdef st_feed_error error
        cdef st_status status
        cdef Scope scope
        cdef Text text
        if st_count_read(&self.buffer.leases):  # an earlier array is still alive: it keeps this buffer, and the stream takes another
            self.buffer = IdBuffer.__new__(IdBuffer)
        cdef IdBuffer buffer = self.buffer
        cdef uint8_t[SHORT_ROOM] stack
        buffer.ids.size = 0
        if buffer.ids.data == NULL and st_ids_reserve(&buffer.ids, 1):  # array_over() would ask for it when the text is taken
            raise MemoryError
        alive = borrow_short(chunk, &text, stack)
        if text.n >= RESERVE_FROM:
            reserve(&buffer.ids, ids_expected(&self.coder.expected, text.n, False), 0)
        if text.n + st_encoder_pending(&self.encoder) < SHORT:
            begin_short(&scope)
            status = st_encoder_feed(&self.encoder, text.data, text.n, text.flags | flags, &buffer.ids, &error)
        else:
            begin(&scope, NULL)
            scope.core.keeps = True
            if text.n < RELEASE_GIL_FROM:
                status = st_encoder_feed(&self.encoder, text.data, text.n, text.flags | flags, &buffer.ids, &error)
            else:
                with nogil:
                    status = st_encoder_feed(&self.encoder, text.data, text.n, text.flags | flags, &buffer.ids, &error)
            end_scope(&scope)
        if status:
            check(&scope)
            fail(status, &error, self.disallowed, alive, self.encoder.text.partial, self.encoder.text.partial_size, True)
        array = array_over(buffer)
        if self.copies:
            array = array.copy()
            array.flags.writeable = False
        return array

    @property
    def pending(self) -> int:
        self._enter()
        pending = st_encoder_pending(&self.encoder) + (0 if self.high is None else 3)
        st_flag_lower(&self.busy)
        return pending

    @property
    def offset(self) -> int:
        return st_number_read(&self.encoder.text.offset)  # other threads may read it at any time

    def reset(self):
        self._enter()
        st_encoder_reset(&self.encoder)
        self.high = None
        st_flag_lower(&self.busy)

    def pass_over(self, uint64_t n):
        self._enter()
        st_number_write(&self.encoder.text.offset, self.encoder.text.offset + n)
        st_flag_lower(&self.busy)

    def copy(self) -> CoreStream:
        cdef CoreStream twin = CoreStream(self.coder, self.allowed, self.disallowed, self.copies)
        cdef st_status status
        self._enter()
        status = st_encoder_copy(&twin.encoder, &self.encoder)
        twin.high = self.high
        st_flag_lower(&self.busy)
        if status:
            raise MemoryError
        return twin

    def save(self) -> bytes:
        """The state as bytes; the caller adds version, checksum and what it belongs to."""
        cdef Bytes out = Bytes.__new__(Bytes)
        cdef st_status status
        self._enter()
        status = st_encoder_save(&self.encoder, &out.own)
        high = b"" if self.high is None else self.high.encode("utf-8", "surrogatepass")
        st_flag_lower(&self.busy)
        if status:
            raise MemoryError
        return bytes([len(high)]) + high + bytes(out)

    def save_apart(self) -> bytes:
        """The state without the place in the text: the same wherever a text goes on in the same way."""
        cdef uint64_t offset = self.encoder.text.offset, watched = self.encoder.watch.offset
        self._enter()
        st_flag_lower(&self.busy)
        st_number_write(&self.encoder.text.offset, 0)
        self.encoder.watch.offset = watched - offset if self.encoder.watch.node else 0
        try:
            return self.save()
        finally:
            st_number_write(&self.encoder.text.offset, offset)
            self.encoder.watch.offset = watched

    def load_apart(self, bytes state not None, uint64_t offset) -> bool:
        """load() of such a state, at a place of the text."""
        loaded = self.load(state)
        self.move(offset)
        return loaded

    def move(self, int64_t n):
        """Counts n bytes more, or fewer where n is negative, as seen since the text began."""
        self._enter()
        st_number_write(&self.encoder.text.offset, self.encoder.text.offset + <uint64_t>n)
        self.encoder.watch.offset += <uint64_t>n
        st_flag_lower(&self.busy)

    def load(self, bytes state not None) -> bool:
        """True if the state was taken over; False (and reset) if no stream could have saved it."""
        cdef st_status status
        cdef size_t at
        if not state or state[0] not in (0, 3) or len(state) < 1 + state[0]:
            return False
        at = 1 + state[0]
        try:
            high = state[1:at].decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return False
        if high and not ends_high(high):
            return False
        self._enter()
        status = st_encoder_load(&self.encoder, <const uint8_t *>PyBytes_AS_STRING(state) + at, len(state) - at)
        self.high = high or None
        st_flag_lower(&self.busy)
        if status == ST_NO_MEMORY:
            raise MemoryError
        return status == ST_OK
