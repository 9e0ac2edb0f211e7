"""The stages before splitting, for encoders outside the core (`regex`, the GPU): text as checked bytes, special tokens found."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_Check
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy, memset

from .encode cimport Coder, fail
from .csrc.base cimport *
from .csrc.text cimport *
from .csrc.special cimport *
from .csrc.stream cimport *
from .matcher cimport Matcher
from .memory cimport Items, bytes_in, memory_of
from .text cimport Text, borrow_apart, ends_high

from .text import join_surrogate


def utf8_of(source: _Text) -> memoryview:
    """The UTF-8 of a str, or a buffer of bytes, as a memoryview; without a copy where possible."""
    cdef Text text
    alive = borrow_apart(source, &text)
    return memoryview(memory_of(alive, text.data, text.n))


def is_utf8(data not None: _Data) -> bool:
    """Whether all of a buffer of bytes is valid UTF-8."""
    cdef st_text_error error
    cdef Items view = bytes_in(data)
    cdef bint valid
    with nogil:
        valid = st_text_check(<const uint8_t *>view.data, <size_t>view.n, &error) == <size_t>view.n
    return valid


cdef class Gate:
    """The first two stages of a stream (docs/design.md): whole characters of valid UTF-8, and no disallowed name. What
    comes out, joined, is the text whose ids are asked for; errors are those of a CoreStream, at the same feed."""
    cdef st_text_stage stage
    cdef st_watch watch
    cdef readonly Coder coder
    cdef readonly Matcher disallowed  #: Matcher | None
    cdef str high  # as in CoreStream

    def __cinit__(self, Coder coder not None, Matcher disallowed):
        memset(&self.stage, 0, sizeof(self.stage))
        memset(&self.watch, 0, sizeof(self.watch))
        self.stage.errors = <st_errors>coder.options.errors
        self.coder, self.disallowed = coder, disallowed
        self.watch.names = disallowed.special if disallowed is not None else NULL

    def __dealloc__(self):
        st_text_stage_free(&self.stage)

    def take(self, chunk: _Text, bint final=False) -> bytes:
        """The bytes that a chunk adds to the text. An error leaves the gate as it was."""
        cdef str high = self.high
        if high is not None or (PyUnicode_Check(chunk) and ends_high(chunk)):
            chunk, after = join_surrogate(high, chunk, final)
            result = self._take(chunk, final)
            self.high = after
            return result
        return self._take(chunk, final)

    cdef bytes _take(self, object chunk, bint final):
        cdef st_feed_error error
        cdef st_segments segments
        cdef st_status status
        cdef st_watch watch = self.watch
        cdef Text text
        alive = borrow_apart(chunk, &text)
        with nogil:
            status = st_text_stage_take(&self.stage, text.data, text.n, text.flags & ST_FEED_TRUSTED, final, &segments, &error.text)
            if status == ST_INVALID_UTF8:
                error.offset = self.stage.offset - self.stage.partial_size + error.text.start
            if status == ST_OK:
                status = st_watch_chunk(&watch, &self.stage, &segments, final, &error.offset, &error.id)
        if status:
            fail(status, &error, self.disallowed, alive, self.stage.partial, self.stage.partial_size, True)
        result = self._text_of(&segments)
        st_text_stage_commit(&self.stage, &segments, text.n)
        self.watch = watch
        if final:
            self.reset()
        return result

    cdef bytes _text_of(self, const st_segments *segments):
        cdef bytes result = PyBytes_FromStringAndSize(NULL, <Py_ssize_t>(segments.joined_size + segments.n))
        cdef char *to = PyBytes_AS_STRING(result)
        memcpy(to, segments.joined, segments.joined_size)
        if segments.n:
            memcpy(to + segments.joined_size, segments.text, segments.n)
        return result

    def copy(self) -> Self:
        """A gate in the same state. The time does not depend on how much it holds."""
        cdef Gate other = Gate(self.coder, self.disallowed)
        other.stage.offset, other.stage.partial_size = self.stage.offset, self.stage.partial_size
        memcpy(other.stage.partial, self.stage.partial, sizeof(self.stage.partial))
        other.watch, other.high = self.watch, self.high
        return other

    def reset(self):
        self.stage.offset = self.stage.partial_size = 0
        st_watch_reset(&self.watch)
        self.high = None

    def pass_over(self, int64_t n):
        """Counts n bytes as seen that came before all that was taken; repaired text can be longer than they were."""
        self.stage.offset += n
        self.watch.offset += n

    def restore(self, bytes end not None, held: str | bytes, int64_t offset):
        """Brings a new gate to where another one was: what it let through ends with `end` (its `watched`), it held `held`,
        and had taken `offset` bytes. ValueError: no gate can have been there."""
        self.take(end)
        self.take(held)
        self.pass_over(offset - <int64_t>self.stage.offset)
        if self.held != held or self.watched != end or offset < 0:
            raise ValueError("no stream can have had this state")

    @property
    def offset(self) -> int:
        """Bytes taken since the text began."""
        return self.stage.offset

    @property
    def watched(self) -> bytes:
        """The end of what came out that begins a disallowed name."""
        return self.disallowed.bytes_of(self.watch.node) if self.watch.node else b""

    @property
    def held(self) -> str | bytes:
        """What was taken and not returned yet: the beginning of a character, as take() would accept it again."""
        if self.high is not None:
            return self.high
        return PyBytes_FromStringAndSize(<const char *>self.stage.partial, self.stage.partial_size)
