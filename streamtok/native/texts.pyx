"""Texts of a caller as they lie in memory, and their UTF-8 in memory of one's own, made by several threads (workers.pyx).

A text is bytes, or the characters of a str that is not ASCII: these become UTF-8 where they are wanted, straight from the str."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_FillInfo, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.unicode cimport PyUnicode_Check
from libc.stdint cimport int64_t, uint8_t

from .csrc.text cimport ST_NOT_CONVERTED, st_code_points_put, st_code_points_size
from .text cimport Items, PyUnicode_DATA, PyUnicode_IS_ASCII, PyUnicode_KIND, items_of
from .workers cimport TASK_CONVERT, TASK_COPY, TASK_KNOWN, TASK_MEASURE, Batch, Group, Task, do_task, is_little

from .text import mend_surrogates

import sys

cdef enum:
    # Characters, or bytes, of a task. A part of a longer text is one, and so is each short text.
    A_TASK = 1 << 18
    # Bytes and characters of the tasks that a thread does at a time.
    A_GROUP = 1 << 18

class HasSurrogates(Exception):
    """A str has surrogates, which are to be mended before it becomes UTF-8."""


cdef class Held:
    """Buffers that are released with this object."""
    cdef Py_buffer *views
    cdef Py_ssize_t count

    def __dealloc__(self):
        for i in range(self.count):
            PyBuffer_Release(&self.views[i])
        PyMem_Free(self.views)

    cdef Py_buffer *hold(self, object source, Py_ssize_t most) except NULL:
        """The buffer of a source, one of `most` texts."""
        if self.views == NULL:
            self.views = <Py_buffer *>PyMem_Malloc(<size_t>most * sizeof(Py_buffer))
            if self.views == NULL:
                raise MemoryError
        PyObject_GetBuffer(source, &self.views[self.count], PyBUF_SIMPLE)
        self.count += 1
        return &self.views[self.count - 1]


cdef class Memory:
    """A part of another object's memory, as a buffer."""
    cdef object owner
    cdef const uint8_t *data
    cdef Py_ssize_t n

    def __len__(self):
        return self.n

    def __getbuffer__(self, Py_buffer *view, int flags):
        PyBuffer_FillInfo(view, self, <void *>self.data, self.n, 1, flags)


