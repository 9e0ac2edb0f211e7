"""A vocabulary given by a list of merges, from its strings to arrays in the order of the core (csrc/vocab/merge_list.h)."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.unicode cimport (PyUnicode_1BYTE_KIND, PyUnicode_2BYTE_KIND, PyUnicode_AsUTF8String, PyUnicode_DATA,
                              PyUnicode_GET_LENGTH, PyUnicode_KIND)
from libc.stdint cimport uint8_t, uint16_t, uint32_t
from libc.string cimport memcpy, memset

from .csrc.base cimport *
from .csrc.vocab cimport *
from .interrupt cimport Scope, begin, check, end as end_scope

from ..errors import VocabularyError, shown

FIRST_FRAGMENT = ST_FIRST_FRAGMENT
"""The ids from here on are those of beginnings of characters (csrc/vocab/vocab.h)."""

SILENT = ST_SILENT
"""In place of a split: a token that no text becomes."""

HEADING = "#version"
"""A line that begins so is no merge: Hugging Face's library passes over it."""

cdef enum:
    HEADING_LENGTH = 8
    LETTERS = 324     # GPT-2's letters are below U+0144
    NO_LETTER = 256


cdef class Letters:
    """GPT-2's letters, as a table from a character to its byte."""
    cdef uint16_t[LETTERS] byte_of

    def __cinit__(self, dict letters not None):
        cdef int i
        for i in range(LETTERS):
            self.byte_of[i] = letters.get(chr(i), NO_LETTER)

    cdef Py_ssize_t write(self, text, Py_ssize_t start, Py_ssize_t stop, uint8_t *to) noexcept:
        """Writes the bytes of text[start:stop] and returns how many; -1 where a character is no letter."""
        cdef int kind = PyUnicode_KIND(text)
        cdef const uint8_t *narrow = <const uint8_t *>PyUnicode_DATA(text)
        cdef const uint16_t *wide = <const uint16_t *>PyUnicode_DATA(text)
        cdef Py_ssize_t i
        cdef uint16_t byte
        cdef uint32_t bad = 0
        if kind == PyUnicode_1BYTE_KIND:
            for i in range(start, stop):
                byte = self.byte_of[narrow[i]]
                bad |= byte
                to[i - start] = <uint8_t>byte
        elif kind == PyUnicode_2BYTE_KIND:
            for i in range(start, stop):
                byte = self.byte_of[wide[i]] if wide[i] < LETTERS else NO_LETTER
                bad |= byte
                to[i - start] = <uint8_t>byte
        else:
            bad = NO_LETTER
        return -1 if bad & NO_LETTER else stop - start


cdef Py_ssize_t blank_in(text, Py_ssize_t n) noexcept:
    """The place of the only blank; -1 where there is none, or another."""
    cdef int kind = PyUnicode_KIND(text)
    cdef const uint8_t *narrow = <const uint8_t *>PyUnicode_DATA(text)
    cdef const uint16_t *wide = <const uint16_t *>PyUnicode_DATA(text)
    cdef Py_ssize_t i, found = -1
    if kind != PyUnicode_1BYTE_KIND and kind != PyUnicode_2BYTE_KIND:
        return -1 if text.count(" ") != 1 else text.find(" ")
    for i in range(n):
        if (narrow[i] if kind == PyUnicode_1BYTE_KIND else wide[i]) == 32:
            if found >= 0:
                return -1
            found = i
    return found


cdef bytes array_of(size_t n):
    """Room for n uint32, as bytes that are still to be written."""
    return PyBytes_FromStringAndSize(NULL, <Py_ssize_t>(4 * n))


cdef uint32_t *numbers(bytes array) noexcept:
    return <uint32_t *>PyBytes_AS_STRING(array)


