"""The C library by ctypes, for comparison with the Python package."""

from __future__ import annotations

import ctypes
import functools
import itertools
from collections.abc import Callable, Iterable
from ctypes import POINTER, byref, c_char_p, c_int, c_int32, c_size_t, c_uint32, c_uint64, c_void_p
from typing import Any

import c_library

OK, MORE = 0, 1


class Text(ctypes.Structure):
    _fields_ = (("data", c_char_p), ("size", c_size_t))


class Fault(ctypes.Structure):
    _fields_ = (("size", c_size_t), ("offset", c_uint64), ("index", c_uint64), ("row", c_uint64))


class Options(ctypes.Structure):
    _fields_ = (
        *(("size", c_size_t), ("special", c_uint32), ("errors", c_uint32), ("flags", c_uint32)),
        *(
            ("allowed", POINTER(Text)),
            ("allowed_count", c_size_t),
            ("refused", POINTER(Text)),
            ("refused_count", c_size_t),
        ),
    )


class Segment(ctypes.Structure):
    _fields_ = (("data", c_char_p), ("size", c_size_t), ("special", c_int))


class Failed(Exception):
    def __init__(self, status: int, fault: Fault) -> None:
        super().__init__(status, fault.offset, fault.index, fault.row)
        self.status, self.offset, self.index, self.row = status, fault.offset, fault.index, fault.row


def call(name: str, *arguments: Any, restype: Any = c_int) -> Any:
    function = getattr(c_library.library(), name)
    function.restype = restype
    return function(*arguments)


def checked(status: int, fault: Fault | None = None) -> None:
    if status != OK:
        raise Failed(status, fault or Fault())


def texts_of(given: Iterable[bytes]) -> tuple[Any, int]:
    made = [Text(each, len(each)) for each in given]
    return (Text * len(made))(*made), len(made)


class Handle:
    """An object of the library."""

    def __init__(self, kind: str, name: str, *arguments: Any) -> None:
        self.kind, self.at = kind, c_void_p()
        checked(call(name, *arguments, byref(self.at)))

    def __del__(self) -> None:
        call(f"stk_{self.kind}_free", self.at, restype=None)


def filled(step: Callable[..., int], more: Callable[..., int] | None, kind: Any, room: int) -> list[Any]:
    """All that a call fills a buffer with. more: what goes on; None: the call is made again with more room."""
    fault, count, found = Fault(ctypes.sizeof(Fault)), c_size_t(), []
    while True:
        buffer = (kind * max(room, 1))()
        status = step(buffer, c_size_t(room), byref(count), fault)
        if status not in (OK, MORE):
            raise Failed(status, fault)
        if more is None and status == MORE:
            assert count.value > room
            room = count.value
            continue
        found += buffer[: count.value]
        if status == OK:
            return found
        step, room = (lambda buffer, room, count, fault: more(buffer, room, count)), room + 1


class Model(Handle):
    def __init__(self, path: Any) -> None:
        super().__init__("model", "stk_model_open", str(path).encode())

    def decode(self, ids: list[int], flags: int = 0, room: int = 3) -> bytes:
        row = (c_uint32 * len(ids))(*ids)
        return bytes(
            filled(
                lambda text, n, size, fault: call(
                    "stk_decode", self.at, row, c_size_t(len(ids)), flags, text, n, size, byref(fault)
                ),
                None,
                ctypes.c_ubyte,
                room,
            )
        )


