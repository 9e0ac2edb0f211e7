"""A kernel that is launched again and again by the CUDA driver's own functions, and awaited by looking at what it writes.

The driver is not linked: the caller passes the addresses of its functions. For a short text, launching and waiting through CuPy
takes as long as the work on the device."""

from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t, uint64_t, uintptr_t
from libc.string cimport memcpy

from .csrc.base cimport st_count_read
from .csrc.text cimport ST_NOT_CONVERTED, st_code_points_put, st_code_points_size
from .memory cimport Items, items_of
from .text cimport PyUnicode_DATA, PyUnicode_IS_ASCII, PyUnicode_KIND
from .workers cimport Batch, begin_copy, is_little

cdef extern from *:
    """
    #if defined(_WIN32)
    #define ST_DRIVER_CALL __stdcall
    #else
    #define ST_DRIVER_CALL
    #endif
    typedef int (ST_DRIVER_CALL *st_driver_push)(void *);
    typedef int (ST_DRIVER_CALL *st_driver_pop)(void **);
    typedef int (ST_DRIVER_CALL *st_driver_query)(void *);
    typedef int (ST_DRIVER_CALL *st_driver_launch)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
                                                   void **);
    """
    ctypedef int (*st_driver_push)(void *context) noexcept nogil
    ctypedef int (*st_driver_pop)(void **context) noexcept nogil
    ctypedef int (*st_driver_query)(void *stream) noexcept nogil
    ctypedef int (*st_driver_launch)(void *kernel, unsigned x, unsigned y, unsigned z, unsigned threads_x, unsigned threads_y,
                                     unsigned threads_z, unsigned memory, void *stream, void **arguments) noexcept nogil

cdef enum:
    BLOCK = 64  # bytes, as kernels count them (csrc/cuda/job.h)
    NOT_READY = 600  # CUDA_ERROR_NOT_READY
    # Looks at the flag before the driver is asked, which knows of errors: 10 to 50 us.
    LOOKS = 1 << 12
    # So often it is asked. Then who waits does so without keeping a core busy.
    ASKED = 50


cdef class Driver:
    """The driver's functions by their addresses: cuCtxPushCurrent, cuCtxPopCurrent, cuLaunchCooperativeKernel, cuStreamQuery."""
    cdef st_driver_push push
    cdef st_driver_pop pop
    cdef st_driver_launch launch
    cdef st_driver_query query

    def __cinit__(self, uintptr_t push, uintptr_t pop, uintptr_t launch, uintptr_t query):
        self.push, self.pop = <st_driver_push>push, <st_driver_pop>pop
        self.launch, self.query = <st_driver_launch>launch, <st_driver_query>query


cdef class Launch:
    """A cooperative launch of a kernel of one argument, in a context.

    argument: where the argument lies. done: where a number of 32 bits lies that the kernel makes 1 when the host can read all that it
    wrote. Both stay where they are as long as this object is used."""
    cdef Driver driver
    cdef void *context
    cdef void *kernel
    cdef void *argument
    cdef int *done
    cdef unsigned threads, memory

    def __cinit__(
        self, Driver driver not None, uintptr_t context, uintptr_t kernel, unsigned threads, unsigned memory, uintptr_t argument,
        uintptr_t done,
    ):
        self.driver, self.context, self.kernel = driver, <void *>context, <void *>kernel
        self.argument, self.done, self.threads, self.memory = <void *>argument, <int *>done, threads, memory

    def run(self, uintptr_t stream, unsigned blocks) -> tuple[int, bool]:
        """Launches on a stream of the context, and waits. (the driver's status, whether all is done): with the status 0 and False the
        caller waits for the stream, which has an error or much to do."""
        cdef int status
        cdef bint is_over = False
        cdef void *before = NULL
        with nogil:
            status = self.driver.push(self.context)
            if status == 0:
                self.done[0] = 0
                status = self.driver.launch(
                    self.kernel, blocks, 1, 1, self.threads, 1, 1, self.memory, <void *>stream, &self.argument
                )
                is_over = status == 0 and self._is_seen(<void *>stream)
                self.driver.pop(&before)
        return status, is_over

    cdef bint _is_seen(self, void *stream) noexcept nogil:
        cdef int i, asked
        for asked in range(ASKED):
            for i in range(LOOKS):
                if st_count_read(self.done):
                    return True
            if self.driver.query(stream) != NOT_READY:
                break
        return st_count_read(self.done) != 0


