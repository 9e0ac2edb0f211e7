"""The C core as Python objects: Vocab, StreamEncoder and the one-shot calls. Nothing is decided here; defaults and
prose are in core.py. numpy is imported when the first array is made, so that importing and loading stay quick."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.list cimport PyList_New, PyList_SET_ITEM
from cpython.long cimport PyLong_FromUnsignedLong
from cpython.ref cimport Py_INCREF, PyObject
from cpython.unicode cimport PyUnicode_Check
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from ._csrc cimport *

from .errors import VocabularyError, disallowed_special_error, invalid_utf8_error, stream_busy_error

import cython

cdef extern from "Python.h":
    const char *PyUnicode_AsUTF8AndSize(object text, Py_ssize_t *size) except NULL

# The few numpy calls that are needed, declared here: `cimport numpy` would import numpy with this module.
cdef extern from *:
    """
    #define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION
    #include <numpy/arrayobject.h>
    """
    ctypedef struct PyArrayObject:
        pass
    int _import_array() except -1
    object PyArray_SimpleNewFromData(int nd, Py_ssize_t *dims, int typenum, void *data)
    int PyArray_SetBaseObject(PyArrayObject *array, PyObject *base) except -1
    void PyArray_CLEARFLAGS(PyArrayObject *array, int flags)
    int NPY_UINT32, NPY_INT64, NPY_ARRAY_WRITEABLE

# Below this many bytes a call is shorter than handing the GIL over twice.
cdef enum:
    RELEASE_GIL_FROM = 2048

cdef bint numpy_ready = False

FAMILIES = {"r50k": ST_SPLIT_R50K, "cl100k": ST_SPLIT_CL100K, "o200k": ST_SPLIT_O200K}
ENGINES = {"fast": ST_ENGINE_FAST, "reference": ST_ENGINE_REFERENCE}
ERRORS = {"strict": ST_ERRORS_STRICT, "replace": ST_ERRORS_REPLACE, "ignore": ST_ERRORS_IGNORE}
FAULTS = {
    ST_TEXT_INVALID_START: "invalid start byte",
    ST_TEXT_INVALID_CONTINUATION: "invalid continuation byte",
    ST_TEXT_UNEXPECTED_END: "unexpected end of data",
}


# ---- buffers ----

cdef class IdBuffer:
    """Owns ids in C memory. Arrays over it hold a lease each; while there is one, nobody writes into it."""
    cdef st_ids ids
    cdef int leases

    def __dealloc__(self):
        st_ids_free(&self.ids)


@cython.freelist(16)
cdef class Lease:
    """What an array over an IdBuffer has as its base: counts the array while it, or a view of it, lives."""
    cdef IdBuffer buffer

    def __dealloc__(self):
        if self.buffer is not None:
            st_count_add(&self.buffer.leases, -1)


cdef object array_over(IdBuffer buffer):
    """A read-only uint32 array over the buffer's ids; no copy."""
    global numpy_ready
    cdef Py_ssize_t n = <Py_ssize_t>buffer.ids.size
    if not numpy_ready:
        _import_array()
        numpy_ready = True
    if buffer.ids.data == NULL and st_ids_reserve(&buffer.ids, 1):
        raise MemoryError
    array = PyArray_SimpleNewFromData(1, &n, NPY_UINT32, buffer.ids.data)
    PyArray_CLEARFLAGS(<PyArrayObject *>array, NPY_ARRAY_WRITEABLE)
    cdef Lease lease = Lease.__new__(Lease)
    lease.buffer = buffer
    st_count_add(&buffer.leases, 1)
    Py_INCREF(lease)  # SetBaseObject takes this reference
    PyArray_SetBaseObject(<PyArrayObject *>array, <PyObject *>lease)
    return array


cdef list list_of(const st_ids *ids, size_t start, size_t end):
    result = PyList_New(<Py_ssize_t>(end - start))
    cdef size_t i
    for i in range(start, end):
        token = PyLong_FromUnsignedLong(ids.data[i])
        Py_INCREF(token)
        PyList_SET_ITEM(result, <Py_ssize_t>(i - start), token)
    return result


cdef struct Text:
    # Borrowed UTF-8: of a str, or of a buffer, which is then to be released.
    const uint8_t *data
    size_t n
    int flags  # ST_FEED_TRUSTED where Python vouches for it
    bint held
    Py_buffer buffer


