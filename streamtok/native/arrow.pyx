"""Columns of text that other libraries hold, and lists of ids for them, by Arrow's C data interface: three structures whose layout
Arrow has frozen. The text is read where it lies.

The interface hands over pointers without sizes. All that can be seen to be wrong is refused: offsets that go backwards or below
zero, views outside of their buffers, buffers that are missing. Whether a buffer is as long as its offsets say, only the producer knows."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_New
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.stdint cimport int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memset, strcmp

from .csrc.base cimport st_number_read, st_read_once
from .csrc.stream cimport ST_FEED_SHARED
from .csrc.threads cimport st_job_text
from .memory cimport Items, items_of
from .texts cimport Texts

# ==== The interface ====

cdef struct ArrowSchema:
    const char *format
    const char *name
    const char *metadata
    int64_t flags
    int64_t n_children
    ArrowSchema **children
    ArrowSchema *dictionary
    void (*release)(ArrowSchema *) noexcept nogil
    void *private_data

cdef struct ArrowArray:
    int64_t length
    int64_t null_count
    int64_t offset
    int64_t n_buffers
    int64_t n_children
    const void **buffers
    ArrowArray **children
    ArrowArray *dictionary
    void (*release)(ArrowArray *) noexcept nogil
    void *private_data

cdef struct ArrowArrayStream:
    int (*get_schema)(ArrowArrayStream *, ArrowSchema *) noexcept nogil
    int (*get_next)(ArrowArrayStream *, ArrowArray *) noexcept nogil
    const char *(*get_last_error)(ArrowArrayStream *) noexcept nogil
    void (*release)(ArrowArrayStream *) noexcept nogil
    void *private_data

cdef enum:
    NULLABLE = 2
    INLINE = 12  # bytes of a text that its view holds itself

# Rows of one array: 16 bytes each, the most that a row has here, can be counted.
cdef int64_t MOST_ROWS = <int64_t>1 << 56


class ColumnError(ValueError):
    """An array that is no column of text, or that contradicts itself."""


# ==== Text, coming in ====

cdef class Chunk:
    """An array of somebody else, released with this object."""
    cdef ArrowArray array

    def __dealloc__(self):
        if self.array.release != NULL:
            self.array.release(&self.array)


cdef class Schema:
    cdef ArrowSchema schema

    def __dealloc__(self):
        if self.schema.release != NULL:
            self.schema.release(&self.schema)


cdef class Column:
    """A column of text: of an array, or of all arrays of a stream, one behind the other. name: of the column where the arrays are
    record batches (structures), else None.

    texts: a Texts; a row that is null has none. rows: how many. nulls: None, or their bitmap as Arrow has it, a bit that is 0 for
    each null."""
    cdef readonly object texts  #: Texts
    cdef readonly object nulls  #: bytes | None
    cdef readonly Py_ssize_t rows, null_count
    cdef list chunks
    cdef uint8_t *bits

    def __cinit__(self, schema, array, name: str | None):
        """schema, array: capsules; array None: schema is that of a stream."""
        cdef Schema held = Schema.__new__(Schema)
        cdef Texts texts = Texts.__new__(Texts)
        cdef Chunk chunk
        cdef Py_ssize_t rows = 0
        self.chunks = []
        if array is None:
            self._read_stream(schema, held)
        else:
            self._take_array(schema, array, held)
        types = column_of(&held.schema, name)
        for chunk in self.chunks:
            check_size(&chunk.array)
            rows += <Py_ssize_t>chunk.array.length
            if rows > MOST_ROWS:
                raise ColumnError("the arrays have more rows than memory can hold")
        self.rows = rows
        texts._allocate(rows)
        texts.owner, texts.trusted = self.chunks, False
        self.bits = <uint8_t *>PyMem_Malloc(<size_t>rows // 8 + 1)
        if self.bits == NULL:
            raise MemoryError
        memset(self.bits, 0, <size_t>rows // 8 + 1)
        rows = 0
        for chunk in self.chunks:
            rows = self._fill(texts, rows, &held.schema, &chunk.array, types)
        self.texts = texts
        if self.null_count:
            self.nulls = PyBytes_FromStringAndSize(<const char *>self.bits, self.rows // 8 + 1)

    def __dealloc__(self):
        PyMem_Free(self.bits)

    cdef int _take_array(self, schema, array, Schema held) except -1:
        cdef Chunk chunk = Chunk.__new__(Chunk)
        cdef ArrowArray *given = <ArrowArray *>PyCapsule_GetPointer(array, "arrow_array")
        cdef ArrowSchema *described = <ArrowSchema *>PyCapsule_GetPointer(schema, "arrow_schema")
        if given.release == NULL or described.release == NULL:
            raise ColumnError("this Arrow array was handed over before, and can be taken only once")
        chunk.array, given.release = given[0], NULL
        held.schema, described.release = described[0], NULL
        self.chunks.append(chunk)

    cdef int _read_stream(self, capsule, Schema held) except -1:
        cdef ArrowArrayStream *stream = <ArrowArrayStream *>PyCapsule_GetPointer(capsule, "arrow_array_stream")
        cdef Chunk chunk
        cdef int failed
        if stream.release == NULL:
            raise ColumnError("this Arrow stream was handed over before, and can be read only once")
        failed = stream.get_schema(stream, &held.schema)
        if failed:
            held.schema.release = NULL
        while not failed:
            chunk = Chunk.__new__(Chunk)
            failed = stream.get_next(stream, &chunk.array)
            if failed:
                chunk.array.release = NULL
            elif chunk.array.release == NULL:
                return 0
            else:
                self.chunks.append(chunk)
        message = stream.get_last_error(stream)
        raise ColumnError(f"the producer of this Arrow stream failed: {'' if message == NULL else message.decode('utf-8', 'replace')}")

    cdef Py_ssize_t _fill(self, Texts texts, Py_ssize_t at, ArrowSchema *schema, ArrowArray *whole, types) except -1:
        """The entries of one array, from row `at` on; returns the row behind them."""
        cdef Py_ssize_t first = at, end = at + <Py_ssize_t>whole.length
        cdef int64_t from_row = whole.offset, row
        cdef ArrowArray *array = whole
        cdef ArrowArray *outer = NULL
        child, kind, index = types
        if child >= 0:
            if whole.n_children != schema.n_children or whole.children == NULL:
                raise ColumnError(f"the batch has {whole.n_children} columns, and its schema {schema.n_children}")
            outer, array = whole, whole.children[<Py_ssize_t>child]
            check_size(array)
            if array.length < whole.offset + whole.length:
                raise ColumnError(f"the column has {array.length} rows, and the batch {whole.offset + whole.length}")
            from_row += array.offset
        valid = validity(array)
        cdef const uint8_t *own = <const uint8_t *>array.buffers[0] if valid else NULL
        cdef const uint8_t *around = <const uint8_t *>whole.buffers[0] if outer != NULL and validity(whole) else NULL
        cdef Rows rows = None
        if kind != "n":
            rows = Rows(kind)
            rows.begin(array if not index else dictionary_of(array))
        for at in range(first, end):
            row = from_row + at - first
            texts.entries[at] = st_job_text(<const char *>"", 0, 0, ST_FEED_SHARED)
            if rows is None or (own != NULL and not own[row >> 3] >> (row & 7) & 1):
                self.null_count += 1
                continue
            if around != NULL and not around[(row - array.offset) >> 3] >> ((row - array.offset) & 7) & 1:
                self.null_count += 1
                continue
            if index:
                row = code_at(array, index, row)
                if not rows.is_there(row):
                    self.null_count += 1
                    continue
                row += rows.array.offset
            rows.find(row, &texts.entries[at], at)
            self.bits[at >> 3] |= <uint8_t>(1 << (at & 7))
        return end


cdef bint validity(const ArrowArray *array) except -1:
    """Whether some rows may be null, by a bitmap."""
    if array.n_buffers < 1 or array.buffers == NULL:
        return False
    return array.null_count != 0 and array.buffers[0] != NULL


cdef int check_size(const ArrowArray *array) except -1:
    if array == NULL or array.length < 0 or array.offset < 0 or array.length > MOST_ROWS or array.offset > MOST_ROWS:
        raise ColumnError("an array says that it begins or ends outside of all memory")
    return 0


cdef ArrowArray *dictionary_of(const ArrowArray *array) except NULL:
    if array.dictionary == NULL:
        raise ColumnError("an array has codes of a dictionary, and brings none")
    check_size(array.dictionary)
    return array.dictionary


cdef int64_t code_at(const ArrowArray *array, str index, int64_t row) except? -1:
    cdef const void *codes = array.buffers[1] if array.n_buffers == 2 and array.buffers != NULL else NULL
    if codes == NULL:
        raise ColumnError("an array has no codes of its dictionary")
    if index == "i":
        return (<const int32_t *>codes)[row]
    if index == "I":
        return (<const uint32_t *>codes)[row]
    if index == "c":
        return (<const int8_t *>codes)[row]
    if index == "C":
        return (<const uint8_t *>codes)[row]
    if index == "s":
        return (<const int16_t *>codes)[row]
    if index == "S":
        return (<const uint16_t *>codes)[row]
    return (<const int64_t *>codes)[row]  # an unsigned one of 64 bits that is no int64 is found to be outside


cdef class Rows:
    """Where the texts of one array lie. kind: its format, "u", "U" or "vu" for strings, "z", "Z" or "vz" for bytes."""
    cdef ArrowArray *array
    cdef bint is_view, is_large
    cdef const int64_t *sizes  # of the buffers of views
    cdef int64_t size_count

    def __cinit__(self, str kind: str):
        self.is_view, self.is_large = kind[0] == "v", kind in "UZ"

    cdef int begin(self, ArrowArray *array) except -1:
        self.array = array
        if array.buffers == NULL or array.n_buffers < 3 or (not self.is_view and array.n_buffers != 3):
            raise ColumnError(f"an array of text has {array.n_buffers} buffers, which are too few or too many")
        if array.length and array.buffers[1] == NULL:
            raise ColumnError("an array of text has no buffer that says where its texts lie")
        if self.is_view:
            self.size_count = array.n_buffers - 3
            self.sizes = <const int64_t *>array.buffers[array.n_buffers - 1]
            if self.size_count and self.sizes == NULL:
                raise ColumnError("an array of views has no sizes of its buffers")
        return 0

    cdef bint is_there(self, int64_t code) except -1:
        """Whether the dictionary's value with this code is not null."""
        cdef int64_t row = code + self.array.offset
        if not 0 <= code < self.array.length:
            raise ColumnError(f"an array has code {code}, and its dictionary {self.array.length} values")
        return not validity(self.array) or (<const uint8_t *>self.array.buffers[0])[row >> 3] >> (row & 7) & 1

    cdef int find(self, int64_t row, st_job_text *text, Py_ssize_t at) except -1:
        """The text of a row; `at` is its number for a message."""
        cdef int64_t begin, end
        if self.is_view:
            return self._find_view(row, text, at)
        if self.is_large:
            begin = <int64_t>st_number_read(<const uint64_t *>self.array.buffers[1] + row)
            end = <int64_t>st_number_read(<const uint64_t *>self.array.buffers[1] + row + 1)
        else:
            begin = <int32_t>st_read_once(<const uint32_t *>self.array.buffers[1] + row)
            end = <int32_t>st_read_once(<const uint32_t *>self.array.buffers[1] + row + 1)
        if not 0 <= begin <= end:
            raise ColumnError(f"the offsets of row {at} go from {begin} to {end}: the array is damaged")
        if end == begin:
            return 0
        if self.array.buffers[2] == NULL:
            raise ColumnError(f"the text of row {at} has {end - begin} bytes, and the array none: it is damaged")
        text.text, text.n = <const uint8_t *>self.array.buffers[2] + begin, <size_t>(end - begin)
        return 0

    cdef int _find_view(self, int64_t row, st_job_text *text, Py_ssize_t at) except -1:
        cdef const uint32_t *view = <const uint32_t *>self.array.buffers[1] + 4 * row
        cdef int32_t size = <int32_t>st_read_once(view), buffer = <int32_t>st_read_once(view + 2)
        cdef int32_t begin = <int32_t>st_read_once(view + 3)
        if 0 <= size <= INLINE:
            text.text, text.n = view + 1, <size_t>size
            return 0
        if size < 0 or not 0 <= buffer < self.size_count or begin < 0 or <int64_t>begin + size > self.sizes[buffer]:
            raise ColumnError(f"the view of row {at} lies outside of its buffers: the array is damaged")
        if self.array.buffers[2 + buffer] == NULL:
            raise ColumnError(f"the view of row {at} lies in a buffer that is missing: the array is damaged")
        text.text, text.n = <const uint8_t *>self.array.buffers[2 + buffer] + begin, <size_t>size
        return 0