cdef class TextLaunch:
    """A launch for one text at a time, which it copies to pinned memory; its ids come to other such memory.

    numbers: the launch's job, uint64. places: which of them are source, source_size, size, blocks, stretches, trusted, marks, row_count,
    out and out_capacity. report: what the kernel counts, bytes. tokens_at: where in it the tokens are; doubts: where in it three numbers of
    32 bits are that are 0 unless the text takes more than that, or, of the first one the bit `crowded`, has more ids than there is room
    for. buffer: pinned memory of uint8 for texts, and 16 bytes more. blocks: the most that the launch may have, each for
    block_bytes of text, in stretches of so many bytes."""
    cdef Launch launch
    cdef Items numbers, report, buffer
    cdef uint64_t *job
    cdef size_t tokens_at, block_bytes, stretch
    cdef uint32_t crowded
    cdef size_t[10] places
    cdef size_t[3] doubts
    cdef unsigned blocks
    cdef uintptr_t stream

    def __cinit__(
        self, Launch launch not None, numbers: _Data, tuple places: tuple[int, ...], report: _Data, size_t tokens_at,
        tuple doubts: tuple[int, int, int], uint32_t crowded, buffer: _Data, unsigned blocks, size_t block_bytes, size_t stretch,
        uintptr_t stream,
    ):
        self.launch, self.numbers, self.report = launch, items_of(numbers, sizeof(uint64_t), True), items_of(report, 1)
        self.buffer, self.blocks, self.block_bytes, self.stream = items_of(buffer, 1, True), blocks, block_bytes, stream
        self.job, self.tokens_at, self.stretch = <uint64_t *>self.numbers.data, tokens_at, stretch
        self.crowded = crowded
        for i in range(10):
            self.places[i] = places[i]
        for i in range(3):
            self.doubts[i] = doubts[i]

    def run(self, text, uint64_t out, uint64_t out_capacity) -> tuple[int, bool] | None:
        """Launch.run for a str, or for bytes, whose ids go to pinned memory at `out`, with room for so many; None for what it does not
        take: other types, surrogates, too much text or none."""
        cdef bint is_str = type(text) is str
        cdef Py_ssize_t n = self._put(text) if is_str or type(text) is bytes else 0
        if n == 0:
            return None
        cdef uint64_t *job = self.job
        cdef size_t size = <size_t>n
        job[self.places[0]], job[self.places[1]], job[self.places[2]] = <uint64_t><uintptr_t>self.buffer.data, size, size
        job[self.places[3]], job[self.places[4]] = (size + BLOCK - 1) // BLOCK, (size + self.stretch - 1) // self.stretch
        job[self.places[5]], job[self.places[6]], job[self.places[7]] = is_str, 0, 0
        job[self.places[8]], job[self.places[9]] = out, out_capacity
        return self.launch.run(self.stream, min(self.blocks, <unsigned>((size + self.block_bytes - 1) // self.block_bytes)))

    cdef Py_ssize_t _put(self, object text) except -1:
        """The bytes of a text, which lie in `buffer` then; 0: it is none for this."""
        cdef const uint8_t *data
        cdef size_t n, most = <size_t>self.buffer.n - 16
        cdef unsigned width = 0
        cdef Batch batch
        if type(text) is str:
            data, n = <const uint8_t *>PyUnicode_DATA(text), <size_t>len(text)
            width = 0 if PyUnicode_IS_ASCII(text) else <unsigned>PyUnicode_KIND(text)
        else:
            data, n = <const uint8_t *>PyBytes_AS_STRING(text), <size_t>PyBytes_GET_SIZE(text)
        if n > most:
            return 0
        if width:
            size = st_code_points_size(data, n, width)
            if size == ST_NOT_CONVERTED or size > most:
                return 0
            st_code_points_put(data, n, width, <uint8_t *>self.buffer.data)
            return <Py_ssize_t>size
        if is_little(n):
            memcpy(self.buffer.data, data, n)
        else:
            batch = begin_copy(self.buffer.data, data, n)
            batch.wait()
        return <Py_ssize_t>n

    def tokens(self) -> int:
        """How many ids there are, when all is done, though there be no room for them; -1 where the text is to be encoded otherwise."""
        cdef const uint8_t *report = <const uint8_t *>self.report.data
        cdef uint32_t doubt = (<const uint32_t *>(report + self.doubts[0]))[0] & ~self.crowded
        for i in range(1, 3):
            doubt |= (<const uint32_t *>(report + self.doubts[i]))[0]
        return -1 if doubt else <Py_ssize_t>(<const uint64_t *>(report + self.tokens_at))[0]


cdef class Current:
    """Makes a device, and perhaps a stream of it, current for this thread inside `with`.

    CuPy's Device keeps what was current before in the object, which threads would share; and its streams can be made current on their
    own device alone. The device is set though it be the current one: that is what gives a new thread its context."""
    cdef object runtime, ordinal, stream, before

    def __cinit__(self, runtime not None, ordinal not None: int, stream=None):
        self.runtime, self.ordinal, self.stream = runtime, ordinal, stream

    def __enter__(self):
        self.before = self.runtime.getDevice()
        self.runtime.setDevice(self.ordinal)
        if self.stream is not None:
            self.stream.__enter__()

    def __exit__(self, kind: object, error: object, at: object):
        if self.stream is not None:
            self.stream.__exit__(kind, error, at)
        if self.before != self.ordinal:
            self.runtime.setDevice(self.before)