cdef object borrow(object source, Text *text):
    """Fills `text`, and returns what must stay alive while it is used (surrogates are mended in a new str)."""
    cdef Py_ssize_t n
    text.held = False
    if PyUnicode_Check(source):
        try:
            text.data = <const uint8_t *>PyUnicode_AsUTF8AndSize(source, &n)
        except UnicodeEncodeError:
            source = mend_surrogates(source)
            text.data = <const uint8_t *>PyUnicode_AsUTF8AndSize(source, &n)
        text.n = <size_t>n
        text.flags = ST_FEED_TRUSTED
        return source
    if not PyObject_CheckBuffer(source):
        raise TypeError(f"expected str or a buffer of UTF-8 bytes, got {type(source).__name__}")
    PyObject_GetBuffer(source, &text.buffer, PyBUF_SIMPLE)
    text.held = True
    text.data = <const uint8_t *>text.buffer.buf
    text.n = <size_t>text.buffer.len
    text.flags = 0
    return source


cdef inline void give_back(Text *text) noexcept:
    if text.held:
        PyBuffer_Release(&text.buffer)


def mend_surrogates(str text not None):
    """Pairs of surrogates become the character they stand for, lone ones U+FFFD: what tiktoken does."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


cdef object fail(st_status status, const st_feed_error *error, Matcher disallowed, object chunk, const uint8_t *partial,
                 uint32_t partial_size, object stream_offset):
    """Raises what a failed feed asks for. stream_offset: None for a whole text, whose messages are tiktoken's own."""
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
    raise MemoryError(st_strerror(status).decode())


# ---- special tokens ----

cdef class Matcher:
    """Finds the names of one set of special tokens. For an allowed set a match stands for the token's id, for a
    disallowed one for its place in `names`."""
    cdef st_special *special
    cdef readonly list names

    def __cinit__(self, names, ids=None):
        cdef size_t i
        self.names = list(names)
        encoded = [name.encode("utf-8") for name in self.names]
        cdef size_t count = len(encoded)
        cdef size_t *lengths = <size_t *>st_malloc(count * sizeof(size_t))
        cdef uint32_t *values = <uint32_t *>st_malloc(count * sizeof(uint32_t))
        cdef st_status status = ST_NO_MEMORY
        cdef bytes joined = b"".join(encoded)
        try:
            if lengths != NULL and values != NULL:
                for i in range(count):
                    lengths[i] = len(encoded[i])
                    values[i] = i if ids is None else ids[i]
                status = st_special_new(<const uint8_t *>PyBytes_AS_STRING(joined), lengths, values, count,
                                        &self.special)
        finally:
            st_free(lengths)
            st_free(values)
        if status == ST_EMPTY_TOKEN:
            raise VocabularyError("the name of a special token is empty; every text would hold it")
        if status:
            raise MemoryError

    def find(self, bytes text not None, size_t start, bint final):
        """(NOTHING | FOUND | HELD, start, end, id) of the first name in text[start:]; id is None for a mere beginning."""
        cdef st_special_match match
        cdef size_t n = len(text)
        cdef st_special_result result
        result = st_special_find(self.special, <const uint8_t *>PyBytes_AS_STRING(text), start, n, n, final, &match)
        if result == ST_SPECIAL_NONE:
            return result, n, n, None
        return result, match.start, match.end, None if match.id == ST_NO_SPECIAL else match.id

    def __dealloc__(self):
        st_special_free(self.special)


NOTHING, FOUND, HELD = ST_SPECIAL_NONE, ST_SPECIAL_FOUND, ST_SPECIAL_HELD


# ---- the vocabulary ----

cdef bytes widened(object items, str what):
    """uint32 items as bytes, from a buffer of uint8 or uint32."""
    view = memoryview(items).cast("B")
    if memoryview(items).itemsize == 4:
        return bytes(view)
    cdef Py_ssize_t n = len(view), i
    result = PyBytes_FromStringAndSize(NULL, 4 * n)
    cdef uint32_t *wide = <uint32_t *>PyBytes_AS_STRING(result)
    cdef Py_buffer buffer
    PyObject_GetBuffer(view, &buffer, PyBUF_SIMPLE)
    for i in range(n):
        wide[i] = (<const uint8_t *>buffer.buf)[i]
    PyBuffer_Release(&buffer)
    return result


