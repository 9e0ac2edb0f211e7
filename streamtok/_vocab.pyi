from collections.abc import Iterable, Sequence
from typing import Any, final

from typing_extensions import Self

NOTHING: int
FOUND: int
HELD: int

@final
class Matcher:
    names: list[str]
    def __new__(cls, names: Iterable[str], ids: Sequence[int] | None = None) -> Self: ...
    def find(self, text: bytes, start: int, final: bool) -> tuple[int, int, int, int | None]: ...

@final
class Vocab:
    special_tokens: dict[str, int]
    def __new__(
        cls,
        blob: bytes | None,
        lengths: Any,
        ranks: Any,
        splits: Any,
        special_tokens: dict[str, int],
        dense_side: int = 0,
        words: tuple[bytes, bytes] | None = None,
        image: Any = None,
    ) -> Self: ...
    def to_image(self) -> bytes: ...
    @property
    def highest_id(self) -> int: ...
    @property
    def count(self) -> int: ...
    @property
    def unreachable(self) -> int: ...
    @property
    def monotone(self) -> bool: ...
    def find(self, token: bytes) -> int | None: ...
    def merge(self, data: bytes) -> list[int]: ...
    def token_bytes(self, token: int) -> bytes: ...
    def decode_bytes(self, tokens: Any) -> bytes: ...
