"""Texts by their beginnings: a tree in which blocks of text that texts have in common are there once, each with its ids and the
state of a stream behind it. serving/prefix_cache.py says what for.

Nothing in a call runs other Python code, or ends between two of its steps. So a signal, or a fork, finds the tree whole."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.ref cimport Py_DECREF, Py_INCREF, PyObject
from libc.stdint cimport int64_t
from libc.string cimport memcmp

cimport cython
from cython cimport critical_section

from .memory cimport Items, items_of

cdef enum:
    # What a block takes beside its text, ids and state; and a further one of the same parent: its place in a dict.
    BLOCK_TAKES = 320
    FORK_TAKES = 192


@cython.no_gc  # a tree has no cycles: what points back is no reference
cdef class Block:
    """A block of text behind others. at: where it ends, in bytes from the beginning."""
    cdef readonly bytes text, ids, state
    cdef readonly int64_t at
    cdef Block last  # of the blocks that follow, the one that was asked for last
    cdef dict others  # all that follow, where there were ever two
    cdef object key  # of a text's beginning
    cdef PyObject *parent
    cdef PyObject *older
    cdef PyObject *newer
    cdef int64_t weight
    cdef bint is_in

    def __cinit__(self, bytes text not None, bytes ids not None, bytes state not None, int64_t at):
        self.text, self.ids, self.state, self.at = text, ids, state, at
        self.weight = BLOCK_TAKES + len(text) + len(ids) + len(state)

    cdef Block following(self, const char *data, Py_ssize_t n, Py_ssize_t step):
        """The block that a text goes on with."""
        cdef Block found = self.last
        cdef Py_ssize_t end
        if found is not None:
            end = PyBytes_GET_SIZE(found.text)
            if end <= n and memcmp(data, PyBytes_AS_STRING(found.text), <size_t>end) == 0:
                return found
        if self.others is None or n < step:
            return None
        end = step  # a block ends at the next border of a character
        while end < n and end < step + 3 and (data[end] & 0xC0) == 0x80:
            end += 1
        found = self.others.get(PyBytes_FromStringAndSize(data, end))
        if found is not None:
            self.last = found
        return found


cdef class PrefixTree:
    """most: bytes that all blocks may take; the least used ends of texts go first. step: bytes of a block, and up to three more."""
    cdef dict beginnings  # key -> Block
    cdef PyObject *oldest  # each block is newer than those that follow it: so the oldest one has none
    cdef PyObject *newest
    cdef readonly int64_t most, size, blocks, hits, misses, saved
    cdef Py_ssize_t step

    def __cinit__(self, int64_t most, Py_ssize_t step):
        self.beginnings, self.most, self.step = {}, most, step

    def __dealloc__(self):
        while self.oldest != NULL:
            self.drop(<Block>self.oldest)

    def find(self, key: object, data not None: _Data) -> tuple[Block | None, list[bytes]]:
        """The last block of the longest beginning of a text that is there, and the ids of all blocks up to it."""
        cdef Items text = items_of(data, 1)
        cdef const char *at = <const char *>text.data
        cdef Block block, found
        parts = []
        with critical_section(self):
            block = self.beginnings.get(key)
            found = block
            while found is not None:
                found = block.following(at + block.at, text.n - block.at, self.step)
                if found is not None:
                    block = found
                    parts.append(block.ids)
            if parts:
                self.hits, self.saved = self.hits + 1, self.saved + block.at
            else:
                self.misses += 1
            self.touch(block)
        return block, parts

    def add(self, key: object, Block after, list made not None: list[Block]):
        """Puts blocks behind one that find() has returned; None: that of a key. If it is no longer there, nothing is done."""
        cdef Block block, known
        # Made here, not where they are needed: that can call the collector of garbage, and this other code.
        cdef Block first = Block(b"", b"", b"", 0) if after is None else None
        fork = {}
        with critical_section(self):
            if after is None:
                after = self.begun(key, first)
            if not after.is_in:
                return
            for block in made:
                known = after.following(PyBytes_AS_STRING(block.text), PyBytes_GET_SIZE(block.text), self.step)
                if known is None:
                    self.hang(block, after, fork)
                    known = block
                after = known
            self.touch(after)
            while self.size > self.most and self.oldest != NULL:
                self.drop(<Block>self.oldest)

    def clear(self):
        """Forgets all texts. The counts stay."""
        with critical_section(self):
            while self.oldest != NULL:
                self.drop(<Block>self.oldest)

    cdef Block begun(self, object key, Block first):
        cdef Block block = self.beginnings.get(key)
        if block is None:
            block = first
            block.key, block.weight = key, BLOCK_TAKES + FORK_TAKES + 2 * len(key[0])
            self.beginnings[key] = block
            self.link(block)
        return block

    cdef int hang(self, Block block, Block parent, dict fork) except -1:
        if parent.last is not None and parent.others is None:
            fork[parent.last.text] = parent.last
            parent.others = fork
            parent.weight += 2 * FORK_TAKES
            self.size += 2 * FORK_TAKES
        if parent.others is not None:
            parent.others[block.text] = block
            block.weight += FORK_TAKES
        parent.last, block.parent = block, <PyObject *>parent
        self.link(block)
        return 0

    cdef void link(self, Block block):
        Py_INCREF(block)
        block.is_in = True
        self.size += block.weight
        self.blocks += 1
        self.put_last(block)

    cdef void put_last(self, Block block) noexcept:
        block.older, block.newer = self.newest, NULL
        if self.newest != NULL:
            (<Block>self.newest).newer = <PyObject *>block
        else:
            self.oldest = <PyObject *>block
        self.newest = <PyObject *>block

    cdef void take_out(self, Block block) noexcept:
        if block.older != NULL:
            (<Block>block.older).newer = block.newer
        else:
            self.oldest = block.newer
        if block.newer != NULL:
            (<Block>block.newer).older = block.older
        else:
            self.newest = block.older

    cdef void touch(self, Block block) noexcept:
        """Makes a block and those in front of it the newest, its text's beginning the very newest."""
        while block is not None:
            self.take_out(block)
            self.put_last(block)
            block = <Block>block.parent if block.parent != NULL else None

    cdef void drop(self, Block block):
        """The oldest block."""
        cdef Block parent = <Block>block.parent if block.parent != NULL else None
        self.take_out(block)
        block.is_in = False
        self.size -= block.weight
        self.blocks -= 1
        if parent is None:
            if self.beginnings is not None:
                del self.beginnings[block.key]
        else:
            block.parent = NULL
            if parent.last is block:
                parent.last = None
            if parent.others is not None:
                del parent.others[block.text]
        Py_DECREF(block)
