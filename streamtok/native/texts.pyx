"""Texts of a caller as they lie in memory, and their UTF-8 in memory of one's own, made by several threads (workers.pyx).

A text is bytes, or the characters of a str that is not ASCII: these become UTF-8 where they are wanted, straight from the str."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.unicode cimport PyUnicode_Check
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memset

from .csrc.base cimport st_go_on
from .csrc.stream cimport ST_FEED_TRUSTED
from .csrc.text cimport ST_NOT_CONVERTED, st_code_points_put, st_code_points_size
from .csrc.threads cimport st_job_text, st_job_text_slice
from .interrupt cimport Scope, begin, check, end as end_scope
from .memory cimport Items, Numbers, bytes_in, items_of, memory_of, numbers_of
from .text cimport PyUnicode_DATA, PyUnicode_IS_ASCII, PyUnicode_KIND, Text, borrow
from .workers cimport TASK_CONVERT, TASK_COPY, TASK_KNOWN, TASK_MEASURE, Batch, Group, Task, do_task, is_little

from ..errors import at_row
from .text import mend_surrogates

import sys

cdef enum:
    # What a text costs beside its length, as a number of bytes: csrc/base/interrupt.h counts bytes.
    TEXT_COSTS = 64
    # Characters, or bytes, of a task. A part of a longer text is one, and so is each short text.
    A_TASK = 1 << 18
    # Bytes and characters of the tasks that a thread does at a time.
    A_GROUP = 1 << 18
    # A character that is converted, or measured, takes as long as so many bytes that are copied.
    CONVERTED = 4
    # As kernels take texts (csrc/cuda/job.h): each from a block of its own on, and a mark for each block.
    BLOCK = 64
    MARK_BEGIN = 0x80
    PAD = 0xFE
    # Marks and rows of blocks begin at multiples of this.
    ALIGNED = 16

class HasSurrogates(Exception):
    """A str has surrogates, which are to be mended before it becomes UTF-8."""


cdef size_t most_bytes(unsigned width) noexcept:
    """Bytes of UTF-8 that one of a text's units may have, which takes `width` bytes; 0: it is a byte of UTF-8."""
    return 1 if width == 0 else 2 if width == 1 else width // 2 + 2