cdef class Vocab:
    """Tokens, their merges, and the names of special tokens; immutable, safe to share between threads.

    blob: token bytes joined in rank order; lengths: uint8 or uint32 a token; ranks: uint32 a token, ascending, None for
    0, 1, 2, ...; splits: as st_vocab_source has them, or None; special_tokens: name -> id."""
    cdef st_vocab *vocab
    cdef st_names names
    cdef bytes name_bytes, name_starts, name_ids
    cdef readonly dict special_tokens

    def __cinit__(self, bytes blob not None, lengths, ranks, splits, dict special_tokens not None, uint32_t dense_side=0):
        cdef bytes wide_lengths = widened(lengths, "lengths"), wide_ranks, wide_splits
        cdef st_vocab_source source
        cdef size_t bad = 0, i
        cdef st_status status
        memset(&source, 0, sizeof(source))
        source.count = len(wide_lengths) // 4
        if ranks is None:
            wide_ranks = PyBytes_FromStringAndSize(NULL, 4 * source.count)
            for i in range(source.count):
                (<uint32_t *>PyBytes_AS_STRING(wide_ranks))[i] = <uint32_t>i
        else:
            wide_ranks = widened(ranks, "ranks")
        source.bytes = <const uint8_t *>PyBytes_AS_STRING(blob)
        source.lengths = <const uint32_t *>PyBytes_AS_STRING(wide_lengths)
        source.ids = <const uint32_t *>PyBytes_AS_STRING(wide_ranks)
        if splits is not None:
            wide_splits = widened(splits, "splits")
            source.splits = <const uint32_t *>PyBytes_AS_STRING(wide_splits)
        with nogil:
            status = st_vocab_new(&source, dense_side, &self.vocab, &bad)
        if status == ST_NO_MEMORY:
            raise MemoryError
        if status:
            raise VocabularyError(f"{st_strerror(status).decode()} (token {bad} in rank order)")
        self._set_names(special_tokens)

    def __dealloc__(self):
        st_vocab_free(self.vocab)

    cdef _set_names(self, dict special_tokens):
        self.special_tokens = special_tokens
        by_id = sorted((token, name.encode("utf-8")) for name, token in special_tokens.items())
        starts, ids, at = bytearray(), bytearray(), 0
        for token, name in by_id:
            starts += at.to_bytes(sizeof(size_t), "little")
            ids += token.to_bytes(4, "little")
            at += len(name)
        starts += at.to_bytes(sizeof(size_t), "little")
        self.name_bytes = b"".join(name for _, name in by_id)
        self.name_starts, self.name_ids = bytes(starts), bytes(ids)
        self.names.bytes = <const uint8_t *>PyBytes_AS_STRING(self.name_bytes)
        self.names.starts = <const size_t *>PyBytes_AS_STRING(self.name_starts)
        self.names.ids = <const uint32_t *>PyBytes_AS_STRING(self.name_ids)
        self.names.count = len(by_id)

    @property
    def count(self):
        return self.vocab.count

    @property
    def unreachable(self):
        return self.vocab.unreachable

    @property
    def monotone(self):
        return bool(self.vocab.monotone)

    def find(self, bytes token not None):
        """The id of an ordinary token's bytes, or None."""
        cdef uint32_t index = st_vocab_find(self.vocab, <const uint8_t *>PyBytes_AS_STRING(token), len(token))
        return None if index == ST_NONE else self.vocab.ids[index]

    def merge(self, bytes data not None):
        """A list of ids of bytes by merging alone, by the reference engine: not even a token is looked up as a whole."""
        cdef st_reference_scratch scratch
        cdef st_ids out
        cdef st_status status
        memset(&scratch, 0, sizeof(scratch))
        memset(&out, 0, sizeof(out))
        try:
            status = st_reference_merge(&self.vocab.pairs, <const uint8_t *>PyBytes_AS_STRING(data), len(data), &scratch,
                                        &out)
            if status:
                raise MemoryError
            return [self.vocab.ids[token] for token in list_of(&out, 0, out.size)]
        finally:
            st_reference_scratch_free(&scratch)
            st_ids_free(&out)

    def token_bytes(self, uint32_t token):
        """The bytes of one id, special tokens included. KeyError if it is unknown."""
        cdef size_t n = 0
        cdef const uint8_t *data = st_decode_one(self.vocab, &self.names, token, &n)
        if data == NULL:
            raise KeyError(str(token))
        return PyBytes_FromStringAndSize(<const char *>data, <Py_ssize_t>n)

    def decode_bytes(self, tokens):
        """The bytes of many ids: a uint32 buffer, or any iterable of ints. KeyError names the first unknown one."""
        cdef st_bytes out
        cdef size_t bad = 0, n
        cdef st_status status
        cdef Py_buffer buffer
        PyObject_GetBuffer(tokens, &buffer, PyBUF_SIMPLE)
        memset(&out, 0, sizeof(out))
        n = <size_t>buffer.len // 4
        try:
            with nogil:
                status = st_decode(self.vocab, &self.names, <const uint32_t *>buffer.buf, n, &out, &bad)
            if status == ST_UNKNOWN_TOKEN:
                raise KeyError(f"Invalid token for decoding: {(<const uint32_t *>buffer.buf)[bad]}")
            if status:
                raise MemoryError
            return PyBytes_FromStringAndSize(<const char *>out.data, <Py_ssize_t>out.size)
        finally:
            PyBuffer_Release(&buffer)
            st_bytes_free(&out)


