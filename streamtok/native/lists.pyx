"""Python lists of ids, one a text, made by several threads.

Where Python has one lock for all objects, threads that made lists would wait for each other: an int that a list takes has its
references counted. So the ints are counted first, by all threads, without the lock. Then one thread holds it for a moment: each int
that stands in the lists gets all its references at once, and each list its room. Then all threads write the pointers, again
without the lock.

Why that is allowed: no references are counted without the lock, and no object is read. The memory that is written belongs to lists
without items, so whoever meets them meanwhile, as the collector of garbage, does not look there. They get their sizes with the lock,
when all threads have ended. Py_SET_REFCNT, which leaves immortal ints alone, and Py_SET_SIZE are documented functions.

It is not compiled where it would be wrong: a Python without the lock makes lists on each thread, and one that counts all
references (Py_REF_DEBUG) or keeps all objects in a list (Py_TRACE_REFS) on one."""

from cpython.list cimport PyList_New
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memset

from .csrc.base cimport *
from .csrc.threads cimport *
from .ids cimport list_of
from .call_pool cimport together
from .interrupt cimport Scope, begin, check, end as end_scope, free_aside
from .memory cimport Items, Numbers, items_of, numbers_of
from .vocab cimport Vocab

cdef extern from *:
    """
    #if defined(Py_GIL_DISABLED) || defined(Py_REF_DEBUG) || defined(Py_TRACE_REFS) || !CYTHON_COMPILING_IN_CPYTHON
    #define ST_FILLS_LISTS 0
    #define ST_ITEMS_OF(list) ((PyObject **)NULL)
    #define ST_SET_SIZE(list, size) ((void)0)
    #define ST_ADD_REFERENCES(o, n) ((void)0)
    #else
    #define ST_FILLS_LISTS 1
    #define ST_ITEMS_OF(list) PySequence_Fast_ITEMS(list)
    #define ST_SET_SIZE(list, size) Py_SET_SIZE((PyVarObject *)(list), size)
    #define ST_ADD_REFERENCES(o, n) Py_SET_REFCNT(o, Py_REFCNT(o) + (n))
    #endif
    """
    bint ST_FILLS_LISTS
    PyObject **ST_ITEMS_OF(object items)
    void ST_SET_SIZE(object items, Py_ssize_t size)
    void ST_ADD_REFERENCES(PyObject *o, Py_ssize_t n)

cdef enum:
    AT_ONCE = 1 << 16        # ids of a share of the work: some 0.1 ms
    WORTH_IT = 1 << 18       # with fewer ids the steps between cost more than is gained
    MOST_IDS = 1 << 30       # so that no count of references overflows 32 bits, which is what some versions of Python have


cdef void count_ints(void *given) noexcept nogil:
    """How often each id stands in the shares that this thread takes."""
    cdef Making *m = <Making *>given
    cdef size_t at, end, i
    cdef uint32_t *own = <uint32_t *>st_calloc(m.int_count, sizeof(uint32_t))
    if own == NULL:
        st_count_add(&m.foreign, 1)
        return
    while st_go_on(AT_ONCE) == ST_OK:
        at = <size_t>(st_count_add(&m.next, 1) - 1) * AT_ONCE
        if at >= m.count:
            break
        end = min(m.count, at + AT_ONCE)
        for i in range(at, end):
            if m.ids[i] >= m.int_count:  # of a special token, say
                st_count_add(&m.foreign, 1)
                break
            own[m.ids[i]] += 1
    for i in range(m.int_count):
        if own[i]:
            st_number_add(&m.seen[i], own[i])
    st_free(own)


cdef size_t list_at(const Making *m, size_t at) noexcept nogil:
    """The last list that begins at or in front of an id."""
    cdef size_t low = 0, high = m.lists, middle
    while high - low > 1:
        middle = low + (high - low) // 2
        if m.starts[middle] <= at:
            low = middle
        else:
            high = middle
    return low


cdef void fill(void *given) noexcept nogil:
    cdef Making *m = <Making *>given
    cdef size_t at, end, stop, which, i
    cdef PyObject **buffer
    while st_go_on(AT_ONCE) == ST_OK:
        at = <size_t>(st_count_add(&m.next, 1) - 1) * AT_ONCE
        if at >= m.count:
            break
        stop = min(m.count, at + AT_ONCE)
        which = list_at(m, at)
        while at < stop:
            while m.starts[which + 1] <= at:
                which += 1
            end, buffer = min(stop, m.starts[which + 1]), m.items[which]
            for i in range(at - m.starts[which], end - m.starts[which]):
                buffer[i] = m.ints[m.ids[m.starts[which] + i]]
            at = end
        st_count_add(&m.filled, 1)


