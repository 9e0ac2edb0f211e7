"""Ids back to bytes and text: whole rows (Decoder), and ids as they come (CoreStreamDecoder). Defaults and the documentation of
arguments are in _decoding.py and _stream.py."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.ref cimport Py_XDECREF, PyObject
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcpy, memset

from .csrc.base cimport *
from .csrc.text cimport *
from .csrc.vocab cimport *
from .ids cimport IdBuffer, array_row, is_array
from .ints cimport streamtok_small_int
from .interrupt cimport SHORT, Scope, begin, begin_short, bytes_of, check, end as end_scope
from .memory cimport Bytes, Items, Numbers, bytes_in, items_of, new_numbers
from .text cimport PyUnicode_DATA, PyUnicode_KIND, Text, borrow, decode_some, let_others_run
from .vocab cimport Vocab

from array import array

from ..errors import at_row
from .text import from_utf8

from cython cimport critical_section

cdef extern from "Python.h":
    PyObject **PySequence_Fast_ITEMS(object items)
    PyObject *new_bytes "PyBytes_FromStringAndSize" (const char *data, Py_ssize_t n) except NULL
    int _PyBytes_Resize(PyObject **data, Py_ssize_t n) except -1
    object PyUnicode_New(Py_ssize_t n, uint32_t largest)
    object PyUnicode_DecodeUTF8(const char *data, Py_ssize_t n, const char *errors)

cdef enum:
    # Ids of a list that are read between two checks for signals.
    READ_AT_ONCE = 1 << 20
    # Pointers of a list ahead of the one that is followed.
    INTS_AHEAD = 16
    # Bytes of a text that is decoded on the stack. So much Python decodes in less time than it is measured.
    STACK_BYTES = 1024
    # Bytes that become a str in more time than it takes to release the GIL and take it again.
    LONG_TEXT = 1 << 14
    # Rows of a batch that are decoded together: their text stays in the second-level cache.
    GROUP_IDS = 1 << 15
    GROUP_ROWS = 1 << 12

# Bytes that are no UTF-8 go to Python's decoder in all modes. What is, it need not see in these.
cdef tuple KNOWN_ERRORS = ("replace", "strict", "ignore")


# ---- ids in C memory ----

cdef int read_ints(PyObject **items, size_t n, uint32_t *to) noexcept:
    """Whether all of them were ints of up to 30 bits."""
    cdef int64_t value, wrong = 0
    cdef size_t i
    for i in range(n):
        if i + INTS_AHEAD < n:
            st_prefetch(items[i + INTS_AHEAD])
        value = streamtok_small_int(items[i])
        to[i] = <uint32_t>value
        wrong |= value
    return wrong >= 0


cdef int read_items(object items, st_ids *ids) except -1:
    """Appends the ints of a list or tuple. False: there is another thing among them, or the list was changed meanwhile."""
    cdef size_t n = <size_t>len(items), at = 0, count
    cdef bint read = True
    if st_ids_reserve(ids, n):
        raise MemoryError
    while read and at < n:
        count = min(<size_t>READ_AT_ONCE, n - at)
        with critical_section(items):
            read = <size_t>len(items) == n and read_ints(PySequence_Fast_ITEMS(items) + at, count, ids.data + ids.size)
        ids.size += count
        at += count
        if at < n:
            let_others_run()
    return read


cdef bint read_few(object items, Row *row) noexcept:
    """Whether a list or tuple has few items, all of them small ints, which are read."""
    cdef bint read = False
    with critical_section(items):
        row.n = <size_t>len(items)
        if row.n <= FEW_IDS:
            read = read_ints(PySequence_Fast_ITEMS(items), row.n, row.few)
    return read


# ---- bytes in C memory ----

cdef int decode_step(Vocab vocab, st_decoding *ids, uint8_t *to, size_t capacity, size_t *size) except -1:
    """st_decode_into() with its errors raised."""
    cdef st_status status
    cdef Scope scope
    if ids.count - ids.done < SHORT:
        begin_short(&scope)
        status = st_decode_into(vocab.vocab, &vocab.names, ids, to, capacity, size)
    else:
        begin(&scope, NULL)
        with nogil:
            status = st_decode_into(vocab.vocab, &vocab.names, ids, to, capacity, size)
        end_scope(&scope)
    if status:
        check(&scope)
        if status == ST_UNKNOWN_TOKEN:
            raise KeyError(f"Invalid token for decoding: {ids.ids[ids.done]}")
        raise MemoryError
    return 0


cdef int append_bytes(Vocab vocab, const Row *row, st_bytes *out) except -1:
    """Appends the bytes of a row."""
    cdef st_decoding ids = st_decoding(row.data, row.n, 0, 0)
    cdef size_t before = out.size
    while ids.done < ids.count:
        if st_bytes_reserve(out, st_decode_room(&ids, out.size - before)):
            raise MemoryError
        decode_step(vocab, &ids, out.data, out.capacity, &out.size)
    return 0


cdef object valid_text(const uint8_t *data, size_t n):
    """The str of UTF-8; None if it is not valid."""
    cdef st_utf8_facts facts
    cdef st_text_error error
    cdef st_status status = ST_OK
    cdef Scope scope
    cdef bint valid
    if n < LONG_TEXT:
        facts = st_utf8_measure(data, n)
        if facts.limit > 0x80 and st_text_check(data, n, &error) < n:
            return None
        text = PyUnicode_New(<Py_ssize_t>facts.characters, facts.limit - 1)
        st_utf8_to_code_points(data, n, <unsigned>PyUnicode_KIND(text), <void *>PyUnicode_DATA(text))
        return text
    begin(&scope, NULL)
    try:
        with nogil:
            facts = st_utf8_measure(data, n)
            valid = facts.limit <= 0x80 or st_text_check(data, n, &error) == n
            status = st_go_on(0)
        if valid and status == ST_OK:
            text = PyUnicode_New(<Py_ssize_t>facts.characters, facts.limit - 1)
            fill_text(text, data, n, &status)
    finally:
        end_scope(&scope)
    if status:
        check(&scope)
    return text if valid else None


cdef int fill_text(object text, const uint8_t *data, size_t n, st_status *status) except -1:
    cdef unsigned width = <unsigned>PyUnicode_KIND(text)
    cdef void *to = <void *>PyUnicode_DATA(text)
    with nogil:
        status[0] = st_utf8_to_code_points(data, n, width, to)
    return 0


cdef object text_of(const uint8_t *data, size_t n, object errors):
    if n <= STACK_BYTES and errors == "replace":
        return PyUnicode_DecodeUTF8(<const char *>data, <Py_ssize_t>n, "replace")
    text = valid_text(data, n) if errors in KNOWN_ERRORS else None
    return from_utf8(bytes_of(data, n), errors) if text is None else text


# ---- whole rows ----

cdef class Decoder:
    """What decodes with a vocabulary. Safe to share between threads.

    special: the ids that skip_special leaves out; other_ids: a function that brings ids which are no list or tuple of small ints
    into a buffer of uint32, or raises what is wrong with them."""
    def __cinit__(self, Vocab vocab not None, special: Iterable[int], other_ids: Callable[[Any], _Data]):
        self.vocab = vocab
        self.special = array("I", sorted(set(special))).tobytes()
        self.other_ids = other_ids

    cdef object _read(self, object tokens, Row *row, bint skip_special):
        """Fills a row, whose own memory is empty, and returns what must stay alive while it is used."""
        cdef Items items
        cdef bint is_list = type(tokens) is list or type(tokens) is tuple
        if is_list and read_few(tokens, row):
            row.data = row.few
        elif is_list and read_items(tokens, &row.own):
            row.data, row.n = row.own.data, row.own.size
        elif not array_row(tokens, &row.data, &row.n):
            tokens = items = bytes_in(self.other_ids(tokens))
            row.data, row.n = <const uint32_t *>items.data, <size_t>items.n // sizeof(uint32_t)
        if skip_special:
            row.own.size = 0
            if st_ids_reserve(&row.own, row.n):
                raise MemoryError
            row.n = self._without_special(row.data, row.n, row.own.data)
            row.data = row.own.data
        return tokens

    def special_ids(self) -> set[int]:
        """The ids that skip_special leaves out, as a set."""
        return set(array("I", self.special))

    def ids(self, tokens, bint skip_special=False) -> list[int]:
        """The ids as a list of ints."""
        cdef Row row
        memset(&row.own, 0, sizeof(row.own))
        try:
            alive = self._read(tokens, &row, skip_special)
            return array("I", PyBytes_FromStringAndSize(<const char *>row.data, <Py_ssize_t>(sizeof(uint32_t) * row.n))).tolist()
        finally:
            st_ids_free(&row.own)

    def to_bytes(self, tokens, bint skip_special=False) -> bytes:
        """The bytes of ids. KeyError names the first unknown one."""
        cdef Row row
        memset(&row.own, 0, sizeof(row.own))
        try:
            alive = self._read(tokens, &row, skip_special)
            return self._bytes(&row)
        finally:
            st_ids_free(&row.own)

    def to_text(self, tokens, errors: str, bint skip_special=False) -> str:
        """The text of ids; errors as for bytes.decode()."""
        cdef Row row
        memset(&row.own, 0, sizeof(row.own))
        try:
            alive = self._read(tokens, &row, skip_special)
            return self._text(&row, errors)
        finally:
            st_ids_free(&row.own)

    cdef bytes _bytes(self, const Row *row):
        cdef st_decoding ids = st_decoding(row.data, row.n, 0, 0)
        cdef uint8_t[STACK_BYTES] buffer
        cdef size_t size = 0, most
        cdef PyObject *made = NULL
        if st_decode_room(&ids, 0) <= STACK_BYTES:
            decode_step(self.vocab, &ids, buffer, STACK_BYTES, &size)
            if ids.done == ids.count:
                return PyBytes_FromStringAndSize(<const char *>buffer, <Py_ssize_t>size)
            ids.done = size = 0
        try:
            while ids.done < ids.count:
                most = size + st_decode_room(&ids, size)
                if made == NULL:
                    made = new_bytes(NULL, <Py_ssize_t>most)
                else:
                    _PyBytes_Resize(&made, <Py_ssize_t>most)
                decode_step(self.vocab, &ids, <uint8_t *>PyBytes_AS_STRING(<object>made), most, &size)
            _PyBytes_Resize(&made, <Py_ssize_t>size)
            return <bytes>made
        finally:
            Py_XDECREF(made)

    cdef object _text(self, const Row *row, object errors):
        cdef st_decoding ids = st_decoding(row.data, row.n, 0, 0)
        cdef uint8_t[STACK_BYTES] buffer
        cdef size_t size = 0
        if st_decode_room(&ids, 0) <= STACK_BYTES:
            decode_step(self.vocab, &ids, buffer, STACK_BYTES, &size)
            if ids.done == ids.count:
                return text_of(buffer, size, errors)
        return self._long_text(row, errors)

    cdef object _long_text(self, const Row *row, object errors):
        cdef Bytes out = Bytes.__new__(Bytes)
        append_bytes(self.vocab, row, &out.own)
        return text_of(out.own.data, out.own.size, errors)

    def match(self, ids, text: _Text, bint back=False) -> tuple[int, int]:
        """(how many of the ids, from the first on, a text begins with the bytes of; the number of these bytes). back: from the last
        on, with which it ends. text: str, or a buffer of UTF-8."""
        cdef Text borrowed
        cdef Items items = items_of(ids, sizeof(uint32_t))
        cdef size_t count = <size_t>items.n, found, size = 0
        cdef const uint32_t *data = <const uint32_t *>items.data
        alive = borrow(text, &borrowed)
        if back:
            found = st_decode_match_back(self.vocab.vocab, &self.vocab.names, data, count, borrowed.data, borrowed.n, &size)
        else:
            found = st_decode_match(self.vocab.vocab, &self.vocab.names, data, count, borrowed.data, borrowed.n, &size)
        return found, size

    # ---- many rows ----

    def bytes_of_rows(self, list rows not None: list[Any], bint skip_special=False) -> list[bytes]:
        """[to_bytes(row, skip_special) for row in rows]"""
        return self._rows(rows, None, skip_special)

    def texts_of_rows(self, list rows not None: list[Any], errors: str, bint skip_special=False) -> list[str]:
        """[to_text(row, errors, skip_special) for row in rows]"""
        return self._rows(rows, errors, skip_special)

    cdef list _rows(self, list rows, object errors, bint skip_special):
        """The texts of rows; their bytes where `errors` is None."""
        cdef Py_ssize_t n = len(rows), at = 0, end
        made = []
        while at < n:
            end = end_of_group(rows, at, n)
            together = self._together(rows[at:end], errors, skip_special) if end > at + 1 else None
            if together is None:
                end = max(end, at + 1)
                together = self._one_by_one(rows, at, end, errors, skip_special)
            made += together
            at = end
        return made

    cdef list _one_by_one(self, list rows, Py_ssize_t at, Py_ssize_t end, object errors, bint skip_special):
        cdef Py_ssize_t i = at
        made = []
        try:
            for i in range(at, end):
                made.append(self.to_bytes(rows[i], skip_special) if errors is None else self.to_text(rows[i], errors, skip_special))
        except Exception as error:
            raise at_row(error, i)
        return made

    cdef list _together(self, list rows, object errors, bint skip_special):
        """_rows() for short rows, which are decoded without the GIL. None where it fails: one by one, the first row that is to blame
        raises what is wrong."""
        cdef size_t count = <size_t>len(rows), bad, i, start = 0
        cdef IdBuffer ids = IdBuffer.__new__(IdBuffer)
        cdef Numbers ends = new_numbers(<Py_ssize_t>count), starts = new_numbers(<Py_ssize_t>count + 1)  # of ids; of texts
        cdef Bytes out = Bytes.__new__(Bytes)
        cdef st_status status = ST_OK
        for i in range(count):
            if not self._append(rows[i], &ids.ids, skip_special):
                return None
            ends.data[i] = <int64_t>ids.ids.size
        starts.data[0] = 0
        with nogil:
            for i in range(count):
                status = st_decode(self.vocab.vocab, &self.vocab.names, ids.ids.data + start, <size_t>ends.data[i] - start, &out.own, &bad)
                if status:
                    break
                start, starts.data[i + 1] = <size_t>ends.data[i], <int64_t>out.own.size
        try:
            return None if status else cut_rows(out.own.data, starts, errors)
        except UnicodeDecodeError:
            return None

    cdef bint _append(self, object tokens, st_ids *ids, bint skip_special) except -1:
        cdef const uint32_t *data = NULL
        cdef size_t before = ids.size, n
        if type(tokens) is list or type(tokens) is tuple:
            if not read_items(tokens, ids):
                return False
        elif array_row(tokens, &data, &n):
            if st_ids_reserve(ids, n):
                return False
            memcpy(ids.data + before, data, n * sizeof(uint32_t))
            ids.size += n
        else:
            return False
        if skip_special:
            ids.size = before + self._without_special(ids.data + before, ids.size - before, ids.data + before)
        return True

    cdef size_t _without_special(self, const uint32_t *ids, size_t n, uint32_t *to) noexcept:
        return st_ids_without(ids, n, <const uint32_t *>PyBytes_AS_STRING(self.special),
                              <size_t>PyBytes_GET_SIZE(self.special) // sizeof(uint32_t), to)


cdef Py_ssize_t end_of_group(list rows, Py_ssize_t at, Py_ssize_t n) except -1:
    """The end of the short rows from rows[at] on that are decoded together; `at` if that one is not short."""
    cdef Py_ssize_t total = 0, end = at
    while end < n and end - at < GROUP_ROWS:
        row = rows[end]
        if type(row) is not list and type(row) is not tuple and not is_array(row):
            break
        total += len(row)
        if total > GROUP_IDS:
            break
        end += 1
    return end


cdef list cut_rows(const uint8_t *data, Numbers starts, object errors):
    cdef const int64_t *at = starts.data
    cdef Py_ssize_t i
    made = []
    for i in range(starts.n - 1):
        if errors is None:
            made.append(PyBytes_FromStringAndSize(<const char *>data + at[i], <Py_ssize_t>(at[i + 1] - at[i])))
        else:
            made.append(text_of(data + at[i], <size_t>(at[i + 1] - at[i]), errors))
    return made


# ---- ids as they come ----

cdef class CoreStreamDecoder:
    """What a StreamDecoder (_stream.py) calls: feed, flush, reset, pending, getstate, setstate.

    single: a function that gives the id where an object is one, as an int, and None where it is a row of ids."""
    cdef Decoder decoder
    cdef object single
    cdef str errors
    cdef bytes mode
    cdef bint skip_special
    cdef uint8_t[4] begun  # the beginning of a character
    cdef size_t begun_size

    def __cinit__(self, Decoder decoder not None, str errors not None, bint skip_special, single: Callable[[Any], int | None]):
        self.decoder, self.errors, self.skip_special, self.single = decoder, errors, skip_special, single
        self.mode = errors.encode()

    def feed(self, tokens) -> str:
        cdef int64_t value = streamtok_small_int(<PyObject *>tokens)
        if value >= 0:
            return self._feed_one(<uint32_t>value)
        token = None if type(tokens) is list else self.single(tokens)
        return self._feed_row(tokens) if token is None else self._feed_one(token)

    def flush(self) -> str:
        return self._take(<const uint8_t *>b"", 0, True)

    def reset(self):
        self.begun_size = 0

    @property
    def pending(self) -> int:
        return self.begun_size

    def getstate(self) -> bytes:
        """The bytes of an unfinished character, up to three."""
        return PyBytes_FromStringAndSize(<const char *>self.begun, <Py_ssize_t>self.begun_size)

    def setstate(self, bytes state not None):
        if len(state) > 3:
            raise ValueError("a character that is not complete has up to three bytes")
        memcpy(self.begun, PyBytes_AS_STRING(state), <size_t>len(state))
        self.begun_size = <size_t>len(state)

    cdef object _feed_one(self, uint32_t token):
        cdef size_t n
        cdef const uint8_t *data
        if self.skip_special and not self.decoder._without_special(&token, 1, &token):
            return ""
        data = st_decode_one(self.decoder.vocab.vocab, &self.decoder.vocab.names, token, &n)
        if data == NULL:
            raise KeyError(f"Invalid token for decoding: {token}")
        return self._take(data, n, False)

    cdef object _feed_row(self, object tokens):
        cdef Row row
        cdef Bytes out = Bytes.__new__(Bytes)
        memset(&row.own, 0, sizeof(row.own))
        try:
            alive = self.decoder._read(tokens, &row, self.skip_special)
            if st_bytes_append(&out.own, self.begun, self.begun_size):
                raise MemoryError
            append_bytes(self.decoder.vocab, &row, &out.own)
            return self._complete(out.own.data, out.own.size, False)
        finally:
            st_ids_free(&row.own)

    cdef object _take(self, const uint8_t *data, size_t n, bint final):
        """The text that these bytes complete."""
        cdef uint8_t[SHORT] buffer
        cdef bytes joined
        if self.begun_size == 0:
            return self._complete(data, n, final)
        if n + self.begun_size > SHORT:
            joined = self.getstate() + PyBytes_FromStringAndSize(<const char *>data, <Py_ssize_t>n)
            return self._complete(<const uint8_t *>PyBytes_AS_STRING(joined), n + self.begun_size, final)
        memcpy(buffer, self.begun, self.begun_size)
        memcpy(buffer + self.begun_size, data, n)
        return self._complete(buffer, n + self.begun_size, final)

    cdef object _complete(self, const uint8_t *data, size_t n, bint final):
        """The text of all bytes that are not decoded, but for an unfinished character, which is held. It stays as it is where this
        raises."""
        cdef Py_ssize_t used = <Py_ssize_t>n
        text = None
        if n > STACK_BYTES and self.errors in KNOWN_ERRORS:
            used -= 0 if final else st_utf8_unfinished(data, n)
            text = valid_text(data, <size_t>used)
        if text is None:
            used = <Py_ssize_t>n
            text = decode_some(<const char *>data, <Py_ssize_t>n, PyBytes_AS_STRING(self.mode), NULL if final else &used)
        self.begun_size = n - <size_t>used
        memcpy(self.begun, data + used, self.begun_size)
        return text
