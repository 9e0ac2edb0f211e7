"""Many texts, or one long one, on several threads, which run side by side because the core releases the GIL.

Threads are started for a call and end with it: none is left behind for a fork to lose, and none waits between calls.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from itertools import accumulate, pairwise

from .errors import at_row
from .native import interrupt
from .native.cores import cores
from .native.encode import Coder
from .native.job import Job
from .native.lists import Lists, lists_over
from .native.steps import Threads, after_all, within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    from ._protocols import ArrayCoder, Ids, Names, Places, SomeText, Text, TextCoder
    from .native.steps import Task
    from .native.texts import Texts
    from .native.vocab import Vocab

    _T = TypeVar("_T")
    _R = TypeVar("_R")

# Encoding less text than this takes less time than starting a thread.
_LEAST_SHARE = 1 << 16

# One text is cut into parts of no less than this: a second thread does not make a shorter text faster.
_LEAST_PART = 1 << 18


def threads_for(num_threads: int | None) -> int:
    """How many threads to use: not more than there are cores for this process, and so many for None. Raises ValueError
    below 1."""
    if num_threads is not None and num_threads <= 0:
        raise ValueError("num_threads must be greater than 0")
    if num_threads == 1:
        return 1  # asking takes longer than encoding a short text
    return cores() if num_threads is None else min(num_threads, cores())


def thread_map(function: Callable[[_T], _R], items: list[_T], num_threads: int | None) -> list[_R]:
    """[function(item) for item in items], on several threads."""
    num_threads = min(threads_for(num_threads), len(items))
    if num_threads <= 1:
        return [function(item) for item in items]
    stop, threads = interrupt.Stop(), Threads(num_threads)
    tasks: list[Task[_R]] = []

    def results() -> list[_R]:
        for item in items:
            tasks.append(threads.do(partial(within, stop, function, item)))
        made = [task.result() for task in tasks]
        threads.end()
        return made

    # After Ctrl-C, or an item that fails, the other results are not needed.
    return after_all(results, stop.raise_it, threads.drop, tasks.clear)


# ==== One long text ====


def encode_array(
    coder: TextCoder, text: Text, allowed: Names, disallowed: Names, num_threads: int | None = None
) -> Ids:
    """coder.encode_array, on several threads where the text is long."""
    job = None if num_threads == 1 else _job_for(coder, [text], allowed, disallowed, num_threads, _LEAST_PART)
    return coder.encode_array(text, allowed, disallowed) if job is None else job.array()


def count(coder: TextCoder, text: Text, allowed: Names, disallowed: Names, num_threads: int | None = None) -> int:
    """coder.count, on several threads where the text is long."""
    job = None
    if num_threads != 1:
        job = _job_for(coder, [text], allowed, disallowed, num_threads, _LEAST_PART, counts_only=True)
    return coder.count(text, allowed, disallowed) if job is None else job.count()


def _job_for(
    coder: TextCoder,
    texts: list[SomeText],
    allowed: Names,
    disallowed: Names,
    num_threads: int | None,
    least: int,
    counts_only: bool = False,
) -> Job | None:
    """A job whose work is done; None where one thread does it as well."""
    threads = threads_for(num_threads)
    if threads == 1 or not isinstance(coder, Coder) or (len(texts) == 1 and not coder.is_divisible):
        return None  # a custom pattern has no places to cut at, and its splitter holds the GIL
    job = Job(coder, texts, allowed, disallowed, threads, least, counts_only)
    if job.share_count < 2:
        return None
    job.work(min(threads, job.share_count) - 1)
    return None if job.has_surrogates() else job


# ==== Many texts ====


def shares(items: list[_T], num_threads: int | None, size: Callable[[_T], int], least: int) -> list[list[_T]]:
    """Items in order, cut into runs of about equal size, four a thread, so that a slow one does not delay all."""
    num_threads = threads_for(num_threads)
    sizes = list(map(size, items))
    ends = list(accumulate(sizes))
    total = ends[-1] if ends else 0
    wanted = max(total // (4 * num_threads) + 1, least)
    cuts = [i + 1 for i, end in enumerate(ends) if end // wanted != (end - sizes[i]) // wanted]
    borders = sorted({0, *cuts, len(items)})
    return [items[a:b] for a, b in pairwise(borders)]


def map_shares(function: Callable[[list[_T]], list[_R]], items: list[list[_T]], num_threads: int | None) -> list[_R]:
    """The results for all shares of a batch, joined. function: gives one for each item of a share. What it raises is
    told of the row in the batch."""

    def run(part: tuple[int, list[_T]]) -> list[_R]:
        first, share = part
        try:
            return function(share)
        except Exception as error:
            if hasattr(error, "row"):
                at_row(error, first)
            raise

    firsts = accumulate(map(len, items), initial=0)
    parts = thread_map(run, list(zip(firsts, items)), num_threads)
    return [made for part in parts for made in part]


def encode_lists(
    coder: TextCoder, texts: list[str], allowed: Names, disallowed: Names, num_threads: int | None
) -> list[list[int]]:
    """A list of ids for each text."""
    if isinstance(coder, Coder):
        job = _job_for(coder, texts, allowed, disallowed, num_threads, _LEAST_SHARE)
        if job is None:
            return _lists(coder, texts, allowed, disallowed)
        return _lists_of(job.lists(), threads_for(num_threads))

    def run(share: list[str]) -> list[list[int]]:
        return _lists(coder, share, allowed, disallowed)

    return map_shares(run, shares(texts, num_threads, len, _LEAST_SHARE), num_threads)


def _lists_of(lists: Lists, threads: int) -> list[list[int]]:
    """The lists, made by several threads."""
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        step = len(lists) // (4 * threads) + 1
        parts = [(first, min(first + step, len(lists))) for first in range(0, len(lists), step)]
        return [each for part in thread_map(lambda part: lists.some(*part), parts, threads) for each in part]
    if not lists.are_shared:
        return lists.all()
    lists.work(threads - 1)
    if not lists.make():
        return lists.all()
    lists.work(threads - 1)
    return lists.finish()


def _lists(coder: TextCoder, texts: list[str], allowed: Names, disallowed: Names) -> list[list[int]]:
    lists = []
    try:
        for text in texts:
            lists.append(coder.encode(text, allowed, disallowed))
    except BaseException as error:
        at_row(error, len(lists))
        interrupt.drop(lists)  # freeing it may take long
        raise
    return lists


def listed(vocab: Vocab, ids: Ids, indptr: Places, num_threads: int | None) -> list[list[int]]:
    """The rows of a vocabulary's ids as lists."""
    return _lists_of(lists_over(vocab, ids, indptr), threads_for(num_threads))