# ---- one-shot ----

cdef struct Options:
    int family
    int engine
    int errors


cdef class Coder:
    """One way to encode whole texts with a Vocab: the split family, the engine, the errors mode. Safe to share."""
    cdef readonly Vocab vocab
    cdef Options options

    def __cinit__(self, Vocab vocab not None, str family, str engine="fast", str errors="strict"):
        self.vocab = vocab
        self.options.family = FAMILIES[family] if family is not None else 0
        self.options.engine = ENGINES[engine]
        self.options.errors = ERRORS[errors]

    cdef void _init(self, st_encoder *encoder, Matcher allowed, Matcher disallowed) noexcept:
        st_encoder_init(encoder, self.vocab.vocab, <st_split_family>self.options.family)
        encoder.engine = <st_engine>self.options.engine
        encoder.text.errors = <st_errors>self.options.errors
        encoder.allowed = allowed.special if allowed is not None else NULL
        encoder.watch.names = disallowed.special if disallowed is not None else NULL

    cdef int _encode(self, object source, Matcher allowed, Matcher disallowed, st_ids *out) except -1:
        """Appends the ids of one whole text."""
        cdef st_encoder encoder
        cdef st_feed_error error
        cdef st_status status
        cdef Text text
        alive = borrow(source, &text)
        self._init(&encoder, allowed, disallowed)
        if text.n < RELEASE_GIL_FROM:
            status = st_encoder_feed(&encoder, text.data, text.n, text.flags | ST_FEED_FINAL, out, &error)
        else:
            with nogil:
                status = st_encoder_feed(&encoder, text.data, text.n, text.flags | ST_FEED_FINAL, out, &error)
        give_back(&text)
        st_encoder_free(&encoder)
        if status:
            fail(status, &error, disallowed, source, NULL, 0, None)
        return 0

    def encode(self, source, Matcher allowed, Matcher disallowed):
        """A list of ids."""
        cdef st_ids out
        memset(&out, 0, sizeof(out))
        try:
            self._encode(source, allowed, disallowed, &out)
            return list_of(&out, 0, out.size)
        finally:
            st_ids_free(&out)

    def encode_array(self, source, Matcher allowed, Matcher disallowed):
        """A read-only uint32 array of ids, which owns them."""
        cdef IdBuffer buffer = IdBuffer.__new__(IdBuffer)
        self._encode(source, allowed, disallowed, &buffer.ids)
        trim(&buffer.ids)
        return array_over(buffer)

    def encode_many(self, list sources not None, Matcher allowed, Matcher disallowed):
        """(ids of all texts as one array, row starts as a list of len(sources) + 1 ints)."""
        cdef IdBuffer buffer = IdBuffer.__new__(IdBuffer)
        starts = [0]
        for source in sources:
            self._encode(source, allowed, disallowed, &buffer.ids)
            starts.append(buffer.ids.size)
        trim(&buffer.ids)
        return array_over(buffer), starts

    def count(self, source, Matcher allowed, Matcher disallowed):
        """How many ids a whole text has. Encoded in slices, whose ids are dropped: memory does not grow with it."""
        cdef st_ids out
        cdef st_encoder encoder
        cdef st_feed_error error
        cdef st_status status = ST_OK
        cdef size_t total = 0
        cdef Text text
        memset(&out, 0, sizeof(out))
        alive = borrow(source, &text)
        self._init(&encoder, allowed, disallowed)
        with nogil:
            status = count_slices(&encoder, &text, &out, &total, &error)
        give_back(&text)
        st_encoder_free(&encoder)
        st_ids_free(&out)
        if status:
            fail(status, &error, disallowed, source, NULL, 0, None)
        return total

    def encode_piece(self, bytes piece not None):
        """A list of ids of bytes taken as one piece."""
        cdef st_ids out
        cdef st_encoder encoder
        cdef int64_t[2] span
        cdef st_status status
        memset(&out, 0, sizeof(out))
        span[0], span[1] = 0, len(piece)
        self._init(&encoder, None, None)
        status = st_encoder_spans(&encoder, <const uint8_t *>PyBytes_AS_STRING(piece), span, 1, &out)
        try:
            if status:
                raise MemoryError
            return list_of(&out, 0, out.size)
        finally:
            st_ids_free(&out)
            st_encoder_free(&encoder)

    def encode_spans(self, bytes text not None, spans not None):
        """Ids of text[a:b] for each row (a, b) of an int64 buffer, each encoded as one piece; a read-only uint32 array."""
        cdef IdBuffer buffer = IdBuffer.__new__(IdBuffer)
        cdef const uint8_t *data = <const uint8_t *>PyBytes_AS_STRING(text)
        cdef int64_t n = len(text)
        cdef st_encoder encoder
        cdef st_status status
        cdef Py_buffer view
        PyObject_GetBuffer(spans, &view, PyBUF_SIMPLE)
        cdef const int64_t *rows = <const int64_t *>view.buf
        cdef size_t count = <size_t>view.len // 16, i
        try:
            for i in range(count):
                if not 0 <= rows[2 * i] <= rows[2 * i + 1] <= n:
                    raise ValueError(f"span {i}, ({rows[2 * i]}, {rows[2 * i + 1]}), lies outside of a text of {n} bytes")
            self._init(&encoder, None, None)
            with nogil:
                status = st_encoder_spans(&encoder, data, rows, count, &buffer.ids)
            st_encoder_free(&encoder)
        finally:
            PyBuffer_Release(&view)
        if status:
            raise MemoryError
        return array_over(buffer)

    def split(self, source):
        """Ends of the pieces of a whole text, as byte offsets in its UTF-8: what the pre-tokenizer does."""
        cdef st_scan scan
        cdef uint64_t ends[64]
        cdef size_t used, at = 0, count, i
        cdef uint64_t origin = 0
        cdef Text text
        cdef st_split_family family = <st_split_family>self.options.family
        alive = borrow(source, &text)
        result = []
        st_scan_init(&scan)
        while at <= text.n:
            if at < text.n:
                count = st_scan_feed(family, &scan, text.data + at, text.n - at, &used, ends, 64)
            else:
                count, used = st_scan_finish(family, &scan, ends), 1
            at += used
            for i in range(count):
                result.append(origin + ends[i])
            origin = result[len(result) - 1] if result else 0
        give_back(&text)
        return result


