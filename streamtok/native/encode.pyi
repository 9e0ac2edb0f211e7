from collections.abc import Callable
from typing import TypeVar, final

import numpy as np
import numpy.typing as npt
from typing_extensions import Self

from .matcher import Matcher
from .normal import Normalizer
from .pattern import Pattern
from .text import _Data, _Text
from .vocab import Vocab

_SomeText = TypeVar("_SomeText", bound=_Text)

ENGINES: dict[str, int]
ERRORS: dict[str, int]
FAULTS: dict[int, str]

@final
class Coder:
    vocab: Vocab
    pattern: Pattern
    normalizer: Normalizer | None
    @property
    def has_cuts(self) -> bool: ...
    def __new__(
        cls,
        vocab: Vocab,
        pattern: Pattern | str | None,
        engine: str = "fast",
        errors: str = "strict",
        normalizer: Normalizer | None = None,
    ) -> Self: ...
    def encode(self, source: str, allowed: Matcher | None, disallowed: Matcher | None) -> list[int]: ...
    def encode_array(
        self,
        source: _Text,
        allowed: Matcher | None,
        disallowed: Matcher | None,
        longer: Callable[..., npt.NDArray[np.uint32]] | None = None,
    ) -> npt.NDArray[np.uint32]: ...
    def encode_many(
        self, sources: list[_SomeText], allowed: Matcher | None, disallowed: Matcher | None
    ) -> tuple[npt.NDArray[np.uint32], list[int]]: ...
    def count(
        self,
        source: _Text,
        allowed: Matcher | None,
        disallowed: Matcher | None,
        longer: Callable[..., int] | None = None,
    ) -> int: ...
    def encode_piece(self, piece: bytes) -> list[int]: ...
    def encode_spans(self, text: bytes, spans: _Data) -> npt.NDArray[np.uint32]: ...
    def piece_spans(self, source: _Text) -> bytes: ...
    def split(self, source: _Text) -> list[int]: ...
    def stream(self, allowed: Matcher | None, disallowed: Matcher | None, copies: bool) -> CoreStream: ...

@final
class CoreStream:
    coder: Coder
    allowed: Matcher | None
    disallowed: Matcher | None
    copies: bool
    def __new__(
        cls, coder: Coder, allowed: Matcher | None, disallowed: Matcher | None, copies: bool = False
    ) -> Self: ...
    def feed(self, chunk: _Text) -> npt.NDArray[np.uint32]: ...
    def flush(self) -> npt.NDArray[np.uint32]: ...
    @property
    def pending(self) -> int: ...
    @property
    def offset(self) -> int: ...
    def reset(self) -> None: ...
    def pass_over(self, n: int) -> None: ...
    def copy(self) -> CoreStream: ...
    def save(self) -> bytes: ...
    def save_apart(self) -> bytes: ...
    def load_apart(self, state: bytes, offset: int) -> bool: ...
    def move(self, n: int) -> None: ...
    def load(self, state: bytes) -> bool: ...
