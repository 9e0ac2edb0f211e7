"""The two long lists of a model file, read by the core: tokens with ids, and merges (csrc/listing/listing.h)."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from .csrc.base cimport *
from .csrc.listing cimport *
from .csrc.vocab cimport ST_NONE
from .ids cimport IdBuffer
from .interrupt cimport Scope, begin, finish


class ListError(Exception):
    """A list is malformed: why, the byte of the file, and the number of the entry."""

    #: reason: str
    #: at: int
    #: entry: int

    def __init__(self, reason: str, at: int, entry: int):
        super().__init__(reason, at, entry)
        self.reason, self.at, self.entry = reason, at, entry


cdef object list_error(const st_listing_fault *fault):
    return ListError(fault.reason.decode(), fault.at, fault.entry)


cdef int finish_list(Scope *scope, st_status status, const st_listing_fault *fault) except -1:
    finish(scope, ST_OK if status == ST_BAD_LIST else status)
    if status == ST_BAD_LIST:
        raise list_error(fault)
    return 0


def list_spans(bytes text not None) -> tuple[tuple[int, int], tuple[int, int]]:
    """The (start, end) of the members `vocab` and `merges` of the member `model` of a JSON object in UTF-8; (0, 0) where there
    is none. ListError."""
    cdef st_listing_span vocab, merges
    cdef st_listing_fault fault
    if not st_listing_find(<const uint8_t *>PyBytes_AS_STRING(text), &vocab, &merges, &fault):
        raise list_error(&fault)
    return (vocab.start, vocab.end), (merges.start, merges.end)


cdef bytes words_of(const st_ids *ids):
    return PyBytes_FromStringAndSize(<const char *>ids.data, <Py_ssize_t>(ids.size * sizeof(uint32_t)))


cdef bytes bytes_of(const st_bytes *data):
    return PyBytes_FromStringAndSize(<const char *>data.data, <Py_ssize_t>data.size)


cdef class Listing:
    """Tokens with their ids, from text[start:end], a JSON object in valid UTF-8; or with scores, from an array of pairs, where the ids
    are 0, 1, 2, ... ListError where it is malformed, names a token twice (which an array may), or has an id that is no whole number
    from 0 to 2**31 - 1. Arrays are bytes of uint32, in the order of the file."""
    cdef st_listing listing

    def __cinit__(self, bytes text not None, size_t start, size_t end):
        cdef st_listing_span span
        cdef st_listing_fault fault
        cdef st_status status
        cdef Scope scope
        cdef const uint8_t *data = <const uint8_t *>PyBytes_AS_STRING(text)
        span.start, span.end = min(start, <size_t>len(text)), min(end, <size_t>len(text))
        begin(&scope, NULL)
        with nogil:
            status = st_listing_read(&self.listing, data, span, &fault)
        finish_list(&scope, status, &fault)

    def __dealloc__(self):
        st_listing_free(&self.listing)

    def __len__(self):
        return self.listing.ids.size

    @property
    def ids(self) -> bytes:
        return words_of(&self.listing.ids)

    @property
    def lengths(self) -> bytes:
        """Bytes of each token."""
        return words_of(&self.listing.lengths)

    @property
    def letters(self) -> bytes:
        """A byte a token: 1 where it is in letters, 0 where it is not."""
        return bytes_of(&self.listing.letters)

    @property
    def blob(self) -> bytes:
        """The bytes of the tokens, joined: what their letters stand for, or the token as the file has it."""
        return bytes_of(&self.listing.bytes)

    @property
    def scores(self) -> bytes:
        """The scores of the tokens as doubles; b"" where the list has ids."""
        return bytes_of(&self.listing.scores)

    @property
    def repeated(self) -> bytes:
        """The numbers of the tokens that come again in a list with scores."""
        return words_of(&self.listing.repeated)

    @property
    def texts(self) -> bytes:
        """The tokens as the file has them, joined."""
        return bytes_of(&self.listing.text)

    @property
    def starts(self) -> bytes:
        """Where each begins in `texts`, and where the last one ends."""
        return words_of(&self.listing.starts)

    def text(self, size_t i) -> str:
        """A token as the file has it."""
        if i >= self.listing.ids.size:
            raise IndexError(i)
        cdef uint32_t start = self.listing.starts.data[i], end = self.listing.starts.data[i + 1]
        return PyBytes_FromStringAndSize(<const char *>self.listing.text.data + start, <Py_ssize_t>(end - start)).decode()

    def find(self, str token not None) -> int | None:
        """The number of a token as the file has it, or None."""
        cdef bytes data = token.encode("utf-8", "surrogatepass")
        cdef uint32_t found = st_listing_number(&self.listing, <const uint8_t *>PyBytes_AS_STRING(data), len(data))
        return None if found == ST_NONE else found

    def merges(self, bytes text not None, size_t start, size_t end, size_t prefix=0) -> bytes:
        """Numbers of tokens: left, right and what they make, of each merge in text[start:end], a JSON array in valid UTF-8.
        prefix: bytes of the right one that are not in what is made. ListError where it is malformed or names what is no token."""
        cdef st_listing_span span
        cdef st_listing_fault fault
        cdef IdBuffer merges = IdBuffer.__new__(IdBuffer)
        cdef st_status status
        cdef Scope scope
        cdef const uint8_t *data = <const uint8_t *>PyBytes_AS_STRING(text)
        span.start, span.end = min(start, <size_t>len(text)), min(end, <size_t>len(text))
        begin(&scope, NULL)
        with nogil:
            status = st_listing_merges(&self.listing, data, span, prefix, &merges.ids, &fault)
        finish_list(&scope, status, &fault)
        return words_of(&merges.ids)


def read_real(bytes text not None) -> float:
    """The number that a JSON text is, as tokenizers reads it (csrc/listing/json.h). ValueError: it is none."""
    cdef st_json json
    json.at, json.fault = <const uint8_t *>PyBytes_AS_STRING(text), NULL
    cdef double value = st_json_real(&json)
    if json.fault != NULL or json.at != <const uint8_t *>PyBytes_AS_STRING(text) + len(text):
        raise ValueError(f"{text!r} is no number")
    return value


def usual_pieces(bytes data not None, size_t most) -> tuple[bytes, bytes, bytes, bytes, bytes, int]:
    """The pieces that a .model of SentencePiece begins with, `most` of them at most, as long as each is a text of less than 128 bytes, a
    score, and a type if it is no normal one: (their texts, joined; of each the size, uint32; the score, float; the type, a byte; the
    place in the file, uint64; where the first other one begins, or a bad one). No text begins inside of a character, and whether all
    are UTF-8 the caller has to look."""
    cdef const uint8_t *text = <const uint8_t *>PyBytes_AS_STRING(data)
    cdef size_t n = len(data), at = 0, count = 0, size, length, behind
    cdef bytes texts = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>n), kinds = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>(n // 9 + 1))
    cdef bytes sizes = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>(4 * (n // 9 + 1))), scores = PyBytes_FromStringAndSize(NULL, len(sizes))
    cdef bytes places = PyBytes_FromStringAndSize(NULL, 2 * len(sizes))
    cdef uint8_t *to = <uint8_t *>PyBytes_AS_STRING(texts)
    cdef uint8_t *kind = <uint8_t *>PyBytes_AS_STRING(kinds)
    cdef uint32_t *sized = <uint32_t *>PyBytes_AS_STRING(sizes)
    cdef uint64_t *placed = <uint64_t *>PyBytes_AS_STRING(places)
    cdef float *scored = <float *>PyBytes_AS_STRING(scores)
    while count < most and n - at > LARGEST_PIECE and text[at] == 10 and text[at + 2] == 10:
        size, length = text[at + 1], text[at + 3]
        behind = at + 4 + length
        if size > 127 or length < 1 or length > 127 or text[behind] != 0x15 or text[at + 4] & 0xC0 == 0x80:
            break
        if size != length + 7 and (size != length + 9 or text[behind + 5] != 0x18 or not 1 <= text[behind + 6] <= 6):
            break
        kind[count] = 1 if size == length + 7 else text[behind + 6]
        sized[count], placed[count] = <uint32_t>length, at + 2
        scored[count] = read_float(text + behind + 1)
        if scored[count] != scored[count]:
            break
        memcpy(to, text + at + 4, length)
        to += length
        at += 2 + size
        count += 1
    size = to - <uint8_t *>PyBytes_AS_STRING(texts)
    return texts[:size], sizes[: 4 * count], scores[: 4 * count], kinds[:count], places[: 8 * count], at


cdef enum:
    LARGEST_PIECE = 2 + 0x7F + 0xFF  # bytes that are read of one


cdef float read_float(const uint8_t *data) noexcept:
    """Of four bytes, the lowest first."""
    cdef uint32_t bits = data[0] | <uint32_t>data[1] << 8 | <uint32_t>data[2] << 16 | <uint32_t>data[3] << 24
    cdef float value
    memcpy(&value, &bits, 4)
    return value
