"""Calls that are interrupted at every place where Python can raise: at each bytecode, or by a real signal.

A `Row` says how an object is made, which call is interrupted, and what comes of the object afterwards. That has to be
what comes of it where the call was never made, or what comes of it where the call was done.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import random
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import streamtok

_OWN = os.path.dirname(streamtok.__file__)
_STDLIB = os.path.dirname(os.__file__)
_NOT = ("importlib", "abc.py", "typing.py", "site-packages")  # an import that fails is made again by Python itself


class Stop(KeyboardInterrupt):
    """What a tracer or a handler raises: no `except Exception` catches it."""


class Row(NamedTuple):
    """A call that may be interrupted.

    make: an object in the middle of its work; call: the call; future: what comes of the object, to be compared.
    points: up to so many bytecodes of it the short run takes all; of more, a third. own: it is interrupted in this
    package's files alone, because what is around them cannot stand it: an event loop of asyncio forgets what it was
    about to call.
    """

    name: str
    make: Callable[[], Any]
    call: Callable[[Any], object]
    future: Callable[[Any], object]
    points: int = 120
    own: bool = False


class Result(NamedTuple):
    """What interrupting a row has shown. points: bytecodes of the call."""

    tried: int
    broken: list[str]
    points: int


def _is_traced(name: str) -> bool:
    if name.startswith("<frozen "):
        return "importlib" not in name and "abc" not in name
    return name.startswith(_OWN) or (name.startswith(_STDLIB) and not any(part in name for part in _NOT))


def at_bytecode(number: int, call: Callable[[], object], own: bool = False) -> int:
    """Makes the call, and raises Stop in front of that bytecode of it, counted from 1; how many there were till then.
    Those of streamtok count, and, unless `own`, those of Python's library."""
    count = 0
    known: dict[str, bool] = {}

    def trace(frame: Any, event: str, argument: object) -> Any:
        nonlocal count
        if event == "call":
            name = frame.f_code.co_filename
            if name not in known:
                known[name] = name.startswith(_OWN) if own else _is_traced(name)
            if not known[name]:
                return None
            frame.f_trace_lines, frame.f_trace_opcodes = False, True
        elif event == "opcode":
            count += 1
            if count == number:
                raise Stop
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Without the collector, whose callbacks cannot raise, and without what Python prints about such."""
    hook, sys.unraisablehook = sys.unraisablehook, lambda _: None
    gc.collect()
    gc.disable()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a coroutine that was never awaited
            yield
    finally:
        gc.enable()
        sys.unraisablehook = hook


def futures(row: Row) -> tuple[object, object]:
    """What comes of an object without the call, and with it."""
    before = row.future(row.make())
    made = row.make()
    row.call(made)
    return before, row.future(made)


def _fault(row: Row, made: Any, right: tuple[object, object]) -> str:
    """What is wrong with an object after a call was interrupted; "" if nothing is."""
    try:
        found = row.future(made)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return "" if found in right else f"{found!r:.300} is neither {right[0]!r:.300} nor {right[1]!r:.300}"


def each_bytecode(row: Row, all_points: bool = False) -> Result:
    """Interrupts the call at each of its bytecodes, or at a third of row.points where there are more."""
    right = futures(row)
    with quiet():
        made = row.make()
        points = at_bytecode(0, functools.partial(row.call, made), row.own)
        step = 1.0 if all_points or points <= row.points else 3 * points / row.points
        tried, broken = 0, []
        at = random.Random(row.name).uniform(1, step) if step > 1 else 1.0
        while at <= points:
            made = row.make()
            try:
                at_bytecode(int(at), functools.partial(row.call, made), row.own)
            except Stop as stop:
                tried += 1
                stack = traceback.extract_tb(stop.__traceback__)[:1:-1]
                fault = _fault(row, made, right)
                if fault:
                    where = ", ".join(f"{os.path.basename(each.filename)}:{each.lineno}" for each in stack)
                    broken.append(f"bytecode {int(at)} of {points} ({where}): {fault}")
            at += step
    return Result(tried, broken, points)


# ==== Signals ====

has_signals = hasattr(signal, "setitimer")


def by_signals(row: Row, count: int, seconds: float = 1e9, seed: int = 0) -> Result:
    """Interrupts the call by a signal at a random moment, so many times or for so long."""
    rng, right, tried, broken = random.Random(f"{row.name} {seed}"), futures(row), 0, []
    ends, longest = time.monotonic() + seconds, _duration(row)
    before = signal.signal(signal.SIGALRM, _raise_inside if row.own else _raise)
    try:
        with quiet():
            for number in range(40 * count):
                if number % 500 == 499:
                    gc.collect()  # event loops have files
                if tried == count or time.monotonic() > ends:
                    break
                made = row.make()
                if _was_interrupted(row, made, rng.uniform(1e-6, 1.1 * longest)):
                    tried += 1
                    fault = _fault(row, made, right)
                    if fault:
                        broken.append(fault)
    finally:
        signal.signal(signal.SIGALRM, before)
    return Result(tried, broken, 0)


_heard = [0]  # signals whose handler has raised


_is_armed = [False]  # another thread may have taken the signal, and this one hears of it after the call


def _raise(number: int, frame: object) -> None:
    if _is_armed[0]:
        _heard[0] += 1
        raise Stop


def _raise_inside(number: int, frame: Any) -> None:
    if frame is not None and frame.f_code.co_filename.startswith(_OWN):
        _raise(number, frame)


def _was_interrupted(row: Row, made: Any, delay: float) -> bool:
    """Makes the call with a signal after `delay` seconds: whether it came before the call had ended."""
    is_inside = was_inside = False
    before = _heard[0]
    try:
        try:
            _is_armed[0] = True
            signal.setitimer(signal.ITIMER_REAL, delay)
            is_inside = True
            row.call(made)
            is_inside = False
        except Stop:
            was_inside = is_inside
        except Exception:  # numpy makes another error of one in a comparison
            was_inside = is_inside
            if _heard[0] == before:
                raise
        signal.setitimer(signal.ITIMER_REAL, 0)
        _is_armed[0] = False
    except Stop:
        pass
    _is_armed[0] = False
    signal.setitimer(signal.ITIMER_REAL, 0)
    return was_inside


def _duration(row: Row) -> float:
    """Seconds of the call."""
    times = []
    for _ in range(5):
        made = row.make()
        began = time.perf_counter()
        row.call(made)
        times.append(time.perf_counter() - began)
    return sorted(times)[2] + 5e-6
