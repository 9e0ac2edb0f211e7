from collections.abc import Sequence
from typing import final

from typing_extensions import Self

FIRST_FRAGMENT: int
SILENT: int
HEADING: str

@final
class Letters:
    def __new__(cls, letters: dict[str, int]) -> Self: ...

@final
class MergeList:
    def __new__(
        cls, vocab: dict[str, int], merges: Sequence[str | Sequence[str]], letters: Letters, highest: int
    ) -> Self: ...
    def missing_bytes(self) -> list[int]: ...
    def order(self, whole: bool) -> tuple[bytes, bytes, bytes, bytes, bool]: ...

KINDS: dict[str, int]

def ordered(
    blob: bytes,
    lengths: bytes,
    ids: bytes,
    kinds: bytes,
    left: bytes,
    right: bytes,
    made: bytes,
    whole: bool,
) -> tuple[bytes, bytes, bytes, bytes, bool]: ...