# Names of types for messages. Those that are not here are shown as the interface writes them.
NAMES: dict[str, str] = {
    "n": "null", "b": "bool", "c": "int8", "C": "uint8", "s": "int16", "S": "uint16", "i": "int32", "I": "uint32",
    "l": "int64", "L": "uint64", "e": "float16", "f": "float", "g": "double", "u": "string", "U": "large_string",
    "vu": "string_view", "z": "binary", "Z": "large_binary", "vz": "binary_view", "+s": "struct", "+l": "list",
    "+L": "large_list", "+r": "run_end_encoded", "+m": "map", "tdD": "date32", "tdm": "date64",
}


cdef text_at(const char *text):
    return "" if text == NULL else text.decode("utf-8", "replace")


cdef tuple column_of(const ArrowSchema *schema, name):
    """(its place in a batch or -1, the format of its texts, that of its codes or ""). Raises ColumnError."""
    cdef const ArrowSchema *found = schema
    cdef Py_ssize_t place = -1, i
    cdef list names
    if schema.release == NULL or schema.format == NULL:
        raise ColumnError("an Arrow array came without its type")
    if strcmp(schema.format, "+s") == 0:
        if schema.n_children < 0 or (schema.n_children and schema.children == NULL):
            raise ColumnError("an Arrow table came without its columns")
        names = [text_at(schema.children[i].name) for i in range(<Py_ssize_t>schema.n_children)]
        if name is None:
            raise ColumnError(f"this is a table with the columns {names!r}: name one with column=")
        if names.count(name) != 1:
            raise ColumnError(f"{names.count(name) or 'no'} columns are called {name!r}; there are {names!r}: name another with column=")
        place = names.index(name)
        found = schema.children[place]
    elif name is not None:
        raise ColumnError(f"column={name!r} names a column of a table, and this is one array: leave it out")
    index = ""
    if found.dictionary != NULL:
        index = text_at(found.format)
        found = found.dictionary
    kind = text_at(found.format)
    if kind not in ("u", "U", "vu", "z", "Z", "vz", "n") or (index and (index not in "cCsSiIlL" or kind == "n")) or found.dictionary != NULL:
        what = "this array" if name is None else f"column {name!r}"
        raise ColumnError(f"{what} is of Arrow type {NAMES.get(kind, kind)}, and text is of type string, large_string, string_view or binary: "
                          "cast it first, or name another column")
    return place, kind, index


