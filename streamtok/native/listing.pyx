"""The two long lists of a model file, read by the core: tokens with ids, and merges (csrc/listing/listing.h)."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t, uint32_t

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
    cdef st_span vocab, merges
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
        cdef st_span span
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
        cdef st_span span
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