cdef class Lists:
    """The ids of some texts, behind one another: from starts[i] up to starts[i + 1] those of text i.

    all(): the lists, made by this thread. Or by several threads: work(), make(), work() again, finish(). stop() ends work()."""

    def __del__(self):  # before the collector of garbage takes the vocabulary away
        cdef Making *m = &self.making
        cdef size_t i
        if self.is_made and not self.is_finished:  # the lists are empty, and are dropped as such
            for i in range(m.int_count):
                if m.seen[i]:
                    ST_ADD_REFERENCES(m.ints[i], -<Py_ssize_t>m.seen[i])

    def __dealloc__(self):
        st_free(self.making.starts)
        st_free(self.making.seen)
        st_free(self.making.items)

    def __len__(self):
        return self.making.lists

    def all(self) -> list[list[int]]:
        """A list for each text."""
        return self.some(0, self.making.lists)

    def some(self, size_t first, size_t last) -> list[list[int]]:
        """Those of the texts first to last, the last one excluded."""
        cdef Scope scope
        cdef size_t i
        result = []
        begin(&scope, NULL)
        try:
            for i in range(first, last):
                result.append(list_of(self.vocab, &self.ids, self.making.starts[i], self.making.starts[i + 1]))
                if st_go_on(sizeof(int64_t) * (self.making.starts[i + 1] - self.making.starts[i])):
                    break
            check(&scope)
            return result
        except BaseException:
            free_aside(result)
            raise
        finally:
            end_scope(&scope)

    @property
    def are_shared(self) -> bool:
        """Whether several threads can make the lists together by the steps."""
        cdef Making *m = &self.making
        if not ST_FILLS_LISTS or not WORTH_IT <= self.ids.size < MOST_IDS:
            return False
        m.ids, m.count = self.ids.data, self.ids.size
        m.ints, m.int_count = self.vocab.shared_ints(), self.vocab.int_count
        if m.ints == NULL:
            return False
        m.seen = <uint64_t *>st_calloc(m.int_count, sizeof(uint64_t))
        m.items = <PyObject ***>st_calloc(m.lists, sizeof(PyObject **))
        return m.seen != NULL and m.items != NULL

    def work(self, size_t helpers=0):
        """Does the present step, on this thread and on `helpers` others, or on fewer if they cannot be started."""
        together(fill if self.is_made else count_ints, &self.making, &self.making.stopped, helpers)

    def stop(self):
        st_count_add(&self.making.stopped, 1)

    def make(self) -> bool:
        """Gives the ints their references, and the lists their room. False: all() has to make them."""
        cdef Making *m = &self.making
        cdef size_t i
        if m.foreign:
            return False
        self.lists = []
        for i in range(m.lists):
            made = PyList_New(<Py_ssize_t>(m.starts[i + 1] - m.starts[i]))
            m.items[i] = ST_ITEMS_OF(made)
            ST_SET_SIZE(made, 0)
            self.lists.append(made)
        for i in range(m.int_count):
            if m.seen[i]:
                self.vocab.int_of(<uint32_t>i)
        for i in range(m.int_count):
            if m.seen[i]:
                ST_ADD_REFERENCES(m.ints[i], <Py_ssize_t>m.seen[i])
        self.is_made, m.next = True, 0
        return True

    def finish(self) -> list[list[int]]:
        """The lists."""
        cdef Making *m = &self.making
        cdef size_t i
        if <size_t>m.filled * AT_ONCE < m.count:
            raise RuntimeError("the call was ended by another thread")
        self.is_finished = True
        for i in range(m.lists):
            ST_SET_SIZE(self.lists[i], <Py_ssize_t>(m.starts[i + 1] - m.starts[i]))
        return self.lists


def lists_over(Vocab vocab not None, ids not None: _Data, row_starts not None: _Data) -> Lists:
    """Lists of a vocabulary's ids that lie in a buffer of uint32, ids[row_starts[i]:row_starts[i + 1]] each; row_starts: a buffer of
    int64. ValueError: rows that are not all of the buffer."""
    cdef Items items = items_of(ids, sizeof(uint32_t))
    cdef Numbers rows = numbers_of(row_starts)
    cdef const int64_t *starts = rows.data
    cdef Lists lists = Lists.__new__(Lists)
    cdef Py_ssize_t i
    cdef int64_t before = 0
    lists.vocab, lists.owner = vocab, items
    lists.ids.data, lists.ids.size = <uint32_t *>items.data, <size_t>items.n
    lists.making.starts = <size_t *>st_malloc(<size_t>(rows.n + 1) * sizeof(size_t))
    if lists.making.starts == NULL:
        raise MemoryError
    if rows.n and (starts[0] != 0 or starts[rows.n - 1] != items.n):
        raise ValueError(f"rows from {starts[0]} to {starts[rows.n - 1]} are not all of {items.n} ids")
    for i in range(rows.n):
        if not before <= starts[i] <= items.n:
            raise ValueError(f"row {i} begins at {starts[i]}, among {items.n} ids")
        before = starts[i]
        lists.making.starts[i] = <size_t>before
    lists.making.lists = <size_t>max(rows.n - 1, 0)
    return lists
