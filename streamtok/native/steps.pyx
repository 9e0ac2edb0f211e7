"""Steps of a call with no Python bytecode between them.

A handler of a signal, or a tracer, raises between two bytecodes, also in front of the first of a `finally` and behind the last
of a `with`. Cython code has none. So what is done here is done whole, and what was taken here is given back."""

cimport cython

from .csrc.base cimport st_flag_lower, st_flag_raise

from _queue import Empty, SimpleQueue
from _thread import allocate_lock, start_new_thread


cdef class Alone:
    """One call at a time of an object. error: a function that makes what a second one gets."""
    cdef int is_inside
    cdef object error

    def __cinit__(self, error not None: Callable[[], BaseException]):
        self.error = error

    def run(self, function: Callable[..., _T], *arguments) -> _T:
        """function(*arguments), if no other call is under way."""
        if not st_flag_raise(&self.is_inside):
            raise self.error()
        try:
            return function(*arguments)
        finally:
            st_flag_lower(&self.is_inside)


def holding(lock not None, function: Callable[..., _T], *arguments) -> _T:
    """function(*arguments) under a lock of the module _thread."""
    lock.acquire()  # a signal while it waits: what the handler raises, and the lock is not held
    try:
        return function(*arguments)
    finally:
        lock.release()


def locked(method not None: _M) -> _M:
    """The method, under self._lock."""
    @cython.binding(True)  # so that it becomes a method of an instance, and has attributes
    def call(self, *arguments):
        return holding(self._lock, method, self, *arguments)

    call.__name__, call.__doc__, call.__wrapped__ = method.__name__, method.__doc__, method  # the last one: its signature
    return call


def within(context not None, function: Callable[..., _T], *arguments) -> _T:
    """`with context: return function(*arguments)`."""
    with context:
        return function(*arguments)


def while_set(owner: object, str name not None, value: object, function: Callable[..., _T], *arguments) -> _T:
    """function(*arguments) while an attribute has a value; behind it the one that it had."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        return function(*arguments)
    finally:
        setattr(owner, name, before)


def on_failure(function: Callable[[], _T], ending not None: Callable[[], object]) -> _T:
    """The result of function(). Where that raises, ending() is called first, and again if it is interrupted; what it raises is
    dropped."""
    try:
        return function()
    except BaseException:
        for _ in range(2):
            try:
                ending()
                break
            except BaseException:
                pass
        raise


def at_once(*steps: tuple[Any, ...]) -> list[Any]:
    """Does each step, (function, *arguments), and returns a list of the results. Nothing is raised between two steps if all
    functions are written in C; what can fail stands first."""
    cdef tuple step
    made = []
    for step in steps:
        made.append(step[0](*step[1:]))
    return made


def put(owner: object, str name not None, function: Callable[..., object], *arguments):
    """Keeps what a function returns as an attribute: what was opened belongs to its owner from the first moment on."""
    setattr(owner, name, function(*arguments))


def after_all(function: Callable[[], _T], *endings: Callable[[], object]) -> _T:
    """The result of function(); behind it, whatever happened, each of the endings is called. What one of them raises is raised when
    all were called, unless the function itself has raised."""
    failed = None
    try:
        result = function()
    except BaseException as error:
        failed = error
    for ending in endings:
        try:
            ending()
        except BaseException as error:
            if failed is None:
                failed = error
    if failed is not None:
        try:
            raise failed
        finally:
            failed = None  # it holds this frame's caller, which holds it
    return result


cdef class Changes:
    """A lock, and threads that wait for a change of what it guards. It is what threading.Condition is, but for exceptions, which leave
    that one's lock in any state."""
    cdef object lock
    cdef list waiting  # of each that waits: a lock, which is given back at the next change

    def __cinit__(self, *_):
        self.lock, self.waiting = allocate_lock(), []

    cdef void wake(self):
        for change in self.waiting:
            change.release()
        self.waiting = []

    def run(self, function: Callable[..., _T], *arguments) -> _T:
        """function(*arguments) under the lock, which changes something."""
        self.lock.acquire()
        try:
            return function(*arguments)
        finally:
            self.wake()
            self.lock.release()

    def until(self, function: Callable[..., _T | None], *arguments) -> _T:
        """What function(*arguments) gives under the lock, once that is not None."""
        while True:
            self.lock.acquire()
            try:
                made = function(*arguments)
                if made is not None:
                    self.wake()
                    return made
                change = allocate_lock()
                change.acquire()
                self.waiting.append(change)
            finally:
                self.lock.release()
            change.acquire()


