"""Many texts decoded at once as their ids come. Defaults and the documentation of arguments are in serving/batch_decoder.py."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.list cimport PyList_GET_ITEM, PyList_New, PyList_SET_ITEM
from cpython.number cimport PyNumber_Index
from cpython.ref cimport Py_INCREF, PyObject
from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcpy, memset

from .csrc.base cimport *
from .csrc.decoders cimport *
from .csrc.special cimport st_special_walk
from .csrc.text cimport ST_ERRORS_IGNORE, ST_ERRORS_REPLACE
from .csrc.vocab cimport *
from .decode cimport Decoder
from .ints cimport streamtok_small_int
from .matcher cimport Matcher
from .memory cimport Numbers, new_numbers, numbers_of

from cython cimport critical_section

cdef extern from "Python.h":
    PyObject **PySequence_Fast_ITEMS(object items)
    object PyUnicode_DecodeUTF8(const char *data, Py_ssize_t n, const char *errors)


cdef Numbers read_numbers(object items, str what):
    """The integers of a list, or of an array, copied. OverflowError, TypeError: an item is no int of 64 bits."""
    cdef Numbers numbers
    cdef Py_ssize_t i
    cdef int64_t value
    if type(items) is not list and type(items) is not tuple:
        return numbers_of(items)
    items = tuple(items)  # whoever is asked for __index__ may change the list
    numbers = new_numbers(len(items))
    for i in range(numbers.n):
        value = streamtok_small_int(PySequence_Fast_ITEMS(items)[i])
        if value < 0:
            item = items[i]
            if type(item) is bool or not hasattr(item, "__index__"):
                raise TypeError(f"{what} are integers, got {type(item).__name__} at index {i}")
            value = PyNumber_Index(item)
        numbers.data[i] = value
    return numbers


def pick(list items not None: list[str], numbers not None) -> list[str]:
    """[items[number] for number in numbers], an int64 buffer of numbers from 0 on."""
    cdef Numbers places = numbers_of(numbers)
    cdef Py_ssize_t i, most = len(items)
    made = PyList_New(places.n)
    for i in range(places.n):
        if places.data[i] < 0 or places.data[i] >= most:
            raise IndexError(f"there is no item {places.data[i]}")
        item = <object>PyList_GET_ITEM(items, <Py_ssize_t>places.data[i])
        Py_INCREF(item)
        PyList_SET_ITEM(made, i, item)
    return made


cdef class CoreDecoders:
    """Decoders by number. What is wrong with an argument is raised before anything changes."""
    cdef Decoder decoder
    cdef readonly Py_ssize_t count
    cdef bint skip_special
    cdef st_decoder *slots
    cdef list stops  # of each: a Matcher, or None
    # The slots whose text ended in the last call.
    cdef public list stopped  #: list[int]
    cdef st_decoder_scratch scratch
    cdef st_bytes out
    cdef st_ids kept

    def __cinit__(self, Decoder decoder not None, Py_ssize_t count, bint replace, bint skip_special):
        cdef Py_ssize_t i
        self.decoder, self.count, self.skip_special = decoder, count, skip_special
        memset(&self.scratch, 0, sizeof(self.scratch))
        memset(&self.out, 0, sizeof(self.out))
        memset(&self.kept, 0, sizeof(self.kept))
        self.scratch.stage.errors = ST_ERRORS_REPLACE if replace else ST_ERRORS_IGNORE
        self.slots = <st_decoder *>st_calloc(<size_t>count + 1, sizeof(st_decoder))
        if self.slots == NULL:
            raise MemoryError
        self.stops = [None] * count
        self.stopped = []
        for i in range(count):
            st_decoder_reset(&self.slots[i], NULL)

    def __dealloc__(self):
        st_free(self.slots)
        st_decoder_scratch_free(&self.scratch)
        st_bytes_free(&self.out)
        st_ids_free(&self.kept)

    cdef st_decoder *_at(self, int64_t slot) except NULL:
        if slot < 0 or slot >= self.count:
            raise IndexError(f"there is no slot {slot}: the decoder has {self.count}, numbered from 0")
        return &self.slots[slot]

    def reset(self, int64_t slot, Matcher stops=None):
        """Begins another text."""
        cdef st_decoder *one = self._at(slot)
        with critical_section(self):
            st_decoder_reset(one, NULL if stops is None else stops.special)
            self.stops[slot] = stops

    def stop_of(self, int64_t slot) -> int | None:
        """The number of the stop string that ended the text, or None."""
        cdef uint32_t stop = self._at(slot).stop
        return None if stop == ST_NO_STOP else stop

    # ---- ids ----

    def check(self, slots, ids, counts, int64_t each):
        """Raises what is wrong with the arguments of feed()."""
        self._take(slots, ids, counts, each, False)

    def feed(self, slots, ids, counts, int64_t each) -> list[str]:
        """A list of the text that each slot's next ids complete. counts: how many ids each has, or None: `each`."""
        return self._take(slots, ids, counts, each, True)

    cdef object _take(self, object slots, object ids, object counts, int64_t each, bint fed):
        cdef Numbers where = read_numbers(slots, "slots"), tokens = read_numbers(ids, "ids")
        cdef Numbers sizes = None if counts is None else read_numbers(counts, "counts")
        with critical_section(self):
            self._check(where, tokens, sizes, each)
            if not fed:
                return None
            return self._feed(where, tokens, sizes, each)

    cdef int _check(self, Numbers where, Numbers tokens, Numbers sizes, int64_t each) except -1:
        """Raises what is wrong, and makes room for the text, so that nothing fails afterwards. sizes: None where all are `each`."""
        cdef size_t n, held, most = 0
        cdef Py_ssize_t i
        cdef int64_t total = 0
        if sizes is not None and sizes.n != where.n:
            raise ValueError(f"there are {where.n} slots and {sizes.n} counts: give one count a slot")
        for i in range(where.n):
            st_decoder_held(self._at(where.data[i]), &held)
            most += held + 9  # three bytes, each of which can become U+FFFD
            n = <size_t>(sizes.data[i] if sizes is not None else each)
            if <int64_t>n < 0 or <int64_t>n > <int64_t>tokens.n - total:
                raise ValueError(f"the counts ask for more ids than there are, {tokens.n}, or one of them is negative")
            total += <int64_t>n
        if total != <int64_t>tokens.n:
            raise ValueError(f"there are {tokens.n} ids, and the counts ask for {total}")
        for i in range(tokens.n):
            if tokens.data[i] == -1:
                continue
            if tokens.data[i] < 0 or tokens.data[i] > 0xFFFFFFFF or st_decode_one(
                    self.decoder.vocab.vocab, &self.decoder.vocab.names, <uint32_t>tokens.data[i], &n) == NULL:
                raise KeyError(f"Invalid token for decoding: {tokens.data[i]}")
            most += 3 * n
        self.out.size = self.kept.size = 0
        if (st_bytes_reserve(&self.out, most) or st_ids_reserve(&self.kept, <size_t>tokens.n)
                or st_decoder_reserve(&self.scratch, most)):
            raise MemoryError
        return 0

    cdef list _feed(self, Numbers where, Numbers tokens, Numbers sizes, int64_t each):
        cdef size_t k, n, at = 0
        cdef Py_ssize_t i
        cdef st_decoder *one
        cdef uint32_t token, stop
        made = []
        self.stopped = []
        for i in range(where.n):
            one = &self.slots[where.data[i]]
            stop = one.stop
            n = <size_t>(sizes.data[i] if sizes is not None else each)
            self.out.size = self.kept.size = 0
            for k in range(at, at + n):
                token = <uint32_t>tokens.data[k]
                if tokens.data[k] != -1 and not (self.skip_special and self._is_special(token)):
                    self.kept.data[self.kept.size] = token
                    self.kept.size += 1
            at += n
            if self.kept.size and st_decoder_feed(
                    self.decoder.vocab.vocab, &self.decoder.vocab.names, self.kept.data, self.kept.size, False,
                    &self.scratch, one, &self.out):
                raise MemoryError
            made.append(self._out_of(where.data[i], stop))
        return made

    cdef bint _is_special(self, uint32_t token) noexcept:
        return not self.decoder._without_special(&token, 1, &token)

    cdef object _out_of(self, int64_t slot, uint32_t stop):
        """The text that came out of a slot. stop: what had ended its text before."""
        if self.slots[slot].stop != stop:
            self.stopped.append(slot)
        return PyUnicode_DecodeUTF8(<const char *>self.out.data, <Py_ssize_t>self.out.size, NULL)

    def flush(self, int64_t slot) -> str:
        """Ends a text: what is left of it, without what may still have become a stop string."""
        cdef st_decoder *one = self._at(slot)
        cdef uint32_t stop = one.stop
        with critical_section(self):
            self.stopped = []
            self.out.size = 0
            if st_decoder_feed(self.decoder.vocab.vocab, &self.decoder.vocab.names, NULL, 0, True, &self.scratch, one,
                               &self.out):
                raise MemoryError
            return self._out_of(slot, stop)

    # ---- text ----

    def pass_texts(self, list slots not None: list[int], list texts not None: list[bytes], bint final) -> list[str]:
        """The same for text, valid UTF-8, that was decoded elsewhere: a list of what leaves each slot. What fails, fails before
        anything changes."""
        cdef st_decoder *one
        cdef Py_ssize_t i
        cdef size_t held, most = 0
        cdef uint32_t stop
        made = []
        with critical_section(self):
            for i in range(len(slots)):
                st_decoder_held(self._at(slots[i]), &held)
                most += held + <size_t>len(<bytes?>texts[i])
            self.out.size = 0
            if st_bytes_reserve(&self.out, most):
                raise MemoryError
            self.stopped = []
            for i in range(len(slots)):
                one = self._at(slots[i])
                stop = one.stop
                self.out.size = 0
                if st_decoder_pass(<const uint8_t *>PyBytes_AS_STRING(texts[i]), <size_t>len(<bytes>texts[i]), final, one,
                                   &self.out):
                    raise MemoryError
                made.append(self._out_of(slots[i], stop))
        return made

    # ---- states ----

    def getstate(self, int64_t slot) -> tuple[bytes, bytes, int | None]:
        """(bytes of a cut character, bytes held back of stop strings, number of the stop string that was found or None)"""
        cdef st_decoder *one = self._at(slot)
        cdef size_t n
        cdef const uint8_t *held = st_decoder_held(one, &n)
        return (PyBytes_FromStringAndSize(<const char *>one.partial, one.partial_size),
                PyBytes_FromStringAndSize(<const char *>held, <Py_ssize_t>n), self.stop_of(slot))

    def setstate(self, int64_t slot, Matcher stops, bytes partial not None, bytes held not None, stop: int | None):
        """Brings a slot with these stop strings to a state. ValueError: no decoder can have been there."""
        cdef st_decoder *one = self._at(slot)
        cdef st_decoder made
        cdef size_t n = 0
        st_decoder_reset(&made, NULL if stops is None else stops.special)
        if held and stops is not None:
            made.node = st_special_walk(stops.special, <const uint8_t *>PyBytes_AS_STRING(held), <size_t>len(held))
            st_decoder_held(&made, &n)
        if <size_t>len(held) != n or len(partial) > 3 or (stop is not None and (stops is None or held)):
            raise ValueError("no decoder with these stop strings can have had this state")
        memcpy(made.partial, PyBytes_AS_STRING(partial), <size_t>len(partial))
        made.partial_size = <uint8_t>len(partial)
        made.stop = ST_NO_STOP if stop is None else stop
        with critical_section(self):
            one[0] = made
            self.stops[slot] = stops



