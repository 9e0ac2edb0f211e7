"""Ids to text, part by part, by the decoder that a model's file has: csrc/decoders/rules.h, with the tables that
model_files/decoder_rules.py makes."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcpy, memset

from codecs import utf_8_decode

from .csrc.base cimport *
from .csrc.decoders cimport *
from .decode cimport Decoder, Row
from .ints cimport streamtok_small_int
from .memory cimport Bytes
from .text cimport decode_some

from cython cimport critical_section

cdef extern from "Python.h":
    object PyUnicode_DecodeUTF8(const char *data, Py_ssize_t n, const char *errors)

cdef extern from *:
    """#define MOST UINT32_MAX"""
    const uint32_t MOST


cdef class Place:
    """Where a text of ids stands."""
    cdef st_rule_place at

    def __dealloc__(self):
        st_rule_place_free(&self.at)


cdef class Rules:
    """The rules of a decoder, and what each token becomes. data: as csrc/decoders/rules.h reads it."""
    cdef st_rules rules
    cdef bytes data

    def __cinit__(self, bytes data not None):
        cdef const uint8_t *begin = <const uint8_t *>PyBytes_AS_STRING(data)
        cdef st_reader reader = st_reader(begin, begin + PyBytes_GET_SIZE(data), 0)
        cdef st_status status = st_rules_read(&self.rules, &reader)
        self.data = data
        if status == ST_NO_MEMORY:
            raise MemoryError
        if status:
            raise ValueError("the decoder has tokens that are no text")

    def __dealloc__(self):
        st_rules_free(&self.rules)

    cdef Place begin(self, bint later):
        """The place in front of a text; later: in one that has text."""
        cdef Place place = Place.__new__(Place)
        st_rule_place_reset(&place.at, &self.rules)
        if later:
            place.at.begun, place.at.last, place.at.left = 1, MOST, 0
        return place

    cdef int add(self, Place place, const uint32_t *ids, size_t count, int how, st_bytes *out) except -1:
        """Appends the bytes of ids. KeyError: an unknown one."""
        cdef size_t bad = 0
        check(st_rules_bytes(&self.rules, &place.at, ids, count, how, out, &bad), ids, bad)
        return 0

    def pieces(self, list ids not None: list[int], bint later=False, bint last=True) -> list[bytes]:
        """The bytes of each id. later: ids stand in front of these; last: none stands behind them."""
        cdef Place place = self.begin(later)
        cdef Bytes out = Bytes.__new__(Bytes)
        cdef Py_ssize_t i, n = len(ids)
        cdef uint32_t token
        found = []
        for i in range(n):
            token = ids[i]
            out.own.size = 0
            self.add(place, &token, 1, ST_RULES_LAST if last and i == n - 1 else 0, &out.own)
            found.append(PyBytes_FromStringAndSize(<const char *>out.own.data, <Py_ssize_t>out.own.size))
        return found

    def bytes_of(self, Decoder decoder not None, ids, bint skip_special, bint later=False, bint last=True) -> bytes:
        """The bytes of all ids."""
        cdef Bytes out = Bytes.__new__(Bytes)
        cdef Row row
        memset(&row.own, 0, sizeof(row.own))
        try:
            alive = decoder._read(ids, &row, skip_special)
            self.add(self.begin(later), row.data, row.n, ST_RULES_LAST if last else 0, &out.own)
            return bytes(out)
        finally:
            st_ids_free(&row.own)


cdef int check(st_status status, const uint32_t *ids, size_t bad) except -1:
    if status == ST_UNKNOWN_TOKEN:
        raise KeyError(f"Invalid token for decoding: {ids[bad]}")
    if status:
        raise MemoryError
    return 0


cdef Place copy_of(Place place):
    cdef Place made = Place.__new__(Place)
    if st_rule_place_copy(&made.at, &place.at):
        raise MemoryError
    return made


