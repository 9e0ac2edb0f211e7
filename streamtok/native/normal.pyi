from collections.abc import Iterable
from typing import Any, final

from typing_extensions import Self

FORMS: dict[str, int]
GROWTH: dict[str, float]
LAST_POINT: int
MOST_GROWTH: int
TAKES: dict[str, int]

def compiled_map(data: bytes) -> tuple[float, int]: ...

@final
class Normalizer:
    behind: Normalizer | None
    growth: float
    steps: tuple[tuple[Any, ...], ...]

    def __new__(cls, steps: Iterable[Iterable[Any]]) -> Self: ...
    def normalize(self, text: str) -> str: ...
    def trace(self, text: str, later: bool = False) -> tuple[bytes, memoryview[int]]: ...

@final
class NormalStream:
    normalizer: Normalizer
    held: int

    def __new__(cls, normalizer: Normalizer, traced: bool = False, later: bool = False) -> Self: ...
    def feed(self, text: str) -> bytes: ...
    def flush(self) -> bytes: ...
    def sources(self) -> bytes: ...
