"""Encodings of tokenizers that are made when somebody asks for them: most programs never do."""

from __future__ import annotations

import functools
import os
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from ..native.steps import after_all, holding

if TYPE_CHECKING:
    from collections.abc import Callable

    from .engine import Engine

_T = TypeVar("_T")

_lock = threading.RLock()


def backend_lock() -> threading.RLock:
    """Held while a tokenizer's settings for one call are in force: they lie in the tokenizer itself."""
    return _lock


def _renew() -> None:
    global _lock
    _lock = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)  # another thread may have held it


class Settings(NamedTuple):
    """Of a tokenizers.Tokenizer, for a call."""

    truncation: dict[str, Any] | None
    padding: dict[str, Any] | None
    encode_special_tokens: bool

    @classmethod
    def of(cls, backend: Any) -> Settings:
        return cls(backend.truncation, backend.padding, backend.encode_special_tokens)

    def put(self, backend: Any) -> None:
        if self.truncation is None:
            backend.no_truncation()
        else:
            backend.enable_truncation(**self.truncation)
        if self.padding is None:
            backend.no_padding()
        else:
            backend.enable_padding(**self.padding)
        backend.encode_special_tokens = self.encode_special_tokens


def in_force(backend: Any, settings: Settings, call: Callable[[], _T]) -> _T:
    """What a call returns under these settings."""
    made: _T = holding(backend_lock(), _in_force, backend, settings, call)
    return made


def _in_force(backend: Any, settings: Settings, call: Callable[[], _T]) -> _T:
    def inside() -> _T:
        settings.put(backend)
        return call()

    back = functools.partial(Settings.of(backend).put, backend)
    return after_all(inside, back, back)  # twice: the first may be left half done


class LateEncodings(Sequence[Any]):
    """The encodings of a batch, as BatchEncoding.encodings has them: the original makes all at the first use of one.

    Args:
        engine: what encoded the batch.
        owner: has the tokenizer that was used as "_tokenizer".
        inputs: as tokenizers' encode_batch takes them.
        settings: of the tokenizer for this call.
        options: further arguments of encode_batch.
        method: what makes them.
    """

    def __init__(
        self,
        engine: Engine,
        owner: dict[str, Any],
        inputs: list[Any],
        settings: Settings,
        options: dict[str, Any],
        method: str = "encode_batch",
    ) -> None:
        self._engine, self._owner, self._inputs = engine, owner, inputs
        self._settings, self._options, self._method = settings, options, method
        self._made: list[Any] | None = None

    def _all(self) -> list[Any]:
        if self._made is None:
            backend = self._engine.original(self._owner)
            in_force(backend, self._settings, functools.partial(self._make, backend))
        assert self._made is not None
        return self._made

    def _make(self, backend: Any) -> None:
        if self._made is None:  # another thread may have been first
            self._made = getattr(backend, self._method)(self._inputs, **self._options)

    def __len__(self) -> int:
        return len(self._inputs)

    def __getitem__(self, item: Any) -> Any:
        return self._all()[item]

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (self._all(),)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if self._made is None:
            return LateEncodings(self._engine, self._owner, self._inputs, self._settings, self._options, self._method)
        import copy

        return copy.deepcopy(self._made, memo)

    def __repr__(self) -> str:
        return repr(self._all())