cdef enum:
    COUNT_SLICE = 1 << 20


cdef st_status count_slices(st_encoder *encoder, const Text *text, st_ids *out, size_t *total,
                            st_feed_error *error) noexcept nogil:
    cdef size_t at = 0, end
    cdef st_status status
    cdef int flags = text.flags
    while True:
        end = at + COUNT_SLICE if text.n - at > COUNT_SLICE else text.n
        while end < text.n and text.data[end] & 0xC0 == 0x80:  # trusted text comes in whole characters
            end += 1
        if end == text.n:
            flags |= ST_FEED_FINAL
        status = st_encoder_feed(encoder, text.data + at, end - at, flags, out, error)
        if status or end == text.n:
            total[0] += out.size
            return status
        total[0] += out.size
        out.size = 0
        at = end


cdef void trim(st_ids *ids) noexcept:
    # The array keeps what it was given for as long as it lives: give back room that growth left over.
    cdef void *data
    if ids.size and ids.capacity > ids.size + ids.size // 8 + 64:
        data = st_realloc(ids.data, ids.size * sizeof(uint32_t))
        if data != NULL:
            ids.data = <uint32_t *>data
            ids.capacity = ids.size


# ---- streams ----

cdef class CoreStream:
    """The machine of a StreamEncoder (stream.py has the prose): feed, flush, pending, reset, copy, save, load.

    A `busy` flag, not a lock: a second thread inside one stream is a mistake in the program, and is told so."""
    cdef readonly Coder coder
    cdef readonly Matcher allowed, disallowed
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

    def feed(self, chunk):
        return self._run(chunk, 0)

    def flush(self):
        return self._run("", ST_FEED_FINAL)

    cdef object _run(self, object chunk, int flags):
        cdef str high
        self._enter()
        try:
            high = self.high
            if high is not None or (PyUnicode_Check(chunk) and ends_high(chunk)):
                chunk = self._join_surrogate(chunk, flags)
                try:
                    return self._feed(chunk, flags)
                except BaseException:
                    self.high = high
                    raise
            return self._feed(chunk, flags)
        finally:
            st_flag_lower(&self.busy)

    cdef object _join_surrogate(self, object chunk, int flags):
        cdef str high = self.high or ""
        if not PyUnicode_Check(chunk):  # bytes cannot bring the low half: what waits stands alone
            if not PyObject_CheckBuffer(chunk):
                return chunk
            self.high = None
            return mend_surrogates(high).encode() + bytes(chunk)
        chunk = high + chunk
        self.high = None
        if not flags & ST_FEED_FINAL and ends_high(chunk):
            self.high = chunk[-1:]
            chunk = chunk[:-1]
        return chunk

    cdef object _feed(self, object chunk, int flags):
        cdef st_feed_error error
        cdef st_status status
        cdef Text text
        if self.buffer.leases:  # somebody still holds an earlier array: it keeps its buffer, we take another
            self.buffer = IdBuffer.__new__(IdBuffer)
        cdef IdBuffer buffer = self.buffer
        buffer.ids.size = 0
        alive = borrow(chunk, &text)
        if text.n < RELEASE_GIL_FROM:
            status = st_encoder_feed(&self.encoder, text.data, text.n, text.flags | flags, &buffer.ids, &error)
        else:
            with nogil:
                status = st_encoder_feed(&self.encoder, text.data, text.n, text.flags | flags, &buffer.ids, &error)
        give_back(&text)
        if status:
            fail(status, &error, self.disallowed, alive, self.encoder.text.partial, self.encoder.text.partial_size, True)
        array = array_over(buffer)
        if self.copies:
            array = array.copy()
            array.flags.writeable = False
        return array

    @property
    def pending(self):
        return st_encoder_pending(&self.encoder) + (0 if self.high is None else 3)

    @property
    def offset(self):
        return self.encoder.text.offset

    def reset(self):
        self._enter()
        st_encoder_reset(&self.encoder)
        self.high = None
        st_flag_lower(&self.busy)

    def copy(self):
        cdef CoreStream twin = CoreStream(self.coder, self.allowed, self.disallowed, self.copies)
        cdef st_status status
        self._enter()
        status = st_encoder_copy(&twin.encoder, &self.encoder)
        twin.high = self.high
        st_flag_lower(&self.busy)
        if status:
            raise MemoryError
        return twin

    def save(self):
        """The state as bytes; the caller adds version, checksum and what it belongs to."""
        cdef st_bytes out
        cdef st_status status
        memset(&out, 0, sizeof(out))
        self._enter()
        try:
            status = st_encoder_save(&self.encoder, &out)
            if status:
                raise MemoryError
            high = b"" if self.high is None else self.high.encode("utf-8", "surrogatepass")
            return bytes([len(high)]) + high + PyBytes_FromStringAndSize(<const char *>out.data, <Py_ssize_t>out.size)
        finally:
            st_flag_lower(&self.busy)
            st_bytes_free(&out)

    def load(self, bytes state not None):
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


cdef bint ends_high(str text) except -1:
    cdef Py_ssize_t n = len(text)
    return n > 0 and 0xD800 <= <uint32_t>text[n - 1] < 0xDC00


# ---- for tests and benchmarks ----

def allocation_counts():
    """(allocations so far, bytes asked for, blocks alive) of the C core."""
    cdef st_alloc_counts counts = st_alloc_read()
    return counts.calls, counts.bytes, counts.live


def fail_allocations_after(int64_t n):
    """Lets the next n allocations of the C core succeed and all later ones fail; a negative n ends that."""
    st_alloc_fail_after(n)


def last_sync_point(bytes text not None):
    """Largest offset in the text where a piece starts in every family, whatever stands before it; 0 if there is none."""
    return st_last_sync_point(<const uint8_t *>PyBytes_AS_STRING(text), len(text))