cdef class RuleDecoderStream:
    """What a StreamDecoder (_stream.py) calls, as CoreStreamDecoder is; and, with places, what decodes many texts at once.

    What comes is all that no later id can change. single: a function that gives the id where an object is one, as an int, and None where
    it is a row of ids."""
    cdef object single
    cdef Rules rules
    cdef Decoder decoder
    cdef Bytes out
    cdef str character
    cdef bytes mode
    cdef bint by_text  # with errors="replace" the core makes text, else bytes
    cdef bint runs  # bytes that stand together are characters only if all of them are
    cdef bint skip_special
    cdef Place at

    def __cinit__(self, rule_decoder, Decoder decoder not None, str errors not None, bint skip_special, single=None):
        self.rules, self.decoder, self.skip_special, self.single = rule_decoder.core, decoder, skip_special, single
        self.mode, self.character, self.out = errors.encode(), rule_decoder.rules.cut[0], Bytes.__new__(Bytes)
        self.by_text = errors == "replace"
        self.runs = self.by_text and self.rules.rules.flags & ST_RULES_RUNS
        self.at = self.begin()

    cpdef Place begin(self):
        """The place in front of a text."""
        return self.rules.begin(False)

    def reset(self):
        self.at = self.begin()

    @property
    def pending(self) -> int:
        """Bytes that wait."""
        return self.pending_at(self.at)

    def pending_at(self, Place place not None) -> int:
        return place.at.run.size if self.runs else place.at.cut_size

    def getstate(self) -> tuple[Any, ...]:
        return self.state_of(self.at)

    def state_of(self, Place place not None) -> tuple[Any, ...]:
        """A place as what can be pickled."""
        at = &place.at
        run = PyBytes_FromStringAndSize(<const char *>at.run.data, <Py_ssize_t>at.run.size)
        cut = PyBytes_FromStringAndSize(<const char *>at.cut, at.cut_size)
        ends = (cut, b"") if self.runs else (b"", cut)
        return 1 + <Py_ssize_t>at.last if at.begun else 0, at.left, run, at.broken + 2 * at.front, *ends

    def setstate(self, state: tuple[Any, ...]):
        self.at = self.place_of(state)

    def place_of(self, state: tuple[Any, ...]) -> Place:
        """The place that state_of() gave. TypeError, ValueError: it gave no such state."""
        cdef Place place = self.begin()
        cdef bytes run, cut
        begun, left, run, broken, check, codec = state
        cut = check if self.runs else codec
        if utf_8_decode(cut, "strict", False)[1]:
            raise ValueError("a character that is not whole has up to three bytes")
        if not (0 <= begun <= MOST and 0 <= left <= MOST and 0 <= broken < 4):
            raise ValueError("no decoder can have had this state")
        if st_bytes_append(&place.at.run, PyBytes_AS_STRING(run), <size_t>len(run)):
            raise MemoryError
        place.at.begun, place.at.last, place.at.left = begun > 0, begun - 1 if begun else 0, left
        place.at.broken, place.at.front, place.at.cut_size = broken & 1, broken >> 1, <uint32_t>len(cut)
        memcpy(place.at.cut, PyBytes_AS_STRING(cut), <size_t>len(cut))
        return place

    def feed(self, tokens) -> str:
        """KeyError: an unknown id. UnicodeDecodeError: by `errors`. The stream is then as it was."""
        cdef int64_t value = streamtok_small_int(<PyObject *>tokens)
        cdef uint32_t token
        if value < 0 and type(tokens) is not list:
            one = self.single(tokens)
            if one is not None:
                token = one
                value = token
        if value < 0 or self.skip_special:
            return self._feed(None, tokens if value < 0 else [value])
        token = <uint32_t>value
        return self._take(None, &token, 1)

    def flush(self) -> str:
        """The rest: the text ends. The stream is then at the start of the next one. UnicodeDecodeError: by `errors`."""
        made = self.rest(self.at)
        self.at = self.begin()
        return made

    def step(self, Place place not None, tokens) -> tuple[str, Place]:
        """(the text that ids complete, the place behind them)"""
        place = copy_of(place)
        return self._feed(place, tokens), place

    def text_of(self, tokens) -> str:
        """The text of all ids of a text."""
        place = self.begin()
        text = self._feed(place, tokens)
        return text + self.rest(place)

    def rest(self, Place place not None) -> str:
        """The text that is left at the end of a text."""
        cdef bytes data
        with critical_section(self):
            place, self.out.own.size = copy_of(place), 0
            if self.by_text:
                check(st_rules_end(&self.rules.rules, &place.at, &self.out.own), NULL, 0)
                return self._text()
            self.rules.add(place, NULL, 0, ST_RULES_LAST | ST_RULES_FRONT_STAYS, &self.out.own)
            return self._decoded(place, True)

    cdef str _feed(self, Place place, tokens):
        """The text that ids complete behind a place, which moves; None: the stream's own."""
        cdef Row row
        memset(&row.own, 0, sizeof(row.own))
        try:
            alive = self.decoder._read(tokens, &row, self.skip_special)
            return self._take(place, row.data, row.n)
        finally:
            st_ids_free(&row.own)

    cdef str _take(self, Place place, const uint32_t *ids, size_t n):
        cdef Place at
        cdef size_t bad = 0
        with critical_section(self):
            at, self.out.own.size = self.at if place is None else place, 0
            if self.by_text:
                check(st_rules_feed(&self.rules.rules, &at.at, ids, n, &self.out.own, &bad), ids, bad)
                return self._text()
            at = copy_of(at) if place is None else at  # decoding may raise
            self.rules.add(at, ids, n, ST_RULES_FRONT_STAYS, &self.out.own)
            text = self._decoded(at, False)
            self.at = at if place is None else self.at
            return text

    cdef str _text(self):
        return PyUnicode_DecodeUTF8(<const char *>self.out.own.data, <Py_ssize_t>self.out.own.size, NULL)

    cdef str _decoded(self, Place place, bint final):
        """The text of bytes, with those of a character that was not whole in front."""
        cdef bytes data = PyBytes_FromStringAndSize(<const char *>place.at.cut, place.at.cut_size) + bytes(self.out)
        cdef Py_ssize_t used = PyBytes_GET_SIZE(data)
        text = decode_some(PyBytes_AS_STRING(data), used, PyBytes_AS_STRING(self.mode), NULL if final else &used)
        place.at.cut_size = <uint32_t>(PyBytes_GET_SIZE(data) - used)
        memcpy(place.at.cut, PyBytes_AS_STRING(data) + used, place.at.cut_size)
        while place.at.left and text:
            if not text.startswith(self.character):
                place.at.left = 0
                break
            text, place.at.left = text[1:], place.at.left - 1
        return text
