"""Ids to text, part by part, by the decoder that a model's file has: the rules and tables are in model_files/decoder_rules.py."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.list cimport PyList_GET_ITEM
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy

from codecs import utf_8_decode

from .csrc.base cimport *
from .decode cimport Decoder
from .ints cimport streamtok_small_int
from .memory cimport Bytes
from .text cimport decode_some

cdef extern from "Python.h":
    object PyUnicode_DecodeUTF8(const char *data, Py_ssize_t n, const char *errors)

cdef bytes UNKNOWN = "\ufffd".encode()


cdef class Place:
    """Where a text of ids stands. It does not change: whoever goes on from it makes another."""
    cdef Py_ssize_t begun  # 1 and the id that came last; 0: none has come
    cdef bint broken  # neighbouring bytes that came last are no characters
    cdef bint front  # the run begins the text
    cdef Py_ssize_t left  # characters that may still go from the beginning
    cdef bytearray run  # neighbouring bytes that may be characters: the first `size`. What lies behind is of a call that did not end
    cdef Py_ssize_t size
    cdef bytes cut  # the beginning of a character, at the end of the run, or of the text where bytes need not stand together


cdef Place place_at(Py_ssize_t begun, Py_ssize_t left, bytearray run, Py_ssize_t size, bint broken, bytes cut, bint front=False):
    cdef Place at = Place.__new__(Place)
    at.front = front
    at.begun, at.left, at.run, at.size, at.broken, at.cut = begun, left, run, size, broken, cut
    return at


cdef class Text(Bytes):
    """UTF-8 that grows."""
    cdef int add(self, const char *data, Py_ssize_t n) except -1:
        if st_bytes_append(&self.own, data, <size_t>n):
            raise MemoryError
        return 0

    cdef int add_unknown(self, Py_ssize_t count) except -1:
        for _ in range(count):
            self.add(PyBytes_AS_STRING(UNKNOWN), 3)
        return 0

    cdef int end_run(self, bytearray run, Py_ssize_t size, Py_ssize_t cut, list late, bint front) except -1:
        """The text of a run that ends. late: what is replaced in it; front: it begins the text."""
        cdef bytes made
        if cut or not size or not late:
            return self.add_unknown(size) if cut else self.add(<const char *>run, size)
        made = bytes(run[:size])
        for pattern, content, first in late:
            made = made.replace(pattern, first if front else content)
        return self.add(PyBytes_AS_STRING(made), PyBytes_GET_SIZE(made))

    cdef str text(self):
        return PyUnicode_DecodeUTF8(<const char *>self.own.data, <Py_ssize_t>self.own.size, NULL)


cdef class RuleDecoderStream:
    """What a StreamDecoder (_stream.py) calls, as CoreStreamDecoder is; and, with places, what decodes many texts at once.

    What comes is all that no later id can change. single: a function that gives the id where an object is one, as an int, and None where
    it is a row of ids."""
    cdef object rule_decoder, single
    cdef Decoder decoder
    cdef str character
    cdef bytes mode, kinds, first_kinds
    cdef list table, first  # with the kinds: the tables of the model, once an id has come
    cdef Py_ssize_t most
    cdef bint runs  # bytes that stand together are characters only if all of them are
    cdef bint skip_special
    cdef bint opens  # an id is as the first one as long as there is no text in front of it
    cdef bint looks_back, once  # what an id becomes depends on the one in front; of equal ones in a row one counts
    cdef list tails, late
    cdef Place at

    def __cinit__(self, rule_decoder, Decoder decoder not None, str errors not None, bint skip_special, single=None):
        self.rule_decoder, self.decoder, self.skip_special, self.single = rule_decoder, decoder, skip_special, single
        self.mode = errors.encode()
        self.character, self.most = rule_decoder.rules.cut
        self.runs = errors == "replace" and rule_decoder.rules.has_bytes
        self.once, self.opens = rule_decoder.rules.once is not None, rule_decoder.opens
        self.looks_back = rule_decoder.looks_back
        self.tails = rule_decoder.tails if self.looks_back and not self.once else []
        self.late = rule_decoder.late
        self.at = self.begin()

    cpdef Place begin(self):
        """The place in front of a text."""
        return place_at(0, self.most, bytearray(), 0, False, b"")

    def reset(self):
        self.at = self.begin()

    @property
    def pending(self) -> int:
        """Bytes that wait."""
        return self.pending_at(self.at)

    def pending_at(self, Place at not None) -> int:
        return at.size if self.runs else len(at.cut)

    def getstate(self) -> tuple[Any, ...]:
        return self.state_of(self.at)

    def state_of(self, Place at not None) -> tuple[Any, ...]:
        """A place as what can be pickled."""
        ends = (at.cut, b"") if self.runs else (b"", at.cut)
        return at.begun, at.left, bytes(at.run[: at.size]), at.broken + 2 * at.front, *ends

    def setstate(self, state: tuple[Any, ...]):
        self.at = self.place_of(state)

    def place_of(self, state: tuple[Any, ...]) -> Place:
        """The place that state_of() gave. TypeError, ValueError: it gave no such state."""
        begun, left, run, broken, check, codec = state
        cut = check if self.runs else codec
        if utf_8_decode(cut, "strict", False)[1]:
            raise ValueError("a character that is not whole has up to three bytes")
        return place_at(begun, left, bytearray(run), len(run), broken & 1, cut, broken >> 1)

    def feed(self, tokens) -> str:
        """KeyError: an unknown id. UnicodeDecodeError: by `errors`. The stream is then as it was."""
        cdef bint is_id = streamtok_small_int(<PyObject *>tokens) >= 0
        if not is_id and type(tokens) is not list:
            token = self.single(tokens)
            tokens = tokens if token is None else [token]
        text, at = self._step(self.at, [tokens]) if is_id and not self.skip_special else self.step(self.at, [tokens] if is_id else tokens)
        self.at = at
        return text

    def flush(self) -> str:
        """The rest: the text ends. The stream is then at the start of the next one. UnicodeDecodeError: by `errors`."""
        made = self.rest(self.at)
        self.at = self.begin()
        return made

    def step(self, Place at not None, tokens) -> tuple[str, Place]:
        """(the text that ids complete, the place behind them)"""
        return self._step(at, self.decoder.ids(tokens, self.skip_special))

    def text_of(self, tokens) -> str:
        """The text of all ids of a text."""
        text, at = self.step(self.begin(), tokens)
        return text + self.rest(at)

    cdef tuple _step(self, Place at, list given):
        cdef list pieces
        if not given:
            return "", at
        pieces = self._pieces(given, at.begun)
        if self.runs:
            return self._in_runs(given, pieces, at)
        text, cut = self._plain(at.cut + b"".join(pieces), False)
        text, left = self._without_front(text, at.left)
        return text, place_at(self._begun(given, pieces, at), left, at.run, 0, False, cut)

    cdef Py_ssize_t _begun(self, list given, list pieces, Place at):
        """What a place says of the id in front of it: 1 + the id; 0: what comes is as the first id."""
        return 0 if self.opens and not at.begun and not any(pieces) else 1 + <Py_ssize_t>given[-1]

    cdef list _pieces(self, list given, Py_ssize_t begun):
        """The bytes of each id as its token has them."""
        cdef list pieces = [], table = self.table
        cdef Py_ssize_t token
        cdef bint first = not begun
        if table is None:
            (table, self.kinds), (self.first, self.first_kinds) = self.rule_decoder.tables
            self.table = table
        for i in range(len(given)):
            token = given[i]
            piece = (self.first if first else table)[token] if token < len(table) else None
            if piece is None:
                raise KeyError(f"Invalid token for decoding: {token}")
            first = first and self.opens and not piece
            if self.looks_back:
                if begun and self.once and token == begun - 1:
                    piece = b""
                elif begun and not self.once:
                    piece = <bytes>self.tails[begun - 1][0] + <bytes>piece
                begun = 1 + token
            pieces.append(piece)
        return pieces

    def rest(self, Place at not None) -> str:
        """The text that is left at the end of a text."""
        cdef Text out = Text()
        if self.runs:
            out.end_run(at.run, at.size, len(at.cut), self.late, at.front)
        tail = self.tails[at.begun - 1][1] if at.begun and self.looks_back and not self.once else b""
        text = out.text() if self.runs else self._plain(at.cut + tail, True)[0]
        return self._without_front(text, at.left)[0]

    cdef tuple _plain(self, bytes data, bint final):
        cdef Py_ssize_t used = PyBytes_GET_SIZE(data)
        text = decode_some(PyBytes_AS_STRING(data), used, PyBytes_AS_STRING(self.mode), NULL if final else &used)
        return text, data[used:]

    cdef tuple _in_runs(self, list given, list pieces, Place at):
        cdef bytes kinds = self.kinds if at.begun else self.first_kinds, piece
        cdef bytearray run = at.run
        cdef Py_ssize_t i, n = len(given), size = at.size
        cdef bint broken = at.broken, front = at.front
        cdef uint8_t[4] cut  # the beginning of a character
        cdef Py_ssize_t cut_size = PyBytes_GET_SIZE(at.cut)
        cdef Text out
        if n == 1 and at.begun and not (size or broken or at.left or kinds[<Py_ssize_t>given[0]]):
            piece = <bytes>PyList_GET_ITEM(pieces, 0)  # the commonest call
            return PyUnicode_DecodeUTF8(PyBytes_AS_STRING(piece), PyBytes_GET_SIZE(piece), NULL), at
        out = Text()
        memcpy(cut, PyBytes_AS_STRING(at.cut), <size_t>cut_size)
        for i in range(n):
            piece = <bytes>PyList_GET_ITEM(pieces, i)
            if i == 1:
                kinds = self.kinds
            if not kinds[<Py_ssize_t>given[i]]:
                out.end_run(run, size, cut_size, self.late, front)
                if size:
                    run, size, cut_size, front = bytearray(), 0, 0, False
                broken = False
                out.add(PyBytes_AS_STRING(piece), PyBytes_GET_SIZE(piece))
            elif broken:
                out.add_unknown(1)
            else:
                front = front or (not size and not i and not at.begun)
                run[size:] = piece
                size += 1
                broken = goes_wrong(cut, &cut_size, <uint8_t>piece[0])
                if broken:
                    out.add_unknown(size)
                    run, size, cut_size, front = bytearray(), 0, 0, False
        text = out.text()
        left = at.left
        if left:
            text, left = self._without_front(text, left)
        return text, place_at(self._begun(given, pieces, at), left, run, size, broken, (<char *>cut)[:cut_size], front)

    cdef tuple _without_front(self, str text, Py_ssize_t left):
        while left and text:
            if not text.startswith(self.character):
                return text, 0
            text, left = text[1:], left - 1
        return text, left


cdef bint goes_wrong(uint8_t *cut, Py_ssize_t *cut_size, uint8_t byte) except -1:
    """Takes one more byte into the beginning of a character, which is empty once it is whole. Whether it is none then."""
    cdef Py_ssize_t used = cut_size[0] + 1
    if used == 1 and byte < 0x80:
        return False
    cut[used - 1] = byte
    cut_size[0] = used
    try:
        decode_some(<const char *>cut, used, b"strict", &used)
    except UnicodeDecodeError:
        return True
    if used:
        cut_size[0] = 0
    return False
