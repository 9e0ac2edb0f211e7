"""Threads that meet in native calls: the first callers of what is begun once, and several that wait for one batch.

Each test is a process of its own, as a fault may end it or make it wait for ever."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest

posix = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

HEAD = """
import faulthandler, gc, os, sys, threading, time, warnings
faulthandler.dump_traceback_later(50, exit=True)  # a process that hangs says where
warnings.simplefilter("ignore")  # newer Pythons warn of fork beside threads
sys.setswitchinterval(1e-6)
import numpy as np
import streamtok
from streamtok.native import workers

source = np.arange(3 << 20, dtype=np.uint8)

def at_once(call, count=8):
    barrier, failed = threading.Barrier(count), []

    def run():
        barrier.wait()
        try:
            call()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed, failed

def copied():
    target = np.zeros_like(source)
    workers.copy(target, source).wait()
    assert (target == source).all()
"""


def run_alone(code: str) -> None:
    script = HEAD + textwrap.dedent(code)
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert run.returncode == 0, (run.returncode, run.stderr[-3000:])


# What the first calls of a process may be.
FIRST_CALLS = {
    "cores": "from streamtok.native.cores import cores; assert cores() >= 1",
    "threads": "assert workers.thread_count() >= 1",
    "copies": "copied()",
    "get_encoding": "assert streamtok.get_encoding('gpt2').encode('hello world') == [31373, 995]",
    "encode_batch": """
        enc = streamtok.get_encoding('gpt2')
        assert enc.encode_batch(['hello world'] * 40_000, num_threads=4) == [[31373, 995]] * 40_000
    """,
    "arrays": "assert streamtok.get_encoding('gpt2').encode_to_numpy('hello world').tolist() == [31373, 995]",
}


@posix
@pytest.mark.parametrize("call", FIRST_CALLS.values(), ids=FIRST_CALLS)
def test_first_callers(call):
    """In ten forked processes, each of which has begun nothing."""
    body = textwrap.indent(textwrap.dedent(call).strip(), "    ")
    run_alone(f"""
def call():
{body}

