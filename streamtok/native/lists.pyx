"""Python lists of ids, one a text, made by several threads.

Where Python has one lock for all objects, threads that made lists would wait for each other: an int that a list takes has its
references counted. So the ints are counted first, by all threads, without the lock. Then one thread holds it for a moment: each int
that stands in the lists gets all its references at once, and each list its room. Then all threads write the pointers, again
without the lock. Until that is done, nobody sees a list: each is empty. A Python without the lock makes lists on each thread."""

from cpython.list cimport PyList_New
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memset

from .csrc.base cimport *
from .csrc.threads cimport *
from .ids cimport IdBuffer, list_of
from .interrupt cimport Scope, begin, check, end as end_scope, free_aside
from .vocab cimport Vocab

cdef extern from "Python.h":
    ctypedef struct PyListObject:
        PyObject **ob_item
    void Py_SET_SIZE(object items, Py_ssize_t size)
    Py_ssize_t Py_REFCNT(PyObject *o)
    void Py_SET_REFCNT(PyObject *o, Py_ssize_t n)

cdef enum:
    AT_ONCE = 1 << 16        # ids of a share of the work: some 0.1 ms
    WORTH_IT = 1 << 18       # with fewer ids the steps between cost more than is gained
    MOST_IDS = 1 << 30       # so that no count of references overflows 32 bits, which is what some versions of Python have


cdef class Lists:
    """The ids of `count` texts, behind one another: from starts[i] up to starts[i + 1] those of text i.

    all(): the lists, made by this thread. Or several threads together: each calls work(); one calls make(); each calls work()
    again; one calls finish(). stop() ends work() on all of them."""

    def __dealloc__(self):
        cdef size_t i
        if self.is_made and not self.is_finished:  # the lists are empty, and are dropped as such
            for i in range(self.vocab.int_count):
                if self.seen[i]:
                    Py_SET_REFCNT(self.ints[i], Py_REFCNT(self.ints[i]) - <Py_ssize_t>self.seen[i])
        st_free(self.starts)
        st_free(self.seen)
        st_free(self.rooms)

    def __len__(self):
        return self.count

    def all(self):
        """A list for each text."""
        return self.some(0, self.count)

    def some(self, size_t first, size_t last):
        """Those of the texts first to last, the last one excluded."""
        cdef Scope scope
        cdef size_t i
        result = []
        begin(&scope, NULL)
        try:
            for i in range(first, last):
                result.append(list_of(self.vocab, &self.buffer.ids, self.starts[i], self.starts[i + 1]))
                if st_go_on(sizeof(int64_t) * (self.starts[i + 1] - self.starts[i])):
                    break
            check(&scope)
            return result
        except BaseException:
            free_aside(result)
            raise
        finally:
            end_scope(&scope)

    @property
    def are_shared(self):
        """Whether several threads can make the lists together by the steps."""
        if not WORTH_IT <= self.buffer.ids.size < MOST_IDS:
            return False
        self.ints = self.vocab.shared_ints()
        if self.ints == NULL:
            return False
        self.seen = <uint64_t *>st_calloc(self.vocab.int_count, sizeof(uint64_t))
        self.rooms = <PyObject ***>st_calloc(self.count, sizeof(PyObject **))
        return self.seen != NULL and self.rooms != NULL

    def work(self):
        """Takes shares of the present step until there are none left."""
        cdef Scope scope
        begin(&scope, &self.stopped)
        with nogil:
            if self.is_made:
                self._fill()
            else:
                self._count()
        end_scope(&scope)
        if scope.error != NULL:
            check(&scope)

    def stop(self):
        st_count_add(&self.stopped, 1)

    cdef int _count(self) noexcept nogil:
        """How often each id stands in the shares that this thread takes."""
        cdef size_t n = self.buffer.ids.size, ints = self.vocab.int_count, at, end, i
        cdef const uint32_t *ids = self.buffer.ids.data
        cdef uint32_t *own = <uint32_t *>st_calloc(ints, sizeof(uint32_t))
        if own == NULL:
            st_count_add(&self.foreign, 1)
            return 0
        while st_go_on(AT_ONCE) == ST_OK:
            at = <size_t>(st_count_add(&self.next, 1) - 1) * AT_ONCE
            if at >= n:
                break
            end = min(n, at + AT_ONCE)
            for i in range(at, end):
                if ids[i] >= ints:  # of a special token, say
                    st_count_add(&self.foreign, 1)
                    break
                own[ids[i]] += 1
        for i in range(ints):
            if own[i]:
                st_number_add(&self.seen[i], own[i])
        st_free(own)
        return 0

    def make(self):
        """Gives the ints their references, and the lists their room. False: all() has to make them."""
        cdef size_t i
        if self.foreign:
            return False
        self.lists = []
        for i in range(self.count):
            made = PyList_New(<Py_ssize_t>(self.starts[i + 1] - self.starts[i]))
            self.rooms[i] = (<PyListObject *>made).ob_item
            Py_SET_SIZE(made, 0)
            self.lists.append(made)
        for i in range(self.vocab.int_count):
            if self.seen[i]:
                self.vocab.int_of(<uint32_t>i)
        for i in range(self.vocab.int_count):
            if self.seen[i]:
                Py_SET_REFCNT(self.ints[i], Py_REFCNT(self.ints[i]) + <Py_ssize_t>self.seen[i])
        self.is_made, self.next = True, 0
        return True

    cdef size_t _list_at(self, size_t at) noexcept nogil:
        """The last list that begins at or in front of an id."""
        cdef size_t low = 0, high = self.count, middle
        while high - low > 1:
            middle = low + (high - low) // 2
            if self.starts[middle] <= at:
                low = middle
            else:
                high = middle
        return low

    cdef int _fill(self) noexcept nogil:
        cdef size_t n = self.buffer.ids.size, at, end, stop, which, i
        cdef const uint32_t *ids = self.buffer.ids.data
        cdef PyObject **room
        while st_go_on(AT_ONCE) == ST_OK:
            at = <size_t>(st_count_add(&self.next, 1) - 1) * AT_ONCE
            if at >= n:
                break
            stop = min(n, at + AT_ONCE)
            which = self._list_at(at)
            while at < stop:
                while self.starts[which + 1] <= at:
                    which += 1
                end, room = min(stop, self.starts[which + 1]), self.rooms[which]
                for i in range(at - self.starts[which], end - self.starts[which]):
                    room[i] = self.ints[ids[self.starts[which] + i]]
                at = end
            st_count_add(&self.filled, 1)
        return 0

    def finish(self):
        """The lists."""
        cdef size_t i
        if <size_t>self.filled * AT_ONCE < self.buffer.ids.size:
            raise RuntimeError("the call was ended by another thread")
        self.is_finished = True
        for i in range(self.count):
            Py_SET_SIZE(self.lists[i], <Py_ssize_t>(self.starts[i + 1] - self.starts[i]))
        return self.lists
