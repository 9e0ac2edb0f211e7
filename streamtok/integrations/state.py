"""The engine of a tokenizer that may change at any time, what the original had to do, and what a thread is in."""

from __future__ import annotations

import threading
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ..errors import warn_user
from ..native.steps import holding, while_set
from .engine import Engine, Unserved
from .late import backend_lock
from .watch import Watch

if TYPE_CHECKING:
    from collections.abc import Callable

    from .prefixes import Prefixes

_T = TypeVar("_T")


class State:
    """The engine for a tokenizers.Tokenizer, which may change at any time.

    Args:
        num_threads: for batches.
        trusts: only what is cheap is compared, whoever holds the tokenizer.
        warned: somebody was told that it is not supported.
        prefixes: for single long texts, shared with copies.

    Attributes:
        counts: calls that the original has done, by the reason why; those that were served under "".
    """

    def __init__(
        self, num_threads: int | None, trusts: bool = False, warned: bool = False, prefixes: Prefixes | None = None
    ) -> None:
        self.num_threads, self.trusts, self.warned, self.prefixes = num_threads, trusts, warned, prefixes
        self.counts: Counter[str] = Counter()
        self._engine: Engine | None = None
        self._refused: tuple[Watch, str] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return State, (self.num_threads, self.trusts, self.warned, self.prefixes)

    def anew(self) -> State:
        """For a copy of the tokenizer, which may change in other ways."""
        return State(self.num_threads, self.trusts, self.warned, self.prefixes)

    def drop(self) -> None:
        self._engine = self._refused = None

    def warn(self, message: str) -> None:
        """Once for a tokenizer and its copies."""
        if not self.warned:
            self.warned = True
            warn_user(message)

    def served(self, serve: Callable[[], _T], original: Callable[[], _T]) -> _T:
        """What `serve` returns; where it raises Unserved, what the original does. The call is counted either way."""
        try:
            made = serve()
        except Unserved as error:
            self.counts[str(error)] += 1
        else:
            self.counts[""] += 1
            return made
        return original()

    def hand_out(self) -> None:
        """Somebody else gets the tokenizer, and may change it."""
        found, refused = self._engine, self._refused
        if found is not None:
            found.watch.handed_out = True
        if refused is not None:
            refused[0].handed_out = True

    def engine(self, owner: dict[str, Any]) -> Engine:
        """One for the tokenizer as it is now. owner: has it as "_tokenizer". Unserved: it is not supported."""
        found = self._engine
        if found is not None and found.watch.holds(owner):
            return found
        found = None
        return holding(backend_lock(), self._engine_once, owner)

    def quick_engine(self, owner: dict[str, Any]) -> Engine:
        """As engine(), for a short text. Unserved, too: somebody holds the tokenizer, and comparing it takes longer."""
        if self._engine is not None and self._engine.watch.is_shared():
            raise Unserved("somebody holds the backend")
        return self.engine(owner)

    def _engine_once(self, owner: dict[str, Any]) -> Engine:
        found = self._engine
        if found is not None and found.watch.holds(owner):  # made by another thread meanwhile
            return found
        if self._refused is not None and self._refused[0].holds(owner):
            raise Unserved(self._refused[1])
        self.drop()
        found = None
        return self._new(owner)

    def _new(self, owner: dict[str, Any]) -> Engine:
        watch = Watch(owner["_tokenizer"], self.trusts)
        try:
            engine = Engine(watch, str(owner.get("name_or_path", "")))
        except Unserved as error:
            self._refused = watch, str(error)
            self.warn(f"{error}; the original does all that it did before, as fast as before")
            raise
        if self.prefixes is not None:
            engine.cache = self.prefixes.of(engine.encoding)
        self._engine = engine
        return engine


class Inside(NamedTuple):
    """What a thread is in.

    is_reading: code that reads a backend and hands it to nobody.
    unserved: the original is to encode.
    decoding: (tokenizer, strict) of a call that decodes.
    """

    is_reading: bool = False
    unserved: bool = False
    decoding: tuple[Any, bool] | None = None


_OUTSIDE, _READING = Inside(), Inside(True)


class _Thread(threading.local):
    inside = _OUTSIDE


_thread = _Thread()


def inside() -> Inside:
    """What this thread is in."""
    return _thread.inside


def reading(
    function: Callable[[], _T], unserved: bool = False, decoding: tuple[Any, bool] | None = None, locked: bool = False
) -> _T:
    """What a function returns that is a part of this thread's work. locked: under the backend's lock."""
    before = _thread.inside
    if not (unserved or decoding):
        if before.is_reading and not locked:
            return function()
        within = _READING if before is _OUTSIDE else before._replace(is_reading=True)
    else:
        within = Inside(True, unserved or before.unserved, decoding or before.decoding)
    if locked:
        made: _T = holding(backend_lock(), while_set, _thread, "inside", within, function)
        return made
    return while_set(_thread, "inside", within, function)