# ==== Lists of ids, going out ====

cdef struct Buffers:
    const void *buffers[2]
    PyObject *owner  # keeps them

cdef struct Lists:
    ArrowArray child
    ArrowArray *children[1]
    Buffers own

cdef struct ListType:
    ArrowSchema child
    ArrowSchema *children[1]


cdef void release_child(ArrowArray *array) noexcept with gil:
    cdef Buffers *held = <Buffers *>array.private_data
    Py_DECREF(<object>held.owner)
    free(held)
    array.release = NULL


cdef void release_lists(ArrowArray *array) noexcept with gil:
    cdef Lists *lists = <Lists *>array.private_data
    if lists.child.release != NULL:
        lists.child.release(&lists.child)
    Py_DECREF(<object>lists.own.owner)
    free(lists)
    array.release = NULL


cdef void release_type(ArrowSchema *schema) noexcept nogil:
    schema.release = NULL


cdef void release_list_type(ArrowSchema *schema) noexcept nogil:
    cdef ListType *held = <ListType *>schema.private_data
    if held.child.release != NULL:
        held.child.release(&held.child)
    free(held)
    schema.release = NULL


cdef void drop_array(object capsule) noexcept:
    cdef ArrowArray *array = <ArrowArray *>PyCapsule_GetPointer(capsule, "arrow_array")
    if array.release != NULL:
        array.release(array)
    free(array)