class Coder(Handle):
    def __init__(
        self, model: Model, special: int = 0, errors: int = 0, flags: int = 0, allowed: Iterable[bytes] = ()
    ) -> None:
        names, count = texts_of(allowed)
        options = Options(ctypes.sizeof(Options), special, errors, flags, names, count, None, 0)
        super().__init__("coder", "stk_coder_new", model.at, byref(options))

    def encode(self, text: bytes, room: int = 5) -> list[int]:
        return filled(
            lambda ids, n, count, fault: call(
                "stk_encode", self.at, text, c_size_t(len(text)), ids, n, count, byref(fault)
            ),
            None,
            c_uint32,
            room,
        )

    def count(self, text: bytes) -> int:
        count = c_size_t()
        checked(call("stk_count", self.at, text, c_size_t(len(text)), byref(count), None))
        return count.value

    def offsets(self, text: bytes) -> tuple[list[int], list[int]]:
        room, count = 2 * len(text) + 16, c_size_t()
        ids, places = (c_uint32 * room)(), (c_uint64 * room)()
        size = c_size_t(len(text))
        checked(call("stk_encode_offsets", self.at, text, size, ids, places, c_size_t(room), byref(count), None))
        return ids[: count.value], places[: count.value]

    def segments(self, parts: list[tuple[bytes, int]]) -> tuple[list[int], list[int] | None]:
        made = (Segment * len(parts))(*(Segment(text, len(text), special) for text, special in parts))
        starts = (c_uint64 * (len(parts) + 1))()
        ids = filled(
            lambda ids, n, count, fault: call(
                "stk_encode_segments", self.at, made, c_size_t(len(parts)), ids, n, count, starts, byref(fault)
            ),
            None,
            c_uint32,
            4,
        )
        return ids, None if starts[0] == 2**64 - 1 else list(starts)

    def batch(self, pool: Handle | None, texts: list[bytes]) -> list[list[int]]:
        given, n = texts_of(texts)
        fault, at, count = Fault(ctypes.sizeof(Fault)), c_void_p(), c_size_t()
        status = call("stk_encode_batch", self.at, pool and pool.at, given, c_size_t(n), byref(at), byref(fault))
        checked(status, fault)
        ids = call("stk_batch_ids", at, byref(count), restype=POINTER(c_uint32))[: count.value] if n else []
        starts = call("stk_batch_starts", at, byref(count), restype=POINTER(c_uint64))[: n + 1]
        assert count.value == n
        call("stk_batch_free", at, restype=None)
        return [ids[a:b] for a, b in itertools.pairwise(starts)]


class Stream(Handle):
    def __init__(self, coder: Coder) -> None:
        super().__init__("stream", "stk_stream_new", coder.at)

    def take(self, ids: Any, room: Any, count: Any) -> int:
        return int(call("stk_stream_take", self.at, ids, room, count))

    def feed(self, text: bytes, room: int = 2) -> list[int]:
        return filled(
            lambda ids, n, count, fault: call(
                "stk_stream_feed", self.at, text, c_size_t(len(text)), ids, n, count, byref(fault)
            ),
            self.take,
            c_uint32,
            room,
        )

    def flush(self, room: int = 2) -> list[int]:
        return filled(
            lambda ids, n, count, fault: call("stk_stream_flush", self.at, ids, n, count, byref(fault)),
            self.take,
            c_uint32,
            room,
        )

    def copy(self) -> Stream:
        made = Stream.__new__(Stream)
        Handle.__init__(made, "stream", "stk_stream_copy", self.at)
        return made


class Session(Handle):
    def __init__(self, coder: Coder) -> None:
        super().__init__("session", "stk_session_new", coder.at)

    def append(self, text: bytes) -> int:
        keep = c_size_t()
        checked(call("stk_session_append", self.at, text, c_size_t(len(text)), byref(keep), None))
        return keep.value

    def ids(self) -> list[int]:
        count = c_size_t()
        found = call("stk_session_ids", self.at, byref(count), restype=POINTER(c_uint32))
        return found[: count.value] if count.value else []

    def mark(self) -> int:
        number = c_size_t()
        checked(call("stk_session_mark", self.at, byref(number)))
        return number.value

    def rollback(self, number: int) -> None:
        checked(call("stk_session_rollback", self.at, c_size_t(number)))


class Decoder(Handle):
    def __init__(self, model: Model, flags: int = 0, stops: Iterable[bytes] = ()) -> None:
        given, count = texts_of(stops)
        super().__init__("decoder", "stk_decoder_new", model.at, flags, given, c_size_t(count))

    def take(self, text: Any, room: Any, size: Any) -> int:
        return int(call("stk_decoder_take", self.at, text, room, size))

    def feed(self, ids: list[int], room: int = 2) -> bytes:
        row = (c_uint32 * len(ids))(*ids)
        return bytes(
            filled(
                lambda text, n, size, fault: call(
                    "stk_decoder_feed", self.at, row, c_size_t(len(ids)), text, n, size, byref(fault)
                ),
                self.take,
                ctypes.c_ubyte,
                room,
            )
        )

    def flush(self) -> bytes:
        return bytes(
            filled(
                lambda text, n, size, _: call("stk_decoder_flush", self.at, text, n, size), self.take, ctypes.c_ubyte, 1
            )
        )

    @property
    def stopped(self) -> int:
        return int(call("stk_decoder_stopped", self.at, restype=c_int32))

    def copy(self) -> Decoder:
        made = Decoder.__new__(Decoder)
        Handle.__init__(made, "decoder", "stk_decoder_copy", self.at)
        return made


@functools.cache
def pool() -> Handle:
    return Handle("pool", "stk_pool_new", c_size_t(3))