for _ in range(10):
    child = os.fork()
    if not child:
        code = 1
        try:
            at_once(call)
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
""")


def test_first_callers_begin_the_copying_threads_once():
    """All of them are between the look at what is there and the beginning."""
    run_alone("""
        inside, count = threading.Barrier(8), min(workers.cores(), 8)  # far from the most threads that a pool has

        def cores():
            inside.wait()
            return count + 2

        def system_threads():
            return len(os.listdir("/proc/self/task")) if os.path.exists("/proc/self/task") else 0

        before, workers.cores = system_threads(), cores
        at_once(copied)
        assert workers.thread_count() == count + 1
        deadline = time.monotonic() + 20
        while system_threads() > before + count + 1 and time.monotonic() < deadline:
            time.sleep(0.01)  # a thread that was joined may not have left yet
        assert system_threads() in (0, before + count + 1)
    """)


@posix
def test_a_process_forked_while_the_copying_threads_begin():
    run_alone("""
        beginning, forked, count = threading.Event(), threading.Event(), workers.cores()

        def cores():
            beginning.set()
            assert forked.wait(30)
            return count

        workers.cores = cores
        thread = threading.Thread(target=copied)
        thread.start()
        beginning.wait()
        child = os.fork()
        if not child:
            workers.cores = lambda: count
            copied()
            os._exit(0)
        forked.set()
        assert os.waitpid(child, 0)[1] == 0
        thread.join()
        copied()
    """)


def test_several_threads_wait_for_one_batch():
    run_alone("""
        target = np.zeros_like(source)
        for _ in range(100):
            target[-1] = 0
            batch = workers.copy(target, source)
            at_once(batch.wait)
            assert batch.done() and target[-1] == source[-1]

        def ask():
            while not batch.done():
                pass

        for _ in range(30):
            batch = workers.copy(target, source)
            asks = [threading.Thread(target=ask) for _ in range(2)]
            for thread in asks:
                thread.start()
            at_once(batch.wait, 3)
            for thread in asks:
                thread.join()
    """)


@pytest.mark.skipif(sys.platform != "linux", reason="needs a bound on the address space that threads cannot pass")
def test_batches_without_threads():
    """Where the system gives no thread, who asks or waits does the work."""
    run_alone("""
        import resource

        target = np.zeros_like(source)
        with open("/proc/self/statm") as file:
            used = int(file.read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + (2 << 20), resource.RLIM_INFINITY))
        batch = workers.copy(target, source)
        resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        assert workers.thread_count() == 0
        assert batch.done() and (target == source).all()
        copied()
    """)


def test_a_batch_in_garbage():
    """The collector lets go of what a batch works on only when it is done, and of all buffers."""
    run_alone("""
        class Holder:
            pass

        data = source.tobytes()
        for _ in range(100):
            target = bytearray(len(data))
            batch, holder = workers.copy(target, data), Holder()
            holder.batch, holder.itself = batch, holder
            del batch, holder
            gc.collect()
            assert target == data
            target.append(1)  # BufferError while somebody holds its buffer
    """)


def test_lists_in_garbage():
    """What is not finished gives its references back, while it still has the vocabulary whose ints they are of."""
    run_alone("""
        from streamtok.native.lists import lists_over

        class Holder:
            pass

        enc = streamtok.get_encoding("gpt2")
        ids = enc.encode_to_numpy("hello world " * 300_000)
        starts, number = np.array([0, len(ids)]), enc.encode("hello world")[0]
        before = sys.getrefcount(number)
        for _ in range(10):
            lists, holder = lists_over(enc._vocab, ids, starts), Holder()
            if lists.are_shared:
                lists.work()
                assert lists.make()
            holder.lists, holder.itself = lists, holder
            del lists, holder
            gc.collect()
            assert sys.getrefcount(number) == before
    """)


def test_buffers_in_garbage():
    """They are released: an array in Python's own types cannot grow while somebody holds its buffer."""
    run_alone("""
        from array import array

        from streamtok.native.lists import lists_over
        from streamtok.native.buffers import Lent

        class Holder:
            pass

        enc, starts = streamtok.get_encoding("gpt2"), np.array([0, 3])
        makes = [lambda data: Lent(data, 0, 3, [], None), lambda data: lists_over(enc._vocab, data, starts)]
        for make in makes:
            data = array("I", [1, 2, 3])
            held, holder = make(data), Holder()
            holder.held, holder.itself = held, holder
            del held, holder
            gc.collect()
            data.append(4)
    """)


def test_threads_in_garbage():
    """The collector of garbage may empty their queue first: it meets objects in the order in which it knows them."""
    run_alone("""
        from streamtok.native.steps import Threads

        gc.disable()
        gc.collect()
        for _ in range(5):
            holder = [Threads(1)]
            holder[0].do(lambda: None).result()
            holder[0].drop()
            time.sleep(0.01)  # the thread ends, which also has the queue
            (queue,) = (each for each in gc.get_referents(holder[0]) if type(each).__name__ == "SimpleQueue")
            gc.collect(0)  # it comes to know the threads by way of the list, behind the queue
            holder.append(holder)
            del queue, holder
            gc.collect()
    """)


@posix
def test_first_call_while_another_thread_imports_an_encoding():
    """A fork copies the lock of a module that is being imported, and nobody in the child gives it back."""
    run_alone("""
        import importlib._bootstrap as bootstrap
        import signal

        from streamtok.native import cores

        sys.modules.pop("encodings.ascii", None)
        lock = bootstrap._get_module_lock("encodings.ascii")
        holder = threading.Thread(target=lock.acquire)
        holder.start()
        holder.join()
        child = os.fork()
        if child == 0:
            signal.alarm(20)
            assert cores.cores() >= 1
            os._exit(0)
        code = os.waitpid(child, 0)[1]
        os._exit(code != 0)  # Python's own end would wait for the module
    """)