def encode_ragged(
    coder: TextCoder, texts: list[SomeText], allowed: Names, disallowed: Names, num_threads: int | None
) -> tuple[Ids, Places]:
    """(ids of all texts, row starts)."""
    import numpy as np

    indptr = np.zeros(len(texts) + 1, np.int64)
    job = _job_for(coder, texts, allowed, disallowed, num_threads, _LEAST_SHARE)
    if job is None:
        ids, starts = coder.encode_many(texts, allowed, disallowed)
        indptr[:] = starts
        return ids, indptr
    ids = job.array(counts=indptr[1:])
    np.cumsum(indptr, out=indptr)
    return ids, indptr


def encode_texts(
    coder: TextCoder, texts: Texts, allowed: Names, disallowed: Names, num_threads: int | None
) -> tuple[Ids, Places]:
    """encode_ragged() of texts that lie in memory."""
    import numpy as np

    threads = threads_for(num_threads)
    indptr = np.zeros(len(texts) + 1, np.int64)
    if not len(texts) or not isinstance(coder, Coder):
        ids, indptr[:] = coder.encode_many(_listed(texts), allowed, disallowed)
        return ids, indptr
    job = Job(coder, texts, allowed, disallowed, threads, _LEAST_SHARE) if threads > 1 else None
    if job is None or not job.share_count:
        threads, job = 1, Job(coder, texts, allowed, disallowed, 1, 0)
    job.work(min(threads, job.share_count) - 1)
    ids = job.array(counts=indptr[1:])
    np.cumsum(indptr, out=indptr)
    return ids, indptr


def encode_many_aside(
    coder: ArrayCoder, texts: list[SomeText] | Texts, allowed: Names, disallowed: Names
) -> tuple[Ids, list[int] | Places]:
    """coder.encode_many for a thread among others: the GIL is released once for all texts, not for each long one."""
    if not len(texts) or not isinstance(coder, Coder):
        return coder.encode_many(_listed(texts), allowed, disallowed)
    import numpy as np

    indptr = np.zeros(len(texts) + 1, np.int64)
    job = Job(coder, texts, allowed, disallowed, 1, 0)
    job.work()
    if job.has_surrogates():
        return coder.encode_many(_listed(texts), allowed, disallowed)
    ids = job.array(counts=indptr[1:])
    return ids, np.cumsum(indptr)


def _listed(texts: list[Any] | Texts) -> list[Any]:
    return texts if isinstance(texts, list) else [texts[i] for i in range(len(texts))]