cdef class MergeList:
    """The tokens and merges of a file, read string by string; order() then gives what the core needs.

    vocab: token -> id; merges: "left right" or [left, right], all of one form; letters: GPT-2's. VocabularyError says which entry
    cannot be read."""
    cdef dict vocab
    cdef object merges
    cdef Letters letters
    cdef dict places     # name -> place, made when it is needed
    cdef dict odd        # number of a merge -> its parts, where one is not in letters
    cdef size_t count, merge_count, blob_size
    cdef bytes blob, lengths, ids, kinds, left, right, made

    def __cinit__(self, dict vocab not None, merges not None, Letters letters not None, uint32_t highest):
        self.vocab, self.merges, self.letters, self.odd = vocab, merges, letters, {}
        self.count, self.merge_count = len(vocab), len(merges)
        self.read_tokens(highest)
        if not self.read_merges():
            self.merges = [merge for merge in merges if not merge.startswith(HEADING)]
            self.merge_count = len(self.merges)
            self.odd.clear()
            self.read_merges()

    cdef read_tokens(self, uint32_t highest):
        cdef size_t at = 0, room = 0, place = 0
        cdef Py_ssize_t n
        for name in self.vocab:
            if type(name) is not str:
                raise VocabularyError(f"the token {shown(name)} is of type {type(name).__name__}; a str is needed")
            room += 4 * PyUnicode_GET_LENGTH(name)
        blob = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>room)
        self.lengths, self.ids = array_of(self.count), array_of(self.count)
        self.kinds = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>self.count)
        cdef uint8_t *to = <uint8_t *>PyBytes_AS_STRING(blob)
        cdef uint32_t *lengths = numbers(self.lengths)
        cdef uint32_t *ids = numbers(self.ids)
        cdef uint8_t *kinds = <uint8_t *>PyBytes_AS_STRING(self.kinds)
        for name, token in self.vocab.items():
            if type(token) is not int or not 0 <= token <= highest:
                raise VocabularyError(f"the id of {shown(name)} is {shown(token)}; ids are integers from 0 to {highest}")
            ids[place] = token
            n = self.letters.write(name, 0, PyUnicode_GET_LENGTH(name), to + at)
            kinds[place] = ST_TOKEN_START if n == 1 else ST_TOKEN_MADE
            if n < 0:
                raw = PyUnicode_AsUTF8String(name)
                n = len(raw)
                memcpy(to + at, PyBytes_AS_STRING(raw), n)
                kinds[place] = ST_TOKEN_SILENT
            if n == 0:
                raise VocabularyError("there is a token without characters, which no text could ever hold")
            lengths[place] = <uint32_t>n
            at += n
            place += 1
        self.blob, self.blob_size = blob, at
        self.check_ids(highest)

    cdef check_ids(self, uint32_t highest):
        cdef bytearray seen = bytearray(highest + 1)
        cdef uint8_t *of = seen
        cdef const uint32_t *ids = numbers(self.ids)
        cdef size_t i
        cdef uint8_t twice = 0
        for i in range(self.count):
            twice |= of[ids[i]]
            of[ids[i]] = 1
        if not twice:
            return
        first = {}
        for name, token in self.vocab.items():
            if token in first:
                raise VocabularyError(f"{shown(first[token])} and {shown(name)} both have id {token}; give each its own")
            first[token] = name

    cdef bint read_merges(self) except -1:
        """The tokens of all merges. False, and nothing is read, where a line of heading is among them."""
        cdef size_t m, n = self.merge_count, room = 0, at = 0
        cdef st_bytes parts
        cdef Py_ssize_t split, size, a, b
        cdef bytes part_lengths = array_of(2 * n)
        cdef uint32_t *lengths = numbers(part_lengths)
        cdef uint8_t *to
        memset(&parts, 0, sizeof(parts))
        merges = self.merges
        cdef bint joined = n > 0 and type(merges[0]) is str
        try:
            for m in range(n):
                merge = merges[m]
                if joined:
                    if type(merge) is not str:
                        raise self.no_merge(m, merge)
                    if PyUnicode_GET_LENGTH(merge) >= HEADING_LENGTH and merge[0] == "#" and merge.startswith(HEADING):
                        return False
                    left = right = merge
                    size = PyUnicode_GET_LENGTH(merge)
                    split = blank_in(merge, size)
                    if split < 0:
                        raise self.no_merge(m, merge)
                else:
                    if (type(merge) is not list and type(merge) is not tuple) or len(merge) != 2:
                        raise self.no_merge(m, merge)
                    left, right = merge
                    if type(left) is not str or type(right) is not str:
                        raise self.no_merge(m, merge)
                    split, size = PyUnicode_GET_LENGTH(left), PyUnicode_GET_LENGTH(right)
                if at + split + size > room:
                    if st_bytes_reserve(&parts, split + size + 64 * n):
                        raise MemoryError
                    room = parts.capacity
                to = parts.data + at
                a = self.letters.write(left, 0, split, to)
                b = self.letters.write(right, split + 1 if joined else 0, size, to + a) if a >= 0 else -1
                if b < 0:
                    self.odd[m] = (left[:split], right[split + 1:] if joined else right)
                    a = b = 0
                lengths[2 * m], lengths[2 * m + 1] = <uint32_t>a, <uint32_t>b
                at += a + b
                parts.size = at
            self.find_tokens(parts.data, lengths)
            return True
        finally:
            st_bytes_free(&parts)

    cdef find_tokens(self, const uint8_t *parts, const uint32_t *part_lengths):
        cdef size_t n = self.merge_count, m, bad = 0
        cdef st_merge_names names
        cdef st_status status
        cdef Scope scope
        self.left, self.right, self.made = array_of(n), array_of(n), array_of(n)
        cdef uint32_t *left = numbers(self.left)
        cdef uint32_t *right = numbers(self.right)
        cdef uint32_t *made = numbers(self.made)
        cdef const uint8_t *blob = <const uint8_t *>PyBytes_AS_STRING(self.blob)
        cdef bytes silent = self.kinds.translate(bytes([0, 0, 1]) + bytes(253))
        cdef const uint8_t *skip = <const uint8_t *>PyBytes_AS_STRING(silent)
        cdef const uint32_t *lengths = numbers(self.lengths)
        cdef size_t count = self.count
        begin(&scope, NULL)
        with nogil:
            status = st_merge_names_init(&names, blob, lengths, skip, count, &bad)
            if status == ST_OK:
                status = st_merge_names_find(&names, parts, part_lengths, n, left, right, made)
                st_merge_names_free(&names)
        end_scope(&scope)
        check(&scope)
        if status:
            raise MemoryError
        for m in range(n):
            if left[m] == ST_NONE or right[m] == ST_NONE or made[m] == ST_NONE:
                self.find_odd(m, left, right, made)

    cdef find_odd(self, size_t m, uint32_t *left, uint32_t *right, uint32_t *made):
        """The tokens of a merge that has a part that is not in letters."""
        parts = self.odd.get(m) or self.parts_of(m)
        if self.places is None:
            self.places = {name: place for place, name in enumerate(self.vocab)}
        for name in (*parts, "".join(parts)):
            if name not in self.places:
                raise VocabularyError(f"merges[{m}], {shown(self.merges[m])}: {shown(name)} is not in the vocabulary")
        left[m], right[m], made[m] = self.places[parts[0]], self.places[parts[1]], self.places["".join(parts)]

    cdef tuple parts_of(self, size_t m):
        merge = self.merges[m]
        return tuple(merge.split(" ")) if type(merge) is str else tuple(merge)

    cdef no_merge(self, size_t m, merge):
        return VocabularyError(f"merges[{m}] is {shown(merge)}, no merge of two tokens in the form of the first one")

    def missing_bytes(self):
        """The bytes that are no tokens."""
        cdef size_t i, at = 0
        cdef const uint32_t *lengths = numbers(self.lengths)
        there = set()
        for i in range(self.count):
            if self.kinds[i] == ST_TOKEN_START:
                there.add(self.blob[at])
            at += lengths[i]
        return [value for value in range(256) if value not in there]

    def order(self, bint whole):
        """What ordered() gives for them."""
        return ordered(self.blob, self.lengths, self.ids, self.kinds, self.left, self.right, self.made, whole)


