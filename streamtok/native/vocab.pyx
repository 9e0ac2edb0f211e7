"""The vocabulary as a Python object; see encode.pyx for what encodes with it."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.long cimport PyLong_FromUnsignedLong
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from cpython.number cimport PyNumber_Index
from cpython.ref cimport Py_INCREF, Py_XDECREF, PyObject
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memset

import sys

from .csrc.base cimport *
from .csrc.vocab cimport *
from .csrc.cut cimport *
from .csrc.image cimport *
from .csrc.lookup cimport *
from .csrc.models cimport *
from .model cimport model_of
from .interrupt cimport Scope, begin, check, end as end_scope
from .memory cimport Bytes, Items, bytes_in, memory_of
from ..errors import VocabularyError


# Without the GIL one thread could see an int that another has half made; in such builds every list makes its own ints.
cdef extern from *:
    """
    #ifdef Py_GIL_DISABLED
    #define ST_SHARE_INTS 0
    #else
    #define ST_SHARE_INTS 1
    #endif
    """
    bint ST_SHARE_INTS


cdef bytes widened(object items, str what):
    """uint32 items as bytes, from a buffer of uint8 or uint32."""
    view = memoryview(items).cast("B")
    if memoryview(items).itemsize == 4:
        return bytes(view)
    cdef Py_ssize_t n = len(view), i
    result = PyBytes_FromStringAndSize(NULL, 4 * n)
    cdef uint32_t *wide = <uint32_t *>PyBytes_AS_STRING(result)
    cdef Items narrow = bytes_in(view)
    for i in range(n):
        wide[i] = (<const uint8_t *>narrow.data)[i]
    return result


@cython.no_gc_clear  # it would let go of the buffer of the image without releasing it
cdef class Vocab:
    """Tokens, their merges, and the names of special tokens; immutable, safe to share between threads.

    blob: token bytes joined in rank order; lengths: uint8 or uint32 a token; ranks: uint32 a token, ascending unless any_order
    is set, None for 0, 1, 2, ...; splits: as st_vocab_source has them, or None; special_tokens: name -> id; words: None or (bytes joined,
    a byte of length each) of frequent words, the most frequent first. Or none of these but special_tokens and `image`, a
    buffer at a multiple of 64 bytes that to_image() filled, or the compact form of one; VocabularyError if it is anything else; deep: all
    of it is looked at, as it may come from anybody, and it is not compact. others: id -> bytes, of further ids to decode. model: the name of its model (model.pyx); where it does not
    merge, of the splits only that of a silent token counts. own: what the model keeps with the vocabulary."""
    def __cinit__(
        self, bytes blob, lengths: _Data | None, ranks: _Data | None, splits: _Data | None, dict special_tokens not None: dict[str, int],
        uint32_t dense_side=0, tuple words: tuple[bytes, bytes] | None = None, image: _Data | None = None, bint any_order=False,
        dict others: dict[int, bytes] | None = None, str model not None="bpe", bytes own=None, bint deep=False,
    ):
        if image is None:
            self._build(blob, lengths, ranks, splits, dense_side, words, any_order, model, own)
        else:
            self._open(image, deep)
        self._set_names(special_tokens, others or {})

    cdef _build(self, bytes blob, lengths, ranks, splits, uint32_t dense_side, tuple words, bint any_order, str model,
                bytes own):
        cdef bytes wide_lengths = widened(lengths, "lengths"), wide_ranks, wide_splits
        cdef st_vocab_source source
        cdef size_t bad = 0, i
        cdef st_status status
        cdef Scope scope
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
        cdef bytes word_bytes = b"" if words is None else words[0]
        cdef bytes word_lengths = b"" if words is None else words[1]
        cdef const uint8_t *word_data = <const uint8_t *>PyBytes_AS_STRING(word_bytes)
        cdef const uint8_t *word_sizes = <const uint8_t *>PyBytes_AS_STRING(word_lengths)
        source.words = len(word_lengths)
        source.any_order = any_order
        source.model = model_of(model)
        if own is not None:
            source.own, source.own_size = <const void *>PyBytes_AS_STRING(own), <size_t>len(own)
        begin(&scope, NULL)
        with nogil:
            status = st_vocab_new(&source, dense_side, &self.vocab, &bad)
            if status == ST_OK:
                status = st_vocab_add_words(self.vocab, word_data, word_sizes, source.words)
        end_scope(&scope)
        check(&scope)
        if status == ST_NO_MEMORY:
            raise MemoryError
        if status:
            raise VocabularyError(f"{st_strerror(status).decode()} (token {bad} in rank order)")

    cdef PyObject **shared_ints(self) noexcept:
        """The table of ints by id, NULL where an int was not made yet; or NULL if there is no memory for a table."""
        if self.ints == NULL and ST_SHARE_INTS:
            self.int_count = <size_t>st_vocab_highest(self.vocab) + 1
            self.ints = <PyObject **>PyMem_Calloc(self.int_count, sizeof(PyObject *))
        return self.ints

    cdef object int_of(self, uint32_t token):
        """The int of an id, made where there is none yet."""
        if token < self.int_count and self.ints[token] != NULL:
            return <object>self.ints[token]
        made = PyLong_FromUnsignedLong(token)
        if token < self.int_count:
            Py_INCREF(made)  # the table's own reference
            self.ints[token] = <PyObject *>made
        return made

    cdef _open(self, image, bint deep):
        cdef st_status status
        cdef Items given = bytes_in(image)
        cdef const uint8_t *data = <const uint8_t *>given.data
        cdef size_t n = <size_t>given.n
        cdef bint is_compact = not deep and st_image_is_compact(data, n)
        if not is_compact:  # of what a memoryview is of: the garbage collector clears a memoryview while its buffer is in use
            self.image = bytes_in(image.obj if isinstance(image, memoryview) else image)
        with nogil:
            if is_compact:
                status = st_image_open_compact(data, n, st_model_named, &self.vocab)
            elif deep:
                status = st_image_open_foreign(data, n, st_model_named, &self.vocab)
            else:
                status = st_image_open(data, n, st_model_named, &self.vocab)
        if status == ST_NO_MEMORY:
            raise MemoryError
        if status:
            raise VocabularyError(st_strerror(status).decode())

    def to_image(self, bint whole_tokens=False) -> bytes:
        """All tables as bytes, ready to be mapped: what the argument `image` takes, also in another process. whole_tokens:
        as a GPU needs them (csrc/image/image.h)."""
        return self.write_image(bytes, whole_tokens)

    def write_image(self, write: Callable[[memoryview], _T], bint whole_tokens=False, bint compact=False) -> _T:
        """What write() returns for to_image() as a memoryview, which must not be used afterwards: no copy is made. compact: the
        form of a package, a third of the bytes, which the argument `image` takes, too."""
        cdef Bytes out = Bytes.__new__(Bytes), image
        cdef st_status status
        with nogil:
            status = st_image_write(self.vocab, whole_tokens, &out.own)
        if compact and not status:
            image, out = out, Bytes.__new__(Bytes)
            with nogil:
                status = st_image_compact(image.own.data, image.own.size, &out.own)
        if status:
            raise MemoryError
        with memoryview(memory_of(out, out.own.data, out.own.size)) as view:
            return write(view)

    def to_packed(self) -> tuple[bytes, bytes, bytes | None, bytes]:
        """(blob, lengths, ranks, splits) that make the same tokens again; no token has more than 255 bytes."""
        cdef const st_vocab *v = self.vocab
        cdef uint32_t i, left
        if v.max_length > 255:
            raise ValueError(f"a token has {v.max_length} bytes, and a length is a byte")
        lengths, splits = PyBytes_FromStringAndSize(NULL, v.count), PyBytes_FromStringAndSize(NULL, v.count)
        cdef uint8_t *to_lengths = <uint8_t *>PyBytes_AS_STRING(lengths)
        cdef uint8_t *to_splits = <uint8_t *>PyBytes_AS_STRING(splits)
        for i in range(v.count):
            left = v.left[i]
            to_lengths[i] = <uint8_t>st_token_length(v, i)
            to_splits[i] = 0 if left == ST_NONE else <uint8_t>st_token_length(v, left)
        blob = PyBytes_FromStringAndSize(<const char *>v.bytes, <Py_ssize_t>v.starts[v.count])
        ranks = None if v.identity else PyBytes_FromStringAndSize(<const char *>v.ids, <Py_ssize_t>(4 * v.count))
        return blob, lengths, ranks, splits

    def to_merged(self) -> tuple[bytes, bytes, bytes, bytes]:
        """(blob, lengths, ids, splits) by index, uint32 as bytes: what the constructor takes with any_order set."""
        cdef const st_vocab *v = self.vocab
        cdef uint32_t i
        cdef size_t size = 4 * <size_t>v.count
        lengths, splits = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>size), PyBytes_FromStringAndSize(NULL, <Py_ssize_t>size)
        cdef uint32_t *to_lengths = <uint32_t *>PyBytes_AS_STRING(lengths)
        cdef uint32_t *to_splits = <uint32_t *>PyBytes_AS_STRING(splits)
        for i in range(v.count):
            to_lengths[i] = <uint32_t>st_token_length(v, i)
            to_splits[i] = 0
            if v.left[i] != ST_NONE:
                to_splits[i] = <uint32_t>st_token_length(v, v.left[i])
            elif st_token_is_silent(v, i):
                to_splits[i] = ST_SILENT
        blob = PyBytes_FromStringAndSize(<const char *>v.bytes, <Py_ssize_t>v.starts[v.count])
        return blob, lengths, PyBytes_FromStringAndSize(<const char *>v.ids, <Py_ssize_t>size), splits

    @staticmethod
    def image_header(bytes image not None) -> tuple[dict[str, int], list[int], dict[str, tuple[int, int]]]:
        """(numbers, byte tokens, places) of an image that to_image() made: a dict of counts and shifts, the token of each
        byte, and (start, size) of each section in bytes, by the names of image/image.h."""
        cdef const st_image_header *h = <const st_image_header *>PyBytes_AS_STRING(image)
        names = (
            "bytes", "starts", "ids", "sorted_ids", "by_id", "left", "right", "dense", "slots", "entries", "more", "longs", "own", "cuts",
            "machine",
        )
        numbers = {
            "count": h.count, "unreachable": h.unreachable, "monotone": h.monotone, "identity": h.identity,
            "dense_side": h.dense_side, "pair_shift": h.pair_shift, "piece_shift": h.piece_shift, "long_mask": h.long_mask,
        }
        places = {name: (h.sections[i].start, h.sections[i].size) for i, name in enumerate(names)}
        return numbers, [h.byte_token[i] for i in range(256)], places

    def __dealloc__(self):
        cdef size_t i
        st_vocab_free(self.vocab)
        if self.ints != NULL:
            for i in range(self.int_count):
                Py_XDECREF(self.ints[i])
            PyMem_Free(self.ints)

    cdef _set_names(self, dict special_tokens, dict others):
        self.special_tokens = special_tokens
        by_id = sorted([*((token, name.encode("utf-8")) for name, token in special_tokens.items()), *others.items()])
        starts, ids, at = bytearray(), bytearray(), 0
        for token, name in by_id:
            starts += at.to_bytes(sizeof(size_t), sys.byteorder)
            ids += token.to_bytes(4, sys.byteorder)
            at += len(name)
        starts += at.to_bytes(sizeof(size_t), sys.byteorder)
        self.name_bytes = b"".join(name for _, name in by_id)
        self.name_starts, self.name_ids = bytes(starts), bytes(ids)
        self.names.bytes = <const uint8_t *>PyBytes_AS_STRING(self.name_bytes)
        self.names.starts = <const size_t *>PyBytes_AS_STRING(self.name_starts)
        self.names.ids = <const uint32_t *>PyBytes_AS_STRING(self.name_ids)
        self.names.count = len(by_id)

    @property
    def highest_id(self) -> int:
        return st_vocab_highest(self.vocab)

    @property
    def highest_other(self) -> int:
        """The highest id that a special token or another token that no text becomes has; 0 without any."""
        return (<const uint32_t *>self.names.ids)[self.names.count - 1] if self.names.count else 0

    def other_ids(self) -> list[int]:
        """The ids of special tokens and of others that no text becomes, in a list, ascending."""
        cdef size_t i
        return [(<const uint32_t *>self.names.ids)[i] for i in range(self.names.count)]

    @property
    def count(self) -> int:
        return self.vocab.count - self.vocab.fragments

    @property
    def fragments(self) -> int:
        """Beginnings of characters that merging makes and no id stands for, or bytes that no text holds (vocab/fragment_ids.h)."""
        return self.vocab.fragments

    @property
    def unreachable(self) -> int:
        return self.vocab.unreachable

    @property
    def model(self) -> str:
        """The name of the model: that which was asked for, or "characters" where merging can leave the beginning of a character,
        in whose place the encoder puts the ids of its bytes."""
        return self.vocab.model.name.decode()

    @property
    def own(self) -> bytes | None:
        """What the model keeps with the vocabulary, or None."""
        return PyBytes_FromStringAndSize(<const char *>self.vocab.own, <Py_ssize_t>self.vocab.own_size) if self.vocab.own_size else None

    @property
    def monotone(self) -> bool:
        return bool(self.vocab.monotone)

    def find(self, bytes token not None) -> int | None:
        """The id of an ordinary token's bytes, or None."""
        cdef uint32_t index = st_vocab_find(self.vocab, <const uint8_t *>PyBytes_AS_STRING(token), len(token))
        return None if index == ST_NONE or self.vocab.ids[index] >= ST_FIRST_FRAGMENT else self.vocab.ids[index]

    def cuts(self, bytes piece not None) -> list[int]:
        """Offsets inside a piece (UTF-8) at which no token spans the border, ascending (csrc/cut/cuts.h). MemoryError without
        memory for their tables."""
        cdef const st_cuts *cuts = st_vocab_cuts(self.vocab)
        cdef uint32_t borders[64]
        cdef size_t at = 0, found = 64, i
        if cuts == NULL:
            raise MemoryError
        offsets = []
        while found == 64:
            found = st_cuts_find(cuts, <const uint8_t *>PyBytes_AS_STRING(piece), len(piece), &at, borders, 64)
            offsets += [borders[i] for i in range(found)]
        return offsets

    def merge(self, bytes data not None) -> list[int]:
        """A list of ids of bytes by the definition of the model alone: not even a token is looked up as a whole."""
        cdef st_workspace *workspace = st_workspace_borrow(self.vocab)
        cdef st_ids out
        cdef st_status status
        memset(&out, 0, sizeof(out))
        if workspace == NULL:
            raise MemoryError
        try:
            status = st_encode_span(self.vocab, workspace, ST_ENGINE_REFERENCE, <const uint8_t *>PyBytes_AS_STRING(data), len(data), 0,
                                    &out)
            if not status:
                status = st_vocab_spell(self.vocab, &out, 0)
            if status == ST_MISSING_BYTE:
                raise ValueError("the bytes hold one that is no token of this vocabulary")
            if status:
                raise MemoryError
            return [out.data[i] for i in range(out.size)]
        finally:
            st_workspace_return(self.vocab, workspace)
            st_ids_free(&out)

    def token_bytes(self, token: int) -> bytes:
        """The bytes of one id, special tokens included. KeyError if it is unknown."""
        cdef size_t n = 0
        cdef uint32_t value = PyNumber_Index(token)  # Cython's own conversion would accept a float
        cdef const uint8_t *data = st_decode_one(self.vocab, &self.names, value, &n)
        if data == NULL:
            raise KeyError(str(value))
        return PyBytes_FromStringAndSize(<const char *>data, <Py_ssize_t>n)


IMAGE_VERSION: int = ST_IMAGE_VERSION
