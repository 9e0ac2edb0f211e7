from collections.abc import Iterable, Sequence
from typing import TypedDict, final

from typing_extensions import Self

from .text import _Data

NOTHING: int
FOUND: int
HELD: int
TAKES_LEFT: int
TAKES_RIGHT: int
ALONE: int

class _Tables(TypedDict):
    nodes: bytes
    depth: bytes
    place: bytes
    name: bytes
    inner: bytes
    first: bytes
    edges: bytes
    edge_mask: int
    edge_factor: int

@final
class Matcher:
    names: list[str]
    flags: bytes
    late: Matcher | None
    def __new__(
        cls,
        names: Iterable[str],
        ids: Sequence[int] | None = None,
        flags: Iterable[int] | None = None,
        words: _Data | None = None,
        late: Matcher | None = None,
    ) -> Self: ...
    def search(self, text: bytes, node: int = 0) -> NameSearch: ...
    def length_of(self, node: int) -> int: ...
    def bytes_of(self, node: int, start: int = 0, stop: int = ...) -> bytes: ...
    def node_of(self, text: bytes) -> int: ...
    @property
    def has_rules(self) -> bool: ...
    @property
    def size(self) -> int: ...
    @property
    def longest(self) -> int: ...
    def tables(self) -> _Tables: ...

@final
class NameSearch:
    def __new__(cls, matcher: Matcher, text: bytes, node: int = 0) -> Self: ...
    def next(self, final: bool) -> tuple[int, int, int, int | None]: ...
    @property
    def node(self) -> int: ...