KINDS = {"made": ST_TOKEN_MADE, "start": ST_TOKEN_START, "silent": ST_TOKEN_SILENT}
"""What a token can be (csrc/vocab/merge_list.h)."""


def ordered(bytes blob not None, bytes lengths not None, bytes ids not None, bytes kinds not None, bytes left not None,
            bytes right not None, bytes made not None, bint whole):
    """(bytes of all tokens joined, lengths, ids, splits, whether the list is in order) by index: uint32 as bytes.

    blob, lengths, ids, kinds: of the tokens, in any order, their places; left, right, made: the places of each merge's tokens.
    whole: tokens that no merge makes are found as whole pieces; otherwise they are silent."""
    cdef st_merge_list listed
    cdef st_status status
    cdef Scope scope
    cdef int in_order = 0
    cdef size_t n = len(kinds), i, at = 0
    order, splits = array_of(n), array_of(n)
    cdef uint32_t *places = numbers(order)
    cdef uint32_t *split_of = numbers(splits)
    listed.bytes = <const uint8_t *>PyBytes_AS_STRING(blob)
    listed.lengths, listed.ids = numbers(lengths), numbers(ids)
    listed.kinds = <const uint8_t *>PyBytes_AS_STRING(kinds)
    listed.left, listed.right, listed.made = numbers(left), numbers(right), numbers(made)
    listed.count, listed.merges = n, len(made) // 4
    begin(&scope, NULL)
    with nogil:
        status = st_merge_list_order(&listed, places, split_of, &in_order)
    end_scope(&scope)
    check(&scope)
    if status == ST_TOO_MANY_TOKENS:
        raise VocabularyError(f"{n} tokens and {listed.merges} merges, more than 2**21 together")
    if status:
        raise MemoryError
    starts = array_of(n)
    cdef uint32_t *start_of = numbers(starts)
    for i in range(n):
        start_of[i] = <uint32_t>at
        at += listed.lengths[i]
    joined, sizes, numbered = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>at), array_of(n), array_of(n)
    cdef uint8_t *to = <uint8_t *>PyBytes_AS_STRING(joined)
    cdef uint32_t *to_lengths = numbers(sizes)
    cdef uint32_t *to_ids = numbers(numbered)
    for i in range(n):
        to_lengths[i] = listed.lengths[places[i]]
        to_ids[i] = listed.ids[places[i]]
        if not whole and not split_of[i] and listed.kinds[places[i]] == ST_TOKEN_MADE:
            split_of[i] = ST_SILENT
        memcpy(to, listed.bytes + start_of[places[i]], to_lengths[i])
        to += to_lengths[i]
    return joined, sizes, numbered, splits, bool(in_order)
