from collections.abc import Callable, Iterable, Sequence
from typing import TypedDict, TypeVar, final

from typing_extensions import Self

from .text import _Data

_T = TypeVar("_T")

NOTHING: int
FOUND: int
HELD: int
TAKES_LEFT: int
TAKES_RIGHT: int
ALONE: int
IMAGE_VERSION: int

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

@final
class Vocab:
    special_tokens: dict[str, int]
    path: str | None
    def __new__(
        cls,
        blob: bytes | None,
        lengths: _Data | None,
        ranks: _Data | None,
        splits: _Data | None,
        special_tokens: dict[str, int],
        dense_side: int = 0,
        words: tuple[bytes, bytes] | None = None,
        image: _Data | None = None,
        any_order: bool = False,
        others: dict[int, bytes] | None = None,
        longest: bool = False,
        wordpiece: tuple[int, int, bytes] | None = None,
    ) -> Self: ...
    def to_image(self, whole_tokens: bool = False) -> bytes: ...
    def write_image(self, write: Callable[[memoryview], _T], whole_tokens: bool = False) -> _T: ...
    def to_merged(self) -> tuple[bytes, bytes, bytes, bytes]: ...
    def to_packed(self) -> tuple[bytes, bytes, bytes | None, bytes]: ...
    @staticmethod
    def image_header(image: bytes) -> tuple[dict[str, int], list[int], dict[str, tuple[int, int]]]: ...
    @property
    def wordpiece(self) -> tuple[int, int, bytes] | None: ...
    @property
    def highest_id(self) -> int: ...
    @property
    def count(self) -> int: ...
    @property
    def highest_other(self) -> int: ...
    def other_ids(self) -> list[int]: ...
    @property
    def fragments(self) -> int: ...
    @property
    def spells(self) -> bool: ...
    @property
    def unreachable(self) -> int: ...
    @property
    def is_longest(self) -> bool: ...
    @property
    def monotone(self) -> bool: ...
    def find(self, token: bytes) -> int | None: ...
    def cuts(self, piece: bytes) -> list[int]: ...
    def merge(self, data: bytes) -> list[int]: ...
    def token_bytes(self, token: int) -> bytes: ...
