from typing import final

from typing_extensions import Buffer, Self

from .text import _Data

BEST_FIT_LENGTH: int

@final
class Ragged:
    def __new__(cls, ids: _Data | None, starts: _Data) -> Self: ...
    @property
    def count(self) -> int: ...

def pad(
    texts: Ragged,
    prefix: _Data,
    suffix: _Data,
    length: int,
    most: int,
    keeps_end: bool,
    is_left: bool,
    value: int,
    width: int,
    out: _Data,
    mask: _Data,
    first: int,
    last: int,
) -> None: ...

@final
class Plan(Buffer):
    def __new__(cls, documents: Ragged, has_end: bool, length: int, is_best_fit: bool) -> Self: ...
    @property
    def count(self) -> int: ...
    @property
    def length(self) -> int: ...
    @property
    def total(self) -> int: ...
    def places(self, places: _Data, numbers: _Data) -> None: ...
    def write(self, eot: int, value: int, width: int, out: _Data, positions: _Data, first: int, last: int) -> None: ...