cdef class Pool(Changes):
    """Things that calls borrow. Behind a call they are there again, whatever happened in it."""
    cdef list free

    def __cinit__(self, things not None: Iterable[Any]):
        self.free = list(things)

    def __len__(self):
        return len(self.free)

    def _take(self, Py_ssize_t wanted) -> list[Any] | None:
        taken = self.free[:wanted]
        del self.free[:wanted]
        return taken or None

    def lend(self, Py_ssize_t wanted, bint waits, function: Callable[..., _T], *arguments) -> _T | None:
        """function(things, *arguments), with as many as are wanted and free, one at least. Where none is free, it waits, or returns
        None."""
        taken, failed = self.until(self._take, wanted) if waits else self.run(self._take, wanted), None
        if taken is None:
            return None
        try:
            return function(taken, *arguments)
        finally:
            while True:
                try:
                    self.lock.acquire()
                    break
                except BaseException as error:  # of a signal's handler: it is raised once they are back
                    failed = error
            self.free[:0] = taken
            self.wake()
            self.lock.release()
            if failed is not None:
                raise failed


class lazy:  #: Generic[_T]
    """functools.cached_property without the lock that it has before Python 3.12. Where two threads come first, both make the value,
    and one of the two is kept."""

    #: function: Callable[[Any], _T]
    #: name: str

    def __init__(self, function: Callable[[Any], _T]):
        self.function, self.__doc__ = function, function.__doc__

    def __set_name__(self, owner: type[object], name: str):
        self.name = name

    #: @overload
    #: def __get__(self, owner: None, kind: type[object] | None = None) -> Self: ...
    #: @overload
    #: def __get__(self, owner: object, kind: type[object] | None = None) -> _T: ...
    def __get__(self, owner, kind=None):
        if owner is None:
            return self
        return owner.__dict__.setdefault(self.name, self.function(owner))


def serve(tasks not None, work: Callable[[Any], object], ending: Callable[[Any, BaseException | None], object]):
    """Does work(task) for each task of a queue, until one is None. Behind each, whatever happened, ending(task, error) is called: with
    what was raised, or None; once more where it raises something itself."""
    while True:
        task, failed = tasks.get(), None
        if task is None:
            tasks.put(None)  # for another thread of this queue
            return
        try:
            work(task)
        except BaseException as error:
            failed = error
        try:
            ending(task, failed)
        except BaseException as error:
            try:
                ending(task, failed or error)
            except BaseException:
                pass  # nobody is left to tell
        task = failed = None  # held no longer than it takes


# ---- threads ----

cdef class Task:  #: Generic[_T]
    """What a thread is to do."""
    cdef object function, made, error, over
    cdef readonly bint is_done

    def __cinit__(self, function not None: Callable[[], _T]):
        self.function, self.over = function, allocate_lock()
        self.over.acquire()

    cdef void run(self):
        try:
            self.made = self.function()
        except BaseException as error:
            self.error = error
        self.end()

    cdef void end(self):
        self.function, self.is_done = None, True
        self.over.release()

    def result(self) -> _T:
        """What the function has returned, once it has; or raises what it has raised."""
        self.over.acquire()
        self.over.release()
        if self.error is not None:
            raise self.error
        return self.made


def live(tasks not None, over not None):
    """A thread: does tasks until one is None."""
    cdef Task task
    try:
        while True:
            task = tasks.get()
            if task is None:
                break
            task.run()
            task = None
    finally:
        over.release()


cdef class Threads:
    """Up to `most` threads that do tasks, in their order. Those of concurrent.futures and threading are left locked by an exception
    that comes while Python's own code holds one of their locks. One thread calls the methods."""
    cdef object tasks
    cdef list ends  # of each thread: a lock that it holds
    cdef int most

    def __cinit__(self, int most):
        self.tasks, self.ends, self.most = SimpleQueue(), [], most

    def __del__(self):  # while the queue is whole: the collector of garbage empties what a __dealloc__ would still see
        self.end_each()

    cdef void end_each(self):
        for _ in range(len(self.ends)):
            self.tasks.put(None)

    def do(self, function: Callable[[], _T]) -> Task[_T]:
        """A Task: the function is called by one of the threads."""
        cdef Task task = Task(function)
        if len(self.ends) < self.most:
            over = allocate_lock()
            over.acquire()
            start_new_thread(live, (self.tasks, over))
            self.ends.append(over)
        self.tasks.put(task)
        return task

    cdef void empty(self):
        cdef Task task
        while True:
            try:
                task = self.tasks.get(False)
            except Empty:
                return
            if task is not None:
                task.error = RuntimeError("the threads were ended before this was done")
                task.end()

    def drop(self):
        """Drops what was not begun: its result is an error. The threads end, each after its current task."""
        self.empty()
        self.end_each()

    def end(self):
        """drop(), and returns once the threads have ended. After an exception it is called again."""
        self.drop()
        while self.ends:
            over = self.ends[len(self.ends) - 1]
            over.acquire()
            over.release()
            self.ends.pop()
        self.empty()