cdef class Texts:
    """str and buffers of bytes, in order. trusted: all of it is certainly valid UTF-8. TypeError for anything else.

    texts[i] is a buffer of the UTF-8 of text i, made anew where it is a str that is not ASCII: for what is rare."""
    def __cinit__(self, texts: Iterable[Any] | None = None):
        cdef Py_ssize_t i = 0
        cdef Scope scope
        cdef list held
        self.trusted = True
        if texts is None:
            return
        self.owner = held = list(texts)  # the caller's list may change
        self._allocate(len(held))
        begin(&scope, NULL)
        try:
            for i in range(self.count):
                held[i] = self._take(i, held[i])
                if st_go_on(TEXT_COSTS):
                    break
            check(&scope)
        except Exception as error:
            raise at_row(error, i)
        finally:
            end_scope(&scope)

    cdef int _allocate(self, Py_ssize_t count) except -1:
        self.entries = <st_job_text *>PyMem_Malloc(<size_t>(count + 1) * sizeof(st_job_text))
        if self.entries == NULL:
            raise MemoryError
        self.count = count
        return 0

    cdef object _take(self, Py_ssize_t i, object text):
        """Puts a text at place i, and returns what keeps it."""
        cdef st_job_text *entry = &self.entries[i]
        cdef Text given
        if PyUnicode_Check(text):
            entry.text, entry.n, entry.flags = PyUnicode_DATA(text), <size_t>len(text), ST_FEED_TRUSTED
            entry.width = 0 if PyUnicode_IS_ASCII(text) else <unsigned>PyUnicode_KIND(text)
            return text
        self.trusted = False
        text = borrow(text, &given)
        entry.text, entry.n, entry.width, entry.flags = given.data, given.n, 0, given.flags
        return text

    def __dealloc__(self):
        if not self.is_part:
            PyMem_Free(self.entries)

    def __len__(self):
        return self.count

    def __getitem__(self, Py_ssize_t i) -> Any:
        if not 0 <= i < self.count:
            raise IndexError(i)
        return self.units(i, 0, <Py_ssize_t>self.entries[i].n)

    def units(self, Py_ssize_t i, Py_ssize_t start, Py_ssize_t end) -> Any:
        """The UTF-8 of the bytes, or characters, start .. end - 1 of text i, as a buffer."""
        cdef st_job_text text = st_job_text_slice(&self.entries[i], <size_t>start, <size_t>(end - start))
        cdef size_t size
        if not text.width:
            return memory_of(self, text.text, text.n)
        size = st_code_points_size(text.text, text.n, text.width)
        if size == ST_NOT_CONVERTED:
            raise HasSurrogates
        result = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>size)
        st_code_points_put(text.text, text.n, text.width, <uint8_t *>PyBytes_AS_STRING(result))
        return result

    @property
    def size(self) -> int:
        """Bytes of all texts, or characters of each that is a str and not ASCII."""
        cdef size_t all = 0
        for i in range(self.count):
            all += self.entries[i].n
        return all

    def facts(self, sizes: _Data, widths: _Data):
        """Fills two writable buffers of int64, an item a text: how many bytes or characters it has, and how many bytes of UTF-8 one
        of them may have: 1 of bytes, 2, 3 or 4 of characters."""
        cdef Items size_items = items_of(sizes, sizeof(int64_t), True), width_items = items_of(widths, sizeof(int64_t), True)
        cdef int64_t *to_sizes = <int64_t *>size_items.data
        cdef int64_t *to_widths = <int64_t *>width_items.data
        cdef Py_ssize_t i
        if size_items.n < self.count or width_items.n < self.count:
            raise IndexError(self.count)
        for i in range(self.count):
            to_sizes[i] = <int64_t>self.entries[i].n
            to_widths[i] = <int64_t>most_bytes(self.entries[i].width)

    def most(self) -> tuple[int, int]:
        """(bytes of UTF-8 that all texts may have, blocks of 64 bytes that they may take if each begins with one of its own)."""
        cdef Py_ssize_t i
        cdef size_t size, total = 0, blocks = 0
        for i in range(self.count):
            size = self.entries[i].n * most_bytes(self.entries[i].width)
            total += size
            blocks += (size + BLOCK - 1) // BLOCK
        return total, blocks

    def part(self, Py_ssize_t first, Py_ssize_t last) -> Texts:
        """The texts first .. last - 1."""
        cdef Texts made
        if not 0 <= first <= last <= self.count:
            raise IndexError((first, last))
        made = Texts.__new__(Texts)
        made.entries, made.count, made.is_part, made.owner, made.trusted = self.entries + first, last - first, True, self, self.trusted
        return made

    def cut(self, spans: _Data) -> Texts:
        """The pieces (text, start, end), in bytes or characters of the text: rows of three int64, as a buffer."""
        cdef Numbers numbers = numbers_of(spans)
        cdef const int64_t *rows = numbers.data
        cdef Texts made = Texts.__new__(Texts)
        cdef Py_ssize_t i
        cdef st_job_text *entry
        made.owner, made.trusted = self, self.trusted
        made._allocate(numbers.n // 3)
        for i in range(made.count):
            if not 0 <= rows[3 * i] < self.count:
                raise IndexError(rows[3 * i])
            entry = &self.entries[rows[3 * i]]
            if not 0 <= rows[3 * i + 1] <= rows[3 * i + 2] <= <int64_t>entry.n:
                raise IndexError((rows[3 * i + 1], rows[3 * i + 2]))
            made.entries[i] = st_job_text_slice(entry, <size_t>rows[3 * i + 1], <size_t>(rows[3 * i + 2] - rows[3 * i + 1]))
        return made

    def replaced(self, dict others: dict[int, bytes]) -> Texts:
        """The same texts, but others[i] in place of text i: bytes of valid UTF-8."""
        cdef Texts made = Texts.__new__(Texts)
        cdef Py_ssize_t i
        made._allocate(self.count)
        for i in range(self.count):
            made.entries[i] = self.entries[i]
        for i, other in others.items():
            if not 0 <= i < self.count:
                raise IndexError(i)
            made.entries[i] = st_job_text(PyBytes_AS_STRING(other), <size_t>PyBytes_GET_SIZE(other), 0, ST_FEED_TRUSTED)
        made.owner, made.trusted = (self, others.copy()), self.trusted
        return made

    def mended(self) -> Texts:
        """The same texts without surrogates, as encode() replaces them. They are copies, where they have to be."""
        texts = []
        for i in range(self.count):
            try:
                texts.append(self[i])
            except HasSurrogates:
                texts.append(mend_surrogates(self._str(i)).encode())
        cdef Texts made = Texts(texts)
        made.trusted = self.trusted
        return made

    cdef object _str(self, Py_ssize_t i):
        cdef st_job_text *entry = &self.entries[i]
        data = PyBytes_FromStringAndSize(<const char *>entry.text, <Py_ssize_t>(entry.n * entry.width))
        return data.decode(f"utf-{8 * entry.width}-{sys.byteorder[0]}e", "surrogatepass")


cdef size_t aligned(size_t size) noexcept:
    return (size + ALIGNED - 1) // ALIGNED * ALIGNED


cdef class Layout:
    """The UTF-8 of all texts, one behind the other, or in blocks.

    >>> layout = Layout(texts)
    >>> batch = layout.measure()     # None, or wait for it
    >>> layout.sizes(sizes)          # bytes of each text
    >>> batch = layout.write(buffer)   # None, or wait for it

    >>> blocks = layout.count_blocks()
    >>> batch = layout.write_blocks(buffer, rows)
    """
    cdef Texts texts
    cdef Task *tasks
    cdef Group *groups
    cdef size_t task_count, group_count
    cdef readonly bint has_characters, is_joined
    cdef object buffer  # keeps the memory that is written

    def __cinit__(self, Texts texts not None, bint apart=False):
        """apart: each text has tasks of its own, as write_blocks() wants it."""
        cdef Py_ssize_t i
        cdef size_t count = 0, n
        self.texts = texts
        for i in range(texts.count):
            n = texts.entries[i].n
            count += (n + A_TASK - 1) // A_TASK
            self.has_characters = self.has_characters or texts.entries[i].width != 0
        self.tasks = <Task *>PyMem_Malloc((count + 1) * sizeof(Task))
        self.groups = <Group *>PyMem_Malloc((count + 1) * sizeof(Group))
        if self.tasks == NULL or self.groups == NULL:
            raise MemoryError
        for i in range(texts.count):
            self._add(&texts.entries[i], apart)

    def __dealloc__(self):
        PyMem_Free(self.tasks)
        PyMem_Free(self.groups)

    cdef void _add(self, const st_job_text *entry, bint apart) noexcept:
        cdef size_t at = 0
        cdef const uint8_t *data = <const uint8_t *>entry.text
        cdef Task *task
        if not self.has_characters and self.task_count and not apart:
            # Texts of a column stand one behind the other in memory: one copy takes many of them.
            task = &self.tasks[self.task_count - 1]
            if task.source + task.n == data and entry.n <= A_TASK - task.n:
                task.n += entry.n
                task.size = task.n
                self.is_joined = self.is_joined or entry.n != 0
                return
        while at < entry.n:
            task = &self.tasks[self.task_count]
            self.task_count += 1
            task.source, task.width = data + max(1, entry.width) * at, entry.width
            task.n = min(entry.n - at, <size_t>A_TASK)
            task.size = task.n
            at += task.n

    cdef void _group(self) noexcept:
        """Groups of neighbouring tasks."""
        cdef size_t i, done = A_GROUP
        self.group_count = 0
        for i in range(self.task_count):
            if done >= A_GROUP:
                self.groups[self.group_count] = Group(&self.tasks[i], 0)
                self.group_count += 1
                done = 0
            self.groups[self.group_count - 1].count += 1
            done += self.tasks[i].n

    cdef object _do(self, size_t size):
        """Does all tasks, or lets threads do them."""
        cdef size_t i
        cdef Batch batch
        if is_little(size):
            with nogil:
                for i in range(self.task_count):
                    do_task(&self.tasks[i])
            return None
        self._group()
        batch = Batch.__new__(Batch)
        batch.begin(self.groups, self.group_count, self)
        return batch

    def measure(self) -> Batch | None:
        """Finds out how many bytes the texts have, at once, or a Batch does it."""
        cdef size_t i, characters = 0
        if not self.has_characters:
            return None
        for i in range(self.task_count):
            self.tasks[i].kind = TASK_MEASURE if self.tasks[i].width else TASK_KNOWN
            characters += self.tasks[i].n if self.tasks[i].width else 0
        return self._do(CONVERTED * characters)

    def sizes(self, sizes: _Data):
        """Fills a writable buffer of int64, an item a text, with the bytes that it has. Raises HasSurrogates."""
        cdef Items items = items_of(sizes, sizeof(int64_t), True)
        cdef int64_t *to = <int64_t *>items.data
        cdef size_t at = 0
        cdef Py_ssize_t i
        if items.n < self.texts.count:
            raise IndexError(self.texts.count)
        for i in range(self.texts.count):
            to[i] = <int64_t>self._size(i, &at)

    def size(self) -> int:
        """Bytes of all texts. Raises HasSurrogates."""
        cdef size_t at = 0, size = 0
        cdef Py_ssize_t i
        for i in range(self.texts.count):
            size += self._size(i, &at)
        return size

    cdef size_t _size(self, Py_ssize_t i, size_t *at) except? 0:
        """Bytes of text i, whose tasks begin with number `at`, which then is the next text's, unless texts are joined."""
        cdef size_t parts, size = 0
        if not self.has_characters:
            at[0] += (self.texts.entries[i].n + A_TASK - 1) // A_TASK
            return self.texts.entries[i].n
        for parts in range((self.texts.entries[i].n + A_TASK - 1) // A_TASK):
            if self.tasks[at[0]].size == ST_NOT_CONVERTED:
                raise HasSurrogates
            size += self.tasks[at[0]].size
            at[0] += 1
        return size

    def write(self, buffer: _Data) -> Batch | None:
        """Writes all bytes, at once, or a Batch does it. buffer: a writable buffer of as many bytes or more; ValueError if it has
        less."""
        cdef size_t i, total = 0, work = 0
        cdef Items memory = bytes_in(buffer, True)
        for i in range(self.task_count):
            self.tasks[i].to, self.tasks[i].kind = <uint8_t *>memory.data + total, TASK_CONVERT if self.tasks[i].width else TASK_COPY
            total += self.tasks[i].size
            work += self.tasks[i].size * (CONVERTED if self.tasks[i].width else 1)
        if total > <size_t>memory.n:
            raise ValueError(f"the buffer has {memory.n} bytes, and the texts have {total}: give room for them")
        self.buffer = buffer
        return self._do(work)

    def count_blocks(self) -> int:
        """How many blocks of 64 bytes the texts take, each from one of its own on. Raises HasSurrogates."""
        cdef size_t at = 0, blocks = 0
        cdef Py_ssize_t i
        for i in range(self.texts.count):
            blocks += (self._size(i, &at) + BLOCK - 1) // BLOCK
        return blocks

    def write_blocks(self, buffer: _Data, rows: _Data) -> Batch | None:
        """Writes all texts as kernels take them, at once, or a Batch does it: the blocks; a mark for each, a byte; and where each row
        begins, a number of 64 bits that counts blocks. Marks and rows begin at multiples of 16 bytes.

        buffer: a writable buffer; ValueError if it is too small. rows: a buffer of int64, for each row the number of the text that it
        begins with, ascending, or how many texts there are, if none follows; IndexError for any other."""
        if self.is_joined:
            raise ValueError("texts are joined: make a Layout(texts, True)")
        cdef Numbers items = numbers_of(rows)
        cdef const int64_t *firsts = items.data
        cdef size_t at = 0, block = 0, size, blocks = self.count_blocks(), rows_at = aligned(BLOCK * blocks + blocks)
        cdef Py_ssize_t i, row = 0
        cdef Items memory = bytes_in(buffer, True)
        cdef uint8_t *to = <uint8_t *>memory.data
        cdef uint64_t *row_blocks = <uint64_t *>(to + rows_at)
        if rows_at + sizeof(uint64_t) * <size_t>items.n > <size_t>memory.n:
            raise ValueError(f"the buffer has {memory.n} bytes: give room for {blocks} blocks, their marks and {items.n} rows")
        for i in range(self.texts.count + 1):
            while row < items.n and firsts[row] == i:
                row_blocks[row] = block
                row += 1
            if i < self.texts.count:
                size = self._place(i, &at, to + BLOCK * block)
                mark(to + BLOCK * blocks + block, to + BLOCK * block, size)
                block += (size + BLOCK - 1) // BLOCK
        if row < items.n:
            raise IndexError(firsts[row])
        self.buffer = buffer
        return self._do(BLOCK * blocks * (CONVERTED if self.has_characters else 1))

    cdef size_t _place(self, Py_ssize_t i, size_t *at, uint8_t *to) except? 0:
        """Makes the tasks of text i write it, and returns its size."""
        cdef size_t first = at[0], size = self._size(i, at), number
        for number in range(first, at[0]):
            self.tasks[number].to, self.tasks[number].kind = to, TASK_CONVERT if self.tasks[number].width else TASK_COPY
            to += self.tasks[number].size
        return size


cdef void mark(uint8_t *marks, uint8_t *text, size_t size) noexcept:
    """The marks of a text's blocks, and what is behind its end in the last one."""
    cdef size_t whole = size // BLOCK, rest = size % BLOCK
    memset(marks, BLOCK, whole)
    if rest:
        marks[whole] = <uint8_t>rest
        memset(text + size, PAD, BLOCK - rest)
    if size:
        marks[0] |= MARK_BEGIN
