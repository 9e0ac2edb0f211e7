"""Lists of frequent words: unpacked, and chosen for a pattern and a vocabulary."""

from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport uint8_t

from .csrc.base cimport *
from .csrc.split cimport *
from .csrc.text cimport *
from .csrc.vocab cimport *
from .interrupt cimport Scope, begin, finish
from .memory cimport Bytes
from .pattern cimport Pattern
from .vocab cimport Vocab

from ..errors import VocabularyError


def read_word_list(
    bytes shared not None, bytes rest_lengths not None, bytes rests not None, bytes levels not None, *, unsigned shift, unsigned least,
) -> tuple[bytes, bytes]:
    """(words joined, a byte of length each) of a packed list (csrc/vocab/packed_words.h); VocabularyError if it is none."""
    cdef st_word_list packed
    cdef Bytes words = Bytes.__new__(Bytes), lengths = Bytes.__new__(Bytes)
    cdef st_status status
    if not len(shared) == len(rest_lengths) == len(levels):
        raise VocabularyError("its lists are of different lengths")
    packed.shared = <const uint8_t *>PyBytes_AS_STRING(shared)
    packed.rest_lengths = <const uint8_t *>PyBytes_AS_STRING(rest_lengths)
    packed.rests = <const uint8_t *>PyBytes_AS_STRING(rests)
    packed.levels = <const uint8_t *>PyBytes_AS_STRING(levels)
    packed.count, packed.rest_size = len(levels), len(rests)
    with nogil:
        status = st_word_list_read(&packed, shift, least, &words.own, &lengths.own)
    if status == ST_BAD_WORDS:
        raise VocabularyError(st_strerror(status).decode())
    if status:
        raise MemoryError
    return bytes(words), bytes(lengths)


cdef st_status choose(const st_vocab *vocab, st_pattern pattern, const uint8_t *text, const uint8_t *sizes, size_t count,
                      size_t most, st_bytes *words, st_bytes *lengths) noexcept nogil:
    cdef st_status status = ST_OK
    cdef st_text_error error
    cdef size_t i
    for i in range(count):
        if i % 256 == 0 and not status:
            status = st_go_on(1 << 16)
        if status or lengths.size == most:
            break
        if sizes[i] and st_text_check(text, sizes[i], &error) == sizes[i] and st_vocab_find(vocab, text, sizes[i]) == ST_NONE \
                and st_scan_is_piece(pattern, text, sizes[i]):
            status = st_bytes_append(words, text, sizes[i])
            if not status:
                status = st_bytes_append(lengths, &sizes[i], 1)
        text += sizes[i]
    return status


def room_for_words(Vocab vocab not None, size_t least) -> int:
    """How many words there is room for in the smallest table of pieces that holds the tokens and `least` words."""
    cdef const st_vocab *v = vocab.vocab
    cdef size_t tokens = 0
    cdef uint32_t i
    for i in range(v.count):
        tokens += st_token_length(v, i) <= ST_KEY_BYTES
    return st_piece_table_room(tokens + least) - tokens


def chosen_words(
    Vocab vocab not None, Pattern pattern not None, bytes words not None, bytes lengths not None, size_t most,
) -> tuple[bytes, bytes]:
    """(words joined, a byte of length each) of the first `most` of the words, given alike, that the pattern gives as one piece
    and that are no token: what the argument `words` of Vocab takes to gain from it."""
    cdef Bytes found = Bytes.__new__(Bytes), sizes = Bytes.__new__(Bytes)
    cdef st_status status
    cdef Scope scope
    cdef const uint8_t *text = <const uint8_t *>PyBytes_AS_STRING(words)
    cdef const uint8_t *of_each = <const uint8_t *>PyBytes_AS_STRING(lengths)
    cdef size_t count = <size_t>len(lengths)
    if sum(lengths) != len(words):
        raise ValueError("the lengths are not those of the words")
    begin(&scope, NULL)
    with nogil:
        status = choose(vocab.vocab, pattern.pattern, text, of_each, count, most, &found.own, &sizes.own)
    finish(&scope, status)
    return bytes(found), bytes(sizes)