cdef class Texts:
    """str and buffers of bytes, in order. trusted: all of it is certainly valid UTF-8. TypeError for anything else.

    texts[i] is a buffer of the UTF-8 of text i, made anew where it is a str that is not ASCII: for what is rare."""
    def __cinit__(self, list texts=None):
        cdef Py_ssize_t i
        self.trusted = True
        if texts is None:
            return
        texts = texts[:]  # the caller's list may change
        held = Held()
        self.owner = (texts, held)
        self._make_room(len(texts))
        for i in range(self.count):
            self._take(i, texts[i], held)

    cdef int _make_room(self, Py_ssize_t count) except -1:
        self.entries = <Entry *>PyMem_Malloc(<size_t>(count + 1) * sizeof(Entry))
        if self.entries == NULL:
            raise MemoryError
        self.count = count
        return 0

    cdef int _take(self, Py_ssize_t i, object text, object held) except -1:
        cdef Py_buffer *view
        cdef Entry *entry = &self.entries[i]
        if PyUnicode_Check(text):
            entry.data, entry.n = <const uint8_t *>PyUnicode_DATA(text), <size_t>len(text)
            entry.width = 0 if PyUnicode_IS_ASCII(text) else <unsigned>PyUnicode_KIND(text)
            return 0
        self.trusted = False
        if PyBytes_CheckExact(text):
            entry.data, entry.n = <const uint8_t *>PyBytes_AS_STRING(text), <size_t>PyBytes_GET_SIZE(text)
        else:
            try:
                view = (<Held>held).hold(text, self.count)
            except TypeError:
                raise TypeError(f"expected str or a buffer of UTF-8 bytes, got {type(text).__name__}") from None
            entry.data, entry.n = <const uint8_t *>view.buf, <size_t>view.len
        entry.width = 0
        return 0

    def __dealloc__(self):
        if not self.is_part:
            PyMem_Free(self.entries)

    def __len__(self):
        return self.count

    def __getitem__(self, Py_ssize_t i):
        if not 0 <= i < self.count:
            raise IndexError(i)
        return self.units(i, 0, <Py_ssize_t>self.entries[i].n)

    def units(self, Py_ssize_t i, Py_ssize_t start, Py_ssize_t end):
        """The UTF-8 of the bytes, or characters, start .. end - 1 of text i, as a buffer."""
        cdef Entry *entry = &self.entries[i]
        cdef Memory memory
        cdef const uint8_t *data = entry.data + max(1, entry.width) * <size_t>start
        cdef size_t n = <size_t>(end - start), size
        if not entry.width:
            memory = Memory.__new__(Memory)
            memory.owner, memory.data, memory.n = self, data, end - start
            return memory
        size = st_code_points_size(data, n, entry.width)
        if size == ST_NOT_CONVERTED:
            raise HasSurrogates
        result = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>size)
        st_code_points_put(data, n, entry.width, <uint8_t *>PyBytes_AS_STRING(result))
        return result

    @property
    def size(self):
        """Bytes of all texts, or characters of each that is a str and not ASCII."""
        cdef size_t all = 0
        for i in range(self.count):
            all += self.entries[i].n
        return all

    def facts(self, sizes, widths):
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
            to_widths[i] = 1 if not self.entries[i].width else 2 if self.entries[i].width == 1 else self.entries[i].width // 2 + 2

    def part(self, Py_ssize_t first, Py_ssize_t last):
        """The texts first .. last - 1."""
        cdef Texts made
        if not 0 <= first <= last <= self.count:
            raise IndexError((first, last))
        made = Texts.__new__(Texts)
        made.entries, made.count, made.is_part, made.owner, made.trusted = self.entries + first, last - first, True, self, self.trusted
        return made

    def cut(self, spans):
        """The pieces (text, start, end), in bytes or characters of the text: rows of three int64, as a buffer."""
        cdef Items items = items_of(spans, sizeof(int64_t))
        cdef const int64_t *rows = <const int64_t *>items.data
        cdef Texts made = Texts.__new__(Texts)
        cdef Py_ssize_t i
        cdef Entry *entry
        made.owner, made.trusted = self, self.trusted
        made._make_room(items.n // 3)
        for i in range(made.count):
            if not 0 <= rows[3 * i] < self.count:
                raise IndexError(rows[3 * i])
            entry = &self.entries[rows[3 * i]]
            if not 0 <= rows[3 * i + 1] <= rows[3 * i + 2] <= <int64_t>entry.n:
                raise IndexError((rows[3 * i + 1], rows[3 * i + 2]))
            made.entries[i].data = entry.data + max(1, entry.width) * <size_t>rows[3 * i + 1]
            made.entries[i].n, made.entries[i].width = <size_t>(rows[3 * i + 2] - rows[3 * i + 1]), entry.width
        return made

    def mended(self):
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
        cdef Entry *entry = &self.entries[i]
        data = PyBytes_FromStringAndSize(<const char *>entry.data, <Py_ssize_t>(entry.n * entry.width))
        return data.decode(f"utf-{8 * entry.width}-{sys.byteorder[0]}e", "surrogatepass")


cdef class Layout:
    """The UTF-8 of all texts, one behind the other.

    >>> layout = Layout(texts)
    >>> batch = layout.measure()     # None, or wait for it
    >>> layout.sizes(sizes)          # bytes of each text
    >>> batch = layout.write(room)   # None, or wait for it
    """
    cdef Texts texts
    cdef Task *tasks
    cdef Group *groups
    cdef size_t task_count, group_count
    cdef readonly bint has_characters
    cdef object room  # keeps the memory that is written

    def __cinit__(self, Texts texts not None):
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
            self._add(&texts.entries[i])

    def __dealloc__(self):
        PyMem_Free(self.tasks)
        PyMem_Free(self.groups)

    cdef void _add(self, const Entry *entry) noexcept:
        cdef size_t at = 0
        cdef Task *task
        if not self.has_characters and self.task_count:
            # Texts of a column stand one behind the other in memory: one copy takes many of them.
            task = &self.tasks[self.task_count - 1]
            if task.source + task.n == entry.data and entry.n <= A_TASK - task.n:
                task.n += entry.n
                task.size = task.n
                return
        while at < entry.n:
            task = &self.tasks[self.task_count]
            self.task_count += 1
            task.source, task.width = entry.data + max(1, entry.width) * at, entry.width
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

    def measure(self):
        """Finds out how many bytes the texts have, at once, or a Batch does it."""
        cdef size_t i, characters = 0
        if not self.has_characters:
            return None
        for i in range(self.task_count):
            self.tasks[i].kind = TASK_MEASURE if self.tasks[i].width else TASK_KNOWN
            characters += self.tasks[i].n if self.tasks[i].width else 0
        return self._do(characters)

    def sizes(self, sizes):
        """Fills a writable buffer of int64, an item a text, with the bytes that it has. Raises HasSurrogates."""
        cdef Items items = items_of(sizes, sizeof(int64_t), True)
        cdef int64_t *to = <int64_t *>items.data
        cdef size_t at = 0, parts
        cdef Py_ssize_t i
        if items.n < self.texts.count:
            raise IndexError(self.texts.count)
        for i in range(self.texts.count):
            if not self.has_characters:
                to[i] = <int64_t>self.texts.entries[i].n
                continue
            to[i] = 0
            for parts in range((self.texts.entries[i].n + A_TASK - 1) // A_TASK):
                if self.tasks[at].size == ST_NOT_CONVERTED:
                    raise HasSurrogates
                to[i] += <int64_t>self.tasks[at].size
                at += 1

    def write(self, room):
        """Writes all bytes, at once, or a Batch does it. room: a writable buffer of as many bytes or more; ValueError if it has
        less."""
        cdef size_t i, total = 0
        cdef Py_buffer view
        PyObject_GetBuffer(room, &view, PyBUF_WRITABLE)
        try:
            for i in range(self.task_count):
                self.tasks[i].to, self.tasks[i].kind = <uint8_t *>view.buf + total, TASK_CONVERT if self.tasks[i].width else TASK_COPY
                total += self.tasks[i].size
            if total > <size_t>view.len:
                raise ValueError(f"the room has {view.len} bytes, and the texts have {total}: give room for them")
            self.room = room
            return self._do(total)
        finally:
            PyBuffer_Release(&view)
