"""What finds the names of special tokens in text, as Python objects."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport uint8_t, uint32_t

from .csrc.base cimport *
from .csrc.special cimport *
from .memory cimport Items, items_of
from ..errors import VocabularyError


#: class _Tables(TypedDict):
#:     nodes: bytes
#:     depth: bytes
#:     place: bytes
#:     name: bytes
#:     inner: bytes
#:     first: bytes
#:     edges: bytes
#:     edge_mask: int
#:     edge_factor: int


cdef class Matcher:
    """Finds the names of one set of special tokens. For an allowed set a match stands for the token's id, for a
    disallowed one for its place in `names`.

    flags: for each name a sum of TAKES_LEFT, TAKES_RIGHT and ALONE (csrc/special/cutter.h), for an allowed set. words: the
    characters of words, for ALONE: uint32, first and last of each range, ascending. late: the Matcher of the names that are
    sought in the text between those of this one, once it is normalized."""
    def __cinit__(
        self, names: Iterable[str], ids: Sequence[int] | None = None, flags: Iterable[int] | None = None, words: _Data | None = None,
        Matcher late=None,
    ):
        cdef size_t i
        self.names = list(names)
        encoded = [name.encode("utf-8") for name in self.names]
        cdef size_t count = len(encoded)
        cdef size_t *lengths = <size_t *>st_malloc(count * sizeof(size_t))
        cdef uint32_t *values = <uint32_t *>st_malloc(count * sizeof(uint32_t))
        cdef st_status status = ST_NO_MEMORY
        cdef bytes joined = b"".join(encoded)
        try:
            if lengths != NULL and values != NULL:
                for i in range(count):
                    lengths[i] = len(encoded[i])
                    values[i] = i if ids is None else ids[i]
                status = st_special_new(<const uint8_t *>PyBytes_AS_STRING(joined), lengths, values, count,
                                        &self.special)
        finally:
            st_free(lengths)
            st_free(values)
        if status == ST_EMPTY_TOKEN:
            raise VocabularyError("the name of a special token is empty; every text would hold it")
        if status:
            raise MemoryError
        self.flags = bytes(count) if flags is None else bytes(flags)
        if len(self.flags) != <Py_ssize_t>count:
            raise ValueError("there is not one number of flags for each name")
        cdef Items items = items_of(b"" if words is None else words, 1 if words is None else sizeof(uint32_t))
        if any(self.flags) and st_special_set_flags(self.special, <const uint8_t *>PyBytes_AS_STRING(self.flags),
                                                    <const uint32_t *>items.data, <size_t>items.n // 2):
            raise MemoryError
        if late is not None:
            self.late = late
            self.special.late = late.special

    def search(self, bytes text not None, uint32_t node=0) -> NameSearch:
        """A NameSearch through a text. node: where the one through the text in front of it stopped."""
        return NameSearch(self, text, node)

    def length_of(self, uint32_t node) -> int:
        """Bytes of the beginning of a name that a node stands for."""
        cdef size_t n
        if node >= self.special.count:
            raise ValueError(f"there is no node {node}")
        st_special_bytes(self.special, node, &n)
        return n

    def bytes_of(self, uint32_t node, size_t start=0, size_t stop=<size_t>-1) -> bytes:
        """The same bytes from `start` to `stop`."""
        cdef size_t n = self.length_of(node)
        stop = min(stop, n)
        start = min(start, stop)
        return PyBytes_FromStringAndSize(<const char *>st_special_bytes(self.special, node, &n) + start,
                                         <Py_ssize_t>(stop - start))

    def node_of(self, bytes text not None) -> int:
        """The node of a beginning of a name that goes on; 0 if it is none."""
        return st_special_walk(self.special, <const uint8_t *>PyBytes_AS_STRING(text), len(text))

    @property
    def has_rules(self) -> bool:
        """Whether names have flags, or there are late ones: the kernels do not know either."""
        return self.late is not None or any(self.flags)

    @property
    def size(self) -> int:
        """Bytes of all names."""
        return self.special.total + (0 if self.late is None else self.late.size)

    @property
    def longest_name(self) -> int:
        """Bytes of the longest name."""
        return self.special.longest_name

    def tables(self) -> _Tables:
        """What the kernels need (csrc/cuda/job.h): name of a field of st_name_set -> its array as bytes, and the
        two numbers of its hash table."""
        cdef st_special *s = self.special
        return {
            "nodes": bytes_of_array(s.nodes, s.count * sizeof(st_special_node)),
            "depth": bytes_of_array(s.depth, s.count * sizeof(uint32_t)),
            "place": bytes_of_array(s.place, s.count * sizeof(uint32_t)),
            "name": bytes_of_array(s.name, s.count * sizeof(uint32_t)),
            "inner": bytes_of_array(s.inner, s.total * sizeof(uint32_t)) if s.inner != NULL else b"",
            "first": bytes_of_array(s.first, sizeof(s.first)),
            "edges": bytes_of_array(s.edges.places, (s.edges.mask + 1) * sizeof(st_special_edge)),
            "edge_mask": s.edges.mask,
            "edge_factor": s.edges.factor,
        }

    def __dealloc__(self):
        st_special_free(self.special)


cdef bytes bytes_of_array(const void *array, size_t size):
    return PyBytes_FromStringAndSize(<const char *>array, <Py_ssize_t>size)


cdef class NameSearch:
    """Goes through the names in a text, leftmost first, the longest of those at one place, none inside another. Takes time in
    proportion to the text, whatever the names.

    Places count from where the name begins that the initial node stands for; without such a node, from the start of this text."""
    cdef Matcher matcher
    cdef bytes text
    cdef st_special_search search

    def __cinit__(self, Matcher matcher not None, bytes text not None, uint32_t node=0):
        if node >= matcher.special.count:
            raise ValueError(f"there is no node {node}")
        self.matcher, self.text = matcher, text
        self.search = st_special_search_behind(matcher.special, node)

    def next(self, bint final) -> tuple[int, int, int, int | None]:
        """(NOTHING | FOUND | HELD, start, end, id) of the next name; id is None for HELD, the beginning of a name. final: no text
        follows."""
        cdef st_special_match match
        cdef size_t n = len(self.text)
        cdef st_special_result result
        result = st_special_find(self.matcher.special, &self.search, <const uint8_t *>PyBytes_AS_STRING(self.text),
                                 <size_t>-1, n, final, &match)
        if result == ST_SPECIAL_NONE:
            return result, n + self.search.before, n + self.search.before, None
        return result, match.start, match.end, None if match.id == ST_NO_SPECIAL else match.id

    @property
    def node(self) -> int:
        """Where the search stopped: the end of the text that may begin a name."""
        return self.search.node


TAKES_LEFT: int = ST_NAME_TAKES_LEFT
TAKES_RIGHT: int = ST_NAME_TAKES_RIGHT
ALONE: int = ST_NAME_ALONE
NOTHING: int = ST_SPECIAL_NONE
FOUND: int = ST_SPECIAL_FOUND
HELD: int = ST_SPECIAL_HELD