cdef void drop_schema(object capsule) noexcept:
    cdef ArrowSchema *schema = <ArrowSchema *>PyCapsule_GetPointer(capsule, "arrow_schema")
    if schema.release != NULL:
        schema.release(schema)
    free(schema)


def lists_schema(bint large) -> Any:
    """A capsule with the type list<uint32>, or large_list<uint32>."""
    cdef ArrowSchema *schema = <ArrowSchema *>calloc(1, sizeof(ArrowSchema))
    cdef ListType *held = <ListType *>calloc(1, sizeof(ListType))
    if schema == NULL or held == NULL:
        free(schema)
        free(held)
        raise MemoryError
    held.child.format, held.child.name, held.child.flags, held.child.release = b"I", b"item", NULLABLE, release_type
    held.children[0] = &held.child
    schema.format, schema.name, schema.flags = b"+L" if large else b"+l", b"", NULLABLE
    schema.n_children, schema.children = 1, held.children
    schema.release, schema.private_data = release_list_type, held
    return PyCapsule_New(schema, "arrow_schema", drop_schema)


def lists_array(ids: _Data, offsets: _Data, bint large, nulls: bytes | None, Py_ssize_t null_count) -> Any:
    """A capsule with the array of lists over these buffers, which it keeps: uint32 ids, offsets of int32 or, where large, of int64,
    one more than rows; nulls: as Column has them."""
    cdef Items id_items = items_of(ids, sizeof(uint32_t))
    cdef Items offset_items = items_of(offsets, sizeof(int64_t) if large else sizeof(int32_t))
    cdef ArrowArray *array
    cdef Lists *lists
    cdef Buffers *inner
    owner = (id_items, offset_items, nulls)
    if offset_items.n < 1 or (nulls is not None and len(nulls) * 8 < offset_items.n - 1):
        raise IndexError(offset_items.n)
    array, lists = <ArrowArray *>calloc(1, sizeof(ArrowArray)), <Lists *>calloc(1, sizeof(Lists))
    inner = <Buffers *>calloc(1, sizeof(Buffers))
    if array == NULL or lists == NULL or inner == NULL:
        free(array)
        free(lists)
        free(inner)
        raise MemoryError
    inner.buffers[1], inner.owner, lists.own.owner = id_items.data, <PyObject *>owner, <PyObject *>owner
    Py_INCREF(owner)
    Py_INCREF(owner)
    if nulls is not None:
        lists.own.buffers[0] = PyBytes_AS_STRING(nulls)
    lists.own.buffers[1] = offset_items.data
    lists.child.length, lists.child.n_buffers, lists.child.buffers = id_items.n, 2, inner.buffers
    lists.child.release, lists.child.private_data = release_child, inner
    lists.children[0] = &lists.child
    array.length, array.null_count, array.n_buffers, array.buffers = offset_items.n - 1, null_count, 2, lists.own.buffers
    array.n_children, array.children, array.release, array.private_data = 1, lists.children, release_lists, lists
    return PyCapsule_New(array, "arrow_array", drop_array)
